#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace pergola::test {

/// Writes small GGUF files (version 3) for tests, sound or unsound at will.
class GgufWriter {
public:
    struct Tensor {
        std::string name;
        std::vector<uint64_t> dims;
        uint32_t type;
        std::string bytes;
    };

    template <typename T>
    static std::string raw(T value) {
        std::string bytes(sizeof(T), '\0');
        std::memcpy(bytes.data(), &value, sizeof(T));
        return bytes;
    }
    static std::string text(const std::string& value) { return raw<uint64_t>(value.size()) + value; }

    void add(const std::string& key, const std::string& value) { add_raw(key, 8, text(value)); }
    void add(const std::string& key, uint32_t value) { add_raw(key, 4, raw(value)); }
    void add(const std::string& key, float value) { add_raw(key, 6, raw(value)); }
    void add(const std::string& key, const std::vector<std::string>& values) {
        std::string bytes = raw<uint32_t>(8) + raw<uint64_t>(values.size());
        for (const auto& value : values) bytes += text(value);
        add_raw(key, 9, bytes);
    }
    void add(const std::string& key, const std::vector<int32_t>& values) {
        std::string bytes = raw<uint32_t>(5) + raw<uint64_t>(values.size());
        for (int32_t value : values) bytes += raw(value);
        add_raw(key, 9, bytes);
    }
    void add_raw(const std::string& key, uint32_t type, const std::string& value) {
        entries += text(key) + raw(type) + value;
        ++entry_count;
    }
    void add_floats(const std::string& name, const std::vector<uint64_t>& dims, const std::vector<float>& values) {
        std::string bytes(values.size() * sizeof(float), '\0');
        std::memcpy(bytes.data(), values.data(), bytes.size());
        tensors.push_back({name, dims, 0, bytes});
    }

    std::string header() const {
        std::string out = "GGUF" + raw(version) + raw<uint64_t>(tensors.size()) + raw(entry_count) + entries;
        uint64_t offset = 0;
        for (const auto& tensor : tensors) {
            out += text(tensor.name) + raw(static_cast<uint32_t>(tensor.dims.size()));
            for (uint64_t dim : tensor.dims) out += raw(dim);
            out += raw(tensor.type) + raw(offset);
            offset += padded(tensor.bytes.size());
        }
        return out;
    }
    std::string file() const {
        std::string out = header();
        out.resize(padded(out.size()));
        for (size_t i = 0; i < tensors.size(); ++i) {
            out += tensors[i].bytes;
            if (i + 1 < tensors.size()) out.resize(out.size() + padded(tensors[i].bytes.size()) - tensors[i].bytes.size());
        }
        return out;
    }

    uint32_t version = 3;
    uint64_t alignment = 32;
    uint64_t entry_count = 0;
    std::string entries;
    std::vector<Tensor> tensors;

private:
    uint64_t padded(uint64_t size) const { return (size + alignment - 1) / alignment * alignment; }
};

}  // namespace pergola::test
