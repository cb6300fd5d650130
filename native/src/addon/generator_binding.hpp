#pragma once

#include <napi.h>

#include <memory>

#include "engine/generator.hpp"
#include "environment.hpp"

namespace pergola {

/// `NativeGenerator` of native-types.ts: a thin wrapper; the engine's Generator does the work.
class GeneratorBinding : public Napi::ObjectWrap<GeneratorBinding>, public NativeHandle {
public:
    static Napi::Function define(Napi::Env env);
    /// `openGenerator(options)`.
    static Napi::Value open(const Napi::CallbackInfo& info);

    explicit GeneratorBinding(const Napi::CallbackInfo& info);
    ~GeneratorBinding() override;

    void interrupt() override;
    void close_now() override;
    void keep() override { Ref(); }
    void let_go() override { Unref(); }

private:
    Napi::Value info(const Napi::CallbackInfo& info);
    Napi::Value submit(const Napi::CallbackInfo& info);
    Napi::Value stop(const Napi::CallbackInfo& info);
    Napi::Value stats(const Napi::CallbackInfo& info);
    Napi::Value close(const Napi::CallbackInfo& info);

    std::shared_ptr<Generator> generator_;
    Environment* environment_;
};

}  // namespace pergola
