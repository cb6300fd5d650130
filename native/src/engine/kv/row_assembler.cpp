#include "kv/row_assembler.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace pergola {
namespace {

/// The rows that hold this index of the prompt; null where a token stands.
const PromptRows* rows_at(const SequenceInput& input, size_t index) {
    const auto after = std::upper_bound(input.rows.begin(), input.rows.end(), index, [](size_t at, const PromptRows& rows) { return at < rows.start; });
    if (after == input.rows.begin()) return nullptr;
    const PromptRows& before = *std::prev(after);
    return index < before.start + before.count ? &before : nullptr;
}

}  // namespace

RowAssembler::RowAssembler(std::shared_ptr<CompiledGraph> prompt, std::shared_ptr<CompiledGraph> generated) : prompt_(std::move(prompt), 0) {
    if (!generated) return;
    const std::string file = generated->file;
    generated_ = std::make_unique<RowGraph>(std::move(generated), 0);
    if (generated_->width() != prompt_.width())
        throw EngineError::model(file, file + " makes rows of " + std::to_string(generated_->width()) + " numbers, the text embeddings rows of " +
                                           std::to_string(prompt_.width()) + ": the files do not belong together");
}

void RowAssembler::fill(RowGraph& graph, const Wanted& wanted, float* result) {
    if (wanted.ids.empty()) return;
    const float* rows = graph.embed(wanted.ids.data(), wanted.ids.size());
    for (size_t i = 0; i < wanted.places.size(); ++i) std::memcpy(result + wanted.places[i] * width(), rows + i * width(), width() * sizeof(float));
}

ov::Tensor RowAssembler::rows_of(const std::vector<Chunk>& chunks, size_t tokens) {
    Wanted prompt, generated;
    size_t at = 0;
    std::vector<std::pair<size_t, const float*>> given;
    for (const auto& chunk : chunks) {
        for (size_t i = 0; i < chunk.count; ++i, ++at) {
            const size_t index = chunk.past + i;
            const bool is_generated = generated_ && chunk.input && index >= chunk.input->prompt_size;
            const PromptRows* rows = chunk.input ? rows_at(*chunk.input, index) : nullptr;
            if (rows) {
                given.emplace_back(at, rows->values.data() + (index - rows->start) * width());
                continue;
            }
            Wanted& wanted = is_generated ? generated : prompt;
            wanted.ids.push_back(chunk.tokens[i]);
            wanted.places.push_back(at);
        }
    }
    const ov::Shape shape{tokens, width()};
    // A step of ordinary decoding: what the graph gives is what is wanted, in order.
    if (prompt.ids.size() == tokens) return ov::Tensor(ov::element::f32, shape, prompt_.embed(prompt.ids.data(), tokens));
    if (generated.ids.size() == tokens) return ov::Tensor(ov::element::f32, shape, generated_->embed(generated.ids.data(), tokens));
    buffer_.resize(tokens * width());
    fill(prompt_, prompt, buffer_.data());
    if (generated_) fill(*generated_, generated, buffer_.data());
    for (const auto& [place, row] : given) std::memcpy(buffer_.data() + place * width(), row, width() * sizeof(float));
    return ov::Tensor(ov::element::f32, shape, buffer_.data());
}

void RowAssembler::interrupt() {
    prompt_.interrupt();
    if (generated_) generated_->interrupt();
}

}  // namespace pergola
