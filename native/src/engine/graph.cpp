#include "graph.hpp"

#include "core_registry.hpp"
#include "error.hpp"

namespace pergola {
namespace {

EngineError input_error(const std::string& name, const std::string& message) {
    EngineError error(ErrorCode::Option, message);
    error.subject = name;
    return error;
}

}  // namespace

Graph::Graph(const std::string& xml, const std::string& bin, const std::string& device, const ov::AnyMap& properties) : file_(xml) {
    static auto* registry = new SharedRegistry<ov::CompiledModel>();
    check_device(device);
    std::string key = xml + "|" + bin + "|" + device;
    for (const auto& [name, value] : properties) key += "|" + name + "=" + value.as<std::string>();
    bool shared = false;
    compiled_ = registry->open(
        key,
        [&] {
            try {
                ModelSource source;
                source.xml = xml;
                source.bin = bin;
                return std::make_shared<ov::CompiledModel>(core().compile_model(read_ir(source), device, properties));
            } catch (...) {
                rethrow_load_error(device, xml);
            }
        },
        shared);
    request_ = compiled_->create_infer_request();
}

Graph::Tensors Graph::infer(const Tensors& inputs) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, tensor] : inputs) {
        try {
            request_.set_tensor(name, tensor);
        } catch (const std::exception& error) {
            throw input_error(name, file_ + " does not take this tensor as \"" + name + "\": " + runtime_reason(error.what()));
        }
    }
    for (const auto& input : compiled_->inputs()) {
        bool given = false;
        for (const auto& name : input.get_names()) given = given || inputs.count(name) > 0;
        if (!given) throw input_error(input.get_any_name(), file_ + " needs an input \"" + input.get_any_name() + "\"");
    }
    try {
        request_.infer();
    } catch (const std::exception& error) {
        throw EngineError(ErrorCode::Native, file_ + ": inference failed: " + runtime_reason(error.what()));
    }
    Tensors result;
    for (const auto& output : compiled_->outputs()) {
        const ov::Tensor tensor = request_.get_tensor(output);
        ov::Tensor copy(tensor.get_element_type(), tensor.get_shape());
        tensor.copy_to(copy);
        result[output.get_any_name()] = copy;
    }
    return result;
}

}  // namespace pergola
