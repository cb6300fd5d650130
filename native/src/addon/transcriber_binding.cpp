#include "transcriber_binding.hpp"

#include "convert_transcriber.hpp"

namespace pergola {

void TranscriberBinding::define(Napi::Env env) {
    define_as(env, "NativeTranscriber",
              {InstanceAccessor<&TranscriberBinding::info>("info"),
               InstanceAccessor<&TranscriberBinding::decode_steps>("decodeSteps"),
               InstanceMethod<&TranscriberBinding::encode>("encode"),
               InstanceMethod<&TranscriberBinding::detect>("detect"),
               InstanceMethod<&TranscriberBinding::decode>("decode"),
               InstanceMethod<&TranscriberBinding::align>("align"),
               InstanceMethod<&TranscriberBinding::release>("release")});
}

Napi::Value TranscriberBinding::open(const Napi::CallbackInfo& info) {
    const TranscriberOptions options = read_transcriber_options(options_of(info));
    return open_with(info.Env(), [options](const LoadControl& control) { return std::make_shared<Transcriber>(options, control); });
}

Napi::Value TranscriberBinding::info(const Napi::CallbackInfo& info) { return to_js(info.Env(), engine_->info()); }

Napi::Value TranscriberBinding::decode_steps(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(engine_->stats().decode_steps));
}

template <typename Work>
Napi::Value TranscriberBinding::run(const Napi::CallbackInfo& info, Work work) {
    auto call = std::make_shared<TranscriberCall>();
    // One that waits keeps its place when it is stopped: it ends at once when it comes to it, with what there is.
    return start(
        info, {[call] { call->stop = true; }, queue_, false}, [transcriber = engine_, call, work] { return work(*transcriber, *call); },
        [call](Napi::Env env, const auto& value) -> Napi::Object {
            return JsObject(env).set("value", to_js(env, value)).set("timings", to_js(env, call->timings));
        });
}

Napi::Value TranscriberBinding::encode(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return run(info, [windows = read_windows(info[0])](Transcriber& transcriber, TranscriberCall& call) { return transcriber.encode(windows, call); });
    });
}

Napi::Value TranscriberBinding::detect(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return run(info, [windows = read_handles(info[0]), ids = int32_values(info[1], "ids")](Transcriber& transcriber, TranscriberCall& call) {
            return transcriber.detect(windows, ids, call);
        });
    });
}

Napi::Value TranscriberBinding::decode(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return run(info, [inputs = read_decode_inputs(info[0]), options = read_decode_options(info[1].ToObject(), engine_->tokens())](
                             Transcriber& transcriber, TranscriberCall& call) { return transcriber.decode(inputs, options, call); });
    });
}

Napi::Value TranscriberBinding::align(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        return run(info, [inputs = read_align_inputs(info[0])](Transcriber& transcriber, TranscriberCall& call) { return transcriber.align(inputs, call); });
    });
}

Napi::Value TranscriberBinding::release(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] {
        engine_->release(read_handles(info[0]));
        return info.Env().Undefined();
    });
}

}  // namespace pergola
