#include "speech/alignment.hpp"

#include <algorithm>
#include <cmath>

namespace pergola {
namespace {

constexpr size_t kMedian = 7;

void softmax_rows(HeadScores& head) {
    for (size_t token = 0; token < head.tokens; ++token) {
        float* row = head.values.data() + token * head.frames;
        const float peak = *std::max_element(row, row + head.frames);
        double sum = 0;
        for (size_t i = 0; i < head.frames; ++i) sum += row[i] = std::exp(row[i] - peak);
        for (size_t i = 0; i < head.frames; ++i) row[i] = static_cast<float>(row[i] / sum);
    }
}

void normalise_columns(HeadScores& head) {
    for (size_t frame = 0; frame < head.frames; ++frame) {
        double mean = 0, square = 0;
        for (size_t token = 0; token < head.tokens; ++token) mean += head.values[token * head.frames + frame];
        mean /= static_cast<double>(head.tokens);
        for (size_t token = 0; token < head.tokens; ++token) {
            const double distance = head.values[token * head.frames + frame] - mean;
            square += distance * distance;
        }
        const double deviation = std::sqrt(square / static_cast<double>(head.tokens));
        for (size_t token = 0; token < head.tokens; ++token) {
            float& value = head.values[token * head.frames + frame];
            value = deviation > 0 ? static_cast<float>((value - mean) / deviation) : 0.f;
        }
    }
}

/// Median along frames, the row mirrored at its ends; rows too short for that stay as they are.
void median_row(const float* row, size_t frames, float* out) {
    constexpr ptrdiff_t side = kMedian / 2;
    if (frames <= static_cast<size_t>(side)) {
        std::copy(row, row + frames, out);
        return;
    }
    float around[kMedian];
    const auto last = static_cast<ptrdiff_t>(frames) - 1;
    for (ptrdiff_t i = 0; i <= last; ++i) {
        for (ptrdiff_t j = -side; j <= side; ++j) {
            const ptrdiff_t at = std::abs(i + j);
            around[j + side] = row[at > last ? 2 * last - at : at];
        }
        std::nth_element(around, around + side, around + kMedian);
        out[i] = around[side];
    }
}

/// The cheapest monotonic path through `cost`; returns the first column of each row.
std::vector<int32_t> warp(const std::vector<double>& cost, size_t rows, size_t columns) {
    enum Step : char { Diagonal, Up, Left };
    const size_t width = columns + 1;
    std::vector<double> above(width, INFINITY), current(width);
    std::vector<char> steps((rows + 1) * width, Left);
    above[0] = 0;
    for (size_t i = 1; i <= rows; ++i) {
        current[0] = INFINITY;
        for (size_t j = 1; j <= columns; ++j) {
            const double diagonal = above[j - 1], up = above[j], left = current[j - 1];
            double best = left;
            char step = Left;
            if (diagonal < up && diagonal < left) {
                best = diagonal;
                step = Diagonal;
            } else if (up < diagonal && up < left) {
                best = up;
                step = Up;
            }
            current[j] = cost[(i - 1) * columns + j - 1] + best;
            steps[i * width + j] = step;
        }
        std::swap(above, current);
    }
    std::vector<int32_t> first(rows, 0);
    for (size_t i = rows, j = columns; i > 0;) {
        if (j > 0) first[i - 1] = static_cast<int32_t>(j - 1);
        const char step = j == 0 ? static_cast<char>(Up) : steps[i * width + j];
        if (step != Left) --i;
        if (step != Up && j > 0) --j;
    }
    return first;
}

}  // namespace

std::vector<int32_t> align_tokens(std::vector<HeadScores>& heads, size_t first_row, size_t end_row) {
    if (heads.empty() || end_row <= first_row) return {};
    const size_t rows = end_row - first_row, frames = heads.front().frames;
    if (frames == 0) return std::vector<int32_t>(rows, 0);
    std::vector<double> cost(rows * frames, 0.0);
    std::vector<float> smooth(frames);
    for (auto& head : heads) {
        softmax_rows(head);
        normalise_columns(head);
        for (size_t i = 0; i < rows; ++i) {
            median_row(head.values.data() + (first_row + i) * frames, frames, smooth.data());
            for (size_t j = 0; j < frames; ++j) cost[i * frames + j] -= smooth[j] / static_cast<double>(heads.size());
        }
    }
    return warp(cost, rows, frames);
}

}  // namespace pergola
