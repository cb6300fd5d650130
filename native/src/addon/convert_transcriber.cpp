#include "convert_transcriber.hpp"

#include "js_values.hpp"
#include "log_mel_binding.hpp"

namespace pergola {
namespace {

ModelSource ir_source(const Napi::Object& from) {
    ModelSource result;
    result.xml = text(from, "xml");
    result.bin = text(from, "bin");
    return result;
}

/// Calls `each(object)` for every element.
template <typename Each>
void for_each_object(const Napi::Value& from, Each each) {
    if (!from.IsArray()) throw Napi::TypeError::New(from.Env(), "expected an array of objects");
    const Napi::Array list = from.As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i) each(list.Get(i).ToObject());
}

template <typename Ids>
Napi::Int32Array ids_to_js(Napi::Env env, const Ids& ids) {
    auto result = Napi::Int32Array::New(env, ids.size());
    for (size_t i = 0; i < ids.size(); ++i) result[i] = static_cast<int32_t>(ids[i]);
    return result;
}

Napi::Float32Array floats_to_js(Napi::Env env, const std::vector<float>& values) {
    auto result = Napi::Float32Array::New(env, values.size());
    std::copy(values.begin(), values.end(), result.Data());
    return result;
}

template <typename Item, typename Convert>
Napi::Array list_to_js(Napi::Env env, const std::vector<Item>& items, Convert convert) {
    Napi::Array result = Napi::Array::New(env, items.size());
    for (uint32_t i = 0; i < items.size(); ++i) result.Set(i, convert(items[i]));
    return result;
}

std::vector<int64_t> read_token_ids(const Napi::Object& from, const char* key) {
    const auto ids = read_ids(from.Get(key));
    return {ids.begin(), ids.end()};
}

}  // namespace

std::vector<int32_t> read_ids(const Napi::Value& from) {
    if (!from.IsTypedArray() || from.As<Napi::TypedArray>().TypedArrayType() != napi_int32_array)
        throw Napi::TypeError::New(from.Env(), "token ids must be an Int32Array");
    const auto ids = from.As<Napi::Int32Array>();
    return {ids.Data(), ids.Data() + ids.ElementLength()};
}

TranscriberOptions read_transcriber_options(const Napi::Object& from) {
    TranscriberOptions result;
    result.model.encoder = ir_source(object(from, "encoder"));
    result.model.decoder = ir_source(object(from, "decoder"));
    result.model.device = text(from, "device");
    result.model.properties = properties(object(from, "properties"));
    result.model.cache_dir = text(from, "cacheDir");
    result.model.model_key = text(from, "modelKey");
    result.mel_bins = static_cast<size_t>(number(from, "melBins", 80));
    result.max_positions = static_cast<size_t>(number(from, "maxPositions", 448));
    const Napi::Object tokens = object(from, "tokens");
    const auto id = [&](const char* key) { return static_cast<int64_t>(number(tokens, key, -1)); };
    result.tokens = {id("endOfText"), id("startOfTranscript"), id("noTimestamps"), id("timestampBegin"), id("noSpeech")};
    const Napi::Value heads = from.Get("alignmentHeads");
    if (heads.IsArray()) {
        const Napi::Array list = heads.As<Napi::Array>();
        for (uint32_t i = 0; i < list.Length(); ++i) {
            const Napi::Array pair = list.Get(i).As<Napi::Array>();
            result.alignment_heads.emplace_back(pair.Get(0u).ToNumber().Uint32Value(), pair.Get(1u).ToNumber().Uint32Value());
        }
    }
    result.warm_up = flag(from, "warmUp");
    return result;
}

std::vector<WindowInput> read_windows(const Napi::Value& from) {
    std::vector<WindowInput> result;
    for_each_object(from, [&](const Napi::Object& window) {
        result.push_back({LogMelBinding::of(window.Get("mel")).mel(), static_cast<size_t>(number(window, "start")), static_cast<size_t>(number(window, "count"))});
    });
    return result;
}

std::vector<uint64_t> read_handles(const Napi::Value& from) {
    std::vector<uint64_t> result;
    if (!from.IsArray()) throw Napi::TypeError::New(from.Env(), "windows must be an array");
    const Napi::Array list = from.As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i) result.push_back(static_cast<uint64_t>(list.Get(i).ToNumber().Int64Value()));
    return result;
}

