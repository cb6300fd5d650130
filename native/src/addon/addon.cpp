#include <napi.h>

#include "base/system_info.hpp"
#include "generator_binding.hpp"
#include "graph_binding.hpp"
#include "image_binding.hpp"
#include "log_mel_binding.hpp"
#include "runtime/core_registry.hpp"
#include "transcriber_binding.hpp"

namespace pergola {
namespace {

constexpr int kAbi = 4;  // NATIVE_ABI of native-types.ts

Napi::Value set_event_handler(const Napi::CallbackInfo& info) {
    if (info.Length() < 1 || !info[0].IsFunction()) throw Napi::TypeError::New(info.Env(), "handler must be a function");
    Environment::of(info.Env()).set_handler(info[0].As<Napi::Function>());
    return info.Env().Undefined();
}

Napi::Value list_devices_async(const Napi::CallbackInfo& info) {
    Environment& environment = Environment::of(info.Env());
    return start_work(environment, environment.next_id(), Napi::Object::New(info.Env()), {}, [] { return list_devices(); },
                      [](Napi::Env env, const std::vector<DeviceInfo>& devices) {
                          return list_to_js(env, devices, [&](const DeviceInfo& device) -> Napi::Object {
                              JsObject entry(env);
                              entry.set("name", device.name).set("fullName", device.full_name).set("capabilities", texts_to_js(env, device.capabilities));
                              if (device.memory_bytes > 0) entry.set("memoryBytes", device.memory_bytes);
                              return entry;
                          });
                      });
}

Napi::Value system_info(const Napi::CallbackInfo& info) {
    const SystemInfo system = read_system_info();
    return JsObject(info.Env())
        .set("cpuModel", system.cpu_model)
        .set("cpuFlags", texts_to_js(info.Env(), system.cpu_flags))
        .set("totalMemoryBytes", system.total_memory)
        .set("availableMemoryBytes", system.available_memory);
}

Napi::Value stop(const Napi::CallbackInfo& info) {
    Environment::of(info.Env()).stop(size_at(info, 0));
    return info.Env().Undefined();
}

Napi::Value shut_down(const Napi::CallbackInfo& info) {
    Environment::of(info.Env()).tear_down();
    return info.Env().Undefined();
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
    env.SetInstanceData(new Environment(env));
    GeneratorBinding::define(env);
    GraphBinding::define(env);
    LogMelBinding::define(env);
    TranscriberBinding::define(env);
    const Napi::Object about = JsObject(env).set("abi", kAbi).set("runtime", ov::get_openvino_version().buildNumber).set("build", PERGOLA_BUILD);
    exports.Set("info", about);
    exports.Set("setEventHandler", Napi::Function::New(env, set_event_handler));
    exports.Set("listDevices", Napi::Function::New(env, list_devices_async));
    exports.Set("systemInfo", Napi::Function::New(env, system_info));
    exports.Set("openGenerator", Napi::Function::New(env, GeneratorBinding::open));
    exports.Set("openTranscriber", Napi::Function::New(env, TranscriberBinding::open));
    exports.Set("openGraph", Napi::Function::New(env, GraphBinding::open));
    exports.Set("resizeImage", Napi::Function::New(env, resize_image_async));
    exports.Set("createLogMel", Napi::Function::New(env, LogMelBinding::create));
    exports.Set("shutDown", Napi::Function::New(env, shut_down));
    exports.Set("stop", Napi::Function::New(env, stop));
    return exports;
}

}  // namespace
}  // namespace pergola

static Napi::Object pergola_init(Napi::Env env, Napi::Object exports) { return pergola::init(env, exports); }
NODE_API_MODULE(pergola, pergola_init)
