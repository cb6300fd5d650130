#include "runtime/row_graph.hpp"

#include <cstring>

#include "base/error.hpp"
#include "base/tensor_convert.hpp"

namespace pergola {

RowGraph::RowGraph(std::shared_ptr<CompiledGraph> graph, size_t hidden) : graph_(std::move(graph)), hidden_(hidden) {
    const auto& file = graph_->file;
    const auto inputs = graph_->compiled.inputs();
    if (inputs.size() != 1 || graph_->compiled.outputs().size() != 1)
        throw EngineError::model(file, file + " must have one input and one output to serve as embeddings or head of a language model");
    const auto shape = inputs[0].get_partial_shape();
    const size_t least = hidden_ > 0 ? 2 : 1;
    rank_ = shape.rank().is_static() ? static_cast<size_t>(shape.rank().get_length()) : least + 1;
    if (inputs[0].get_element_type().is_real() != (hidden_ > 0))
        throw EngineError::model(file, file + " takes " + inputs[0].get_element_type().get_type_name() + (hidden_ > 0 ? "; rows of numbers are needed" : "; token ids are needed"));
    if (rank_ < least || rank_ > least + 1)
        throw EngineError::model(file, file + " takes an input of " + std::to_string(rank_) + " axes; " + (hidden_ > 0 ? "[n, hidden] or [1, n, hidden]" : "[n] or [1, n]") +
                                           " is needed");
    if (hidden_ > 0 && !shape[rank_ - 1].compatible(static_cast<int64_t>(hidden_)))
        throw EngineError::model(file, file + " takes rows of " + shape[rank_ - 1].to_string() + " numbers, but the language model gives " + std::to_string(hidden_) +
                                           ": the files do not belong together");
    request_ = graph_->compiled.create_infer_request();
    // The width may be dynamic in the graph; one row tells.
    const std::vector<float> zeros(hidden_);
    const int64_t first = 0;
    try {
        if (hidden_ > 0) apply(zeros.data(), 1);
        else embed(&first, 1);
    } catch (const EngineError&) {
        throw;
    } catch (const std::exception& error) {
        throw EngineError::model(file, file + " does not work with this language model: " + runtime_reason(error.what()));
    }
}

ov::Shape RowGraph::shape_of(size_t count) const {
    ov::Shape shape(rank_, 1);
    if (hidden_ > 0) {
        shape[rank_ - 1] = hidden_;
        shape[rank_ - 2] = count;
    } else {
        shape[rank_ - 1] = count;
    }
    return shape;
}

float* RowGraph::run(ov::Tensor input, size_t count) {
    request_.set_input_tensor(converted(input, graph_->compiled.input().get_element_type()));
    request_.infer();
    ov::Tensor output = request_.get_output_tensor();
    if (output.get_element_type() != ov::element::f32 || output.get_size() % count != 0)
        throw EngineError::model(graph_->file, graph_->file + " does not give one row of f32 numbers for each input");
    width_ = output.get_size() / count;
    return output.data<float>();
}

float* RowGraph::embed(const int64_t* ids, size_t count) {
    return run(ov::Tensor(ov::element::i64, shape_of(count), const_cast<int64_t*>(ids)), count);
}

float* RowGraph::apply(const float* rows, size_t count) {
    return run(ov::Tensor(ov::element::f32, shape_of(count), const_cast<float*>(rows)), count);
}

}  // namespace pergola
