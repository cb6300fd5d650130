#pragma once

#include <cstddef>
#include <vector>

namespace pergola {

/// Power spectrum and mel filters of Whisper's frames: 400 samples, Hann window, 201 bins of 40 Hz, Slaney filters from 0 to 8000 Hz.
/// Frames are computed 16 at a time, one in each lane, so that every step of the transform is plain vector arithmetic.
class MelTransform {
public:
    static constexpr size_t kFrame = 400;
    static constexpr size_t kHop = 160;
    static constexpr size_t kLanes = 16;

    explicit MelTransform(size_t bins);

    size_t bins() const { return bins_; }

    /// log10 of the mel energies (at least 1e-10) of `count` frames that begin at `samples + i * kHop`, `count <= kLanes`; row by row to
    /// `out[count][bins]`. Returns the greatest value. `scratch` is the caller's, so that threads can share the transform.
    float run(const float* samples, size_t count, float* out, std::vector<float>& scratch) const;

private:
    static constexpr size_t kHalf = kFrame / 2;  // a real transform of 400 is a complex one of 200

    struct Stage {
        size_t radix, stride;                  // stride: transforms already joined
        std::vector<float> twiddle_re, twiddle_im;  // [kHalf / radix][radix], for inputs
    };

    size_t bins_;
    std::vector<float> window_;
    std::vector<Stage> stages_;
    std::vector<float> unfold_re_, unfold_im_;  // exp(-2 pi i k / 400)
    struct Filter {
        size_t first;
        std::vector<float> weights;
    };
    std::vector<Filter> filters_;
};

}  // namespace pergola
