#include "log_mel_binding.hpp"

#include "engine_object.hpp"

namespace pergola {

void LogMelBinding::define(Napi::Env env) {
    Napi::Function function = DefineClass(
        env, "NativeLogMel",
        {InstanceAccessor<&LogMelBinding::bins>("bins"), InstanceAccessor<&LogMelBinding::frames>("frames"),
         InstanceAccessor<&LogMelBinding::first_frame>("firstFrame"), InstanceMethod<&LogMelBinding::append>("append"),
         InstanceMethod<&LogMelBinding::finish>("finish"), InstanceMethod<&LogMelBinding::discard>("discard"), InstanceMethod<&LogMelBinding::read>("read")});
    constructor_of<LogMelBinding>(env) = Napi::Persistent(function);
}

Napi::Value LogMelBinding::create(const Napi::CallbackInfo& info) {
    return constructor_of<LogMelBinding>(info.Env()).New({Napi::Number::New(info.Env(), static_cast<double>(size_at(info, 0)))});
}

LogMelBinding::LogMelBinding(const Napi::CallbackInfo& info) : ObjectWrap(info) {
    const size_t bins = size_at(info, 0);
    if (bins == 0 || bins > 512) throw Napi::TypeError::New(info.Env(), "bins must be a number from 1 to 512");
    mel_ = std::make_shared<LogMel>(bins);
}

LogMelBinding& LogMelBinding::of(const Napi::Value& value) {
    if (!value.IsObject() || !value.As<Napi::Object>().InstanceOf(constructor_of<LogMelBinding>(value.Env()).Value()))
        throw Napi::TypeError::New(value.Env(), "mel must be an object made by createLogMel()");
    return *Unwrap(value.As<Napi::Object>());
}

template <typename Work>
Napi::Value LogMelBinding::run(const Napi::CallbackInfo& info, Work work) {
    Environment& environment = Environment::of(info.Env());
    return start_task(environment, info.This().As<Napi::Object>(), std::move(work), environment.queue());
}

Napi::Value LogMelBinding::bins(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), static_cast<double>(mel_->bins())); }

Napi::Value LogMelBinding::frames(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), static_cast<double>(mel_->frames())); }

Napi::Value LogMelBinding::first_frame(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), static_cast<double>(mel_->first_frame())); }

Napi::Value LogMelBinding::append(const Napi::CallbackInfo& info) {
    auto samples = std::make_shared<std::vector<float>>(float32_values(info[0], "samples"));
    return run(info, [mel = mel_, samples] { mel->append(std::move(*samples)); });
}

Napi::Value LogMelBinding::finish(const Napi::CallbackInfo& info) {
    return run(info, [mel = mel_] { mel->finish(); });
}

Napi::Value LogMelBinding::discard(const Napi::CallbackInfo& info) {
    mel_->discard(size_at(info, 0));
    return info.Env().Undefined();
}

Napi::Value LogMelBinding::read(const Napi::CallbackInfo& info) {
    const size_t length = size_at(info, 2);
    auto result = Napi::Float32Array::New(info.Env(), length * mel_->bins());
    const float padding = info.Length() > 3 && info[3].IsNumber() ? info[3].As<Napi::Number>().FloatValue() : 0.f;
    mel_->read(size_at(info, 0), size_at(info, 1), length, padding, result.Data());
    return result;
}

}  // namespace pergola
