#include "gguf/gguf_merge.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>

#include <unistd.h>

#include "base/error.hpp"
#include "gguf/gguf_header.hpp"

namespace pergola {
namespace {

template <typename T>
void put(std::ofstream& out, T value) {
    out.write(reinterpret_cast<const char*>(&value), sizeof(T));
}

void put_text(std::ofstream& out, const std::string& text) {
    put<uint64_t>(out, text.size());
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

void pad(std::ofstream& out, uint64_t alignment) {
    const uint64_t rest = static_cast<uint64_t>(out.tellp()) % alignment;
    if (rest > 0) out << std::string(alignment - rest, '\0');
}

void copy(std::ifstream& in, std::ofstream& out, uint64_t size) {
    std::vector<char> buffer(1 << 20);
    while (size > 0 && in) {
        const auto part = static_cast<std::streamsize>(std::min<uint64_t>(size, buffer.size()));
        in.read(buffer.data(), part);
        out.write(buffer.data(), in.gcount());
        size -= static_cast<uint64_t>(in.gcount());
    }
}

void write_merged(const std::vector<GgufHeader>& headers, const std::string& path) {
    std::ofstream out(path, std::ios::binary);
    const GgufHeader& first = headers.front();
    const auto is_split_key = [](const GgufEntry& entry) { return entry.key.rfind("split.", 0) == 0; };
    uint64_t tensors = 0;
    for (const auto& header : headers) tensors += header.tensors.size();
    put<uint32_t>(out, 0x46554747);
    put<uint32_t>(out, first.version);
    put<uint64_t>(out, tensors);
    put<uint64_t>(out, static_cast<uint64_t>(std::count_if(first.entries.begin(), first.entries.end(), [&](auto& e) { return !is_split_key(e); })));
    for (const auto& entry : first.entries) {
        if (is_split_key(entry)) continue;
        put_text(out, entry.key);
        out.write(entry.bytes.data(), static_cast<std::streamsize>(entry.bytes.size()));
    }
    uint64_t offset = 0;
    for (const auto& header : headers)
        for (const auto& info : header.tensors) {
            put_text(out, info.name);
            put<uint32_t>(out, static_cast<uint32_t>(info.dims.size()));
            for (uint64_t dim : info.dims) put<uint64_t>(out, dim);
            put<uint32_t>(out, info.type);
            put<uint64_t>(out, offset);
            offset += (info.size + first.alignment - 1) / first.alignment * first.alignment;
        }
    pad(out, first.alignment);
    for (const auto& header : headers) {
        std::ifstream in(header.file, std::ios::binary);
        for (const auto& info : header.tensors) {
            in.seekg(static_cast<std::streamoff>(header.data_begin + info.offset));
            copy(in, out, info.size);
            pad(out, first.alignment);
        }
    }
    out.flush();
    if (!out) throw EngineError::model(path, "the shards of " + first.file + " could not be joined in " + path + ": is the disk full?");
}

}  // namespace

GgufSummary summarize_gguf(const std::vector<std::string>& shards) {
    GgufSummary summary;
    std::set<std::string> types;
    for (const auto& shard : shards) {
        const GgufHeader header = read_gguf_header(shard);
        for (const auto& info : header.tensors) types.insert(gguf_type_name(info.type));
        for (const auto& entry : header.entries)
            if (entry.key == "general.architecture" && summary.architecture.empty()) summary.architecture = entry.text;
    }
    for (const auto& type : types) summary.tensor_types += (summary.tensor_types.empty() ? "" : ", ") + type;
    return summary;
}

MergedGguf::MergedGguf(const std::vector<std::string>& shards, const std::string& folder) {
    std::vector<GgufHeader> headers;
    for (const auto& shard : shards) headers.push_back(read_gguf_header(shard));
    const std::filesystem::path base = folder.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(folder);
    std::error_code ignored;  // without the folder there is no file, which is told below
    std::filesystem::create_directories(base, ignored);
    std::string name = (base / "merged-XXXXXX.gguf").string();  // the front end asks for this ending
    const int handle = mkstemps(name.data(), 5);
    if (handle < 0) throw EngineError::model(base.string(), "no temporary file can be made in " + base.string());
    close(handle);
    path_ = name;
    try {
        write_merged(headers, path_);
    } catch (...) {
        std::filesystem::remove(path_, ignored);
        throw;
    }
}

MergedGguf::~MergedGguf() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

}  // namespace pergola
