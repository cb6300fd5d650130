#include "blob_cache.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

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

std::unique_ptr<BlobCache::Blob> BlobCache::find(const std::string& key) const {
    if (folder_.empty()) return nullptr;
    try {
        const std::string file = path(key);
        std::ifstream in(file, std::ios::binary);
        Head head{};
        if (!in.read(reinterpret_cast<char*>(&head), sizeof head) || !std::equal(kMagic, kMagic + 8, head.magic)) return nullptr;
        if (head.key_size != key.size() || head.note_size > 65536) return nullptr;
        std::string stored(head.key_size, '\0'), note(head.note_size, '\0');
        in.read(stored.data(), static_cast<std::streamsize>(stored.size()));
        in.read(note.data(), static_cast<std::streamsize>(note.size()));
        if (!in || stored != key || std::filesystem::file_size(file) != head.payload_begin + head.payload_size) return nullptr;
        auto blob = std::make_unique<Blob>();
        blob->note = note;
        blob->data = ov::read_tensor_data(std::filesystem::path(file), ov::element::u8, ov::PartialShape{static_cast<int64_t>(head.payload_size)},
                                          head.payload_begin, true);
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
