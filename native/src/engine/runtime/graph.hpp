#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "base/stop_flag.hpp"
#include "runtime/compiled_model.hpp"
#include "runtime/model_source.hpp"

namespace pergola {

struct GraphFiles {
    std::string xml, bin;
    std::string model_key;  // identity of the files

    bool given() const { return !xml.empty(); }
};

struct GraphOptions {
    GraphFiles files;
    std::string device = "CPU";
    ov::AnyMap properties;
    std::string cache_dir;  // "" = no compile cache
};

/// A compiled model that keeps nothing between inferences.
struct CompiledGraph : CompiledModel {
    std::string file;
};

/// Opens a graph, from the compile cache where it holds it, shared with everybody in the process who asked for the same. On the CPU it
/// computes in f32 unless the properties say otherwise. Errors as for language models.
std::shared_ptr<CompiledGraph> open_graph(const GraphOptions& options, const LoadControl& control, bool& shared);

struct NamedTensor {
    std::string name;  // "" in inputs: the port at the same place
    ov::Tensor tensor;
};

/// Runs a graph with named tensors: encoders, projectors, decoders of pictures. One inference at a time; callers queue in order.
class Graph {
public:
    Graph(const GraphOptions& options, const LoadControl& control);

    const CompiledGraph& graph() const { return *graph_; }
    bool shared() const { return shared_; }

    /// Tensors are converted to the ports' element types. Throws `option` for a missing or unknown input or a shape the graph does not
    /// take, `aborted` after `stop`, `disposed` after `interrupt`. Outputs are the caller's own, in the order of the ports.
    std::vector<NamedTensor> infer(const std::vector<NamedTensor>& inputs, const StopFlag& stop);
    /// Sets the flag, and cuts the inference short that runs under it.
    void stop(StopFlag& flag);
    /// Cuts short what runs; later calls fail.
    void interrupt();
    /// Waits for what runs and gives the memory back.
    void close();

private:
    void set_inputs(const std::vector<NamedTensor>& inputs);
    ov::Output<const ov::Node> port_for(const NamedTensor& input, size_t index) const;

    std::shared_ptr<CompiledGraph> graph_;
    bool shared_ = false;
    ov::InferRequest request_;
    std::mutex run_mutex_;    // one inference; guards `request_` and the next
    bool has_run_ = false;
    std::mutex state_mutex_;  // guards the two below
    const StopFlag* running_ = nullptr;
    bool closed_ = false;
    std::string file_;
};

}  // namespace pergola
