#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pergola {

/// Rows that stand in a prompt where its tokens are placeholders. There, `tokens` of the sequence are negative numbers made of the
/// content, so that equal contents are found again (see `place_rows`).
struct PromptRows {
    size_t start = 0;
    size_t count = 0;
    std::vector<float> values;  // [count, width]
};

/// What the tokens of a sequence stand for, where they are not simply ids at positions 0, 1, 2, ...
struct SequenceInput {
    size_t prompt_size = 0;  // tokens from here on were generated
    std::vector<PromptRows> rows;
    size_t position_axes = 0;        // 0 = a token's position is its index
    std::vector<int64_t> positions;  // [axes, prompt_size]
    int64_t position_delta = 0;      // of generated tokens: added to the index

    int64_t position(size_t axis, size_t index) const {
        if (position_axes == 0) return static_cast<int64_t>(index);
        return index < prompt_size ? positions[axis * prompt_size + index] : static_cast<int64_t>(index) + position_delta;
    }
};

/// A part of one sequence that goes into one inference.
struct Chunk {
    uint64_t sequence = 0;
    const int64_t* tokens = nullptr;  // the tokens to compute
    size_t count = 0;
    size_t past = 0;      // tokens of the sequence that are computed already
    bool sample = false;  // the output of the last token is wanted
    const SequenceInput* input = nullptr;  // null: all of `tokens` are ids of the prompt's vocabulary
};

inline int64_t position_of(const Chunk& chunk, size_t axis, size_t index) {
    const size_t at = chunk.past + index;
    return chunk.input ? chunk.input->position(axis, at) : static_cast<int64_t>(at);
}

/// Replaces the placeholders of prompt rows in `tokens` by negative numbers made of `key` and the row's index: what a prefix cache
/// compares. Numbers of different contents are different but for chance in 2^62.
void place_rows(std::vector<int64_t>& tokens, size_t start, size_t count, const std::string& key);

}  // namespace pergola
