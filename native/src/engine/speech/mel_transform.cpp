#include "speech/mel_transform.hpp"

#include <algorithm>
#include <cmath>

#include "base/target_clones.hpp"

namespace pergola {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr size_t kRadices[] = {5, 5, 4, 2};  // of 200
constexpr double kSampleRate = 16000;

double hz_of_mel(double mel) {
    // Slaney's scale: linear below 1 kHz, logarithmic above.
    return mel < 15 ? mel * 200 / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
}

double mel_of_hz(double hz) { return hz < 1000 ? hz * 3 / 200 : 15 + std::log(hz / 1000) * 27 / std::log(6.4); }

using Lanes = float[MelTransform::kLanes];

template <size_t Radix>
inline void butterfly(const float* in_re, const float* in_im, float* out_re, float* out_im, size_t in_step, size_t out_step,
                      const float* tw_re, const float* tw_im) {
    constexpr size_t L = MelTransform::kLanes;
    Lanes re[Radix], im[Radix];
    for (size_t j = 0; j < Radix; ++j) {
        const float c = tw_re[j], s = tw_im[j];
        const float* a = in_re + j * in_step * L;
        const float* b = in_im + j * in_step * L;
        for (size_t l = 0; l < L; ++l) {
            re[j][l] = a[l] * c - b[l] * s;
            im[j][l] = a[l] * s + b[l] * c;
        }
    }
    static const auto roots = [] {
        std::vector<float> table(2 * Radix);
        for (size_t k = 0; k < Radix; ++k) {
            table[k] = static_cast<float>(std::cos(-2 * kPi * static_cast<double>(k) / Radix));
            table[Radix + k] = static_cast<float>(std::sin(-2 * kPi * static_cast<double>(k) / Radix));
        }
        return table;
    }();
    for (size_t k = 0; k < Radix; ++k) {
        float* a = out_re + k * out_step * L;
        float* b = out_im + k * out_step * L;
        Lanes sum_re, sum_im;
        for (size_t l = 0; l < L; ++l) {
            sum_re[l] = re[0][l];
            sum_im[l] = im[0][l];
        }
        for (size_t j = 1; j < Radix; ++j) {
            const float c = roots[j * k % Radix], s = roots[Radix + j * k % Radix];
            for (size_t l = 0; l < L; ++l) {
                sum_re[l] += re[j][l] * c - im[j][l] * s;
                sum_im[l] += re[j][l] * s + im[j][l] * c;
            }
        }
        for (size_t l = 0; l < L; ++l) {
            a[l] = sum_re[l];
            b[l] = sum_im[l];
        }
    }
}

}  // namespace

MelTransform::MelTransform(size_t bins) : bins_(bins) {
    for (size_t i = 0; i < kFrame; ++i) window_.push_back(static_cast<float>(0.5 - 0.5 * std::cos(2 * kPi * static_cast<double>(i) / kFrame)));
    // Stockham's arrangement: stage after stage, `stride` interleaved transforms grow by a factor of `radix`; no reordering is needed.
    size_t joined = 1;
    for (const size_t radix : kRadices) {
        Stage stage{radix, joined, {}, {}};
        for (size_t position = 0; position < joined; ++position)
            for (size_t j = 0; j < radix; ++j) {
                const double angle = -2 * kPi * static_cast<double>(position * j) / static_cast<double>(joined * radix);
                stage.twiddle_re.push_back(static_cast<float>(std::cos(angle)));
                stage.twiddle_im.push_back(static_cast<float>(std::sin(angle)));
            }
        stages_.push_back(std::move(stage));
        joined *= radix;
    }
    for (size_t k = 0; k <= kHalf; ++k) {
        unfold_re_.push_back(static_cast<float>(std::cos(-2 * kPi * static_cast<double>(k) / kFrame)));
        unfold_im_.push_back(static_cast<float>(std::sin(-2 * kPi * static_cast<double>(k) / kFrame)));
    }
    std::vector<double> edges;
    const double top = mel_of_hz(kSampleRate / 2);
    for (size_t i = 0; i < bins + 2; ++i) edges.push_back(hz_of_mel(top * static_cast<double>(i) / static_cast<double>(bins + 1)));
    for (size_t i = 0; i < bins; ++i) {
        Filter filter{0, {}};
        const double norm = 2 / (edges[i + 2] - edges[i]);
        for (size_t k = 0; k <= kHalf; ++k) {
            const double hz = static_cast<double>(k) * kSampleRate / kFrame;
            const double up = (hz - edges[i]) / (edges[i + 1] - edges[i]), down = (edges[i + 2] - hz) / (edges[i + 2] - edges[i + 1]);
            const double weight = std::max(0.0, std::min(up, down)) * norm;
            if (weight <= 0) continue;
            if (filter.weights.empty()) filter.first = k;
            filter.weights.push_back(static_cast<float>(weight));
        }
        filters_.push_back(std::move(filter));
    }
}

