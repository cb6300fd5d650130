#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <openvino/op/ops.hpp>
#include <thread>

#include "rewrite/transforms.hpp"

namespace pergola {
namespace {

constexpr size_t kSmallestMatrix = 4096;  // elements; rounding less saves nothing and norms stay exact

bool is_constant(const ov::Output<ov::Node>& output, int depth = 0) {
    const auto* node = output.get_node();
    if (ov::is_type<ov::op::v0::Constant>(node)) return true;
    if (node->get_input_size() == 0 || depth > 8) return false;
    for (size_t i = 0; i < node->get_input_size(); ++i)
        if (!is_constant(node->input_value(i), depth + 1)) return false;
    return true;
}

/// Value of a constant subgraph (Convert, Subtract, Multiply, Reshape over compressed weights).
ov::Tensor evaluate(const ov::Output<ov::Node>& output) {
    const auto node = output.get_node_shared_ptr();
    if (const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(node)) return constant->get_tensor_view();
    ov::TensorVector inputs;
    for (size_t i = 0; i < node->get_input_size(); ++i) inputs.push_back(evaluate(node->input_value(i)));
    ov::TensorVector outputs{ov::Tensor(output.get_element_type(), output.get_shape())};
    if (!node->evaluate(outputs, inputs)) throw std::runtime_error("weight of " + node->get_friendly_name() + " cannot be computed");
    return outputs[0];
}

std::vector<float> as_floats(const ov::Tensor& tensor) {
    std::vector<float> values(tensor.get_size());
    if (tensor.get_element_type() == ov::element::f32) {
        std::memcpy(values.data(), tensor.data(), values.size() * sizeof(float));
    } else if (tensor.get_element_type() == ov::element::f16) {
        const auto* from = tensor.data<ov::float16>();
        for (size_t i = 0; i < values.size(); ++i) values[i] = from[i];
    } else if (tensor.get_element_type() == ov::element::bf16) {
        const auto* from = tensor.data<ov::bfloat16>();
        for (size_t i = 0; i < values.size(); ++i) values[i] = from[i];
    } else {
        throw std::runtime_error("weights of type " + tensor.get_element_type().get_type_name() + " cannot be rounded");
    }
    return values;
}

ov::Output<ov::Node> rounded(const ov::Output<ov::Node>& weight, size_t group_size) {
    const auto shape = weight.get_shape();
    const size_t rows = shape[0], columns = shape[1];
    const size_t group = group_size > 0 && columns % group_size == 0 ? group_size : columns;
    const size_t groups = columns / group;
    const std::vector<float> values = as_floats(evaluate(weight));
    std::vector<int8_t> codes(values.size());
    std::vector<ov::float16> scales(rows * groups);
    for (size_t g = 0; g < scales.size(); ++g) {
        const float* from = values.data() + g * group;
        float largest = 0;
        for (size_t i = 0; i < group; ++i) largest = std::max(largest, std::abs(from[i]));
        scales[g] = ov::float16(largest / 127.f);
        const float scale = scales[g];  // after its own rounding to f16, so that codes fit the scale in use
        const float inverse = scale > 0 ? 1.f / scale : 0.f;
        for (size_t i = 0; i < group; ++i)
            codes[g * group + i] = static_cast<int8_t>(std::max(-127.f, std::min(127.f, std::nearbyint(from[i] * inverse))));
    }
    // The form that the plugins recognise as compressed weights: Convert, Multiply, (Reshape,) Convert.
    const ov::Shape code_shape = groups > 1 ? ov::Shape{rows, groups, group} : ov::Shape{rows, columns};
    const ov::Shape scale_shape = groups > 1 ? ov::Shape{rows, groups, 1} : ov::Shape{rows, 1};
    const auto code = std::make_shared<ov::op::v0::Constant>(ov::element::i8, code_shape, codes.data());
    const auto scale = std::make_shared<ov::op::v0::Constant>(ov::element::f16, scale_shape, scales.data());
    std::shared_ptr<ov::Node> node = std::make_shared<ov::op::v1::Multiply>(std::make_shared<ov::op::v0::Convert>(code, ov::element::f16), scale);
    if (groups > 1)
        node = std::make_shared<ov::op::v1::Reshape>(
            node, ov::op::v0::Constant::create(ov::element::i64, {2}, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)}), false);
    return std::make_shared<ov::op::v0::Convert>(node, weight.get_element_type());
}

}  // namespace

size_t round_weights_to_int8(const std::shared_ptr<ov::Model>& model, size_t group_size) {
    struct Matrix {
        ov::Output<ov::Node> source;
        std::vector<ov::Input<ov::Node>> users;
        ov::Output<ov::Node> result;
    };
    std::vector<Matrix> matrices;
    std::map<ov::Output<ov::Node>, size_t> index;
    for (const auto& node : model->get_ordered_ops()) {
        size_t port;
        // Rows must be outputs, as every converter writes them; a group of columns is then a group of inputs.
        const auto matmul = ov::as_type_ptr<ov::op::v0::MatMul>(node);
        if (matmul && matmul->get_transpose_b()) port = 1;
        else if (ov::is_type<ov::op::v8::Gather>(node)) port = 0;
        else continue;
        const auto source = node->input_value(port);
        if (source.get_partial_shape().is_dynamic() || source.get_shape().size() != 2 || !source.get_element_type().is_real()) continue;
        if (ov::shape_size(source.get_shape()) < kSmallestMatrix || !is_constant(source)) continue;
        const auto [found, added] = index.emplace(source, matrices.size());
        if (added) matrices.push_back({source, {}, {}});
        matrices[found->second].users.push_back(node->input(port));
    }
    std::atomic<size_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    std::mutex guard;
    std::vector<std::thread> workers;
    for (unsigned n = std::max(1u, std::thread::hardware_concurrency()); n > 0; --n)
        workers.emplace_back([&] {
            for (size_t i; !failed && (i = next++) < matrices.size();) {
                try {
                    matrices[i].result = rounded(matrices[i].source, group_size);
                } catch (...) {
                    std::lock_guard<std::mutex> lock(guard);
                    failure = std::current_exception();
                    failed = true;
                }
            }
        });
    for (auto& worker : workers) worker.join();
    if (failure) std::rethrow_exception(failure);
    for (auto& matrix : matrices)
        for (auto& user : matrix.users) user.replace_source_output(matrix.result);
    model->validate_nodes_and_infer_types();
    return matrices.size();
}

}  // namespace pergola
