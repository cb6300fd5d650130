#include "gguf/gguf_header.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace pergola {
namespace {

enum ValueType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };
constexpr std::array<size_t, 13> kSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr int kDeepestArray = 4;  // files in use have none in another; a damaged one must not use up the stack

struct TypeInfo {
    uint32_t type;
    const char* name;
    uint64_t values, bytes;  // of one block
};

// `enum ggml_type` and its block sizes; removed numbers are missing.
constexpr TypeInfo kTypes[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},     {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},      {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},  {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},        {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},      {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
};

const TypeInfo* type_info(uint32_t type) {
    const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeInfo& one) { return one.type == type; });
    return found == std::end(kTypes) ? nullptr : found;
}

/// Whether `bytes` can hold the tensor's values. Unknown types are taken at their word.
bool fits(const GgufTensor& tensor, uint64_t bytes) {
    const TypeInfo* info = type_info(tensor.type);
    if (!info) return true;
    const uint64_t most = bytes / info->bytes * info->values;
    uint64_t values = 1;
    for (uint64_t dim : tensor.dims) {
        if (dim > 0 && values > most / dim) return false;
        values *= dim;
    }
    return values <= most;
}

class Reader {
public:
    explicit Reader(const std::string& file) : file_(file), stream_(file, std::ios::binary) {
        std::error_code failure;
        size_ = std::filesystem::file_size(file, failure);
        if (!stream_ || failure) throw EngineError::model(file, file + " cannot be read");
    }

    template <typename T>
    T number() {
        T value{};
        raw(&value, sizeof(T));
        return value;
    }

    std::string text() {
        const auto length = number<uint64_t>();
        if (length > size_) fail();
        std::string value(length, '\0');
        raw(value.data(), length);
        return value;
    }

    void skip(uint64_t count) {
        if (count > size_ - std::min(size_, position())) fail();
        stream_.seekg(static_cast<std::streamoff>(count), std::ios::cur);
    }

    void skip_value(uint32_t type, int depth = 0) {
        if (type == String) {
            skip(number<uint64_t>());
        } else if (type == Array) {
            const auto element = number<uint32_t>();
            const auto count = number<uint64_t>();
            if (count > size_ || depth > kDeepestArray) fail();
            if (element < kSizes.size() && kSizes[element] > 0) skip(count * kSizes[element]);
            else
                for (uint64_t i = 0; i < count; ++i) skip_value(element, depth + 1);
        } else if (type < kSizes.size()) {
            skip(kSizes[type]);
        } else {
            fail();
        }
    }

    std::string bytes_between(uint64_t begin, uint64_t end) {
        std::string result(end - begin, '\0');
        stream_.seekg(static_cast<std::streamoff>(begin));
        raw(result.data(), result.size());
        return result;
    }

    uint64_t position() { return static_cast<uint64_t>(stream_.tellg()); }
    uint64_t size() const { return size_; }

    [[noreturn]] void fail() { throw EngineError::model(file_, file_ + " is damaged or cut short (GGUF header ends too early)"); }

private:
    void raw(void* target, size_t count) {
        if (!stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(count))) fail();
    }

    std::string file_;
    std::ifstream stream_;
    uint64_t size_ = 0;
};

}  // namespace

const GgufEntry* GgufHeader::find(const std::string& key) const {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const GgufEntry& entry) { return entry.key == key; });
    return found == entries.end() ? nullptr : &*found;
}

std::string gguf_type_name(uint32_t type) {
    const TypeInfo* info = type_info(type);
    return info ? info->name : "type " + std::to_string(type);
}

GgufHeader read_gguf_header(const std::string& file) {
    Reader in(file);
    GgufHeader header;
    header.file = file;
    header.file_size = in.size();
    if (in.number<uint32_t>() != 0x46554747) throw EngineError::model(file, file + " is not a GGUF file");
    header.version = in.number<uint32_t>();
    if (header.version < 2 || header.version > 3)
        throw EngineError::model(file, file + " has GGUF version " + std::to_string(header.version) + "; versions 2 and 3 can be read");
    const auto tensors = in.number<uint64_t>();
    const auto entries = in.number<uint64_t>();
    if (tensors > in.size() || entries > in.size()) in.fail();
    for (uint64_t i = 0; i < entries; ++i) {
        GgufEntry entry;
        entry.key = in.text();
        const uint64_t begin = in.position();
        const auto type = in.number<uint32_t>();
        if (type == String) {
            entry.text = in.text();
        } else if (type == U32 || type == U16) {
            entry.number = type == U32 ? in.number<uint32_t>() : in.number<uint16_t>();
        } else if (type == F32) {
            entry.real = in.number<float>();
        } else {
            in.skip_value(type);
        }
        const uint64_t end = in.position();
        entry.bytes = in.bytes_between(begin, end);
        if (entry.key == "general.alignment" && entry.number > 0) header.alignment = entry.number;
        header.entries.push_back(std::move(entry));
    }
    for (uint64_t i = 0; i < tensors; ++i) {
        GgufTensor info;
        info.name = in.text();
        const auto rank = in.number<uint32_t>();
        if (rank > 8) in.fail();
        for (uint32_t d = 0; d < rank; ++d) info.dims.push_back(in.number<uint64_t>());
        info.type = in.number<uint32_t>();
        info.offset = in.number<uint64_t>();
        header.tensors.push_back(std::move(info));
    }
    header.data_begin = (in.position() + header.alignment - 1) / header.alignment * header.alignment;
    // Sizes follow from the next tensor's offset, so types need not be known to copy bytes.
    std::vector<GgufTensor*> order;
    for (auto& info : header.tensors) order.push_back(&info);
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
    for (size_t i = 0; i < order.size(); ++i) {
        const uint64_t end = i + 1 < order.size() ? order[i + 1]->offset : header.file_size - std::min(header.data_begin, header.file_size);
        if (order[i]->offset > end || header.data_begin + end > header.file_size || !fits(*order[i], end - order[i]->offset))
            throw EngineError::model(file, file + " is cut short: tensor " + order[i]->name + " lies beyond its end");
        order[i]->size = end - order[i]->offset;
    }
    return header;
}

std::vector<float> read_gguf_floats(const std::vector<GgufHeader>& shards, const std::string& name) {
    constexpr uint32_t kF32 = 0;
    for (const auto& header : shards)
        for (const auto& tensor : header.tensors) {
            if (tensor.name != name || tensor.type != kF32) continue;
            uint64_t count = 1;
            for (uint64_t dim : tensor.dims) count *= dim;
            std::vector<float> values(count);  // the header's check has made sure that the file holds them
            std::ifstream in(header.file, std::ios::binary);
            in.seekg(static_cast<std::streamoff>(header.data_begin + tensor.offset));
            if (!in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(float))))
                throw EngineError::model(header.file, header.file + " cannot be read at tensor " + name);
            return values;
        }
    return {};
}

}  // namespace pergola
