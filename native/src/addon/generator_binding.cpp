#include "generator_binding.hpp"

#include "convert_generator.hpp"

namespace pergola {

void GeneratorBinding::define(Napi::Env env) {
    define_as(env, "NativeGenerator",
              {InstanceAccessor<&GeneratorBinding::info>("info"),
               InstanceMethod<&GeneratorBinding::submit>("submit"),
               InstanceMethod<&GeneratorBinding::stats>("stats")});
}

Napi::Value GeneratorBinding::open(const Napi::CallbackInfo& info) {
    const GeneratorOptions options = read_generator_options(options_of(info));
    return open_with(info.Env(), [options, mailbox = Environment::of(info.Env()).mailbox()](const LoadControl& control) {
        return std::make_shared<Generator>(options, control, [mailbox](std::vector<Event>&& events) { mailbox->post(std::move(events)); });
    });
}

Napi::Value GeneratorBinding::info(const Napi::CallbackInfo& info) { return to_js(info.Env(), engine_->info()); }

Napi::Value GeneratorBinding::submit(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        if (info.Length() < 1 || !info[0].IsObject()) throw Napi::TypeError::New(info.Env(), "request must be an object");
        RequestInput input = read_request(info[0].As<Napi::Object>());
        const uint64_t id = environment_->next_id();
        engine_->submit(id, std::move(input));
        environment_->add_request(id, this, [generator = engine_, id] { generator->stop(id); });
        return Napi::Number::New(info.Env(), static_cast<double>(id));
    });
}

Napi::Value GeneratorBinding::stats(const Napi::CallbackInfo& info) { return to_js(info.Env(), engine_->stats()); }

}  // namespace pergola
