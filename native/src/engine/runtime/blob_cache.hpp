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
    /// A file mapped into memory, read-only.
    class Mapping {
    public:
        explicit Mapping(const std::string& file);
        ~Mapping();
        Mapping(const Mapping&) = delete;
        Mapping& operator=(const Mapping&) = delete;
        const char* data() const { return static_cast<const char*>(data_); }
        size_t size() const { return size_; }
        /// Gives the pages back that were read so far; they come from the file again when they are needed again.
        void drop_pages() const;

    private:
        void* data_ = nullptr;
        size_t size_ = 0;
    };

    struct Blob {
        std::shared_ptr<Mapping> file;  // must outlive what was made from `data`
        ov::Tensor data;                // a part of it, not copied
        std::string note;               // what the writer wanted to remember beside the model
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
