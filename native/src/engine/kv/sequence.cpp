#include "kv/sequence.hpp"

namespace pergola {
namespace {

/// FNV-1a, 64 bits.
uint64_t hash(uint64_t state, const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) state = (state ^ bytes[i]) * 0x100000001b3ull;
    return state;
}

}  // namespace

void place_rows(std::vector<int64_t>& tokens, size_t start, size_t count, const std::string& key) {
    const uint64_t content = hash(0xcbf29ce484222325ull, key.data(), key.size());
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t number = hash(content, &i, sizeof i);
        tokens[start + i] = -static_cast<int64_t>(number >> 2) - 1;
    }
}

}  // namespace pergola
