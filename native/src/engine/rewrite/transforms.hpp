#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <string>

namespace pergola {

/// Replaces attention over model state by `PagedAttentionExtension`. On failure the model is unusable (the pass changes it in
/// place), so the caller keeps the file, not the model; the reason is thrown as std::exception.
void make_paged(const std::shared_ptr<ov::Model>& model);

/// Rewrites rotary embeddings of neighbouring pairs (GGUF files of the Llama family) as rotations of halves, the form that the
/// plugins compute in one kernel, by moving the rows of the query and key projections accordingly. Attention sees the same
/// products in another order. All layers or none; returns the number of rotations. Before `make_paged`.
size_t rotate_by_halves(const std::shared_ptr<ov::Model>& model);

/// Makes one MatMul of those that read the same input (query, key, value; gate, up), by stacking their weights: fewer and larger
/// kernels, each computing the same sums. Weights of different forms (mixed quantization) stay apart. Returns the number of groups.
size_t fuse_projections(const std::shared_ptr<ov::Model>& model);

/// Puts a Gather in front of the last MatMul on the way to `logits` (for `last_hidden_state`: behind it), so that vocabulary-sized
/// rows are computed only for tokens to be sampled: new input `sampled_rows` (i64 [?], positions on the token axis). Looks through
/// reshapes, scaling, soft-capping and conversions behind that MatMul. False where there is no such MatMul; then all rows are computed.
bool gather_sampled_rows(const std::shared_ptr<ov::Model>& model);

/// Rounds the matrices of MatMul and embedding Gather nodes to int8, symmetric, with an f16 scale per `group_size` columns
/// (0 = per row), from the values the present weights stand for. Returns the number of matrices.
size_t round_weights_to_int8(const std::shared_ptr<ov::Model>& model, size_t group_size);

/// Gives rotary frequencies back their precision where a file keeps them in f16 (positions beyond a hundred would turn by a wrong
/// angle): a constant `[1, n, 1]` that rounds `base^(-i/n)` for a base of two significant digits. Returns the number of constants.
size_t repair_rope_frequencies(const std::shared_ptr<ov::Model>& model);

/// Bytes of weights that one decoding step reads (constants behind MatMul nodes, each once).
uint64_t weight_bytes(const std::shared_ptr<const ov::Model>& model);

}  // namespace pergola
