#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

namespace pergola {

struct ModelSource {
    enum class Kind { Ir, Gguf } kind = Kind::Ir;
    std::string xml;                  // IR
    std::string bin;                  // IR
    std::vector<std::string> shards;  // GGUF, in order

    /// The file that messages name.
    const std::string& main_file() const { return kind == Kind::Ir ? xml : shards.front(); }
};

/// Reads an IR as it is.
std::shared_ptr<ov::Model> read_ir(const ModelSource& source);

}  // namespace pergola
