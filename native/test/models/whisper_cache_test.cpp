#include <filesystem>

#include "support/transcriber_fixture.hpp"

namespace pergola::test {
namespace {

TranscriberOptions cached_options(const ScratchFolder& folder) {
    TranscriberOptions options = transcriber_options();
    options.model.cache_dir = folder.path();
    options.model.model_key = folder.path();  // shared with no other test
    return options;
}

struct Said {
    std::vector<int64_t> ids;
    std::vector<float> languages;
    std::vector<int32_t> starts;
    bool from_cache;
    bool operator==(const Said& other) const { return ids == other.ids && languages == other.languages && starts == other.starts; }
};

Said open_and_ask(const TranscriberOptions& options) {
    Transcriber transcriber(options, LoadControl());
    const uint64_t window = encode_signal(transcriber, "sweep", 40000);
    AlignInput align;
    align.window = window;
    align.frames = 250;
    align.ids = {257, 258, 262, 266, 40, 41, 42, 43, 256};
    align.sot_length = 3;
    return {transcriber.decode({decode_input(window), decode_input(window)}, decode_options(true, 20), never()).at(1).ids,
            transcriber.detect({window}, {258, 259, 260}, never()).at(0).probabilities, transcriber.align({align}, never()).at(0).starts, transcriber.info().from_cache};
}

std::vector<std::string> files_of(const ScratchFolder& folder) {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) result.push_back(entry.path().string());
    std::sort(result.begin(), result.end());
    return result;
}

}  // namespace

TEST(whisper_cache, "the second open comes from the compile cache and says the same") {
    ScratchFolder folder;
    TranscriberOptions options = cached_options(folder);
    const Said first = open_and_ask(options), second = open_and_ask(options);
    CHECK(!first.from_cache);
    CHECK(second.from_cache);
    CHECK(second == first);
    CHECK_EQ(files_of(folder).size(), 1u);
    options.alignment_heads = {{1, 1}};  // another graph: queries of one layer only
    CHECK(!open_and_ask(options).from_cache);
    CHECK_EQ(files_of(folder).size(), 2u);
    options.model.model_key += "changed";
    CHECK(!open_and_ask(options).from_cache);
}

TEST(whisper_cache, "a lost, truncated or damaged file is made again") {
    ScratchFolder folder;
    const TranscriberOptions options = cached_options(folder);
    const Said first = open_and_ask(options);
    const auto files = files_of(folder);
    REQUIRE_EQ(files.size(), 1u);  // the encoder; the decoder is compiled each time
    for (const std::string& file : files) {
        const std::string whole = read_file(file);
        std::string damaged = whole;
        for (size_t i = 4096; i < 4096 + 512; ++i) damaged[i] = static_cast<char>(i * 31 + 7);
        for (const std::string& bytes : {whole.substr(0, whole.size() / 2), damaged, std::string(), std::string("no blob")}) {
            write_file(file, bytes);
            const Said again = open_and_ask(options);
            CHECK(!again.from_cache);
            CHECK(again == first);
            CHECK_EQ(files_of(folder), files);
            const Said third = open_and_ask(options);
            CHECK(third.from_cache);
            CHECK(third == first);
        }
        std::filesystem::remove(file);
        CHECK(!open_and_ask(options).from_cache);
        CHECK(open_and_ask(options).from_cache);
    }
    // Another model's content under this one's name: the key inside tells.
    ScratchFolder elsewhere;
    TranscriberOptions other = cached_options(elsewhere);
    other.model.model_key += " of another model";
    open_and_ask(other);
    write_file(files[0], read_file(files_of(elsewhere).at(0)));
    const Said swapped = open_and_ask(options);
    CHECK(!swapped.from_cache);
    CHECK(swapped == first);
}

TEST(whisper_cache, "a cache folder that cannot be written does not stop a load") {
    ScratchFolder folder;
    TranscriberOptions options = cached_options(folder);
    options.model.cache_dir = whisper_fixture("tiny-ir/config.json") + "/below";
    const Said said = open_and_ask(options);
    CHECK(!said.from_cache);
    CHECK_EQ(said.ids.size(), 20u);
}

TEST(whisper_cache, "transcribers of the same files share what is compiled, those of others do not") {
    ScratchFolder folder;
    TranscriberOptions options = cached_options(folder);
    Transcriber first(options, LoadControl()), second(options, LoadControl());
    CHECK(!first.info().shared);
    CHECK(second.info().shared);
    options.model.model_key += "changed";
    CHECK(!Transcriber(options, LoadControl()).info().shared);
    // What is shared is the model, not the windows.
    const uint64_t window = encode_signal(first, "noise", 8000);
    CHECK_ENGINE_ERROR(ErrorCode::Option, second.decode({decode_input(window)}, decode_options(true, 3), never()));
    first.close();
    const uint64_t other = encode_signal(second, "noise", 8000);
    CHECK_EQ(second.decode({decode_input(other)}, decode_options(true, 3), never()).at(0).ids.size(), 3u);
}

TEST(whisper_cache, "progress names the stages, and a load can be aborted in each") {
    ScratchFolder folder;
    TranscriberOptions options = cached_options(folder);
    options.warm_up = true;
    const auto stages_of = [&](LoadStage abort_at, bool abort) {
        std::vector<LoadStage> stages;
        LoadControl control;
        control.on_progress = [&](LoadStage stage, double) {
            stages.push_back(stage);
            if (abort && stage == abort_at) control.aborted = true;
        };
        if (abort) CHECK_ENGINE_ERROR(ErrorCode::Aborted, Transcriber(options, control));
        else Transcriber(options, control);
        return stages;
    };
    using Stages = std::vector<LoadStage>;
    CHECK_EQ(stages_of(LoadStage::Read, true), Stages{LoadStage::Read});
    CHECK_EQ(stages_of(LoadStage::Convert, true), (Stages{LoadStage::Read, LoadStage::Convert}));
    CHECK_EQ(stages_of(LoadStage::Compile, true).back(), LoadStage::Compile);
    CHECK_EQ(folder.entries(), 0u);
    CHECK_EQ(stages_of(LoadStage::Read, false), (Stages{LoadStage::Read, LoadStage::Convert, LoadStage::Compile, LoadStage::Export, LoadStage::WarmUp}));
    CHECK_EQ(stages_of(LoadStage::Import, true), Stages{LoadStage::Import});
    CHECK_EQ(stages_of(LoadStage::WarmUp, true), (Stages{LoadStage::Import, LoadStage::Read, LoadStage::Convert, LoadStage::Compile, LoadStage::WarmUp}));
    CHECK_EQ(stages_of(LoadStage::Read, false), (Stages{LoadStage::Import, LoadStage::Read, LoadStage::Convert, LoadStage::Compile, LoadStage::WarmUp}));
}

}  // namespace pergola::test
