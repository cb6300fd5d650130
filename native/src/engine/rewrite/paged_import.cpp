#include "rewrite/paged_import.hpp"

#include <openvino/core/op_extension.hpp>
#include <sstream>

namespace pergola {
namespace {

constexpr const char* kType = "PagedAttentionExtension";

struct Input {
    const char* type;
    const char* shape;  // comma-separated, "?" = any
};

// Inputs of PagedAttentionExtension in the order of the operation's specification (OpenVINO 2026.4).
constexpr Input kInputs[] = {{"f32", "?,8"},     {"f32", "?,8"},     {"f32", "?,8"}, {"f32", "?,?,?,?"}, {"f32", "?,?,?,?"}, {"i32", "?"}, {"i32", "?"},
                             {"i32", "?"},       {"i32", "?"},       {"f32", ""},    {"i32", ""},        {"f32", "?"},       {"i32", ""},  {"i32", "?"},
                             {"i32", "?"},       {"i32", "?"},       {"f32", "?"},   {"f32", "?"},       {"i32", ""},        {"i32", ""},  {"f32", "?,?,?,?"},
                             {"i32", ""},        {"i32", "?"},       {"i32", "?"},   {"i32", "?"},       {"i32", "?"},       {"u8", "?"},  {"i32", "?"}};

std::string port(size_t id, const Input& input) {
    std::string dims;
    std::stringstream list(input.shape);
    for (std::string dim; std::getline(list, dim, ',');) dims += "<dim>" + (dim == "?" ? std::string("-1") : dim) + "</dim>";
    const char* precision = input.type[0] == 'f' ? "FP32" : input.type[0] == 'u' ? "U8" : "I32";
    return "<port id=\"" + std::to_string(id) + "\" precision=\"" + precision + "\">" + dims + "</port>";
}

/// The operation's class is not public, but an instance can be read from a model that holds nothing else, and cloned.
std::shared_ptr<ov::Node> read_prototype(ov::Core& core) {
    std::string layers, edges, ports;
    size_t id = 0;
    for (const Input& input : kInputs) {
        const std::string number = std::to_string(id);
        layers += "<layer id=\"" + number + "\" name=\"p" + number + "\" type=\"Parameter\" version=\"opset1\"><data shape=\"" + input.shape +
                  "\" element_type=\"" + input.type + "\"/><output>" + port(0, input) + "</output></layer>";
        edges += "<edge from-layer=\"" + number + "\" from-port=\"0\" to-layer=\"28\" to-port=\"" + number + "\"/>";
        ports += port(id++, input);
    }
    const std::string xml = "<?xml version=\"1.0\"?><net name=\"prototype\" version=\"11\"><layers>" + layers + "<layer id=\"28\" name=\"attention\" type=\"" +
                            kType + "\" version=\"extension\"><data write_kv_cache=\"true\"/><input>" + ports + "</input><output>" + port(28, kInputs[0]) +
                            port(29, {"f32", "?"}) + port(30, {"f32", "?"}) + "</output></layer><layer id=\"29\" name=\"result\" type=\"Result\" " +
                            "version=\"opset1\"><input>" + port(0, kInputs[0]) + "</input></layer></layers><edges>" + edges +
                            "<edge from-layer=\"28\" from-port=\"28\" to-layer=\"29\" to-port=\"0\"/></edges></net>";
    const auto model = core.read_model(xml, ov::Tensor());
    for (const auto& node : model->get_ops())
        if (std::string(node->get_type_name()) == kType) return node;
    throw std::runtime_error("no prototype");
}

class PagedAttentionReader : public ov::BaseOpExtension {
public:
    explicit PagedAttentionReader(std::shared_ptr<ov::Node> prototype) : prototype_(std::move(prototype)) {}

    const ov::DiscreteTypeInfo& get_type_info() const override {
        static const ov::DiscreteTypeInfo info{kType, "extension"};
        return info;
    }

    ov::OutputVector create(const ov::OutputVector& inputs, ov::AttributeVisitor& visitor) const override {
        const auto node = prototype_->clone_with_new_inputs(inputs);
        node->visit_attributes(visitor);
        describe(*node, inputs[1], inputs[3], "num_k_heads", "k_head_size");
        describe(*node, inputs[2], inputs[4], "num_v_heads", "v_head_size");
        return node->outputs();
    }

    std::vector<ov::Extension::Ptr> get_attached_extensions() const override { return {}; }

private:
    /// Rows are `heads * size` wide; the cache's second axis is the heads. Its last axis may hold scales beside the values.
    static void describe(ov::Node& node, const ov::Output<ov::Node>& rows, const ov::Output<ov::Node>& cache, const char* heads, const char* size) {
        const auto row = rows.get_partial_shape();
        const auto block = cache.get_partial_shape();
        if (block.rank().is_dynamic() || block[1].is_dynamic() || row[1].is_dynamic()) return;
        const auto count = static_cast<size_t>(block[1].get_length());
        node.get_rt_info()[heads] = count;
        node.get_rt_info()[size] = static_cast<size_t>(row[1].get_length()) / count;
    }

    std::shared_ptr<ov::Node> prototype_;
};

}  // namespace

void enable_paged_import(ov::Core& core) {
    try {
        core.get_property("CPU", ov::device::full_name);  // loads the plugin, which brings the operation's own reader along
        core.add_extension(std::vector<ov::Extension::Ptr>{std::make_shared<PagedAttentionReader>(read_prototype(core))});
    } catch (const std::exception&) {
        // Another runtime, another form of the operation: imports then fail and models are compiled again.
    }
}

}  // namespace pergola
