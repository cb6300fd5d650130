#include "gguf/gguf_repairs.hpp"

#include <cmath>
#include <openvino/op/ops.hpp>
#include <optional>

#include "gguf/gguf_header.hpp"

namespace pergola {
namespace {

using NodePtr = std::shared_ptr<ov::Node>;
constexpr size_t kNoRotationStep = 4;  // SmolLM3: layers 3, 7, 11, ...

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Nodes that stand for this value of ggml's graph; the front end names them `<op>_<number>_blk.<layer>.<value>`.
std::vector<NodePtr> named(const ov::Model& model, const std::string& value) {
    std::vector<NodePtr> found;
    for (const auto& node : model.get_ordered_ops())
        if (ends_with(node->get_friendly_name(), "." + value)) found.push_back(node);
    return found;
}

/// Layer in `..._blk.<layer>.<value>`.
size_t layer_of(const ov::Node& node) {
    const std::string& name = node.get_friendly_name();
    const size_t at = name.find("blk.");
    return at == std::string::npos ? 0 : std::stoul(name.substr(at + 4));
}

/// Moves the users of `from` to `to`, except those that `to` is made of.
void move_users(const ov::Output<ov::Node>& from, const ov::Output<ov::Node>& to, const std::vector<ov::Input<ov::Node>>& users) {
    for (auto user : users)
        if (user.get_source_output() == from) user.replace_source_output(to);
}

std::vector<ov::Input<ov::Node>> users_of(const ov::Output<ov::Node>& output) {
    const auto users = output.get_target_inputs();
    return {users.begin(), users.end()};
}

/// Where the table of frequencies goes into a cosine or sine: a constant with one value for each pair of channels.
std::optional<ov::Input<ov::Node>> find_frequencies(const ov::Node& wave, size_t count) {
    ov::Node* node = wave.get_input_node_ptr(0);
    for (int depth = 0; depth < 4 && node && ov::is_type<ov::op::v1::Multiply>(node); ++depth) {
        ov::Node* next = nullptr;
        for (size_t port = 0; port < 2; ++port) {
            ov::Node* input = node->get_input_node_ptr(port);
            if (ov::is_type<ov::op::v0::Constant>(input) && ov::shape_size(input->get_output_shape(0)) == count) return node->input(port);
            if (ov::is_type<ov::op::v1::Multiply>(input)) next = input;
        }
        node = next;
    }
    return std::nullopt;
}

/// Divides the frequencies of all rotations, where they are still the plain `base^(-2i/n)`.
void divide_frequencies(const ov::Model& model, const std::vector<float>& factors, double base) {
    for (const auto& node : model.get_ordered_ops()) {
        if (!ov::is_type<ov::op::v0::Cos>(node) && !ov::is_type<ov::op::v0::Sin>(node)) continue;
        auto table = find_frequencies(*node, factors.size());
        if (!table) continue;
        const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(table->get_source_output().get_node_shared_ptr());
        auto values = constant->cast_vector<float>();
        bool plain = true;
        for (size_t i = 0; i < values.size(); ++i) {
            const double expected = std::pow(base, -static_cast<double>(i) / static_cast<double>(values.size()));
            plain = plain && std::abs(values[i] - expected) <= 1e-4 * expected;
            values[i] /= factors[i];
        }
        // Cosine and sine often share the table, which is then no longer plain the second time.
        if (plain) table->replace_source_output(std::make_shared<ov::op::v0::Constant>(constant->get_element_type(), constant->get_shape(), values));
    }
}

/// Multiplies cosines and sines, whose own factor is still 1.
void scale_waves(const ov::Model& model, float factor) {
    for (const auto& node : model.get_ordered_ops()) {
        if (!ov::is_type<ov::op::v0::Cos>(node) && !ov::is_type<ov::op::v0::Sin>(node)) continue;
        for (auto& user : users_of(node->output(0))) {
            auto* multiply = ov::as_type<ov::op::v1::Multiply>(user.get_node());
            const auto constant = multiply ? ov::as_type_ptr<ov::op::v0::Constant>(multiply->get_input_node_shared_ptr(1)) : nullptr;
            if (!constant || ov::shape_size(constant->get_shape()) != 1 || constant->cast_vector<float>()[0] != 1.f) continue;
            multiply->input(1).replace_source_output(ov::op::v0::Constant::create(constant->get_element_type(), constant->get_shape(), {factor}));
        }
    }
}

/// What a rotation of neighbouring pairs rotates: `x` in `x * cos + reshape(concat(-odd, even)) * sin`.
ov::Output<ov::Node> rotated_value(const NodePtr& rotation) {
    if (!ov::is_type<ov::op::v1::Add>(rotation)) return {};
    for (const auto& side : rotation->input_values()) {
        if (!ov::is_type<ov::op::v1::Multiply>(side.get_node())) return {};
        for (const auto& part : side.get_node()->input_values()) {
            const bool reshaped = ov::is_type<ov::op::v1::Reshape>(part.get_node());
            const ov::Node* behind = reshaped ? part.get_node()->get_input_node_ptr(0) : nullptr;
            if (!behind || (!ov::is_type<ov::op::v3::Broadcast>(behind) && !ov::is_type<ov::op::v0::Concat>(behind))) return part;
        }
    }
    return {};
}

void leave_out_rotation(const ov::Model& model) {
    for (const char* value : {"Qcur_rope", "Kcur_rope"})
        for (const auto& rotation : named(model, value)) {
            if (layer_of(*rotation) % kNoRotationStep != kNoRotationStep - 1) continue;
            if (const auto x = rotated_value(rotation); x.get_node()) rotation->output(0).replace(x);
        }
}

ov::Output<ov::Node> wave(const ov::Model& model, const std::string& name) {
    for (const auto& node : model.get_ordered_ops())
        if (node->get_friendly_name() == name) return node->output(0);
    return {};
}

/// Rotations of neighbouring pairs become rotations of halves, in the form that the front end writes for other architectures.
void rotate_halves(const ov::Model& model) {
    const auto cosine = wave(model, "rope_cos"), sine = wave(model, "rope_sin");
    if (!cosine.get_node() || !sine.get_node()) return;
    const auto order = ov::op::v0::Constant::create(ov::element::i64, {4}, {0, 2, 1, 3});
    const auto heads_first = [&](const ov::Output<ov::Node>& x) { return std::make_shared<ov::op::v1::Transpose>(x, order)->output(0); };
    const auto times = [](const ov::Output<ov::Node>& a, const ov::Output<ov::Node>& b) { return std::make_shared<ov::op::v1::Multiply>(a, b)->output(0); };
    for (const char* value : {"Qcur_rope", "Kcur_rope"})
        for (const auto& rotation : named(model, value)) {
            const auto x = rotated_value(rotation);
            if (!x.get_node() || x.get_partial_shape().size() != 4 || cosine.get_partial_shape().size() != 4) continue;
            const auto half = cosine.get_partial_shape()[3];
            if (half.is_dynamic() || x.get_partial_shape()[3] != half.get_length() * 2) continue;
            const auto c = heads_first(cosine), s = heads_first(sine);
            const auto split = std::make_shared<ov::op::v1::VariadicSplit>(
                heads_first(x), ov::op::v0::Constant::create(ov::element::i64, {}, {3}),
                ov::op::v0::Constant::create(ov::element::i64, {2}, {half.get_length(), half.get_length()}));
            const auto low = split->output(0), high = split->output(1);
            const auto minus = times(times(high, s), ov::op::v0::Constant::create(ov::element::f32, {}, {-1.f}));
            const auto first = std::make_shared<ov::op::v1::Add>(times(low, c), minus);
            const auto second = std::make_shared<ov::op::v1::Add>(times(high, c), times(low, s));
            const auto turned = heads_first(std::make_shared<ov::op::v0::Concat>(ov::OutputVector{first, second}, 3));
            turned.get_node()->set_friendly_name(rotation->get_friendly_name());
            rotation->output(0).replace(turned);
        }
}

/// The weights of the chosen experts of a token are divided by their sum.
void normalise_expert_weights(const ov::Model& model) {
    if (!named(model, "moe_w_norm").empty()) return;
    for (const auto& weights : named(model, "moe_w")) {
        const auto users = users_of(weights->output(0));
        const auto sum = std::make_shared<ov::op::v1::ReduceSum>(weights, ov::op::v0::Constant::create(ov::element::i64, {1}, {2}), true);
        move_users(weights->output(0), std::make_shared<ov::op::v1::Divide>(weights, sum)->output(0), users);
    }
}

/// The front end takes the softmax over the last axis, which has one value; the experts are the axis before it.
void choose_expert_axis(const ov::Model& model) {
    for (const auto& node : named(model, "moe_w_sm")) {
        const auto softmax = ov::as_type_ptr<ov::op::v8::Softmax>(node);
        const auto shape = node->get_output_partial_shape(0);
        if (softmax && shape.rank() == 4 && shape[3] == 1 && (softmax->get_axis() == 3 || softmax->get_axis() == -1)) softmax->set_axis(2);
    }
}

/// Root-mean-square norms commute with rotations, but the scales behind them do not: they are moved behind the rotation.
void scale_after_rotation(const ov::Model& model) {
    for (const std::string name : {"Qcur", "Kcur"}) {
        const auto rotations = named(model, name + "_rope");
        for (const auto& norm : named(model, name + "_normed")) {
            if (!ov::is_type<ov::op::v1::Multiply>(norm) || !ends_with(norm->get_input_node_ptr(0)->get_friendly_name(), "_normed.rms")) continue;
            for (const auto& rotation : rotations) {
                if (layer_of(*rotation) != layer_of(*norm)) continue;
                const auto users = users_of(rotation->output(0));
                norm->output(0).replace(norm->input_value(0));
                move_users(rotation->output(0), std::make_shared<ov::op::v1::Multiply>(rotation, norm->input_value(1))->output(0), users);
            }
        }
    }
}

/// The experts' result is given the shape of what it is added to, whichever axis the tokens are on.
void keep_token_axis(const ov::Model& model) {
    for (const auto& result : named(model, "moe_out")) {
        if (!ov::is_type<ov::op::v1::Reshape>(result)) continue;
        for (const auto& user : users_of(result->output(0))) {
            if (!ov::is_type<ov::op::v1::Add>(user.get_node())) continue;
            const auto other = user.get_node()->input_value(1 - user.get_index());
            result->input(1).replace_source_output(std::make_shared<ov::op::v3::ShapeOf>(other)->output(0));
        }
    }
}

}  // namespace

void repair_gguf_graph(const std::shared_ptr<ov::Model>& model, const std::vector<std::string>& shards) {
    std::vector<GgufHeader> headers;
    for (const auto& shard : shards) headers.push_back(read_gguf_header(shard));
    const auto* named_architecture = headers.front().find("general.architecture");
    const std::string architecture = named_architecture ? named_architecture->text : "";
    const auto number = [&](const std::string& key, double otherwise) {
        const auto* entry = headers.front().find(architecture + "." + key);
        return entry && entry->real != 0 ? static_cast<double>(entry->real) : otherwise;
    };
    const auto apply_factors = [&](const char* tensor) {
        const auto factors = read_gguf_floats(headers, tensor);
        if (!factors.empty()) divide_frequencies(*model, factors, number("rope.freq_base", 10000.0));
        return !factors.empty();
    };
    if (architecture == "llama") apply_factors("rope_freqs.weight");
    if (architecture == "phi3" && apply_factors("rope_factors_short.weight"))
        scale_waves(*model, static_cast<float>(number("rope.scaling.attn_factor", 1.0)));
    if (architecture == "smollm3") leave_out_rotation(*model);
    if (architecture == "qwen3moe") rotate_halves(*model);
    if (architecture == "qwen3moe" || architecture == "hunyuan-moe") normalise_expert_weights(*model);
    if (architecture == "gpt-oss") choose_expert_axis(*model);
    if (architecture == "hunyuan-dense" || architecture == "hunyuan-moe") scale_after_rotation(*model);
    keep_token_axis(*model);
    model->validate_nodes_and_infer_types();
}

}  // namespace pergola
