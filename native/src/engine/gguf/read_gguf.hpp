#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <string>

#include "runtime/model_source.hpp"

namespace pergola {

/// Reads a GGUF with the runtime's own front end, as a stateful decoder `input_ids, attention_mask, position_ids, beam_idx -> logits`.
/// Architectures and tensor types that it refuses become `unsupported`, damaged files become `model`. Several shards are joined
/// in `scratch_folder` first (removed afterwards), because the front end reads one file only.
std::shared_ptr<ov::Model> read_gguf(const ModelSource& source, const std::string& scratch_folder);

}  // namespace pergola
