#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <openvino/openvino.hpp>
#include <string>

#include "language_model.hpp"

namespace pergola {

/// A compiled model with named tensors: encoders, projectors, heads. One inference at a time; callers on several threads queue.
class Graph {
public:
    using Tensors = std::map<std::string, ov::Tensor>;

    /// Shared with everybody who opened the same (file, device, properties); errors as for language models.
    Graph(const std::string& xml, const std::string& bin, const std::string& device, const ov::AnyMap& properties);

    /// Runs the graph. Throws `option` for a missing or unknown input name or a shape the graph does not take. Outputs are copies.
    Tensors infer(const Tensors& inputs);

private:
    std::shared_ptr<ov::CompiledModel> compiled_;
    ov::InferRequest request_;
    std::mutex mutex_;
    std::string file_;
};

}  // namespace pergola
