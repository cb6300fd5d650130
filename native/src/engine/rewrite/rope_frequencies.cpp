#include <cmath>
#include <openvino/op/ops.hpp>

#include "rewrite/transforms.hpp"

namespace pergola {
namespace {

constexpr double kHalfPrecision = 1.0 / 2048;  // relative rounding error of f16

/// The base whose powers these are, as a number of two significant digits; 0 where they are none.
double base_of(const std::vector<float>& frequencies) {
    const size_t count = frequencies.size();
    if (count < 2 || frequencies[0] != 1.f) return 0;
    // Of the frequencies that f16 holds in full precision the smallest tells the base best.
    size_t last = 0;
    for (size_t i = 1; i < count && frequencies[i] > 6.2e-5f; ++i) last = i;
    if (last == 0) return 0;
    const double exact = std::exp(-std::log(static_cast<double>(frequencies[last])) * static_cast<double>(count) / static_cast<double>(last));
    const double unit = std::pow(10.0, std::floor(std::log10(exact)) - 1);
    const double base = std::round(exact / unit) * unit;
    for (size_t i = 0; i < count; ++i) {
        const double right = std::pow(base, -static_cast<double>(i) / static_cast<double>(count));
        // Below its normal range f16 has steps of a fixed size.
        if (std::abs(frequencies[i] - right) > std::max(right * kHalfPrecision, 6.0e-8)) return 0;
    }
    return base;
}

}  // namespace

size_t repair_rope_frequencies(const std::shared_ptr<ov::Model>& model) {
    size_t repaired = 0;
    for (const auto& node : model->get_ordered_ops()) {
        const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(node);
        if (!constant || constant->get_element_type() != ov::element::f16) continue;
        const auto& shape = constant->get_shape();
        if (shape.size() != 3 || shape[0] != 1 || shape[2] != 1) continue;
        const auto readers = constant->output(0).get_target_inputs();
        if (readers.size() != 1 || !ov::is_type<ov::op::v0::Convert>(readers.begin()->get_node())) continue;
        const auto base = base_of(constant->cast_vector<float>());
        if (base == 0) continue;
        std::vector<float> exact(shape[1]);
        for (size_t i = 0; i < exact.size(); ++i) exact[i] = static_cast<float>(std::pow(base, -static_cast<double>(i) / static_cast<double>(exact.size())));
        const auto convert = readers.begin()->get_node()->shared_from_this();
        convert->output(0).replace(ov::op::v0::Constant::create(ov::element::f32, shape, exact));
        ++repaired;
    }
    return repaired;
}

}  // namespace pergola
