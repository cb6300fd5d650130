#include <openvino/op/ops.hpp>

#include "support/generation.hpp"
#include "support/tiny_gguf.hpp"

namespace pergola::test {
namespace {

GeneratorOptions cached_options(const ScratchFolder& folder, Attention attention) {
    GeneratorOptions options = generator_options("mistral", attention);
    options.model.cache_dir = folder.path();
    return options;
}

std::vector<int64_t> first_answer(Running& running, const std::string& architecture = "mistral") {
    return running.run(greedy_request(goldens(architecture)[0].prompt, 12)).ids;
}

/// A copy of the fixture with files changed.
GeneratorOptions changed(const ScratchFolder& folder, const std::string& xml, const std::string& bin) {
    write_file(folder.file("openvino_model.xml"), xml);
    write_file(folder.file("openvino_model.bin"), bin);
    GeneratorOptions options = generator_options("mistral", Attention::Auto);
    options.model.source.xml = folder.file("openvino_model.xml");
    options.model.source.bin = folder.file("openvino_model.bin");
    options.model.model_key = folder.path();
    return options;
}

GeneratorOptions gguf_options(std::vector<std::string> shards, const ScratchFolder& folder, Attention attention) {
    GeneratorOptions options;
    options.model.source.kind = ModelSource::Kind::Gguf;
    options.model.model_key = shards.front();
    options.model.source.shards = std::move(shards);
    options.model.cache_dir = folder.file("cache");
    options.model.attention = attention;
    options.kv.context_length = 256;
    options.warm_up = false;
    return options;
}

}  // namespace

TEST_BOTH(language_model, "the second open comes from the compile cache and says the same") {
    ScratchFolder folder;
    const GeneratorOptions options = cached_options(folder, attention);
    std::vector<int64_t> compiled;
    {
        Running running(options);
        CHECK(!running.generator.info().from_cache);
        CHECK(running.generator.info().timings.compile_ms > 0);
        compiled = first_answer(running);
    }
    CHECK_EQ(folder.entries(), 1u);
    {
        Running running(options);
        CHECK(running.generator.info().from_cache);
        CHECK_EQ(running.generator.info().paged, attention == Attention::Paged);
        CHECK_EQ(first_answer(running), compiled);
        const auto all = goldens("mistral");
        CHECK_EQ(running.run(greedy_request(all[1].prompt, 1)).ids[0], all[1].best);
    }
    GeneratorOptions other = options;
    other.model.kv_precision = attention == Attention::Paged ? "u8" : "";
    other.model.model_key = attention == Attention::Paged ? options.model.model_key : "changed files";
    Running running(other);
    CHECK(!running.generator.info().from_cache);  // other properties or files: another blob
    CHECK_EQ(folder.entries(), 2u);
}

TEST(language_model, "a truncated blob is made again") {
    ScratchFolder folder;
    const GeneratorOptions options = cached_options(folder, Attention::Paged);
    std::vector<int64_t> compiled;
    {
        Running running(options);
        compiled = first_answer(running);
    }
    const std::string file = std::filesystem::directory_iterator(folder.path())->path().string();
    const std::string whole = read_file(file);
    write_file(file, whole.substr(0, whole.size() / 2));
    {
        Running running(options);
        CHECK(!running.generator.info().from_cache);
        CHECK_EQ(first_answer(running), compiled);
    }
    CHECK(read_file(file).size() > whole.size() / 4 * 3);
    Running running(options);
    CHECK(running.generator.info().from_cache);
}

TEST(language_model, "a blob with damaged content is made again") {
    ScratchFolder folder;
    const GeneratorOptions options = cached_options(folder, Attention::Paged);
    std::vector<int64_t> compiled;
    {
        Running running(options);
        compiled = first_answer(running);
    }
    const std::string file = std::filesystem::directory_iterator(folder.path())->path().string();
    const std::string whole = read_file(file);
    // The runtime's head, its beginning alone, the graph at the end.
    const std::pair<size_t, size_t> places[] = {{4096, 512}, {4096, 8}, {whole.size() - 60000, 60000}, {whole.size() - 30000, 16}};
    for (const auto& [begin, count] : places) {
        std::string bytes = whole;
        for (size_t i = begin; i < begin + count; ++i) bytes[i] = static_cast<char>(i * 31 + 7);
        write_file(file, bytes);
        Running running(options);
        CHECK(!running.generator.info().from_cache);
        CHECK_EQ(first_answer(running), compiled);
    }
}

TEST(language_model, "a cache folder that cannot be written does not stop a load") {
    ScratchFolder folder;
    GeneratorOptions options = cached_options(folder, Attention::Paged);
    options.model.cache_dir = ir_fixture("mistral", "config.json") + "/below";
    Running running(options);
    CHECK(!running.generator.info().from_cache);
    CHECK_EQ(first_answer(running).size(), 12u);
}

TEST(language_model, "progress names the stages, and a load can be aborted in each") {
    ScratchFolder folder;
    GeneratorOptions options = cached_options(folder, Attention::Paged);
    options.warm_up = true;
    const auto stages_of = [&](LoadStage abort_at, bool abort) {
        std::vector<LoadStage> stages;
        LoadControl control;
        control.on_progress = [&](LoadStage stage, double) {
            stages.push_back(stage);
            if (abort && stage == abort_at) control.aborted = true;
        };
        if (abort) CHECK_ENGINE_ERROR(ErrorCode::Aborted, Generator(options, control, [](auto&&) {}));
        else Generator(options, control, [](auto&&) {});
        return stages;
    };
    using Stages = std::vector<LoadStage>;
    CHECK_EQ(stages_of(LoadStage::Read, true), Stages{LoadStage::Read});
    CHECK_EQ(stages_of(LoadStage::Convert, true), (Stages{LoadStage::Read, LoadStage::Convert}));
    CHECK_EQ(stages_of(LoadStage::Compile, true).back(), LoadStage::Compile);
    CHECK_EQ(folder.entries(), 0u);
    CHECK_EQ(stages_of(LoadStage::Read, false), (Stages{LoadStage::Read, LoadStage::Convert, LoadStage::Compile, LoadStage::Export, LoadStage::WarmUp}));
    CHECK_EQ(stages_of(LoadStage::Import, true), Stages{LoadStage::Import});
    CHECK_EQ(stages_of(LoadStage::WarmUp, true), (Stages{LoadStage::Import, LoadStage::WarmUp}));
    CHECK_EQ(stages_of(LoadStage::Read, false), (Stages{LoadStage::Import, LoadStage::WarmUp}));
    LoadControl before;
    before.aborted = true;
    CHECK_ENGINE_ERROR(ErrorCode::Aborted, Generator(options, before, [](auto&&) {}));
}

TEST(language_model, "who waits for a load that is aborted loads for itself") {
    const GeneratorOptions options = generator_options("qwen2", Attention::Paged);
    LoadControl first;
    std::atomic<bool> reading{false};
    first.on_progress = [&](LoadStage stage, double) {
        if (stage != LoadStage::Convert) return;
        reading = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // lets the second come to the lock; right without it too
        first.aborted = true;
    };
    std::thread aborted([&] { CHECK_ENGINE_ERROR(ErrorCode::Aborted, Generator(options, first, [](auto&&) {})); });
    while (!reading) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Running second(options);
    aborted.join();
    const auto golden = goldens("qwen2")[0];
    CHECK_EQ(second.run(greedy_request(golden.prompt, 1)).ids[0], golden.best);
}

TEST(language_model, "missing and damaged IR files are model errors that name the file") {
    const std::string xml = read_file(ir_fixture("mistral", "openvino_model.xml"));
    const std::string bin = read_file(ir_fixture("mistral", "openvino_model.bin"));
    const auto check = [&](const std::string& changed_xml, const std::string& changed_bin) {
        ScratchFolder folder;
        const GeneratorOptions options = changed(folder, changed_xml, changed_bin);
        const auto error = CHECK_ENGINE_ERROR(ErrorCode::Model, Running running(options));
        CHECK_EQ(error.file, options.model.source.xml);
        CHECK(std::string(error.what()).find(options.model.source.xml) != std::string::npos);
    };
    check("", bin);
    check("<html>404</html>", bin);
    check(xml.substr(0, xml.size() / 2), bin);
    check(xml.substr(0, 200), bin);
    check(xml, "");
    check(xml, bin.substr(0, bin.size() / 2));
    check(xml, bin.substr(0, bin.size() - 1));
    GeneratorOptions options = generator_options("mistral", Attention::Auto);
    options.model.source.xml = "/nowhere/openvino_model.xml";
    options.model.model_key = "nowhere";
    CHECK_ENGINE_ERROR(ErrorCode::Model, Running running(options));
    options = generator_options("mistral", Attention::Auto);
    options.model.source.bin = "/nowhere/openvino_model.bin";
    options.model.model_key = "no bin";
    CHECK_ENGINE_ERROR(ErrorCode::Model, Running running(options));
}

TEST(language_model, "a sound model that is no language model is refused") {
    GeneratorOptions options = generator_options("mistral", Attention::Auto);
    ScratchFolder folder;
    const auto input = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{-1, 4});
    input->output(0).set_names({"pixels"});
    const auto model = std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::op::v0::Relu>(input)}, ov::ParameterVector{input});
    ov::save_model(model, folder.file("other.xml"));
    options.model.source.xml = folder.file("other.xml");
    options.model.source.bin = folder.file("other.bin");
    options.model.model_key = "other";
    const auto error = CHECK_ENGINE_ERROR(ErrorCode::Model, Running running(options));
    CHECK(std::string(error.what()).find("input_ids") != std::string::npos);
}

