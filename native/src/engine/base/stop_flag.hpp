#pragma once

#include <atomic>

namespace pergola {

/// Asks running work to end; read between two steps of it.
using StopFlag = std::atomic<bool>;

}  // namespace pergola
