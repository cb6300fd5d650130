#pragma once

#include "engine_object.hpp"
#include "speech/transcriber.hpp"

namespace pergola {

/// `NativeTranscriber` of native-types.ts: a thin wrapper; the engine's Transcriber does the work.
class TranscriberBinding : public EngineObject<TranscriberBinding, Transcriber> {
public:
    using EngineObject::EngineObject;

    static void define(Napi::Env env);
    /// `openTranscriber(options)`.
    static Napi::Value open(const Napi::CallbackInfo& info);

private:
    Napi::Value info(const Napi::CallbackInfo& info);
    Napi::Value decode_steps(const Napi::CallbackInfo& info);
    Napi::Value encode(const Napi::CallbackInfo& info);
    Napi::Value detect(const Napi::CallbackInfo& info);
    Napi::Value decode(const Napi::CallbackInfo& info);
    Napi::Value align(const Napi::CallbackInfo& info);
    Napi::Value release(const Napi::CallbackInfo& info);

    /// A `NativeJob` of `{ value, timings }`, with what `work(transcriber, call)` gives.
    template <typename Work>
    Napi::Value run(const Napi::CallbackInfo& info, Work work);
};

}  // namespace pergola
