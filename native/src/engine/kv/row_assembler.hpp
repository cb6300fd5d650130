#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <vector>

#include "kv/sequence.hpp"
#include "runtime/row_graph.hpp"

namespace pergola {

/// Makes the embedding rows that a language model takes: of prompt tokens, of generated tokens (which may be of another vocabulary),
/// and those that came with the prompt.
class RowAssembler {
public:
    /// @param generated null: generated tokens are of the prompt's vocabulary
    RowAssembler(std::shared_ptr<CompiledGraph> prompt, std::shared_ptr<CompiledGraph> generated);

    size_t width() const { return prompt_.width(); }
    bool has_generated() const { return generated_ != nullptr; }
    /// `[tokens, width]` of all chunks, one below the other; valid until the next call.
    ov::Tensor rows_of(const std::vector<Chunk>& chunks, size_t tokens);
    void interrupt();

private:
    struct Wanted {
        std::vector<int64_t> ids;
        std::vector<size_t> places;  // rows of the result
    };
    void fill(RowGraph& graph, const Wanted& wanted, float* result);

    RowGraph prompt_;
    std::unique_ptr<RowGraph> generated_;
    std::vector<float> buffer_;
};

}  // namespace pergola
