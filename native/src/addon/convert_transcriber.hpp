#pragma once

#include <napi.h>

#include <vector>

#include "speech/transcriber.hpp"

namespace pergola {

TranscriberOptions read_transcriber_options(const Napi::Object& from);
std::vector<WindowInput> read_windows(const Napi::Value& from);
std::vector<uint64_t> read_handles(const Napi::Value& from);
std::vector<DecodeInput> read_decode_inputs(const Napi::Value& from);
DecodeOptions read_decode_options(const Napi::Object& from, const WhisperTokens& tokens);
std::vector<AlignInput> read_align_inputs(const Napi::Value& from);

Napi::Value to_js(Napi::Env env, const TranscriberInfo& info);
Napi::Value to_js(Napi::Env env, const TranscriberTimings& timings);
Napi::Value to_js(Napi::Env env, const std::vector<uint64_t>& handles);
Napi::Value to_js(Napi::Env env, const std::vector<Detection>& detections);
Napi::Value to_js(Napi::Env env, const std::vector<Decoding>& decodings);
Napi::Value to_js(Napi::Env env, const std::vector<Alignment>& alignments);

}  // namespace pergola
