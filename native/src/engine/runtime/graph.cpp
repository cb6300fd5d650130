#include "runtime/graph.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/stop_watch.hpp"
#include "base/tensor_convert.hpp"
#include "runtime/core_registry.hpp"
#include "runtime/properties.hpp"

namespace pergola {
namespace {

EngineError input_error(const std::string& name, const std::string& message) {
    EngineError error(ErrorCode::Option, message);
    error.subject = name;
    return error;
}

ov::AnyMap effective_properties(const GraphOptions& options) {
    ov::AnyMap properties = options.properties;
    if (runs_on_cpu(options.device)) {
        // Exact arithmetic is the default here as it is for language models.
        prefer(properties, "INFERENCE_PRECISION_HINT", "f32");
        prefer(properties, "DYNAMIC_QUANTIZATION_GROUP_SIZE", "0");
    }
    return properties;
}

std::shared_ptr<CompiledGraph> load(const GraphOptions& options, const ov::AnyMap& properties, const std::string& key, const LoadControl& control) {
    auto result = std::make_shared<CompiledGraph>();
    result->file = options.files.xml;
    try {
        result->load({options.device, properties, options.cache_dir, key}, control, [&] {
            control.enter(LoadStage::Read);
            const StopWatch watch;
            const auto model = read_ir({ModelSource::Kind::Ir, options.files.xml, options.files.bin, {}});
            result->timings.read_ms = watch.ms();
            return model;
        });
        return result;
    } catch (...) {
        rethrow_load_error(options.device, options.files.xml, describe(options.properties));
    }
}

}  // namespace

std::shared_ptr<CompiledGraph> open_graph(const GraphOptions& options, const LoadControl& control, bool& shared) {
    static auto* registry = new SharedRegistry<CompiledGraph>();  // like the core, it outlives static destruction
    check_device(options.device);
    const ov::AnyMap properties = effective_properties(options);
    const std::string identity = options.files.model_key.empty() ? options.files.xml + "|" + options.files.bin : options.files.model_key;
    const std::string key = "graph|" + identity + "|" + options.device + "|" + describe(properties) + "|" + ov::get_openvino_version().buildNumber;
    return registry->open(key, [&] { return load(options, properties, key, control); }, shared);
}

Graph::Graph(const GraphOptions& options, const LoadControl& control) : file_(options.files.xml) {
    graph_ = open_graph(options, control, shared_);
    request_ = graph_->compiled.create_infer_request();
}

ov::Output<const ov::Node> Graph::port_for(const NamedTensor& input, size_t index) const {
    const auto& ports = graph_->compiled.inputs();
    if (input.name.empty()) {
        if (index < ports.size()) return ports[index];
        throw input_error(std::to_string(index), file_ + " has " + std::to_string(ports.size()) + " inputs, fewer than were given");
    }
    for (const auto& port : ports)
        if (port.get_names().count(input.name) > 0) return port;
    throw input_error(input.name, file_ + " has no input \"" + input.name + "\"");
}

void Graph::set_inputs(const std::vector<NamedTensor>& inputs) {
    std::vector<size_t> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const auto port = port_for(inputs[i], i);
        const std::string name = port.get_names().empty() ? std::to_string(i) : port.get_any_name();
        try {
            request_.set_tensor(port, converted(inputs[i].tensor, port.get_element_type()));
        } catch (const std::exception& error) {
            throw input_error(name, file_ + " does not take this tensor as \"" + name + "\": " + runtime_reason(error.what()));
        }
        given.push_back(port.get_node()->get_instance_id());
    }
    for (const auto& port : graph_->compiled.inputs()) {
        if (std::find(given.begin(), given.end(), port.get_node()->get_instance_id()) != given.end()) continue;
        const std::string name = port.get_names().empty() ? std::string("input") : port.get_any_name();
        throw input_error(name, file_ + " needs an input \"" + name + "\"");
    }
}

std::vector<NamedTensor> Graph::infer(const std::vector<NamedTensor>& inputs, const StopFlag& stop) {
    std::lock_guard<std::mutex> running(run_mutex_);
    const auto check = [&] {
        if (closed_) throw EngineError(ErrorCode::Disposed, "the graph is closed");
        if (stop) throw EngineError(ErrorCode::Aborted, "the inference was stopped");
    };
    {
        std::lock_guard<std::mutex> lock(state_mutex_);
        check();
        running_ = &stop;
    }
    struct Done {
        Graph& graph;
        ~Done() {
            std::lock_guard<std::mutex> lock(graph.state_mutex_);
            graph.running_ = nullptr;
        }
    } done{*this};
    set_inputs(inputs);
    try {
        request_.infer();
    } catch (const std::exception& error) {
        std::lock_guard<std::mutex> lock(state_mutex_);
        check();
        throw EngineError(ErrorCode::Native, file_ + ": inference failed: " + runtime_reason(error.what()));
    }
    // Kernels have packed their weights now; what they read in the file does not have to stay in memory.
    if (!std::exchange(has_run_, true) && graph_->blob) graph_->blob->drop_pages();
    std::lock_guard<std::mutex> lock(state_mutex_);
    check();
    std::vector<NamedTensor> result;
    for (const auto& output : graph_->compiled.outputs()) {
        const ov::Tensor tensor = request_.get_tensor(output);
        // With one thread the CPU plugin (2026.4) drops the failure of inputs whose shapes do not fit each other, and computes nothing.
        if (tensor.get_size() == 0) throw EngineError(ErrorCode::Native, file_ + ": inference gave nothing: the shapes of its inputs do not fit");
        ov::Tensor copy(tensor.get_element_type(), tensor.get_shape());
        tensor.copy_to(copy);
        result.push_back({output.get_names().empty() ? std::string() : output.get_any_name(), copy});
    }
    return result;
}

void Graph::stop(StopFlag& flag) {
    std::lock_guard<std::mutex> lock(state_mutex_);
    flag = true;
    if (running_ == &flag) request_.cancel();
}

void Graph::interrupt() {
    std::lock_guard<std::mutex> lock(state_mutex_);
    if (closed_) return;
    closed_ = true;
    if (running_) request_.cancel();
}

void Graph::close() {
    interrupt();
    std::lock_guard<std::mutex> running(run_mutex_);
    request_ = {};
    graph_.reset();
}

}  // namespace pergola
