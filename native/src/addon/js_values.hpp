#pragma once

#include <napi.h>

#include <openvino/openvino.hpp>
#include <string>

#include "engine/language_model.hpp"

namespace pergola {

/// Reading fields of an options object. TypeScript has checked them; what is missing gets its neutral value.
inline std::string text(const Napi::Object& from, const char* key) {
    const Napi::Value value = from.Get(key);
    return value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
}

inline double number(const Napi::Object& from, const char* key, double fallback = 0) {
    const Napi::Value value = from.Get(key);
    return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : fallback;
}

inline bool flag(const Napi::Object& from, const char* key) {
    const Napi::Value value = from.Get(key);
    return value.IsBoolean() && value.As<Napi::Boolean>().Value();
}

inline Napi::Object object(const Napi::Object& from, const char* key) {
    const Napi::Value value = from.Get(key);
    return value.IsObject() ? value.As<Napi::Object>() : Napi::Object::New(from.Env());
}

inline ov::AnyMap properties(const Napi::Object& from) {
    ov::AnyMap result;
    const Napi::Array names = from.GetPropertyNames();
    for (uint32_t i = 0; i < names.Length(); ++i) {
        const std::string name = names.Get(i).ToString().Utf8Value();
        const Napi::Value value = from.Get(name);
        // As text, the form that every plugin parses itself; booleans in the runtime's spelling.
        result[name] = value.IsBoolean() ? std::string(value.As<Napi::Boolean>().Value() ? "YES" : "NO") : value.ToString().Utf8Value();
    }
    return result;
}

inline Napi::Object to_js(Napi::Env env, const LoadTimings& timings) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("readMs", timings.read_ms);
    result.Set("convertMs", timings.convert_ms);
    result.Set("compileMs", timings.compile_ms);
    result.Set("importMs", timings.import_ms);
    result.Set("warmUpMs", timings.warm_up_ms);
    return result;
}

}  // namespace pergola
