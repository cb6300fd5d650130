#pragma once

#include <memory>
#include <vector>

#include "runtime/graph.hpp"

namespace pergola {

/// A graph that makes one row of numbers of each thing it gets: embeddings of token ids, logits of hidden states. Used by one thread.
/// Axes of length 1 that the graph has in front (`[1, n]`, `[1, n, hidden]`) are added.
class RowGraph {
public:
    /// @param hidden length of the rows that go in; 0 for token ids
    RowGraph(std::shared_ptr<CompiledGraph> graph, size_t hidden);

    /// Numbers in a row that comes out.
    size_t width() const { return width_; }
    /// `[count, width]`, valid until the next call; the caller may change it.
    float* embed(const int64_t* ids, size_t count);
    float* apply(const float* rows, size_t count);
    void interrupt() { request_.cancel(); }

private:
    float* run(ov::Tensor input, size_t count);
    ov::Shape shape_of(size_t count) const;

    std::shared_ptr<CompiledGraph> graph_;
    ov::InferRequest request_;
    size_t hidden_;
    size_t rank_;
    size_t width_ = 0;
};

}  // namespace pergola
