#include "convert.hpp"

#include "js_values.hpp"
#include "tensors.hpp"

namespace pergola {
namespace {

std::vector<std::string> texts(const Napi::Object& from, const char* key) {
    std::vector<std::string> result;
    const Napi::Value value = from.Get(key);
    if (!value.IsArray()) return result;
    const Napi::Array list = value.As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i) result.push_back(list.Get(i).ToString().Utf8Value());
    return result;
}

SamplingOptions read_sampling(const Napi::Object& from) {
    SamplingOptions result;
    result.temperature = static_cast<float>(number(from, "temperature"));
    result.top_k = static_cast<uint32_t>(number(from, "topK"));
    result.top_p = static_cast<float>(number(from, "topP", 1));
    result.min_p = static_cast<float>(number(from, "minP"));
    result.repetition_penalty = static_cast<float>(number(from, "repetitionPenalty", 1));
    result.presence_penalty = static_cast<float>(number(from, "presencePenalty"));
    result.frequency_penalty = static_cast<float>(number(from, "frequencyPenalty"));
    result.seed = static_cast<uint64_t>(number(from, "seed"));
    result.logprobs = static_cast<int>(number(from, "logprobs", -1));
    const Napi::Value bias = from.Get("logitBias");
    if (bias.IsArray()) {
        const Napi::Array list = bias.As<Napi::Array>();
        for (uint32_t i = 0; i < list.Length(); ++i) {
            const Napi::Array pair = list.Get(i).As<Napi::Array>();
            result.logit_bias.emplace_back(pair.Get(0u).ToNumber().Int64Value(), pair.Get(1u).ToNumber().FloatValue());
        }
    }
    return result;
}

std::vector<int64_t> ids_of(const Napi::Object& from, const char* key) {
    const Napi::Value value = from.Get(key);
    if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_int32_array)
        throw Napi::TypeError::New(from.Env(), std::string(key) + " must be an Int32Array");
    const auto ids = value.As<Napi::Int32Array>();
    return std::vector<int64_t>(ids.Data(), ids.Data() + ids.ElementLength());
}

void read_rows(const Napi::Value& value, RequestInput& result) {
    if (!value.IsArray()) return;
    const Napi::Array list = value.As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i) {
        const Napi::Object entry = list.Get(i).ToObject();
        const Napi::Value rows = entry.Get("rows");
        if (!rows.IsTypedArray() || rows.As<Napi::TypedArray>().TypedArrayType() != napi_float32_array)
            throw Napi::TypeError::New(value.Env(), "rows must be a Float32Array");
        const auto values = rows.As<Napi::Float32Array>();
        PromptRowsInput input;
        input.rows.start = static_cast<size_t>(number(entry, "start"));
        input.rows.count = static_cast<size_t>(number(entry, "count"));
        input.rows.values.assign(values.Data(), values.Data() + values.ElementLength());
        input.key = text(entry, "key");
        result.rows.push_back(std::move(input));
    }
}

}  // namespace

GeneratorOptions read_generator_options(const Napi::Object& from) {
    GeneratorOptions result;
    const Napi::Object source = object(from, "source");
    auto& model = result.model;
    model.source.kind = text(source, "kind") == "gguf" ? ModelSource::Kind::Gguf : ModelSource::Kind::Ir;
    model.source.xml = text(source, "xml");
    model.source.bin = text(source, "bin");
    model.source.shards = texts(source, "files");
    model.device = text(from, "device");
    model.properties = properties(object(from, "properties"));
    const std::string attention = text(from, "attention");
    model.attention = attention == "paged" ? Attention::Paged : attention == "stateful" ? Attention::Stateful : Attention::Auto;
    model.int8_weights = text(from, "weights") == "int8";
    const Napi::Object cache = object(from, "kvCache");
    model.kv_precision = text(cache, "precision");
    model.cache_dir = text(from, "cacheDir");
    model.model_key = text(from, "modelKey");
    result.embeddings = read_graph_files(object(from, "embeddings"));
    result.generated_embeddings = read_graph_files(object(from, "generatedEmbeddings"));
    result.head = read_graph_files(object(from, "head"));
    result.kv.bytes = static_cast<uint64_t>(number(cache, "bytes"));
    result.kv.tokens = static_cast<uint64_t>(number(cache, "tokens"));
    result.kv.context_length = static_cast<uint64_t>(number(from, "contextLength"));
    result.kv.prefix_caching = flag(from, "prefixCaching");
    result.scheduler.max_batch_tokens = static_cast<size_t>(number(from, "maxBatchTokens", 512));
    result.scheduler.max_batch_sequences = static_cast<size_t>(number(from, "maxBatchSequences", 64));
    result.warm_up = flag(from, "warmUp");
    return result;
}

