#include <cstring>
#include <limits>
#include <map>
#include <openvino/op/ops.hpp>
#include <optional>

#include "rewrite/transforms.hpp"

namespace pergola {
namespace {

using NodePtr = std::shared_ptr<ov::Node>;

/// One rotation of neighbouring pairs, `x * cos + reshape(concat(-odd, even)) * sin`, over the rows of one projection.
struct PairRotation {
    NodePtr add;
    ov::Output<ov::Node> x;  // [.., heads, size]
    ov::Output<ov::Node> cos, sin;  // [.., size / 2]
    NodePtr projection;  // MatMul with constant weights
    NodePtr bias;        // Add of a constant behind it, or null
    size_t heads = 0, size = 0;
};

std::optional<std::vector<float>> constant_floats(const ov::Output<ov::Node>& output) {
    const auto constant = ov::as_type<ov::op::v0::Constant>(output.get_node());
    if (!constant || !constant->get_element_type().is_real()) return std::nullopt;
    return constant->cast_vector<float>();
}

/// `reshape(broadcast(unsqueeze(half)))`: every value twice, side by side. Returns `half`.
std::optional<ov::Output<ov::Node>> doubled(const ov::Output<ov::Node>& table, size_t size) {
    const auto* reshape = ov::as_type<ov::op::v1::Reshape>(table.get_node());
    if (!reshape) return std::nullopt;
    const auto* broadcast = ov::as_type<ov::op::v3::Broadcast>(reshape->get_input_node_ptr(0));
    if (!broadcast) return std::nullopt;
    const auto* unsqueeze = ov::as_type<ov::op::v0::Unsqueeze>(broadcast->get_input_node_ptr(0));
    if (!unsqueeze) return std::nullopt;
    const auto half = unsqueeze->input_value(0);
    const auto shape = half.get_partial_shape();
    const auto wide = unsqueeze->get_output_partial_shape(0);
    if (shape.rank().is_dynamic() || shape[shape.size() - 1] != static_cast<int64_t>(size / 2)) return std::nullopt;
    if (wide[wide.size() - 1] != 1) return std::nullopt;
    return half;
}

std::optional<PairRotation> match(const NodePtr& add, const NodePtr& cos_side, const NodePtr& sin_side) {
    if (!ov::is_type<ov::op::v1::Multiply>(cos_side) || !ov::is_type<ov::op::v1::Multiply>(sin_side)) return std::nullopt;
    for (size_t port = 0; port < 2; ++port) {
        const auto rotated = ov::as_type_ptr<ov::op::v1::Reshape>(sin_side->get_input_node_shared_ptr(port));
        if (!rotated) continue;
        const auto concat = ov::as_type_ptr<ov::op::v0::Concat>(rotated->get_input_node_shared_ptr(0));
        if (!concat || concat->get_input_size() != 2) continue;
        const auto negative = ov::as_type_ptr<ov::op::v1::Multiply>(concat->get_input_node_shared_ptr(0));
        if (!negative) continue;
        const auto factor = constant_floats(negative->input_value(1));
        if (!factor || factor->size() != 1 || factor->front() != -1.f) continue;
        const auto odd = negative->input_value(0), even = concat->input_value(1);
        const auto split = ov::as_type_ptr<ov::op::v1::Split>(odd.get_node_shared_ptr());
        if (!split || even.get_node_shared_ptr() != split || odd.get_index() != 1 || even.get_index() != 0) continue;
        const auto pairs = ov::as_type_ptr<ov::op::v1::Reshape>(split->get_input_node_shared_ptr(0));
        if (!pairs) continue;
        const auto pair_shape = pairs->get_output_partial_shape(0);
        if (pair_shape.size() != 5 || pair_shape[4] != 2 || pair_shape[3].is_dynamic() || pair_shape[2].is_dynamic()) continue;
        PairRotation found;
        found.add = add;
        found.x = pairs->input_value(0);
        found.heads = static_cast<size_t>(pair_shape[2].get_length());
        found.size = static_cast<size_t>(pair_shape[3].get_length()) * 2;
        const size_t x_port = cos_side->input_value(0) == found.x ? 0 : 1;
        if (cos_side->input_value(x_port) != found.x) continue;
        const auto cos = doubled(cos_side->input_value(1 - x_port), found.size);
        const auto sin = doubled(sin_side->input_value(1 - port), found.size);
        if (!cos || !sin) continue;
        found.cos = *cos;
        found.sin = *sin;
        return found;
    }
    return std::nullopt;
}

/// The projection whose rows are the rotated channels. It must feed nothing else, because its rows are about to change places.
bool find_projection(PairRotation& rotation) {
    const auto view = rotation.x.get_node_shared_ptr();
    if (!ov::is_type<ov::op::v1::Reshape>(view)) return false;
    NodePtr node = view->get_input_node_shared_ptr(0);
    if (node->get_output_target_inputs(0).size() != 1) return false;
    if (ov::is_type<ov::op::v1::Add>(node) && ov::is_type<ov::op::v0::Constant>(node->get_input_node_ptr(1))) {
        rotation.bias = node;
        node = node->get_input_node_shared_ptr(0);
        if (node->get_output_target_inputs(0).size() != 1) return false;
    }
    const auto matmul = ov::as_type_ptr<ov::op::v0::MatMul>(node);
    if (!matmul || !matmul->get_transpose_b()) return false;
    const auto weights = matmul->get_input_partial_shape(1);
    if (weights.is_dynamic() || weights.size() != 2 || weights[0] != static_cast<int64_t>(rotation.heads * rotation.size)) return false;
    rotation.projection = matmul;
    return true;
}

/// Constants behind a weight, each used by this weight only. False when something else is found.
bool collect_constants(const ov::Input<ov::Node>& input, std::vector<ov::Input<ov::Node>>& found, int depth = 0) {
    const auto node = input.get_source_output().get_node_shared_ptr();
    if (node->get_output_target_inputs(0).size() != 1 && !ov::is_type<ov::op::v0::Constant>(node)) return false;
    if (ov::is_type<ov::op::v0::Constant>(node)) {
        found.push_back(input);
        return true;
    }
    if (depth > 8 || node->get_input_size() == 0) return false;
    for (size_t i = 0; i < node->get_input_size(); ++i)
        if (!collect_constants(node->input(i), found, depth + 1)) return false;
    return true;
}

/// Rows of a head from (0, 1, 2, 3, ...) to (0, 2, ..., 1, 3, ...): pairs that lay side by side then lie half a head apart.
NodePtr with_moved_rows(const ov::op::v0::Constant& from, size_t rows, size_t size) {
    auto result = std::make_shared<ov::op::v0::Constant>(from.get_element_type(), from.get_shape());
    const size_t bytes = from.get_byte_size() / rows;
    const auto* source = static_cast<const char*>(from.get_data_ptr());
    auto* target = static_cast<char*>(const_cast<void*>(result->get_data_ptr()));
    for (size_t row = 0; row < rows; ++row) {
        const size_t channel = row % size, half = size / 2;
        const size_t old = row - channel + (channel < half ? 2 * channel : 2 * (channel - half) + 1);
        std::memcpy(target + row * bytes, source + old * bytes, bytes);
    }
    return result;
}

/// A constant that holds one entry a row, at its first (or, for biases, last) axis.
bool holds_rows(const ov::op::v0::Constant& constant, size_t rows) {
    const auto& shape = constant.get_shape();
    return ov::shape_size(shape) >= rows && (shape.front() == rows || (ov::shape_size(shape) == rows && shape.back() == rows)) &&
           constant.get_byte_size() % rows == 0 && ov::shape_size(shape) % rows == 0;
}

void move_rows(const PairRotation& rotation, const std::vector<ov::Input<ov::Node>>& constants) {
    const size_t rows = rotation.heads * rotation.size;
    for (auto input : constants) {
        const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(input.get_source_output().get_node_shared_ptr());
        if (holds_rows(*constant, rows)) input.replace_source_output(with_moved_rows(*constant, rows, rotation.size));
    }
}

ov::Output<ov::Node> slice(const ov::Output<ov::Node>& x, int64_t begin, int64_t end) {
    const auto number = [](int64_t value) { return ov::op::v0::Constant::create(ov::element::i64, {1}, {value}); };
    return std::make_shared<ov::op::v8::Slice>(x, number(begin), number(end), number(1), number(3));
}

ov::Output<ov::Node> repeated(const ov::Output<ov::Node>& half, std::map<ov::Output<ov::Node>, ov::Output<ov::Node>>& made) {
    auto& entry = made[half];
    if (!entry.get_node()) entry = std::make_shared<ov::op::v0::Concat>(ov::OutputVector{half, half}, -1)->output(0);
    return entry;
}

}  // namespace

size_t rotate_by_halves(const std::shared_ptr<ov::Model>& model) {
    std::vector<PairRotation> rotations;
    std::vector<std::vector<ov::Input<ov::Node>>> constants;
    size_t attentions = 0;
    for (const auto& node : model->get_ordered_ops()) {
        if (ov::is_type<ov::op::v13::ScaledDotProductAttention>(node)) ++attentions;
        if (!ov::is_type<ov::op::v1::Add>(node)) continue;
        auto found = match(node, node->get_input_node_shared_ptr(0), node->get_input_node_shared_ptr(1));
        if (!found) found = match(node, node->get_input_node_shared_ptr(1), node->get_input_node_shared_ptr(0));
        if (!found || found->x.get_partial_shape().size() != 4) continue;
        std::vector<ov::Input<ov::Node>> parts;
        if (!find_projection(*found) || !collect_constants(found->projection->input(1), parts)) return 0;
        if (found->bias) parts.push_back(found->bias->input(1));
        rotations.push_back(*found);
        constants.push_back(parts);
    }
    // Queries and keys must change together: all of them or none.
    if (rotations.size() != 2 * attentions) return 0;
    std::map<ov::Output<ov::Node>, ov::Output<ov::Node>> tables;
    for (size_t i = 0; i < rotations.size(); ++i) {
        const PairRotation& rotation = rotations[i];
        move_rows(rotation, constants[i]);
        const auto half = static_cast<int64_t>(rotation.size / 2);
        const auto low = slice(rotation.x, 0, half);
        const auto high = slice(rotation.x, half, std::numeric_limits<int64_t>::max());
        const auto minus = std::make_shared<ov::op::v1::Multiply>(high, ov::op::v0::Constant::create(ov::element::f32, {1, 1, 1, 1}, {-1.f}));
        const auto turned = std::make_shared<ov::op::v0::Concat>(ov::OutputVector{minus, low}, -1);
        const auto sum = std::make_shared<ov::op::v1::Add>(std::make_shared<ov::op::v1::Multiply>(rotation.x, repeated(rotation.cos, tables)),
                                                           std::make_shared<ov::op::v1::Multiply>(turned, repeated(rotation.sin, tables)));
        sum->set_friendly_name(rotation.add->get_friendly_name());
        ov::replace_node(rotation.add, sum);
    }
    if (!rotations.empty()) model->validate_nodes_and_infer_types();
    return rotations.size();
}

}  // namespace pergola
