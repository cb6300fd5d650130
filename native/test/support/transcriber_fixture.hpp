#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "speech/transcriber.hpp"
#include "support/harness.hpp"
#include "support/whisper_fixture.hpp"

namespace pergola::test {

inline std::string whisper_fixture(const std::string& name) { return fixture("../whisper/" + name); }

/// A call that nobody stops.
inline TranscriberCall& never() {
    static thread_local TranscriberCall call;
    return call;
}

/// Options as the SDK gives them for the tiny model (its weights are random, its vocabulary has 1,768 tokens); no compile cache, no warm-up.
/// Exact arithmetic everywhere, because expected values come from references.
inline TranscriberOptions transcriber_options() {
    TranscriberOptions options;
    options.model.encoder.xml = whisper_fixture("tiny-ir/openvino_encoder_model.xml");
    options.model.encoder.bin = whisper_fixture("tiny-ir/openvino_encoder_model.bin");
    options.model.decoder.xml = whisper_fixture("tiny-ir/openvino_decoder_model.xml");
    options.model.decoder.bin = whisper_fixture("tiny-ir/openvino_decoder_model.bin");
    options.model.model_key = "tiny-ir";
    options.model.properties["INFERENCE_PRECISION_HINT"] = std::string("f32");
    options.tokens.end_of_text = 256;
    options.tokens.start_of_transcript = 257;
    options.tokens.no_speech = 265;
    options.tokens.no_timestamps = 266;
    options.tokens.timestamp_begin = 267;
    options.alignment_heads = {{0, 0}, {1, 1}};
    options.warm_up = false;
    return options;
}

/// The compiled pair stays open, so that tests share it.
inline std::unique_ptr<Transcriber> open_transcriber() {
    static auto* kept = new Transcriber(transcriber_options(), LoadControl());
    CHECK(kept->info().vocab_size == 1768);
    return std::make_unique<Transcriber>(transcriber_options(), LoadControl());
}

inline DecodeOptions decode_options(bool timestamps, size_t max_new_tokens, int64_t end = 256) {
    DecodeOptions options;
    options.max_new_tokens = max_new_tokens;
    options.rules.tokens = transcriber_options().tokens;
    options.rules.tokens.end_of_text = end;
    options.rules.timestamps = timestamps;
    options.rules.suppress = {1, 2, 7, 257, 261, 262, 263, 264, 265};
    options.rules.begin_suppress = {32, static_cast<int32_t>(end)};
    return options;
}

inline std::vector<int64_t> prompt_of(bool timestamps) {
    return timestamps ? std::vector<int64_t>{257, 258, 262} : std::vector<int64_t>{257, 258, 262, 266};
}

inline DecodeInput decode_input(uint64_t window, bool timestamps = true, uint64_t seed = 0) {
    DecodeInput input;
    input.window = window;
    input.prompt = prompt_of(timestamps);
    input.seed = seed;
    return input;
}

inline std::shared_ptr<LogMel> made_mel(const std::string& kind, size_t samples) {
    auto mel = std::make_shared<LogMel>(80);
    mel->append(made_signal(kind, samples));
    mel->finish();
    return mel;
}

inline uint64_t encode_signal(Transcriber& transcriber, const std::string& kind, size_t samples) {
    const auto mel = made_mel(kind, samples);
    return transcriber.encode({{mel, 0, mel->frames()}}, never()).at(0);
}

/// Windows of seven different sounds.
inline std::vector<uint64_t> encode_signals(Transcriber& transcriber) {
    std::vector<WindowInput> windows;
    for (const auto& [kind, samples] : std::vector<std::pair<std::string, size_t>>{
             {"noise", 48000}, {"sines", 32000}, {"sweep", 40000}, {"quiet", 24000}, {"impulse", 8000}, {"noise", 400000}, {"silence", 16000}}) {
        const auto mel = made_mel(kind, samples);
        windows.push_back({mel, 0, mel->frames()});
    }
    return transcriber.encode(windows, never());
}

inline std::vector<std::vector<int64_t>> ids_of(const std::vector<Decoding>& decodings) {
    std::vector<std::vector<int64_t>> result;
    for (const auto& one : decodings) result.push_back(one.ids);
    return result;
}

}  // namespace pergola::test