TEST(language_model, "unknown devices and properties are device errors") {
    GeneratorOptions options = generator_options("mistral", Attention::Auto);
    options.model.device = "TPU";
    CHECK_EQ(CHECK_ENGINE_ERROR(ErrorCode::Device, Running running(options)).subject, std::string("TPU"));
    options.model.device = "CPU";
    options.model.properties["NO_SUCH_PROPERTY"] = std::string("1");
    const auto error = CHECK_ENGINE_ERROR(ErrorCode::Device, Running running(options));
    CHECK(std::string(error.what()).find("NO_SUCH_PROPERTY") != std::string::npos);
    options.model.properties.clear();
    options.model.properties["INFERENCE_PRECISION_HINT"] = std::string("nonsense");
    CHECK_ENGINE_ERROR(ErrorCode::Device, Running running(options));
}

TEST_BOTH(language_model, "a GGUF in shards says what the whole file says") {
    ScratchFolder folder;
    const GgufWriter whole = tiny_gguf();
    write_file(folder.file("whole.gguf"), whole.file());
    std::vector<std::string> names;
    for (const auto& shard : split(whole, 3)) {
        names.push_back(folder.file("part-" + std::to_string(names.size()) + ".gguf"));
        write_file(names.back(), shard.file());
    }
    Running one(gguf_options({folder.file("whole.gguf")}, folder, attention));
    Running joined(gguf_options(names, folder, attention));
    CHECK_EQ(one.generator.info().vocab_size, 96u);
    std::vector<std::vector<int64_t>> answers;
    for (int64_t i = 0; i < 3; ++i) {
        const RequestInput input = greedy_request({i, 5, 9, 17 + i, 33}, 20);
        answers.push_back(one.run(input).ids);
        CHECK_EQ(answers.back().size(), 20u);
        CHECK_EQ(joined.run(input).ids, answers.back());
    }
    CHECK(answers[0] != answers[1]);  // the model listens to its prompt
    for (const auto& entry : std::filesystem::directory_iterator(folder.file("cache")))
        CHECK_EQ(entry.path().extension().string(), std::string(".blob"));  // the joined file is gone
}

