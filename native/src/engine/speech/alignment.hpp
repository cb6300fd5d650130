#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pergola {

/// Attention of one head over audio frames, before the softmax: `[tokens][frames]`.
struct HeadScores {
    std::vector<float> values;
    size_t tokens = 0, frames = 0;
};

/// Where each token begins, from the attention of the heads that follow the audio: softmax over frames, normalised over tokens, median of
/// 7 frames, mean of heads, dynamic time warping (openai/whisper, timing.py). `first_row`, `end_row`: the tokens that matter.
/// Returns a frame for each of them. Changes `heads`.
std::vector<int32_t> align_tokens(std::vector<HeadScores>& heads, size_t first_row, size_t end_row);

}  // namespace pergola
