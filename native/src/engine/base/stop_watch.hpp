#pragma once

#include <chrono>

namespace pergola {

using Clock = std::chrono::steady_clock;

inline double milliseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

class StopWatch {
public:
    double ms() const { return milliseconds(start_, Clock::now()); }

private:
    Clock::time_point start_ = Clock::now();
};

}  // namespace pergola