TEST(language_model, "GGUF files that are damaged or not supported are typed errors") {
    ScratchFolder folder;
    const std::string file = folder.file("model.gguf");
    const auto open = [&] { Running running(gguf_options({file}, folder, Attention::Auto)); };
    const std::string whole = tiny_gguf().file();
    for (size_t length : {size_t{0}, size_t{3}, size_t{20}, size_t{400}, whole.size() / 2, whole.size() - 1000}) {
        write_file(file, whole.substr(0, length));
        CHECK_EQ(CHECK_ENGINE_ERROR(ErrorCode::Model, open()).file, file);
    }
    std::filesystem::remove(file);
    CHECK_ENGINE_ERROR(ErrorCode::Model, open());
    write_file(file, tiny_gguf("no-such-architecture").file());
    const auto error = CHECK_ENGINE_ERROR(ErrorCode::Unsupported, open());
    CHECK_EQ(error.subject, std::string("no-such-architecture"));
    GgufWriter strange = tiny_gguf();
    strange.tensors[2].type = 200;
    write_file(file, strange.file());
    CHECK(std::string(CHECK_ENGINE_ERROR(ErrorCode::Unsupported, open()).what()).find("type 200") != std::string::npos);
}

TEST(language_model, "weights rounded to int8 say nearly the same") {
    ScratchFolder folder;
    write_file(folder.file("whole.gguf"), tiny_gguf().file());
    GeneratorOptions options = gguf_options({folder.file("whole.gguf")}, folder, Attention::Paged);
    const auto logprobs = [&] {
        Running running(options);
        RequestInput input = greedy_request({1, 2, 3, 4, 5, 6, 7}, 1);
        input.sampling.logprobs = 96;
        const Answer answer = running.run(input);
        return std::map<int64_t, double>(answer.tokens.at(0).top.begin(), answer.tokens.at(0).top.end());
    };
    const auto exact = logprobs();
    options.model.int8_weights = true;
    const auto rounded = logprobs();
    double largest = 0, spread = 0;
    for (const auto& [id, value] : exact) {
        largest = std::max(largest, std::abs(value - rounded.at(id)));
        spread = std::max(spread, std::abs(value - exact.begin()->second));
    }
    CHECK(largest > 0);  // it was rounded
    CHECK(largest < 0.05 * spread);
}

}  // namespace pergola::test