std::vector<DecodeInput> read_decode_inputs(const Napi::Value& from) {
    std::vector<DecodeInput> result;
    for_each_object(from, [&](const Napi::Object& item) {
        DecodeInput input;
        input.window = static_cast<uint64_t>(number(item, "window"));
        input.prompt = read_token_ids(item, "prompt");
        input.sot_index = static_cast<size_t>(number(item, "sotIndex"));
        input.seed = static_cast<uint64_t>(number(item, "seed"));
        input.prefix_length = static_cast<size_t>(number(item, "prefixLength"));
        result.push_back(std::move(input));
    });
    return result;
}

DecodeOptions read_decode_options(const Napi::Object& from, const WhisperTokens& tokens) {
    DecodeOptions result;
    result.max_new_tokens = static_cast<size_t>(number(from, "maxNewTokens", 224));
    result.temperature = static_cast<float>(number(from, "temperature"));
    result.best_of = static_cast<size_t>(number(from, "bestOf", 1));
    result.beam_size = static_cast<size_t>(number(from, "beamSize", 1));
    result.patience = number(from, "patience", 1);
    result.divide_by_length = !from.Get("lengthPenalty").IsNumber();
    result.length_penalty = number(from, "lengthPenalty");
    result.rules.tokens = tokens;
    result.rules.timestamps = flag(from, "timestamps");
    result.rules.max_initial_timestamp = static_cast<int64_t>(number(from, "maxInitialTimestamp", -1));
    result.rules.suppress = read_ids(from.Get("suppressTokens"));
    result.rules.begin_suppress = read_ids(from.Get("beginSuppressTokens"));
    return result;
}

std::vector<AlignInput> read_align_inputs(const Napi::Value& from) {
    std::vector<AlignInput> result;
    for_each_object(from, [&](const Napi::Object& item) {
        result.push_back({static_cast<uint64_t>(number(item, "window")), static_cast<size_t>(number(item, "frames")), read_token_ids(item, "ids"),
                          static_cast<size_t>(number(item, "sotLength"))});
    });
    return result;
}

Napi::Value to_js(Napi::Env env, const TranscriberInfo& info) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("device", info.device);
    result.Set("vocabSize", static_cast<double>(info.vocab_size));
    result.Set("windowFrames", static_cast<double>(info.window_frames));
    result.Set("maxPositions", static_cast<double>(info.max_positions));
    result.Set("fromCache", info.from_cache);
    result.Set("shared", info.shared);
    result.Set("timings", to_js(env, info.timings));
    return result;
}

Napi::Value to_js(Napi::Env env, const TranscriberStats& stats) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("encodedWindows", static_cast<double>(stats.encoded_windows));
    result.Set("encodeMs", stats.encode_ms);
    result.Set("prefillMs", stats.prefill_ms);
    result.Set("decodeSteps", static_cast<double>(stats.decode_steps));
    result.Set("decodedTokens", static_cast<double>(stats.decoded_tokens));
    result.Set("decodeMs", stats.decode_ms);
    result.Set("sampleMs", stats.sample_ms);
    result.Set("alignMs", stats.align_ms);
    return result;
}

Napi::Value to_js(Napi::Env env, const std::vector<uint64_t>& handles) {
    return list_to_js(env, handles, [&](uint64_t handle) { return Napi::Number::New(env, static_cast<double>(handle)); });
}

Napi::Value to_js(Napi::Env env, const std::vector<Detection>& detections) {
    return list_to_js(env, detections, [&](const Detection& detection) {
        Napi::Object result = Napi::Object::New(env);
        result.Set("probabilities", floats_to_js(env, detection.probabilities));
        result.Set("noSpeechProb", detection.no_speech_prob);
        return result;
    });
}

Napi::Value to_js(Napi::Env env, const std::vector<Decoding>& decodings) {
    static const char* reasons[] = {"stop", "length", "stopped"};
    return list_to_js(env, decodings, [&](const Decoding& decoding) {
        Napi::Object result = Napi::Object::New(env);
        result.Set("ids", ids_to_js(env, decoding.ids));
        result.Set("reason", reasons[static_cast<int>(decoding.reason)]);
        result.Set("sumLogprob", decoding.sum_logprob);
        result.Set("noSpeechProb", decoding.no_speech_prob);
        return result;
    });
}

Napi::Value to_js(Napi::Env env, const std::vector<Alignment>& alignments) {
    return list_to_js(env, alignments, [&](const Alignment& alignment) {
        Napi::Object result = Napi::Object::New(env);
        result.Set("starts", ids_to_js(env, alignment.starts));
        result.Set("probabilities", floats_to_js(env, alignment.probabilities));
        return result;
    });
}

}  // namespace pergola
