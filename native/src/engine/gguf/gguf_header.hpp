#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pergola {

struct GgufEntry {
    std::string key;
    std::string bytes;  // type and value as they are in the file
    std::string text;   // value of a string
    uint64_t number = 0;  // value of an unsigned integer of 16 or 32 bits
    float real = 0;       // value of a float of 32 bits
};

struct GgufTensor {
    std::string name;
    std::vector<uint64_t> dims;
    uint32_t type = 0;
    uint64_t offset = 0;  // from `data_begin`
    uint64_t size = 0;
};

/// What stands before the tensors' data in one GGUF file, v2 or v3: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
struct GgufHeader {
    std::string file;
    uint32_t version = 0;
    std::vector<GgufEntry> entries;
    std::vector<GgufTensor> tensors;
    uint64_t alignment = 32;
    uint64_t data_begin = 0;
    uint64_t file_size = 0;

    const GgufEntry* find(const std::string& key) const;
};

/// Throws `model` for files that are no sound GGUF.
GgufHeader read_gguf_header(const std::string& file);

/// "Q4_1", or "type 99" for a number that is not known.
std::string gguf_type_name(uint32_t type);

/// Values of a tensor of type F32; empty when there is none of that name and type in the shards.
std::vector<float> read_gguf_floats(const std::vector<GgufHeader>& shards, const std::string& name);

}  // namespace pergola
