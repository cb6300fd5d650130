#include "runtime/blob_cache.hpp"

#include <cstring>
#include <thread>

#include "support/files.hpp"
#include "support/harness.hpp"

namespace pergola::test {
namespace {

std::string content(const BlobCache::Blob& blob) { return std::string(static_cast<const char*>(blob.data.data()), blob.data.get_byte_size()); }

void store(const BlobCache& cache, const std::string& key, const std::string& bytes, const std::string& note = "") {
    cache.store(key, note, [&](std::ostream& out) { out << bytes; });
}

std::string only_file(const ScratchFolder& folder) {
    CHECK_EQ(folder.entries(), 1u);
    return std::filesystem::directory_iterator(folder.path())->path().string();
}

}  // namespace

TEST(blob_cache, "what is stored is found again, with its note, aligned") {
    ScratchFolder folder;
    const BlobCache cache(folder.file("made/on/demand"));
    CHECK(cache.find("key") == nullptr);
    store(cache, "key", "payload", "a note\nof two lines");
    const auto blob = cache.find("key");
    REQUIRE(blob != nullptr);
    CHECK_EQ(content(*blob), std::string("payload"));
    CHECK_EQ(blob->note, std::string("a note\nof two lines"));
    const ov::Tensor& data = blob->data;  // mapped for reading only
    CHECK_EQ(reinterpret_cast<uintptr_t>(data.data()) % 64, 0u);
    CHECK(cache.find("kez") == nullptr);
    CHECK(cache.find("") == nullptr);
    store(cache, "key", "another");
    CHECK_EQ(content(*cache.find("key")), std::string("another"));
    CHECK_EQ(content(*blob), std::string("payload"));  // a blob in use keeps its content
    cache.remove("key");
    CHECK(cache.find("key") == nullptr);
    cache.remove("key");
}

TEST(blob_cache, "an exporter may go back in its stream") {
    ScratchFolder folder;
    const BlobCache cache(folder.path());
    cache.store("key", "", [](std::ostream& out) {
        const auto begin = out.tellp();
        out << "....-rest";
        out.seekp(begin);
        out << "head";
    });
    REQUIRE(cache.find("key") != nullptr);
    CHECK_EQ(content(*cache.find("key")), std::string("head-rest"));
}

TEST(blob_cache, "a file of another key under the same name is not taken") {
    ScratchFolder folder;
    const BlobCache cache(folder.path());
    store(cache, "key-a", "payload");
    const std::string file = only_file(folder);
    std::string bytes = read_file(file);
    const size_t at = bytes.find("key-a");
    REQUIRE(at != std::string::npos);
    bytes.replace(at, 5, "key-b");
    write_file(file, bytes);
    CHECK(cache.find("key-a") == nullptr);
}

TEST(blob_cache, "truncated, prolonged, empty and foreign files are not taken") {
    ScratchFolder folder;
    const BlobCache cache(folder.path());
    store(cache, "key", std::string(10000, 'x'));
    const std::string file = only_file(folder);
    const std::string whole = read_file(file);
    for (size_t length : {size_t{0}, size_t{7}, size_t{39}, size_t{41}, size_t{4096}, whole.size() - 1}) {
        write_file(file, whole.substr(0, length));
        CHECK(cache.find("key") == nullptr);
    }
    write_file(file, whole + "x");
    CHECK(cache.find("key") == nullptr);
    for (size_t at = 0; at < 43; ++at) {  // damage to the head or the key: at worst the note is another
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x80);
        write_file(file, bytes);
        const auto blob = cache.find("key");
        CHECK(blob == nullptr || (at / 8 == 2 && content(*blob) == std::string(10000, 'x')));
    }
    write_file(file, whole);
    CHECK(cache.find("key") != nullptr);
}

TEST(blob_cache, "a folder that cannot be written, and an exporter that fails, cost nothing but time") {
    ScratchFolder folder;
    write_file(folder.file("plain"), "");
    const BlobCache below_a_file(folder.file("plain/folder"));
    store(below_a_file, "key", "payload");
    CHECK(below_a_file.find("key") == nullptr);
    const BlobCache none("");
    store(none, "key", "payload");
    CHECK(none.find("key") == nullptr);
    none.remove("key");
    const BlobCache cache(folder.file("cache"));
    cache.store("key", "", [](std::ostream& out) {
        out << "half";
        throw std::runtime_error("this device cannot export");
    });
    cache.store("key", "", [](std::ostream& out) { out.setstate(std::ios::badbit); });
    CHECK(cache.find("key") == nullptr);
    CHECK(std::filesystem::is_empty(folder.file("cache")));  // no half files
}

TEST(blob_cache, "writers of one key at the same time leave one whole file") {
    ScratchFolder folder;
    const BlobCache cache(folder.path());
    std::vector<std::thread> writers;
    for (char letter : {'a', 'b', 'c', 'd'})
        writers.emplace_back([&, letter] {
            for (int round = 0; round < 30; ++round) {
                cache.store("key", "", [&](std::ostream& out) {
                    for (int part = 0; part < 20; ++part) out << std::string(5000, letter) << std::flush;
                });
                const auto blob = cache.find("key");
                CHECK(blob != nullptr);
                if (!blob) continue;
                const std::string bytes = content(*blob);
                CHECK_EQ(bytes.size(), 100000u);
                CHECK(bytes == std::string(bytes.size(), bytes[0]));
            }
        });
    for (auto& writer : writers) writer.join();
    CHECK_EQ(folder.entries(), 1u);
}

}  // namespace pergola::test
