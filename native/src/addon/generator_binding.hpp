#pragma once

#include "engine_object.hpp"
#include "generate/generator.hpp"

namespace pergola {

/// `NativeGenerator` of native-types.ts: a thin wrapper; the engine's Generator does the work.
class GeneratorBinding : public EngineObject<GeneratorBinding, Generator> {
public:
    using EngineObject::EngineObject;

    static void define(Napi::Env env);
    /// `openGenerator(options)`.
    static Napi::Value open(const Napi::CallbackInfo& info);

private:
    Napi::Value info(const Napi::CallbackInfo& info);
    Napi::Value submit(const Napi::CallbackInfo& info);
    Napi::Value stats(const Napi::CallbackInfo& info);
};

}  // namespace pergola
