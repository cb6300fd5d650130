#include "convert_generator.hpp"

#include "js_values.hpp"
#include "tensors.hpp"

namespace pergola {
namespace {

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
    for_each(from.Get("logitBias"), [&](const Napi::Value& value) {
        const Napi::Array pair = value.As<Napi::Array>();
        result.logit_bias.emplace_back(pair.Get(0u).ToNumber().Int64Value(), pair.Get(1u).ToNumber().FloatValue());
    });
    return result;
}

PromptRowsInput read_rows(const Napi::Object& from) {
    PromptRowsInput result;
    result.rows.start = size(from, "start");
    result.rows.count = size(from, "count");
    result.rows.values = float32_values(from.Get("rows"), "rows");
    result.key = text(from, "key");
    return result;
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
    result.scheduler.max_batch_tokens = size(from, "maxBatchTokens", 512);
    result.scheduler.max_batch_sequences = size(from, "maxBatchSequences", 64);
    result.warm_up = flag(from, "warmUp");
    return result;
}

RequestInput read_request(const Napi::Object& from) {
    RequestInput result;
    result.prompt = token_ids(from, "promptIds");
    if (result.prompt.empty()) throw Napi::TypeError::New(from.Env(), "promptIds is empty");
    for_each(from.Get("promptRows"), [&](const Napi::Value& rows) { result.rows.push_back(read_rows(rows.ToObject())); });
    if (const Napi::Value positions = from.Get("positions"); positions.IsObject()) {
        const auto object = positions.As<Napi::Object>();
        result.position_axes = size(object, "axes", 1);
        result.positions = token_ids(object, "values");
        result.position_delta = static_cast<int64_t>(number(object, "delta"));
    }
    if (const Napi::Value guidance = from.Get("guidance"); guidance.IsObject()) {
        result.guidance_prompt = token_ids(guidance.As<Napi::Object>(), "promptIds");
        result.guidance_scale = static_cast<float>(number(guidance.As<Napi::Object>(), "scale", 1));
    }
    result.max_new_tokens = static_cast<uint64_t>(number(from, "maxNewTokens", 1));
    result.min_new_tokens = static_cast<uint64_t>(number(from, "minNewTokens"));
    for_each(from.Get("stopTokenIds"), [&](const Napi::Value& id) { result.stop_tokens.push_back(id.ToNumber().Int64Value()); });
    result.sampling = read_sampling(object(from, "sampling"));
    return result;
}

Napi::Object to_js(Napi::Env env, const GeneratorInfo& info) {
    return JsObject(env)
        .set("attention", info.paged ? "paged" : "stateful")
        .set("device", info.device)
        .set("vocabSize", info.vocab_size)
        .set("hiddenSize", info.hidden_size)
        .set("blockSize", info.block_size)
        .set("kvPrecision", info.kv_precision)
        .set("kvBytesPerToken", info.kv_bytes_per_token)
        .set("kvCapacityTokens", info.kv_capacity_tokens)
        .set("maxRequestTokens", info.max_request_tokens)
        .set("fromCache", info.from_cache)
        .set("shared", info.shared)
        .set("fallbackReason", info.fallback_reason)
        .set("timings", to_js(env, info.timings));
}

Napi::Object to_js(Napi::Env env, const GeneratorStats& stats) {
    return JsObject(env)
        .set("running", stats.running)
        .set("waiting", stats.waiting)
        .set("steps", stats.steps)
        .set("preemptions", stats.preemptions)
        .set("cachedTokens", stats.cached_tokens)
        .set("promptTokens", stats.prompt_tokens)
        .set("generatedTokens", stats.generated_tokens)
        .set("blocksTotal", stats.kv.blocks_total)
        .set("blocksUsed", stats.kv.blocks_used)
        .set("blocksCached", stats.kv.blocks_cached)
        .set("kvBytes", stats.kv.bytes)
        .set("inferMs", stats.infer_ms)
        .set("sampleMs", stats.sample_ms);
}

}  // namespace pergola
