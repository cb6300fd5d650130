#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/references.hpp"

namespace pergola::test {

inline std::vector<float> read_floats(const std::string& path) {
    const std::string bytes = read_file(path);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

/// Numbers that the Python scripts make too: Knuth's MMIX generator, the upper 24 bits.
class SeededNumbers {
public:
    explicit SeededNumbers(uint64_t seed) : state_(seed) {}
    uint32_t next() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<uint32_t>(state_ >> 40);
    }
    /// In [-1, 1).
    float sample() { return static_cast<float>(next() / 8388608.0 - 1); }

private:
    uint64_t state_;
};

/// The signals of make_mel.py.
inline std::vector<float> made_signal(const std::string& kind, size_t count) {
    constexpr double pi = 3.14159265358979323846, rate = 16000;
    std::vector<float> x(count, 0.f);
    const auto noise = [&](uint64_t seed, float scale) {
        SeededNumbers numbers(seed);
        for (float& value : x) value = numbers.sample() * scale;
    };
    if (kind == "impulse") x[count / 2] = 1;
    else if (kind == "edge") x.front() = x.back() = 0.5f;
    else if (kind == "noise") noise(1, 0.25f);
    else if (kind == "quiet") noise(2, 0x1p-13f);
    else if (kind == "loud") noise(3, 32768.f);
    else if (kind != "silence" && kind != "sines" && kind != "sweep") throw std::runtime_error("no such signal: " + kind);
    if (kind == "quiet") x[count / 2] = 1;
    for (size_t i = 0; i < count; ++i) {
        const double t = static_cast<double>(i), size = static_cast<double>(count);
        if (kind == "sines")
            x[i] = static_cast<float>(0.5 * std::sin(2 * pi * 440 * t / rate) + 0.25 * std::sin(2 * pi * 1234 * t / rate) +
                                      0.05 * std::sin(2 * pi * 6000 * t / rate));
        else if (kind == "sweep") x[i] = static_cast<float>(0.9 * (t + 1) / size * std::sin(pi * (rate / 2) * t * t / (size * rate)));
    }
    return x;
}

}  // namespace pergola::test
