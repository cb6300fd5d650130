#include <napi.h>

#include "convert.hpp"
#include "engine/core_registry.hpp"
#include "engine/system_info.hpp"
#include "environment.hpp"
#include "errors.hpp"
#include "generator_binding.hpp"
#include "graph_binding.hpp"
#include "image_binding.hpp"
#include "log_mel_binding.hpp"
#include "transcriber_binding.hpp"

namespace pergola {
namespace {

constexpr int kAbi = 3;  // NATIVE_ABI of native-types.ts

Napi::Value set_event_handler(const Napi::CallbackInfo& info) {
    if (info.Length() < 1 || !info[0].IsFunction()) throw Napi::TypeError::New(info.Env(), "handler must be a function");
    Environment::of(info.Env()).set_handler(info[0].As<Napi::Function>());
    return info.Env().Undefined();
}

Napi::Array texts(Napi::Env env, const std::vector<std::string>& from) {
    Napi::Array result = Napi::Array::New(env, from.size());
    for (uint32_t i = 0; i < from.size(); ++i) result.Set(i, from[i]);
    return result;
}

Napi::Value list_devices_async(const Napi::CallbackInfo& info) {
    auto deferred = std::make_shared<Napi::Promise::Deferred>(info.Env());
    auto devices = std::make_shared<std::vector<DeviceInfo>>();
    Environment::of(info.Env())
        .run([devices] { *devices = list_devices(); },
             [deferred, devices](Napi::Env env, std::exception_ptr error) {
                 if (error) return deferred->Reject(to_js_error(env, error).Value());
                 Napi::Array result = Napi::Array::New(env, devices->size());
                 for (uint32_t i = 0; i < devices->size(); ++i) {
                     const DeviceInfo& device = (*devices)[i];
                     Napi::Object entry = Napi::Object::New(env);
                     entry.Set("name", device.name);
                     entry.Set("fullName", device.full_name);
                     entry.Set("capabilities", texts(env, device.capabilities));
                     if (device.memory_bytes > 0) entry.Set("memoryBytes", static_cast<double>(device.memory_bytes));
                     result.Set(i, entry);
                 }
                 deferred->Resolve(result);
             });
    return deferred->Promise();
}

Napi::Value system_info(const Napi::CallbackInfo& info) {
    const SystemInfo system = read_system_info();
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("cpuModel", system.cpu_model);
    result.Set("cpuFlags", texts(info.Env(), system.cpu_flags));
    result.Set("totalMemoryBytes", static_cast<double>(system.total_memory));
    result.Set("availableMemoryBytes", static_cast<double>(system.available_memory));
    return result;
}

Napi::Value abort_load(const Napi::CallbackInfo& info) {
    if (info.Length() > 0 && info[0].IsNumber()) Environment::of(info.Env()).abort_load(info[0].As<Napi::Number>().DoubleValue());
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
    Napi::Object about = Napi::Object::New(env);
    about.Set("abi", kAbi);
    about.Set("runtime", ov::get_openvino_version().buildNumber);
    about.Set("build", PERGOLA_BUILD);
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
    exports.Set("abortLoad", Napi::Function::New(env, abort_load));
    return exports;
}

}  // namespace
}  // namespace pergola

static Napi::Object pergola_init(Napi::Env env, Napi::Object exports) { return pergola::init(env, exports); }
NODE_API_MODULE(pergola, pergola_init)