PERGOLA_TARGET_CLONES float MelTransform::run(const float* samples, size_t count, float* out, std::vector<float>& scratch) const {
    constexpr size_t L = kLanes;
    scratch.resize(4 * kHalf * L);
    float *re = scratch.data(), *im = re + kHalf * L, *other_re = im + kHalf * L, *other_im = other_re + kHalf * L;
    for (size_t lane = 0; lane < L; ++lane) {
        const float* frame = samples + std::min(lane, count - 1) * kHop;  // spare lanes repeat the last frame
        for (size_t i = 0; i < kHalf; ++i) {
            re[i * L + lane] = frame[2 * i] * window_[2 * i];
            im[i * L + lane] = frame[2 * i + 1] * window_[2 * i + 1];
        }
    }
    for (const Stage& stage : stages_) {
        const size_t groups = kHalf / (stage.stride * stage.radix), out_step = kHalf / stage.radix;
        for (size_t position = 0; position < stage.stride; ++position) {
            const float* tw_re = &stage.twiddle_re[position * stage.radix];
            const float* tw_im = &stage.twiddle_im[position * stage.radix];
            for (size_t group = 0; group < groups; ++group) {
                // Input: transform `group` of each of `radix` interleaved ones, element `position`. Output: joined, groups innermost.
                const size_t from = (position * groups * stage.radix + group) * L;
                const size_t to = (position * groups + group) * L;
                const float *a = re + from, *b = im + from;
                float *c = other_re + to, *d = other_im + to;
                if (stage.radix == 5) butterfly<5>(a, b, c, d, groups, out_step, tw_re, tw_im);
                else if (stage.radix == 4) butterfly<4>(a, b, c, d, groups, out_step, tw_re, tw_im);
                else butterfly<2>(a, b, c, d, groups, out_step, tw_re, tw_im);
            }
        }
        std::swap(re, other_re);
        std::swap(im, other_im);
    }
    // Split the complex transform of even and odd samples into the real one's bins, as power.
    float* power = other_re;  // kHalf + 1 rows: other_im lies behind other_re
    for (size_t k = 0; k <= kHalf; ++k) {
        const float *a = re + (k % kHalf) * L, *b = im + (k % kHalf) * L;
        const size_t mirror = (kHalf - k) % kHalf;
        const float *c = re + mirror * L, *d = im + mirror * L;
        const float tr = unfold_re_[k], ti = unfold_im_[k];
        for (size_t l = 0; l < L; ++l) {
            const float even_re = 0.5f * (a[l] + c[l]), even_im = 0.5f * (b[l] - d[l]);
            const float odd_re = 0.5f * (b[l] + d[l]), odd_im = 0.5f * (c[l] - a[l]);
            const float x = even_re + odd_re * tr - odd_im * ti, y = even_im + odd_re * ti + odd_im * tr;
            power[k * L + l] = x * x + y * y;
        }
    }
    float peak = -10.f;
    for (size_t bin = 0; bin < bins_; ++bin) {
        const Filter& filter = filters_[bin];
        Lanes sum = {};
        for (size_t i = 0; i < filter.weights.size(); ++i) {
            const float weight = filter.weights[i];
            const float* row = power + (filter.first + i) * L;
            for (size_t l = 0; l < L; ++l) sum[l] += weight * row[l];
        }
        for (size_t l = 0; l < count; ++l) {
            const float value = std::log10(std::max(1e-10f, sum[l]));
            out[l * bins_ + bin] = value;
            peak = std::max(peak, value);
        }
    }
    return peak;
}

}  // namespace pergola
