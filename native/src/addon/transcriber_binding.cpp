#include "transcriber_binding.hpp"

#include "binding_support.hpp"
#include "convert_transcriber.hpp"

namespace pergola {

Napi::Function TranscriberBinding::define(Napi::Env env) {
    Napi::Function function = DefineClass(
        env, "NativeTranscriber",
        {InstanceAccessor<&TranscriberBinding::info>("info"), InstanceMethod<&TranscriberBinding::encode>("encode"),
         InstanceMethod<&TranscriberBinding::detect>("detect"), InstanceMethod<&TranscriberBinding::decode>("decode"),
         InstanceMethod<&TranscriberBinding::align>("align"), InstanceMethod<&TranscriberBinding::stop>("stop"),
         InstanceMethod<&TranscriberBinding::release>("release"), InstanceMethod<&TranscriberBinding::stats>("stats"),
         InstanceMethod<&TranscriberBinding::close>("close")});
    constructor_of<TranscriberBinding>(env) = Napi::Persistent(function);
    return function;
}

Napi::Value TranscriberBinding::open(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (info.Length() < 1 || !info[0].IsObject()) throw Napi::TypeError::New(env, "options must be an object");
    const TranscriberOptions options = read_transcriber_options(info[0].As<Napi::Object>());
    return begin_open<TranscriberBinding, Transcriber>(env, [options](const LoadControl& control) { return std::make_shared<Transcriber>(options, control); });
}

TranscriberBinding::TranscriberBinding(const Napi::CallbackInfo& info) : ObjectWrap(info), environment_(&Environment::of(info.Env())) {
    if (info.Length() < 1 || !info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "NativeTranscriber is made by openTranscriber()");
    transcriber_ = *info[0].As<Napi::External<std::shared_ptr<Transcriber>>>().Data();
    environment_->add(this);
}

TranscriberBinding::~TranscriberBinding() { environment_->remove(this); }

Napi::Value TranscriberBinding::info(const Napi::CallbackInfo& info) { return to_js(info.Env(), transcriber_->info()); }

template <typename Work, typename Convert>
Napi::Value TranscriberBinding::job(const Napi::CallbackInfo& info, Work work, Convert convert) {
    const auto id = static_cast<uint64_t>(environment_->next_id());
    auto stop = std::make_shared<Transcriber::Stop>(false);
    // Of failed jobs the entries stay until the next one begins.
    for (auto it = jobs_->begin(); it != jobs_->end();) it = it->second.use_count() == 1 ? jobs_->erase(it) : std::next(it);
    auto jobs = jobs_;
    (*jobs)[id] = stop;
    auto promise = promise_of(*environment_, info.This().As<Napi::Object>(), [work, stop] { return work(*stop); },
                              [jobs, id, convert](Napi::Env env, const auto& value) {
                                  jobs->erase(id);
                                  return convert(env, value);
                              });
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("job", static_cast<double>(id));
    result.Set("promise", promise);
    return result;
}

Napi::Value TranscriberBinding::encode(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        auto windows = read_windows(info[0]);
        auto transcriber = transcriber_;
        return job(info, [transcriber, windows](const Transcriber::Stop& stop) { return transcriber->encode(windows, stop); },
                   [](Napi::Env env, const std::vector<uint64_t>& value) { return to_js(env, value); });
    });
}

Napi::Value TranscriberBinding::detect(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        auto windows = read_handles(info[0]);
        auto ids = read_ids(info[1]);
        auto transcriber = transcriber_;
        return promise_of(*environment_, info.This().As<Napi::Object>(), [transcriber, windows, ids] { return transcriber->detect(windows, ids); },
                          [](Napi::Env env, const std::vector<Detection>& value) { return to_js(env, value); });
    });
}

Napi::Value TranscriberBinding::decode(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        auto inputs = read_decode_inputs(info[0]);
        auto options = read_decode_options(info[1].ToObject(), transcriber_->tokens());
        auto transcriber = transcriber_;
        return job(info, [transcriber, inputs, options](const Transcriber::Stop& stop) { return transcriber->decode(inputs, options, stop); },
                   [](Napi::Env env, const std::vector<Decoding>& value) { return to_js(env, value); });
    });
}

Napi::Value TranscriberBinding::align(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        auto inputs = read_align_inputs(info[0]);
        auto transcriber = transcriber_;
        return promise_of(*environment_, info.This().As<Napi::Object>(), [transcriber, inputs] { return transcriber->align(inputs); },
                          [](Napi::Env env, const std::vector<Alignment>& value) { return to_js(env, value); });
    });
}

Napi::Value TranscriberBinding::stop(const Napi::CallbackInfo& info) {
    if (info.Length() > 0 && info[0].IsNumber()) {
        const auto found = jobs_->find(static_cast<uint64_t>(info[0].As<Napi::Number>().Int64Value()));
        if (found != jobs_->end()) *found->second = true;
    }
    return info.Env().Undefined();
}

Napi::Value TranscriberBinding::release(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        transcriber_->release(read_handles(info[0]));
        return info.Env().Undefined();
    });
}

Napi::Value TranscriberBinding::stats(const Napi::CallbackInfo& info) { return to_js(info.Env(), transcriber_->stats()); }

Napi::Value TranscriberBinding::close(const Napi::CallbackInfo& info) {
    auto transcriber = transcriber_;
    transcriber->interrupt();
    struct Nothing {};
    return promise_of(*environment_, info.This().As<Napi::Object>(),
                      [transcriber] {
                          transcriber->close();
                          return Nothing{};
                      },
                      [](Napi::Env env, const Nothing&) { return env.Undefined(); });
}

}  // namespace pergola
