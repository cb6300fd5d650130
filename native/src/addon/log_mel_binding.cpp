#include "log_mel_binding.hpp"

#include "binding_support.hpp"

namespace pergola {
namespace {

size_t size_at(const Napi::CallbackInfo& info, size_t index) {
    const double value = info.Length() > index && info[index].IsNumber() ? info[index].As<Napi::Number>().DoubleValue() : 0;
    return value > 0 ? static_cast<size_t>(value) : 0;
}

struct Nothing {};
Napi::Value undefined(Napi::Env env, const Nothing&) { return env.Undefined(); }

}  // namespace

Napi::Function LogMelBinding::define(Napi::Env env) {
    Napi::Function function = DefineClass(
        env, "NativeLogMel",
        {InstanceAccessor<&LogMelBinding::bins>("bins"), InstanceAccessor<&LogMelBinding::frames>("frames"),
         InstanceAccessor<&LogMelBinding::first_frame>("firstFrame"), InstanceMethod<&LogMelBinding::append>("append"),
         InstanceMethod<&LogMelBinding::finish>("finish"), InstanceMethod<&LogMelBinding::discard>("discard"), InstanceMethod<&LogMelBinding::read>("read")});
    constructor_of<LogMelBinding>(env) = Napi::Persistent(function);
    return function;
}

Napi::Value LogMelBinding::create(const Napi::CallbackInfo& info) {
    return constructor_of<LogMelBinding>(info.Env()).New({Napi::Number::New(info.Env(), static_cast<double>(size_at(info, 0)))});
}

LogMelBinding::LogMelBinding(const Napi::CallbackInfo& info) : ObjectWrap(info), work_(std::make_shared<Work>()) {
    const size_t bins = size_at(info, 0);
    if (bins == 0 || bins > 512) throw Napi::TypeError::New(info.Env(), "bins must be a number from 1 to 512");
    work_->mel = std::make_shared<LogMel>(bins);
}

LogMelBinding& LogMelBinding::of(const Napi::Value& value) {
    if (!value.IsObject() || !value.As<Napi::Object>().InstanceOf(constructor_of<LogMelBinding>(value.Env()).Value()))
        throw Napi::TypeError::New(value.Env(), "mel must be an object made by createLogMel()");
    return *Unwrap(value.As<Napi::Object>());
}

void LogMelBinding::Work::drain() {
    std::lock_guard<std::mutex> computing(compute_mutex);
    for (;;) {
        std::vector<float> piece;
        {
            std::lock_guard<std::mutex> lock(queue_mutex);
            if (pieces.empty()) return;
            piece = std::move(pieces.front());
            pieces.pop_front();
        }
        mel->append(std::move(piece));
    }
}

Napi::Value LogMelBinding::bins(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), static_cast<double>(work_->mel->bins())); }

Napi::Value LogMelBinding::frames(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), static_cast<double>(work_->mel->frames())); }

Napi::Value LogMelBinding::first_frame(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(work_->mel->first_frame()));
}

Napi::Value LogMelBinding::append(const Napi::CallbackInfo& info) {
    if (info.Length() < 1 || !info[0].IsTypedArray() || info[0].As<Napi::TypedArray>().TypedArrayType() != napi_float32_array)
        throw Napi::TypeError::New(info.Env(), "samples must be a Float32Array");
    const auto samples = info[0].As<Napi::Float32Array>();
    auto work = work_;
    {
        std::lock_guard<std::mutex> lock(work->queue_mutex);
        work->pieces.emplace_back(samples.Data(), samples.Data() + samples.ElementLength());
    }
    return promise_of(Environment::of(info.Env()), info.This().As<Napi::Object>(), [work] { work->drain(); return Nothing{}; }, undefined);
}

Napi::Value LogMelBinding::finish(const Napi::CallbackInfo& info) {
    auto work = work_;
    return promise_of(Environment::of(info.Env()), info.This().As<Napi::Object>(),
                      [work] {
                          work->drain();
                          work->mel->finish();
                          return Nothing{};
                      },
                      undefined);
}

Napi::Value LogMelBinding::discard(const Napi::CallbackInfo& info) {
    work_->mel->discard(size_at(info, 0));
    return info.Env().Undefined();
}

Napi::Value LogMelBinding::read(const Napi::CallbackInfo& info) {
    const size_t length = size_at(info, 2);
    auto result = Napi::Float32Array::New(info.Env(), length * work_->mel->bins());
    const float padding = info.Length() > 3 && info[3].IsNumber() ? info[3].As<Napi::Number>().FloatValue() : 0.f;
    work_->mel->read(size_at(info, 0), size_at(info, 1), length, padding, result.Data());
    return result;
}

}  // namespace pergola
