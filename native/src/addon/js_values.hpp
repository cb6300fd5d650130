#pragma once

#include <napi.h>

#include <cstdint>
#include <openvino/openvino.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/load_control.hpp"

namespace pergola {

// Reading fields of an options object. TypeScript has checked them; what is missing gets its neutral value.

std::string text(const Napi::Object& from, const char* key);
std::vector<std::string> texts(const Napi::Object& from, const char* key);
double number(const Napi::Object& from, const char* key, double fallback = 0);
bool flag(const Napi::Object& from, const char* key);
Napi::Object object(const Napi::Object& from, const char* key);
ov::AnyMap properties(const Napi::Object& from);

inline size_t size(const Napi::Object& from, const char* key, double fallback = 0) { return static_cast<size_t>(number(from, key, fallback)); }

/// The number that is the argument at this place; 0 where it is none, or negative.
size_t size_at(const Napi::CallbackInfo& info, size_t index);

/// Calls `each(value)` for every element; not at all for what is no array.
template <typename Each>
void for_each(const Napi::Value& from, Each each) {
    if (!from.IsArray()) return;
    const Napi::Array list = from.As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i) each(list.Get(i));
}

/// The same for what has to be an array of objects.
template <typename Each>
void for_each_object(const Napi::Value& from, Each each) {
    if (!from.IsArray()) throw Napi::TypeError::New(from.Env(), "expected an array of objects");
    for_each(from, [&](const Napi::Value& value) { each(value.ToObject()); });
}

/// Elements of a typed array of this type; throws TypeError, naming `what`, for anything else.
std::vector<int32_t> int32_values(const Napi::Value& from, const char* what);
std::vector<float> float32_values(const Napi::Value& from, const char* what);
/// `Int32Array` of token ids in a field.
std::vector<int64_t> token_ids(const Napi::Object& from, const char* key);

// Making JavaScript values.

/// An object, field by field; numbers of all types become JavaScript's.
class JsObject {
public:
    explicit JsObject(Napi::Env env) : object_(Napi::Object::New(env)) {}

    template <typename Value>
    JsObject& set(const char* key, const Value& value) {
        if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) object_.Set(key, static_cast<double>(value));
        else object_.Set(key, value);
        return *this;
    }
    operator Napi::Object() const { return object_; }

private:
    Napi::Object object_;
};

/// An array of what `convert(item)` makes.
template <typename Items, typename Convert>
Napi::Array list_to_js(Napi::Env env, const Items& items, Convert convert) {
    Napi::Array result = Napi::Array::New(env, items.size());
    uint32_t at = 0;
    for (const auto& item : items) result.Set(at++, convert(item));
    return result;
}
Napi::Array texts_to_js(Napi::Env env, const std::vector<std::string>& from);

/// A typed array with these values.
template <typename Array, typename Values>
Array typed_array(Napi::Env env, const Values& values) {
    auto result = Array::New(env, values.size());
    for (size_t i = 0; i < values.size(); ++i) result[i] = static_cast<std::decay_t<decltype(result[i])>>(values[i]);
    return result;
}

Napi::Object to_js(Napi::Env env, const LoadTimings& timings);

}  // namespace pergola
