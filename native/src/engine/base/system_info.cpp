#include "base/system_info.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace pergola {
namespace {

uint64_t read_number(const char* path) {
    std::ifstream file(path);
    uint64_t value = 0;
    return file >> value ? value : 0;  // "max" does not parse: no limit
}

uint64_t meminfo(const std::string& key) {
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);)
        if (line.rfind(key + ":", 0) == 0) return std::stoull(line.substr(key.size() + 1)) * 1024;
    return 0;
}

}  // namespace

SystemInfo read_system_info() {
    SystemInfo info;
    // Flags that change which kernels the CPU plugin picks.
    static const std::set<std::string> wanted = {"sse4_2", "avx",         "avx2",      "fma",      "f16c",     "avx512f",  "avx512bw",
                                                 "avx512vl", "avx512_vnni", "avx_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"};
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {
        const size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
        if (line.rfind("model name", 0) == 0) info.cpu_model = value;
        if (line.rfind("flags", 0) == 0) {
            std::stringstream words(value);
            for (std::string word; words >> word;)
                if (wanted.count(word)) info.cpu_flags.push_back(word);
        }
    }
    info.total_memory = meminfo("MemTotal");
    info.available_memory = meminfo("MemAvailable");
    const std::pair<const char*, const char*> cgroups[] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
    for (const auto& [limit_path, usage_path] : cgroups) {
        const uint64_t limit = read_number(limit_path);
        if (limit == 0 || limit >= info.total_memory) continue;
        const uint64_t used = std::min(read_number(usage_path), limit);
        info.total_memory = limit;
        info.available_memory = std::min(info.available_memory, limit - used);
    }
    return info;
}

}  // namespace pergola
