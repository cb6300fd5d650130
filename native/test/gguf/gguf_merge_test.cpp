#include "gguf/gguf_merge.hpp"

#include <algorithm>

#include "support/files.hpp"
#include "support/harness.hpp"
#include "support/tiny_gguf.hpp"

namespace pergola::test {
namespace {

GgufWriter small() {
    GgufWriter file;
    file.add("general.architecture", std::string("llama"));
    file.add("general.alignment", uint32_t{32});
    file.add("list", std::vector<std::string>{"a", "", "longer text"});
    file.add("numbers", std::vector<int32_t>{1, 2, 3});
    file.add_raw("big", 10, GgufWriter::raw<uint64_t>(1));
    file.add_raw("flag", 7, std::string(1, '\1'));
    file.add_floats("first", {3}, {1, 2, 3});
    file.tensors.push_back({"second", {32, 2}, 2, std::string(36, 'q')});  // Q4_0: 18 bytes for 32 values
    file.add_floats("third", {2, 2}, {5, 6, 7, 8});
    return file;
}

struct Files {
    ScratchFolder folder;
    std::vector<std::string> names;
    const std::string& add(const std::string& bytes) {
        names.push_back(folder.file("part-" + std::to_string(names.size()) + ".gguf"));
        write_file(names.back(), bytes);
        return names.back();
    }
};

/// `bytes` must be refused as a damaged model, and the error must name the file.
void check_refused(const std::string& bytes, const char* place) {
    Files files;
    const std::string& name = files.add(bytes);
    const auto error = engine_error("gguf_merge_test.cpp", __LINE__, ErrorCode::Model, [&] { summarize_gguf({name}); });
    if (error.file != name || std::string(error.what()).find(name) == std::string::npos) fail("gguf_merge_test.cpp", __LINE__, std::string("no file named: ") + place);
    const auto merging = engine_error("gguf_merge_test.cpp", __LINE__, ErrorCode::Model, [&] { MergedGguf({name}, files.folder.path()); });
    CHECK_EQ(merging.file, name);
    CHECK_EQ(files.folder.entries(), 1u);  // nothing is left behind
}

}  // namespace

TEST(gguf_merge, "the summary names architecture and tensor types, over all shards") {
    Files files;
    GgufWriter file = small();
    const auto summary = summarize_gguf({files.add(file.file())});
    CHECK_EQ(summary.architecture, std::string("llama"));
    CHECK_EQ(summary.tensor_types, std::string("F32, Q4_0"));
    GgufWriter strange;
    strange.tensors.push_back({"x", {32}, 777, std::string(64, 'x')});
    files.add(strange.file());
    const auto both = summarize_gguf(files.names);
    CHECK_EQ(both.architecture, std::string("llama"));
    CHECK_EQ(both.tensor_types, std::string("F32, Q4_0, type 777"));
    GgufWriter empty;
    CHECK_EQ(summarize_gguf({files.add(empty.file())}).architecture, std::string());
}

TEST(gguf_merge, "shards joined are the whole file, byte for byte") {
    const GgufWriter whole = small();
    for (size_t parts = 1; parts <= 3; ++parts) {
        Files files;
        for (const auto& shard : split(whole, parts)) files.add(shard.file());
        std::string merged_name;
        {
            const MergedGguf merged(files.names, files.folder.path());
            merged_name = merged.path();
            std::string expected = whole.file();
            std::string bytes = read_file(merged_name);
            CHECK(bytes.size() >= expected.size());  // the end is padded too
            bytes.resize(expected.size());
            CHECK(bytes == expected);
        }
        CHECK(!std::filesystem::exists(merged_name));
    }
}

TEST(gguf_merge, "another alignment is kept") {
    GgufWriter whole = tiny_gguf();
    whole.alignment = 128;
    whole.add("general.alignment", uint32_t{128});
    Files files;
    for (const auto& shard : split(whole, 2)) files.add(shard.file());
    // The second shard has no alignment of its own in its metadata, as gguf-split writes it: rewrite it with the default.
    auto shards = split(whole, 2);
    shards[1].alignment = 32;
    write_file(files.names[1], shards[1].file());
    const MergedGguf merged(files.names, files.folder.path());
    std::string bytes = read_file(merged.path());
    const std::string expected = whole.file();
    bytes.resize(expected.size());
    CHECK(bytes == expected);
}

TEST(gguf_merge, "files that are no GGUF, or of another version, are refused") {
    check_refused("", "empty");
    check_refused("GGU", "three bytes");
    check_refused("GGML" + std::string(100, '\0'), "magic");
    check_refused("<html>not found</html>", "HTML");
    for (uint32_t version : {0u, 1u, 4u, 0x03000000u}) {
        GgufWriter file = small();
        file.version = version;
        check_refused(file.file(), "version");
    }
    CHECK_ENGINE_ERROR(ErrorCode::Model, summarize_gguf({"/nowhere/at-all.gguf"}));
    ScratchFolder folder;
    CHECK_ENGINE_ERROR(ErrorCode::Model, summarize_gguf({folder.path()}));
}

TEST(gguf_merge, "a file cut anywhere is refused") {
    const std::string whole = small().file();
    for (size_t length = 0; length < whole.size(); length += kSlow ? 7 : 1) check_refused(whole.substr(0, length), "cut");
    Files files;
    CHECK_EQ(summarize_gguf({files.add(whole)}).architecture, std::string("llama"));
}

TEST(gguf_merge, "absurd lengths and counts are refused at once") {
    const uint64_t lengths[] = {1ull << 20, 1ull << 40, 1ull << 63, ~0ull, ~0ull - 15, ~0ull - 300};
    const auto head = [](uint64_t tensors, uint64_t entries) { return "GGUF" + GgufWriter::raw<uint32_t>(3) + GgufWriter::raw(tensors) + GgufWriter::raw(entries); };
    const std::string padding(400, '\0');
    for (uint64_t length : lengths) {
        check_refused(head(length, 0) + padding, "tensors");
        check_refused(head(0, length) + padding, "entries");
        check_refused(head(0, 1) + GgufWriter::raw(length) + padding, "key");
        const auto value = [&](uint32_t type, const std::string& bytes) {
            GgufWriter file;
            file.add_raw("k", type, bytes);
            return file.file() + padding;
        };
        check_refused(value(8, GgufWriter::raw(length)), "text");
        check_refused(value(9, GgufWriter::raw<uint32_t>(5) + GgufWriter::raw(length)), "array");
        check_refused(value(9, GgufWriter::raw<uint32_t>(8) + GgufWriter::raw<uint64_t>(3) + GgufWriter::raw(length)), "text in an array");
        GgufWriter file = small();
        std::string bytes = file.header();
        std::memcpy(bytes.data() + bytes.size() - 8, &length, 8);  // the last tensor's offset
        check_refused(bytes + padding, "offset");
    }
}

TEST(gguf_merge, "unknown value types, arrays in arrays in arrays and too many dimensions are refused") {
    const auto file = [](uint32_t type, const std::string& value) {
        GgufWriter writer;
        writer.add_raw("k", type, value);
        return writer.file() + std::string(64, '\0');
    };
    check_refused(file(13, std::string(8, '\0')), "type 13");
    check_refused(file(~0u, std::string(8, '\0')), "type 4294967295");
    check_refused(file(9, GgufWriter::raw<uint32_t>(99) + GgufWriter::raw<uint64_t>(1)), "array of type 99");
    std::string nested;
    for (int i = 0; i < 200000; ++i) nested += GgufWriter::raw<uint32_t>(9) + GgufWriter::raw<uint64_t>(1);
    check_refused(file(9, nested), "nesting");
    GgufWriter many;
    many.tensors.push_back({"x", std::vector<uint64_t>(9, 1), 0, "abcd"});
    check_refused(many.file(), "rank 9");
}

TEST(gguf_merge, "random damage is refused or harmless, never worse") {
    const std::string whole = small().file();
    std::mt19937 random(3);
    Files files;
    const std::string name = files.add(whole);
    for (int round = 0; round < (kSlow ? 300 : 3000); ++round) {
        std::string bytes = whole;
        for (size_t i = 0; i < 1 + random() % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
        write_file(name, bytes);
        try {
            summarize_gguf({name});
            const MergedGguf merged({name, name}, files.folder.path());
        } catch (const EngineError& error) {
            CHECK_EQ(error.code, ErrorCode::Model);
        }
        CHECK_EQ(files.folder.entries(), 1u);
    }
}

TEST(gguf_merge, "a folder that cannot be used is a typed error") {
    Files files;
    files.add(small().file());
    CHECK_ENGINE_ERROR(ErrorCode::Model, MergedGguf({files.names[0]}, files.names[0] + "/below-a-file"));
}

}  // namespace pergola::test
