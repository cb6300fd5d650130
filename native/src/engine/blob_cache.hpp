#pragma once

#include <functional>
#include <memory>
#include <openvino/openvino.hpp>
#include <string>

namespace pergola {

/// Exported compiled models in a folder, one file a key. The whole key stands in the file, so a collision of file names (a 64-bit hash)
/// is noticed. Files are written under a temporary name and renamed; a failure to write is not an error (the cache only saves time).
class BlobCache {
public:
    struct Blob {
        ov::Tensor data;   // mapped, not read
        std::string note;  // what the writer wanted to remember beside the model
    };

    explicit BlobCache(std::string folder) : folder_(std::move(folder)) {}

    /// Null when there is none (or no folder).
    std::unique_ptr<Blob> find(const std::string& key) const;
    void store(const std::string& key, const std::string& note, const std::function<void(std::ostream&)>& write) const;
    void remove(const std::string& key) const;

private:
    std::string path(const std::string& key) const;
    std::string folder_;
};

}  // namespace pergola
