#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pergola {

struct SystemInfo {
    std::string cpu_model;
    std::vector<std::string> cpu_flags;
    uint64_t total_memory = 0;
    uint64_t available_memory = 0;
};

/// Reads /proc and, where a container sets a lower limit, its cgroup (v2, v1).
SystemInfo read_system_info();

}  // namespace pergola
