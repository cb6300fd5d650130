#include "rewrite/transforms.hpp"

#include <openvino/op/ops.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/sdpa_to_paged_attention.hpp>
#include <set>

namespace pergola {
namespace {

constexpr const char* kHiddenState = "last_hidden_state";

std::shared_ptr<ov::Node> last_matmul(const std::shared_ptr<ov::Model>& model) {
    for (const auto& output : model->outputs()) {
        if (model->outputs().size() > 1 && output.get_names().count("logits") == 0) continue;
        std::shared_ptr<ov::Node> node = output.get_node_shared_ptr();
        for (int depth = 0; depth < 16 && node->get_input_size() > 0; ++depth) {
            if (ov::is_type<ov::op::v0::MatMul>(node)) return node;
            if (ov::is_type<ov::op::v13::ScaledDotProductAttention>(node)) break;
            node = node->get_input_node_shared_ptr(0);
        }
    }
    return nullptr;
}

/// The output of a model without a head of its own.
std::shared_ptr<ov::Node> hidden_state_result(const std::shared_ptr<ov::Model>& model) {
    for (const auto& output : model->outputs()) {
        if (output.get_names().count("logits") > 0) return nullptr;
        if (output.get_names().count(kHiddenState) > 0) return output.get_node_shared_ptr();
    }
    return nullptr;
}

}  // namespace

void make_paged(const std::shared_ptr<ov::Model>& model) {
    ov::pass::Manager passes;
    passes.register_pass<ov::pass::SDPAToPagedAttention>();
    passes.run_passes(model);
    bool found = false;
    for (const auto& input : model->inputs()) found = found || input.get_any_name().rfind("key_cache.", 0) == 0;
    if (!found) throw std::runtime_error("the model has no attention that could be paged");
}

bool gather_sampled_rows(const std::shared_ptr<ov::Model>& model) {
    const auto result = hidden_state_result(model);
    const std::shared_ptr<ov::Node> reader = result ? result : last_matmul(model);
    if (!reader) return false;
    const auto hidden = reader->input_value(0);
    const auto shape = hidden.get_partial_shape();
    if (shape.rank().is_dynamic()) return false;
    // Paged graphs have one dynamic axis, the tokens; stateful ones have batch and tokens, in this order.
    std::vector<int64_t> dynamic;
    for (int64_t axis = 0; axis + 1 < shape.rank().get_length(); ++axis)
        if (shape[axis].is_dynamic()) dynamic.push_back(axis);
    if (dynamic.empty() || dynamic.size() > 2) return false;
    const int64_t axis = dynamic.back();
    auto rows = std::make_shared<ov::op::v0::Parameter>(ov::element::i64, ov::PartialShape{-1});
    rows->set_friendly_name("sampled_rows");
    rows->output(0).set_names({"sampled_rows"});
    const auto gather = std::make_shared<ov::op::v8::Gather>(hidden, rows, ov::op::v0::Constant::create(ov::element::i64, {}, {axis}));
    reader->input(0).replace_source_output(gather);
    if (result) {
        hidden.get_tensor().set_names({});
        gather->output(0).set_names({kHiddenState});
    }
    model->add_parameters({rows});
    model->validate_nodes_and_infer_types();
    return true;
}

uint64_t weight_bytes(const std::shared_ptr<const ov::Model>& model) {
    std::set<const ov::Node*> seen;
    uint64_t bytes = 0;
    std::vector<const ov::Node*> open;
    for (const auto& node : model->get_ordered_ops())
        if (ov::is_type<ov::op::v0::MatMul>(node)) open.push_back(node->get_input_node_ptr(1));
    while (!open.empty()) {
        const ov::Node* node = open.back();
        open.pop_back();
        if (!seen.insert(node).second) continue;
        if (const auto* constant = ov::as_type<const ov::op::v0::Constant>(node)) bytes += constant->get_byte_size();
        else if (node->get_input_size() <= 3 && !ov::is_type<ov::op::v0::MatMul>(node))
            for (size_t i = 0; i < node->get_input_size(); ++i) {
                const ov::Node* input = node->get_input_node_ptr(i);
                // Activations reach a MatMul's second input too (attention scores); only constant subgraphs count.
                if (ov::is_type<ov::op::v0::Constant>(input) || ov::is_type<ov::op::v0::Convert>(input) || ov::is_type<ov::op::v1::Multiply>(input) ||
                    ov::is_type<ov::op::v1::Subtract>(input) || ov::is_type<ov::op::v1::Reshape>(input))
                    open.push_back(input);
            }
    }
    return bytes;
}

}  // namespace pergola
