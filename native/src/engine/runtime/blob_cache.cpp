#include "runtime/blob_cache.hpp"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <random>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace pergola {
namespace {

constexpr char kMagic[8] = {'P', 'G', 'B', 'L', 'O', 'B', '1', '\n'};
constexpr uint64_t kAlignment = 4096;  // the payload is mapped; weights inside stay aligned

struct Head {
    char magic[8];
    uint64_t key_size;
    uint64_t note_size;
    uint64_t payload_begin;
    uint64_t payload_size;
};

}  // namespace

std::string BlobCache::path(const std::string& key) const {
    uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
    for (unsigned char c : key) hash = (hash ^ c) * 0x100000001b3ull;
    char name[32];
    std::snprintf(name, sizeof name, "%016llx.blob", static_cast<unsigned long long>(hash));
    return (std::filesystem::path(folder_) / name).string();
}

BlobCache::Mapping::Mapping(const std::string& file) {
    const int handle = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (handle < 0) throw std::ios_base::failure(file + " cannot be opened");
    size_ = std::filesystem::file_size(file);
    data_ = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, handle, 0) : MAP_FAILED;
    ::close(handle);
    if (data_ == MAP_FAILED) throw std::ios_base::failure(file + " cannot be mapped");
}

BlobCache::Mapping::~Mapping() { munmap(data_, size_); }

void BlobCache::Mapping::drop_pages() const { madvise(data_, size_, MADV_DONTNEED); }

std::unique_ptr<BlobCache::Blob> BlobCache::find(const std::string& key) const {
    if (folder_.empty()) return nullptr;
    try {
        auto file = std::make_shared<Mapping>(path(key));
        Head head{};
        if (file->size() < sizeof head) return nullptr;
        std::memcpy(&head, file->data(), sizeof head);
        if (!std::equal(kMagic, kMagic + 8, head.magic) || head.key_size != key.size() || head.note_size > 65536) return nullptr;
        if (head.payload_begin < sizeof head + head.key_size + head.note_size || file->size() != head.payload_begin + head.payload_size) return nullptr;
        const char* text = file->data() + sizeof head;
        if (std::string_view(text, head.key_size) != key) return nullptr;
        auto blob = std::make_unique<Blob>();
        blob->note.assign(text + head.key_size, head.note_size);
        // The runtime reads the blob only; its interface takes a mutable pointer.
        blob->data = ov::Tensor(ov::element::u8, {head.payload_size}, const_cast<char*>(file->data() + head.payload_begin));
        blob->file = std::move(file);
        return blob;
    } catch (const std::exception&) {
        return nullptr;
    }
}

void BlobCache::store(const std::string& key, const std::string& note, const std::function<void(std::ostream&)>& write) const {
    if (folder_.empty()) return;
    const std::string file = path(key);
    // Own to this writer: threads, and copies of this library in one process, may store the same key at the same time.
    std::random_device random;
    const std::string temporary = file + "." + std::to_string(getpid()) + "-" + std::to_string(random()) + ".part";
    std::error_code ignored;
    try {
        std::filesystem::create_directories(folder_);
        std::ofstream out(temporary, std::ios::binary);
        Head head{};
        std::copy(kMagic, kMagic + 8, head.magic);
        head.key_size = key.size();
        head.note_size = note.size();
        head.payload_begin = (sizeof head + key.size() + note.size() + kAlignment - 1) / kAlignment * kAlignment;
        out.write(reinterpret_cast<const char*>(&head), sizeof head);
        out << key << note;
        out << std::string(head.payload_begin - static_cast<uint64_t>(out.tellp()), '\0');
        write(out);
        out.flush();
        if (!out) throw std::ios_base::failure("write failed");
        out.seekp(0, std::ios::end);  // the exporter goes back to fill in its own header
        head.payload_size = static_cast<uint64_t>(out.tellp()) - head.payload_begin;
        out.seekp(0);
        out.write(reinterpret_cast<const char*>(&head), sizeof head);
        out.close();
        if (!out) throw std::ios_base::failure("write failed");
        std::filesystem::rename(temporary, file);
    } catch (const std::exception&) {
        // Not every device can export, and a disk may be full; the next load compiles again.
        std::filesystem::remove(temporary, ignored);
    }
}

void BlobCache::remove(const std::string& key) const {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove(path(key), ignored);
}

}  // namespace pergola
