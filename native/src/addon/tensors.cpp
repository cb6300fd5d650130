#include "tensors.hpp"

#include <cstring>

#include "base/tensor_convert.hpp"
#include "js_values.hpp"

namespace pergola {
namespace {

template <typename Array>
ov::Tensor copy_of(const ov::element::Type& type, const ov::Shape& shape, const Napi::Value& data) {
    const auto values = data.As<Array>();
    if (values.ElementLength() != ov::shape_size(shape))
        throw Napi::TypeError::New(data.Env(), "a tensor holds " + std::to_string(values.ElementLength()) + " numbers, its shape " + std::to_string(ov::shape_size(shape)));
    ov::Tensor tensor(type, shape);
    std::memcpy(tensor.data(), values.Data(), values.ByteLength());
    return tensor;
}

ov::Tensor read_tensor(const Napi::Object& from) {
    ov::Shape shape;
    for_each(from.Get("shape"), [&](const Napi::Value& size) { shape.push_back(static_cast<size_t>(size.ToNumber().Int64Value())); });
    const Napi::Value data = from.Get("data");
    if (data.IsTypedArray()) {
        switch (data.As<Napi::TypedArray>().TypedArrayType()) {
        case napi_float32_array: return copy_of<Napi::Float32Array>(ov::element::f32, shape, data);
        case napi_int32_array: return copy_of<Napi::Int32Array>(ov::element::i32, shape, data);
        case napi_uint8_array: return copy_of<Napi::Uint8Array>(ov::element::u8, shape, data);
        default: break;
        }
    }
    throw Napi::TypeError::New(from.Env(), "a tensor's data must be a Float32Array, Int32Array or Uint8Array");
}

template <typename Array, typename Number>
Napi::Value values_of(Napi::Env env, const ov::Tensor& tensor) {
    auto result = Array::New(env, tensor.get_size());
    std::memcpy(result.Data(), static_cast<const Number*>(tensor.data()), tensor.get_byte_size());
    return result;
}

}  // namespace

GraphFiles read_graph_files(const Napi::Object& from) {
    GraphFiles result;
    result.xml = text(from, "xml");
    result.bin = text(from, "bin");
    result.model_key = text(from, "modelKey");
    return result;
}

std::vector<NamedTensor> read_tensors(const Napi::Value& from) {
    std::vector<NamedTensor> result;
    if (!from.IsArray()) throw Napi::TypeError::New(from.Env(), "inputs must be an array");
    for_each_object(from, [&](const Napi::Object& entry) { result.push_back({text(entry, "name"), read_tensor(entry)}); });
    return result;
}

Napi::Value to_js(Napi::Env env, const std::vector<NamedTensor>& tensors) {
    return list_to_js(env, tensors, [&](const NamedTensor& entry) -> Napi::Object {
        const auto& [name, tensor] = entry;
        const bool real = tensor.get_element_type().is_real();
        const ov::Tensor values = converted(tensor, real ? ov::element::f32 : ov::element::i32);
        return JsObject(env)
            .set("name", name)
            .set("shape", list_to_js(env, tensor.get_shape(), [&](size_t size) { return Napi::Number::New(env, static_cast<double>(size)); }))
            .set("data", real ? values_of<Napi::Float32Array, float>(env, values) : values_of<Napi::Int32Array, int32_t>(env, values));
    });
}

}  // namespace pergola
