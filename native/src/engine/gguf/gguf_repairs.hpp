#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

namespace pergola {

/// Puts right what the runtime's GGUF front end (2026.4) leaves out or gets wrong, so that the graph computes what the reference
/// implementations do. Each repair looks for exactly the form that the front end writes and leaves anything else alone; a front end
/// that no longer has the fault is not touched.
///
/// - llama: `rope_freqs.weight` (Llama 3.1 and later) is not applied to the rotation
/// - phi3: neither are `rope_factors_short.weight` and `rope.scaling.attn_factor` (contexts up to the original length)
/// - smollm3: every fourth layer has no rotation
/// - qwen3moe: rotates halves, not neighbours
/// - qwen3moe, hunyuan-moe: the weights of the chosen experts add up to 1
/// - gpt-oss: those weights are a softmax over the experts, not over one value
/// - hunyuan-dense, hunyuan-moe: queries and keys are scaled after the rotation
/// - mixtures of experts: the token axis stays where it was, for paged graphs
void repair_gguf_graph(const std::shared_ptr<ov::Model>& model, const std::vector<std::string>& shards);

}  // namespace pergola
