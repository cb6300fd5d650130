#include "generator_binding.hpp"

#include "binding_support.hpp"
#include "convert.hpp"
#include "errors.hpp"
#include "events.hpp"

namespace pergola {
Napi::Function GeneratorBinding::define(Napi::Env env) {
    Napi::Function function = DefineClass(env, "NativeGenerator",
                                          {InstanceAccessor<&GeneratorBinding::info>("info"), InstanceMethod<&GeneratorBinding::submit>("submit"),
                                           InstanceMethod<&GeneratorBinding::stop>("stop"), InstanceMethod<&GeneratorBinding::stats>("stats"),
                                           InstanceMethod<&GeneratorBinding::close>("close")});
    constructor_of<GeneratorBinding>(env) = Napi::Persistent(function);
    return function;
}

Napi::Value GeneratorBinding::open(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (info.Length() < 1 || !info[0].IsObject()) throw Napi::TypeError::New(env, "options must be an object");
    const GeneratorOptions options = read_generator_options(info[0].As<Napi::Object>());
    auto mailbox = Environment::of(env).mailbox();
    return begin_open<GeneratorBinding, Generator>(env, [options, mailbox](const LoadControl& control) {
        return std::make_shared<Generator>(options, control, [mailbox](std::vector<Event>&& events) { mailbox->post(std::move(events)); });
    });
}

GeneratorBinding::GeneratorBinding(const Napi::CallbackInfo& info) : ObjectWrap(info), environment_(&Environment::of(info.Env())) {
    if (info.Length() < 1 || !info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "NativeGenerator is made by openGenerator()");
    generator_ = *info[0].As<Napi::External<std::shared_ptr<Generator>>>().Data();
    environment_->add(this);
}

GeneratorBinding::~GeneratorBinding() { environment_->remove(this); }

void GeneratorBinding::interrupt() { generator_->interrupt(); }

void GeneratorBinding::close_now() { generator_->close(); }

Napi::Value GeneratorBinding::info(const Napi::CallbackInfo& info) { return to_js(info.Env(), generator_->info()); }

Napi::Value GeneratorBinding::submit(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        if (info.Length() < 1 || !info[0].IsObject()) throw Napi::TypeError::New(info.Env(), "request must be an object");
        RequestInput input = read_request(info[0].As<Napi::Object>());
        const double id = environment_->next_id();
        generator_->submit(static_cast<uint64_t>(id), std::move(input));
        environment_->begin_request(static_cast<uint64_t>(id), this);
        return Napi::Number::New(info.Env(), id);
    });
}

Napi::Value GeneratorBinding::stop(const Napi::CallbackInfo& info) {
    if (info.Length() > 0 && info[0].IsNumber()) generator_->stop(static_cast<uint64_t>(info[0].As<Napi::Number>().Int64Value()));
    return info.Env().Undefined();
}

Napi::Value GeneratorBinding::stats(const Napi::CallbackInfo& info) { return to_js(info.Env(), generator_->stats()); }

Napi::Value GeneratorBinding::close(const Napi::CallbackInfo& info) {
    auto deferred = std::make_shared<Napi::Promise::Deferred>(info.Env());
    auto generator = generator_;
    environment_->run([generator] { generator->close(); },
                      [deferred](Napi::Env env, std::exception_ptr error) {
                          if (error) deferred->Reject(to_js_error(env, error).Value());
                          else deferred->Resolve(env.Undefined());
                      });
    return deferred->Promise();
}

}  // namespace pergola
