#include "js_values.hpp"

namespace pergola {
namespace {

template <typename Array>
Array typed(const Napi::Value& from, napi_typedarray_type type, const std::string& message) {
    if (!from.IsTypedArray() || from.As<Napi::TypedArray>().TypedArrayType() != type) throw Napi::TypeError::New(from.Env(), message);
    return from.As<Array>();
}

}  // namespace

std::string text(const Napi::Object& from, const char* key) {
    const Napi::Value value = from.Get(key);
    return value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
}

std::vector<std::string> texts(const Napi::Object& from, const char* key) {
    std::vector<std::string> result;
    for_each(from.Get(key), [&](const Napi::Value& value) { result.push_back(value.ToString().Utf8Value()); });
    return result;
}

double number(const Napi::Object& from, const char* key, double fallback) {
    const Napi::Value value = from.Get(key);
    return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : fallback;
}

bool flag(const Napi::Object& from, const char* key) {
    const Napi::Value value = from.Get(key);
    return value.IsBoolean() && value.As<Napi::Boolean>().Value();
}

Napi::Object object(const Napi::Object& from, const char* key) {
    const Napi::Value value = from.Get(key);
    return value.IsObject() ? value.As<Napi::Object>() : Napi::Object::New(from.Env());
}

ov::AnyMap properties(const Napi::Object& from) {
    ov::AnyMap result;
    for_each(from.GetPropertyNames(), [&](const Napi::Value& key) {
        const std::string name = key.ToString().Utf8Value();
        const Napi::Value value = from.Get(name);
        // As text, the form that every plugin parses itself; booleans in the runtime's spelling.
        result[name] = value.IsBoolean() ? std::string(value.As<Napi::Boolean>().Value() ? "YES" : "NO") : value.ToString().Utf8Value();
    });
    return result;
}

size_t size_at(const Napi::CallbackInfo& info, size_t index) {
    const double value = info.Length() > index && info[index].IsNumber() ? info[index].As<Napi::Number>().DoubleValue() : 0;
    return value > 0 ? static_cast<size_t>(value) : 0;
}

std::vector<int32_t> int32_values(const Napi::Value& from, const char* what) {
    const auto array = typed<Napi::Int32Array>(from, napi_int32_array, std::string(what) + " must be an Int32Array");
    return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<float> float32_values(const Napi::Value& from, const char* what) {
    const auto array = typed<Napi::Float32Array>(from, napi_float32_array, std::string(what) + " must be a Float32Array");
    return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<int64_t> token_ids(const Napi::Object& from, const char* key) {
    const auto ids = int32_values(from.Get(key), key);
    return {ids.begin(), ids.end()};
}

Napi::Array texts_to_js(Napi::Env env, const std::vector<std::string>& from) {
    return list_to_js(env, from, [&](const std::string& one) { return Napi::String::New(env, one); });
}

Napi::Object to_js(Napi::Env env, const LoadTimings& timings) {
    return JsObject(env)
        .set("readMs", timings.read_ms)
        .set("convertMs", timings.convert_ms)
        .set("compileMs", timings.compile_ms)
        .set("importMs", timings.import_ms)
        .set("warmUpMs", timings.warm_up_ms);
}

}  // namespace pergola
