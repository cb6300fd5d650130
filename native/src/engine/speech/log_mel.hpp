#pragma once

#include <mutex>
#include <vector>

#include "speech/mel_transform.hpp"

namespace pergola {

/// Log-mel spectrogram of 16 kHz audio that arrives in pieces: frames centred on every 160th sample, the audio reflected at both ends,
/// scaled on reading as Whisper does it. Thread-safe; pieces are computed in the order in which they were appended.
class LogMel {
public:
    explicit LogMel(size_t bins);

    size_t bins() const { return transform_.bins(); }
    size_t frames() const;
    size_t first_frame() const;

    void append(std::vector<float>&& samples);
    void finish();
    void discard(size_t frame);
    /// `[bins][length]`; what lies outside the frames there are, or beyond `count`, is `padding`.
    void read(size_t start, size_t count, size_t length, float padding, float* out) const;

private:
    void compute(size_t count);  // `count` further frames from `pending_`

    MelTransform transform_;
    mutable std::mutex mutex_;
    std::vector<float> pending_;  // samples from the beginning of the next frame on
    size_t samples_ = 0;
    bool begun_ = false, finished_ = false;
    std::vector<float> values_;  // [frame - first_][bins], log10
    size_t first_ = 0, frames_ = 0;
    float peak_ = -10.f;
};

}  // namespace pergola
