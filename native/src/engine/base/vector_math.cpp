#include "base/vector_math.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/target_clones.hpp"

namespace pergola {
namespace {

constexpr size_t kLanes = 16;
constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// e^x for x <= 0 without branches: 2^n times a polynomial for the rest (Taylor, degree 6, |r| <= ln 2 / 2: relative error below 2e-7).
inline float exp_below_zero(float x) {
    x = std::max(x, -87.f);
    const float n = std::floor(x * 1.44269504f + 0.5f);
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.f / 720;
    p = p * r + 1.f / 120;
    p = p * r + 1.f / 24;
    p = p * r + 1.f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.f;
    p = p * r + 1.f;
    const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

}  // namespace

PERGOLA_TARGET_CLONES float greatest(const float* values, size_t count) {
    float lanes[kLanes];
    std::fill(lanes, lanes + kLanes, kNothing);
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (size_t l = 0; l < kLanes; ++l) lanes[l] = values[i + l] > lanes[l] ? values[i + l] : lanes[l];
    float result = kNothing;
    for (; i < count; ++i) result = std::max(result, values[i]);
    for (const float lane : lanes) result = std::max(result, lane);
    return result;
}

size_t index_of_greatest(const float* values, size_t count) {
    const float* found = std::find(values, values + count, greatest(values, count));
    return found == values + count ? 0 : static_cast<size_t>(found - values);
}

PERGOLA_TARGET_CLONES float log_sum_exp(const float* values, size_t count) {
    const float peak = greatest(values, count);
    if (!std::isfinite(peak)) return kNothing;
    // Blocks of floats, summed in doubles: 3,000 additions in a lane would lose digits.
    constexpr size_t kBlock = kLanes * 64;
    double sum = 0;
    size_t i = 0;
    while (i + kLanes <= count) {
        float lanes[kLanes] = {};
        const size_t end = std::min(count, i + kBlock);
        for (; i + kLanes <= end; i += kLanes)
            for (size_t l = 0; l < kLanes; ++l) lanes[l] += exp_below_zero(values[i + l] - peak);
        for (const float lane : lanes) sum += lane;
    }
    for (; i < count; ++i) sum += exp_below_zero(values[i] - peak);
    return peak + static_cast<float>(std::log(sum));
}

bool log_softmax(float* values, size_t count) {
    const float total = log_sum_exp(values, count);
    if (!std::isfinite(total)) return false;
    for (size_t i = 0; i < count; ++i) values[i] -= total;
    return true;
}

}  // namespace pergola
