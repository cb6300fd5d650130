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

}  // namespace

TranscriberOptions read_transcriber_options(const Napi::Object& from) {
    TranscriberOptions result;
    result.model.encoder = ir_source(object(from, "encoder"));
    result.model.decoder = ir_source(object(from, "decoder"));
    result.model.device = text(from, "device");
    result.model.properties = properties(object(from, "properties"));
    result.model.cache_dir = text(from, "cacheDir");
    result.model.model_key = text(from, "modelKey");
    result.mel_bins = size(from, "melBins", 80);
    result.max_positions = size(from, "maxPositions", 448);
    const Napi::Object tokens = object(from, "tokens");
    const auto id = [&](const char* key) { return static_cast<int64_t>(number(tokens, key, -1)); };
    result.tokens = {id("endOfText"), id("startOfTranscript"), id("noTimestamps"), id("timestampBegin"), id("noSpeech")};
    for_each(from.Get("alignmentHeads"), [&](const Napi::Value& value) {
        const Napi::Array pair = value.As<Napi::Array>();
        result.alignment_heads.emplace_back(pair.Get(0u).ToNumber().Uint32Value(), pair.Get(1u).ToNumber().Uint32Value());
    });
    result.warm_up = flag(from, "warmUp");
    return result;
}

std::vector<WindowInput> read_windows(const Napi::Value& from) {
    std::vector<WindowInput> result;
    for_each_object(from, [&](const Napi::Object& window) {
        result.push_back({LogMelBinding::of(window.Get("mel")).mel(), size(window, "start"), size(window, "count")});
    });
    return result;
}

std::vector<uint64_t> read_handles(const Napi::Value& from) {
    std::vector<uint64_t> result;
    if (!from.IsArray()) throw Napi::TypeError::New(from.Env(), "windows must be an array");
    for_each(from, [&](const Napi::Value& handle) { result.push_back(static_cast<uint64_t>(handle.ToNumber().Int64Value())); });
    return result;
}

std::vector<DecodeInput> read_decode_inputs(const Napi::Value& from) {
    std::vector<DecodeInput> result;
    for_each_object(from, [&](const Napi::Object& item) {
        DecodeInput input;
        input.window = static_cast<uint64_t>(number(item, "window"));
        input.prompt = token_ids(item, "prompt");
        input.sot_index = size(item, "sotIndex");
        input.seed = static_cast<uint64_t>(number(item, "seed"));
        input.prefix_length = size(item, "prefixLength");
        result.push_back(std::move(input));
    });
    return result;
}

DecodeOptions read_decode_options(const Napi::Object& from, const WhisperTokens& tokens) {
    DecodeOptions result;
    result.max_new_tokens = size(from, "maxNewTokens", 224);
    result.temperature = static_cast<float>(number(from, "temperature"));
    result.best_of = size(from, "bestOf", 1);
    result.beam_size = size(from, "beamSize", 1);
    result.patience = number(from, "patience", 1);
    result.divide_by_length = !from.Get("lengthPenalty").IsNumber();
    result.length_penalty = number(from, "lengthPenalty");
    result.rules.tokens = tokens;
    result.rules.timestamps = flag(from, "timestamps");
    result.rules.max_initial_timestamp = static_cast<int64_t>(number(from, "maxInitialTimestamp", -1));
    result.rules.suppress = int32_values(from.Get("suppressTokens"), "suppressTokens");
    result.rules.begin_suppress = int32_values(from.Get("beginSuppressTokens"), "beginSuppressTokens");
    return result;
}

std::vector<AlignInput> read_align_inputs(const Napi::Value& from) {
    std::vector<AlignInput> result;
    for_each_object(from, [&](const Napi::Object& item) {
        result.push_back({static_cast<uint64_t>(number(item, "window")), size(item, "frames"), token_ids(item, "ids"),
                          size(item, "sotLength")});
    });
    return result;
}

Napi::Value to_js(Napi::Env env, const TranscriberInfo& info) {
    return JsObject(env)
        .set("device", info.device)
        .set("vocabSize", info.vocab_size)
        .set("windowFrames", info.window_frames)
        .set("maxPositions", info.max_positions)
        .set("fromCache", info.from_cache)
        .set("shared", info.shared)
        .set("timings", to_js(env, info.timings));
}

Napi::Value to_js(Napi::Env env, const TranscriberTimings& timings) {
    return JsObject(env)
        .set("encodeMs", timings.encode_ms)
        .set("prefillMs", timings.prefill_ms)
        .set("decodeMs", timings.decode_ms)
        .set("alignMs", timings.align_ms)
        .set("steps", timings.steps);
}

Napi::Value to_js(Napi::Env env, const std::vector<uint64_t>& handles) {
    return list_to_js(env, handles, [&](uint64_t handle) { return Napi::Number::New(env, static_cast<double>(handle)); });
}

Napi::Value to_js(Napi::Env env, const std::vector<Detection>& detections) {
    return list_to_js(env, detections, [&](const Detection& detection) -> Napi::Object {
        return JsObject(env)
            .set("probabilities", typed_array<Napi::Float32Array>(env, detection.probabilities))
            .set("noSpeechProb", detection.no_speech_prob);
    });
}

Napi::Value to_js(Napi::Env env, const std::vector<Decoding>& decodings) {
    static const char* reasons[] = {"stop", "length", "stopped"};
    return list_to_js(env, decodings, [&](const Decoding& decoding) -> Napi::Object {
        return JsObject(env)
            .set("ids", typed_array<Napi::Int32Array>(env, decoding.ids))
            .set("reason", reasons[static_cast<int>(decoding.reason)])
            .set("sumLogprob", decoding.sum_logprob)
            .set("noSpeechProb", decoding.no_speech_prob);
    });
}

Napi::Value to_js(Napi::Env env, const std::vector<Alignment>& alignments) {
    return list_to_js(env, alignments, [&](const Alignment& alignment) -> Napi::Object {
        return JsObject(env)
            .set("starts", typed_array<Napi::Int32Array>(env, alignment.starts))
            .set("probabilities", typed_array<Napi::Float32Array>(env, alignment.probabilities));
    });
}

}  // namespace pergola
