#include <cstring>
#include <map>
#include <openvino/op/ops.hpp>

#include "rewrite/transforms.hpp"

namespace pergola {
namespace {

using NodePtr = std::shared_ptr<ov::Node>;
using Outputs = std::vector<ov::Output<ov::Node>>;

std::shared_ptr<ov::op::v0::Constant> as_constant(const ov::Output<ov::Node>& output) {
    return ov::as_type_ptr<ov::op::v0::Constant>(output.get_node_shared_ptr());
}

/// Constants one below the other. Null when they do not fit together.
NodePtr stacked(const Outputs& parts) {
    ov::Shape shape = as_constant(parts.front())->get_shape();
    const auto type = parts.front().get_element_type();
    if (shape.empty()) return nullptr;
    size_t rows = 0;
    for (const auto& part : parts) {
        ov::Shape other = as_constant(part)->get_shape();
        if (other.size() != shape.size() || part.get_element_type() != type) return nullptr;
        if (!std::equal(other.begin() + 1, other.end(), shape.begin() + 1)) return nullptr;
        // Rows of less than a byte's multiple cannot be put together as bytes.
        if (ov::shape_size(other) * type.bitwidth() % 8 != 0) return nullptr;
        rows += other[0];
    }
    shape[0] = rows;
    auto result = std::make_shared<ov::op::v0::Constant>(type, shape);
    auto* target = static_cast<char*>(const_cast<void*>(result->get_data_ptr()));
    for (const auto& part : parts) {
        const auto constant = as_constant(part);
        std::memcpy(target, constant->get_data_ptr(), constant->get_byte_size());
        target += constant->get_byte_size();
    }
    return result;
}

bool equal_constants(const Outputs& parts) {
    const auto first = as_constant(parts.front());
    for (const auto& part : parts) {
        const auto other = as_constant(part);
        if (other->get_shape() != first->get_shape() || other->get_element_type() != first->get_element_type() ||
            std::memcmp(other->get_data_ptr(), first->get_data_ptr(), first->get_byte_size()) != 0)
            return false;
    }
    return true;
}

/// The weights of several matrices as one, by walking their subgraphs side by side. Null when these differ in form.
NodePtr merged(const Outputs& parts, const std::vector<size_t>& rows, int depth = 0) {
    const auto first = parts.front().get_node_shared_ptr();
    if (depth > 8) return nullptr;
    for (const auto& part : parts) {
        if (part.get_node()->get_type_info() != first->get_type_info()) return nullptr;
        if (!as_constant(part) && part.get_target_inputs().size() != 1) return nullptr;
    }
    if (as_constant(parts.front())) {
        bool by_row = true;
        for (size_t i = 0; i < parts.size(); ++i) {
            const auto& shape = as_constant(parts[i])->get_shape();
            by_row = by_row && !shape.empty() && shape[0] == rows[i];
        }
        if (by_row) return stacked(parts);
        return equal_constants(parts) ? first : nullptr;
    }
    const size_t inputs = first->get_input_size();
    if (inputs == 0) return nullptr;
    ov::OutputVector arguments;
    for (size_t port = 0; port < inputs; ++port) {
        Outputs below;
        for (const auto& part : parts) below.push_back(part.get_node()->input_value(port));
        if (ov::is_type<ov::op::v1::Reshape>(first) && port == 1) {
            // Target shapes name the rows; the merged one has their sum.
            auto target = as_constant(below.front()) ? as_constant(below.front())->cast_vector<int64_t>() : std::vector<int64_t>();
            if (target.empty() || target[0] != static_cast<int64_t>(rows[0])) return nullptr;
            target[0] = 0;
            for (size_t count : rows) target[0] += static_cast<int64_t>(count);
            arguments.push_back(ov::op::v0::Constant::create(ov::element::i64, {target.size()}, target));
            continue;
        }
        const NodePtr one = merged(below, rows, depth + 1);
        if (!one) return nullptr;
        arguments.push_back(one);
    }
    const NodePtr whole = first->clone_with_new_inputs(arguments);
    // Without its notes ("decompression") a Convert of f16 weights would be folded to f32: twice the memory and traffic.
    // That note is not one that ov::copy_runtime_info copies.
    whole->get_rt_info() = first->get_rt_info();
    return whole;
}

bool fuse(const std::vector<std::shared_ptr<ov::op::v0::MatMul>>& group) {
    Outputs weights;
    std::vector<size_t> rows;
    std::vector<int64_t> lengths;
    for (const auto& matmul : group) {
        weights.push_back(matmul->input_value(1));
        rows.push_back(weights.back().get_shape()[0]);
        lengths.push_back(static_cast<int64_t>(rows.back()));
    }
    const NodePtr weight = merged(weights, rows);
    if (!weight) return false;
    const auto whole = std::make_shared<ov::op::v0::MatMul>(group.front()->input_value(0), weight, false, true);
    whole->set_friendly_name(group.front()->get_friendly_name() + "/fused");
    const auto axis = ov::op::v0::Constant::create(ov::element::i64, {}, {-1});
    const auto split = std::make_shared<ov::op::v1::VariadicSplit>(whole, axis, ov::op::v0::Constant::create(ov::element::i64, {lengths.size()}, lengths));
    for (size_t i = 0; i < group.size(); ++i) {
        const auto users = group[i]->output(0).get_target_inputs();
        for (auto user : users) user.replace_source_output(split->output(i));
    }
    return true;
}

}  // namespace

size_t fuse_projections(const std::shared_ptr<ov::Model>& model) {
    std::map<ov::Output<ov::Node>, std::vector<std::shared_ptr<ov::op::v0::MatMul>>> by_input;
    std::vector<ov::Output<ov::Node>> order;
    for (const auto& node : model->get_ordered_ops()) {
        const auto matmul = ov::as_type_ptr<ov::op::v0::MatMul>(node);
        if (!matmul || matmul->get_transpose_a() || !matmul->get_transpose_b()) continue;
        const auto weights = matmul->get_input_partial_shape(1);
        if (weights.is_dynamic() || weights.size() != 2) continue;
        auto& group = by_input[matmul->input_value(0)];
        if (group.empty()) order.push_back(matmul->input_value(0));
        group.push_back(matmul);
    }
    size_t fused = 0;
    for (const auto& input : order)
        if (by_input[input].size() > 1 && fuse(by_input[input])) ++fused;
    if (fused > 0) model->validate_nodes_and_infer_types();
    return fused;
}

}  // namespace pergola