RequestInput read_request(const Napi::Object& from) {
    RequestInput result;
    result.prompt = ids_of(from, "promptIds");
    if (result.prompt.empty()) throw Napi::TypeError::New(from.Env(), "promptIds is empty");
    read_rows(from.Get("promptRows"), result);
    if (const Napi::Value positions = from.Get("positions"); positions.IsObject()) {
        const auto object = positions.As<Napi::Object>();
        result.position_axes = static_cast<size_t>(number(object, "axes", 1));
        result.positions = ids_of(object, "values");
        result.position_delta = static_cast<int64_t>(number(object, "delta"));
    }
    if (const Napi::Value guidance = from.Get("guidance"); guidance.IsObject()) {
        result.guidance_prompt = ids_of(guidance.As<Napi::Object>(), "promptIds");
        result.guidance_scale = static_cast<float>(number(guidance.As<Napi::Object>(), "scale", 1));
    }
    result.max_new_tokens = static_cast<uint64_t>(number(from, "maxNewTokens", 1));
    result.min_new_tokens = static_cast<uint64_t>(number(from, "minNewTokens"));
    const Napi::Value stops = from.Get("stopTokenIds");
    if (stops.IsArray()) {
        const Napi::Array list = stops.As<Napi::Array>();
        for (uint32_t i = 0; i < list.Length(); ++i) result.stop_tokens.push_back(list.Get(i).ToNumber().Int64Value());
    }
    result.sampling = read_sampling(object(from, "sampling"));
    return result;
}

Napi::Object to_js(Napi::Env env, const GeneratorInfo& info) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("attention", info.paged ? "paged" : "stateful");
    result.Set("device", info.device);
    result.Set("vocabSize", static_cast<double>(info.vocab_size));
    result.Set("hiddenSize", static_cast<double>(info.hidden_size));
    result.Set("blockSize", static_cast<double>(info.block_size));
    result.Set("kvPrecision", info.kv_precision);
    result.Set("kvBytesPerToken", static_cast<double>(info.kv_bytes_per_token));
    result.Set("kvCapacityTokens", static_cast<double>(info.kv_capacity_tokens));
    result.Set("maxRequestTokens", static_cast<double>(info.max_request_tokens));
    result.Set("fromCache", info.from_cache);
    result.Set("shared", info.shared);
    result.Set("fallbackReason", info.fallback_reason);
    result.Set("timings", to_js(env, info.timings));
    return result;
}

Napi::Object to_js(Napi::Env env, const GeneratorStats& stats) {
    Napi::Object result = Napi::Object::New(env);
    const auto set = [&](const char* key, double value) { result.Set(key, value); };
    set("running", static_cast<double>(stats.running));
    set("waiting", static_cast<double>(stats.waiting));
    set("steps", static_cast<double>(stats.steps));
    set("preemptions", static_cast<double>(stats.preemptions));
    set("cachedTokens", static_cast<double>(stats.cached_tokens));
    set("promptTokens", static_cast<double>(stats.prompt_tokens));
    set("generatedTokens", static_cast<double>(stats.generated_tokens));
    set("blocksTotal", static_cast<double>(stats.kv.blocks_total));
    set("blocksUsed", static_cast<double>(stats.kv.blocks_used));
    set("blocksCached", static_cast<double>(stats.kv.blocks_cached));
    set("kvBytes", static_cast<double>(stats.kv.bytes));
    set("inferMs", stats.infer_ms);
    set("sampleMs", stats.sample_ms);
    return result;
}

}  // namespace pergola
