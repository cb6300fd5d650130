#include "base/tensor_convert.hpp"

#include <algorithm>
#include <stdexcept>

namespace pergola {
namespace {

template <typename From, typename To>
void copy_values(const ov::Tensor& from, ov::Tensor& to) {
    const From* source = static_cast<const From*>(from.data());
    std::transform(source, source + from.get_size(), static_cast<To*>(to.data()), [](From value) { return static_cast<To>(value); });
}

template <typename From>
bool copy_from(const ov::Tensor& from, ov::Tensor& to) {
    const auto type = to.get_element_type();
    if (type == ov::element::f32) copy_values<From, float>(from, to);
    else if (type == ov::element::f16) copy_values<From, ov::float16>(from, to);
    else if (type == ov::element::bf16) copy_values<From, ov::bfloat16>(from, to);
    else if (type == ov::element::i64) copy_values<From, int64_t>(from, to);
    else if (type == ov::element::i32) copy_values<From, int32_t>(from, to);
    else if (type == ov::element::u8) copy_values<From, uint8_t>(from, to);
    else if (type == ov::element::boolean) copy_values<From, bool>(from, to);
    else return false;
    return true;
}

}  // namespace

ov::Tensor converted(const ov::Tensor& tensor, const ov::element::Type& type) {
    const auto from = tensor.get_element_type();
    if (from == type || type.is_dynamic()) return tensor;
    ov::Tensor result(type, tensor.get_shape());
    bool known = false;
    // A fraction must not become a whole number in silence.
    const bool narrows = from.is_real() && !type.is_real();
    if (narrows) known = false;
    else if (from == ov::element::f32) known = copy_from<float>(tensor, result);
    else if (from == ov::element::f16) known = copy_from<ov::float16>(tensor, result);
    else if (from == ov::element::bf16) known = copy_from<ov::bfloat16>(tensor, result);
    else if (from == ov::element::i64) known = copy_from<int64_t>(tensor, result);
    else if (from == ov::element::i32) known = copy_from<int32_t>(tensor, result);
    else if (from == ov::element::u8) known = copy_from<uint8_t>(tensor, result);
    else if (from == ov::element::boolean) known = copy_from<bool>(tensor, result);
    if (!known) throw std::runtime_error("a tensor of " + from.get_type_name() + " cannot be given as " + type.get_type_name());
    return result;
}

}  // namespace pergola
