#include <algorithm>
#include <cmath>
#include <map>
#include <openvino/op/ops.hpp>
#include <openvino/op/util/variable.hpp>

#include "base/error.hpp"
#include "models/whisper_model.hpp"
#include "rewrite/transforms.hpp"

namespace pergola {
namespace {

struct CrossState {
    std::shared_ptr<ov::op::util::ReadValueBase> read;
    std::shared_ptr<ov::op::util::AssignBase> assign;
};

std::shared_ptr<ov::op::v0::Parameter> parameter_named(const ov::Model& model, const std::string& name) {
    for (const auto& parameter : model.get_parameters())
        if (parameter->output(0).get_names().count(name) > 0) return parameter;
    return nullptr;
}

/// The state that a port of an attention operation reads, through nodes that only change its layout.
std::shared_ptr<ov::op::util::ReadValueBase> state_behind(ov::Output<ov::Node> value) {
    for (int depth = 0; depth < 4; ++depth) {
        const auto node = value.get_node_shared_ptr();
        if (auto read = ov::as_type_ptr<ov::op::util::ReadValueBase>(node)) return read;
        if (!ov::is_type<ov::op::v1::Reshape>(node) && !ov::is_type<ov::op::v1::Transpose>(node) && !ov::is_type<ov::op::v0::Convert>(node)) return nullptr;
        value = node->input_value(0);
    }
    return nullptr;
}

/// A state that is set once from the encoder's output: its first value comes from a projection of it.
bool is_projection(const ov::op::util::ReadValueBase& read) {
    if (read.get_input_size() != 1) return false;
    ov::Output<ov::Node> value = read.input_value(0);
    for (int depth = 0; depth < 6; ++depth) {
        const auto node = value.get_node_shared_ptr();
        if (ov::is_type<ov::op::v0::MatMul>(node)) return true;
        if (node->get_input_size() == 0) return false;
        value = node->input_value(0);
    }
    return false;
}

std::shared_ptr<ov::op::v0::Result> add_output(const ov::Output<ov::Node>& value, const std::string& name) {
    auto result = std::make_shared<ov::op::v0::Result>(value);
    result->set_friendly_name(name);
    value.get_tensor().add_names({name});
    return result;
}

/// Queries as the attention multiplies them with the keys, whether the graph scales them itself or leaves it to the operation.
ov::Output<ov::Node> scaled_query(const ov::Node& attention) {
    const auto query = attention.input_value(0);
    if (attention.get_input_size() > 4) {
        const auto scale = attention.input_value(4);
        const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(scale.get_node_shared_ptr());
        if (constant && constant->cast_vector<float>().front() == 1.f) return query;
        return std::make_shared<ov::op::v1::Multiply>(query, scale);
    }
    const auto shape = query.get_partial_shape();
    const float width = static_cast<float>(shape[shape.rank().get_length() - 1].get_length());
    return std::make_shared<ov::op::v1::Multiply>(query, ov::op::v0::Constant::create(ov::element::f32, {}, {1.f / std::sqrt(width)}));
}

}  // namespace

std::string cross_name(const char* what, size_t layer) { return std::string("cross.") + what + "." + std::to_string(layer); }

void join_cross_attention(const std::shared_ptr<ov::Model>& encoder, const std::shared_ptr<ov::Model>& decoder,
                          const std::vector<size_t>& alignment_layers, const std::string& file) {
    const auto hidden = parameter_named(*decoder, "encoder_hidden_states");
    std::map<std::pair<size_t, bool>, CrossState> states;
    std::vector<std::shared_ptr<ov::Node>> attentions;
    for (const auto& node : decoder->get_ordered_ops()) {
        if (!ov::is_type<ov::op::v13::ScaledDotProductAttention>(node)) continue;
        const auto key = state_behind(node->input_value(1)), value = state_behind(node->input_value(2));
        if (!key || !value || !is_projection(*key) || !is_projection(*value)) continue;
        states[{attentions.size(), true}].read = key;
        states[{attentions.size(), false}].read = value;
        attentions.push_back(node);
    }
    for (auto& [key, state] : states)
        for (const auto& sink : decoder->get_sinks())
            if (const auto assign = ov::as_type_ptr<ov::op::util::AssignBase>(sink); assign && assign->get_variable_id() == state.read->get_variable_id())
                state.assign = assign;
    bool sound = hidden && !states.empty() && encoder->outputs().size() == 1;
    for (const auto& [key, state] : states) sound = sound && state.assign;
    if (!sound)
        throw EngineError::unsupported("Whisper decoder without states",
                                       file + " is no Whisper decoder as optimum-intel exports it today (one stateful file). Export the model again: optimum-cli "
                                              "export openvino --task automatic-speech-recognition-with-past");

    ov::ParameterVector parameters;
    ov::ResultVector results;
    std::vector<ov::Output<ov::Node>> projections;
    std::vector<std::string> names;
    for (auto& [key, state] : states) {
        const std::string name = cross_name(key.second ? "key" : "value", key.first);
        const ov::Output<ov::Node> projection = state.read->input_value(0);
        auto shape = projection.get_partial_shape();
        if (shape.rank().is_static() && shape.rank().get_length() == 4) shape = {-1, shape[1], -1, shape[3]};
        auto parameter = std::make_shared<ov::op::v0::Parameter>(projection.get_element_type(), shape);
        parameter->set_friendly_name(name);
        parameter->output(0).set_names({name});
        decoder->remove_sink(state.assign);
        decoder->remove_variable(decoder->get_variable_by_id(state.assign->get_variable_id()));
        state.read->output(0).replace(parameter->output(0));
        parameters.push_back(parameter);
        projections.push_back(projection);
        names.push_back(name);
    }
    decoder->add_parameters(parameters);

    // The projections move over to the encoder's graph.
    const ov::Output<ov::Node> states_out = encoder->output(0).get_node()->input_value(0);
    hidden->output(0).replace(states_out);
    for (size_t i = 0; i < projections.size(); ++i) results.push_back(add_output(projections[i], names[i]));
    encoder->add_results(results);
    encoder->remove_result(encoder->get_results().front());
    decoder->remove_parameter(hidden);
    encoder->validate_nodes_and_infer_types();

    ov::ResultVector queries;
    for (const size_t layer : alignment_layers)
        if (layer < attentions.size()) queries.push_back(add_output(scaled_query(*attentions[layer]), cross_name("query", layer)));
    if (queries.size() < alignment_layers.size())
        throw EngineError::model(file, file + " has " + std::to_string(attentions.size()) + " layers, but generation_config.json names alignment heads of others");
    decoder->add_results(queries);
    decoder->validate_nodes_and_infer_types();
    if (!gather_sampled_rows(decoder))
        throw EngineError::unsupported("Whisper decoder", file + " does not end in a projection to the vocabulary");
}

}  // namespace pergola
