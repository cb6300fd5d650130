#include <cmath>
#include <fstream>

#include <openvino/op/ops.hpp>

#include "rewrite/transforms.hpp"
#include "runtime/graph.hpp"
#include "support/generation.hpp"
#include "support/references.hpp"

// A model that takes embedding rows, with heads of its own: Janus as the OpenVINO notebook lays it out (test/fixtures/janus/tiny-ir).
// Expected values are those of transformers.

namespace pergola::test {
namespace {

constexpr int64_t kImageToken = 288;
constexpr size_t kPictureTokens = 16;

const Json& golden() {
    static const Json* json =
        new Json(reference("janus.json"));
    return *json;
}

GraphFiles part(const std::string& name) {
    return {fixture("tiny-ir/openvino_" + name + "_model.xml", "janus"), fixture("tiny-ir/openvino_" + name + "_model.bin", "janus"), "janus-" + name};
}

std::vector<float> floats(const Json& list) {
    std::vector<float> result;
    for (const Json& one : list.list) result.push_back(static_cast<float>(one.number));
    return result;
}

GeneratorOptions janus_options(Attention attention, bool pictures) {
    GeneratorOptions options;
    const GraphFiles model = part("language");
    options.model.source.xml = model.xml;
    options.model.source.bin = model.bin;
    options.model.model_key = model.model_key;
    options.model.attention = attention;
    options.embeddings = part("text_embeddings");
    options.head = part(pictures ? "gen_head" : "lm_head");
    if (pictures) options.generated_embeddings = part("gen_embeddings");
    options.kv.context_length = 2048;
    options.warm_up = false;
    keep_open(options);
    return options;
}

/// A question of the golden file with the features of its pictures in place.
RequestInput question(const std::string& name, const std::vector<std::string>& pictures) {
    RequestInput input = greedy_request(golden()["text"][name]["input_ids"].ids(), 16);
    size_t from = 0;
    for (const auto& picture : pictures) {
        const auto start = std::find(input.prompt.begin() + static_cast<std::ptrdiff_t>(from), input.prompt.end(), kImageToken);
        PromptRowsInput rows;
        rows.rows.start = static_cast<size_t>(start - input.prompt.begin());
        rows.rows.count = kPictureTokens;
        rows.rows.values = floats(golden()["features"][picture]);
        rows.key = "picture " + picture;
        from = rows.rows.start + kPictureTokens;
        input.rows.push_back(std::move(rows));
    }
    return input;
}

RequestInput picture_request(uint64_t seed, float temperature) {
    const Json& picture = golden()["picture"];
    RequestInput input = greedy_request(picture["cond_ids"].ids(), kPictureTokens);
    input.guidance_prompt = picture["uncond_ids"].ids();
    input.guidance_scale = static_cast<float>(picture["guidance"].number);
    input.sampling.seed = seed;
    input.sampling.temperature = temperature;
    return input;
}

}  // namespace

TEST_BOTH(janus, "questions about pictures are answered as transformers answers them") {
    Running running(janus_options(attention, false));
    CHECK_EQ(running.generator.info().hidden_size, 48u);
    CHECK_EQ(running.generator.info().vocab_size, 304u);
    const std::vector<std::pair<std::string, std::vector<std::string>>> cases{{"text_only", {}}, {"vqa_a", {"a"}}, {"vqa_b", {"b"}}, {"vqa_two", {"a", "b"}}};
    for (const auto& [name, pictures] : cases) {
        RequestInput input = question(name, pictures);
        input.sampling.logprobs = 304;
        const Answer answer = running.run(std::move(input));
        CHECK_EQ(answer.ids, golden()["text"][name]["greedy"].ids());
        REQUIRE(!answer.tokens.empty());
        const std::map<int64_t, double> logprobs(answer.tokens[0].top.begin(), answer.tokens[0].top.end());
        const auto logits = floats(golden()["text"][name]["last_logits"]);
        const double shift = logits[0] - logprobs.at(0);
        for (size_t i = 0; i < logits.size(); ++i) CHECK(std::abs(logits[i] - logprobs.at(static_cast<int64_t>(i)) - shift) < 1e-3);
    }
}

TEST_BOTH(janus, "a second question about a picture takes over what is computed, one about another picture does not") {
    Running running(janus_options(attention, false));
    const Answer first = running.run(question("vqa_a", {"a"}));
    CHECK_EQ(first.cached, 0u);
    const Answer again = running.run(question("vqa_a", {"a"}));
    CHECK(again.cached > 100);  // beyond the first row of the picture
    CHECK_EQ(again.ids, first.ids);
    const size_t start = question("vqa_a", {"a"}).rows[0].rows.start;
    RequestInput other = question("vqa_a", {"b"});  // the same words
    const Answer different = running.run(std::move(other));
    CHECK(different.cached <= start);
    CHECK(different.ids != first.ids);
}

TEST_BOTH(janus, "several prompts with pictures run together and say what they say alone") {
    Running running(janus_options(attention, false));
    std::vector<uint64_t> ids;
    for (const char* name : {"vqa_a", "vqa_b", "vqa_a"}) ids.push_back(running.submit(question(name, {std::string(name) == "vqa_b" ? "b" : "a"})));
    CHECK_EQ(running.recorder.wait(ids[0]).ids, golden()["text"]["vqa_a"]["greedy"].ids());
    CHECK_EQ(running.recorder.wait(ids[1]).ids, golden()["text"]["vqa_b"]["greedy"].ids());
    CHECK_EQ(running.recorder.wait(ids[2]).ids, golden()["text"]["vqa_a"]["greedy"].ids());
}

TEST_BOTH(janus, "a prompt computed in small chunks, through the middle of a picture, says the same") {
    GeneratorOptions options = janus_options(attention, false);
    options.scheduler.max_batch_tokens = 7;
    Running running(options);
    CHECK_EQ(running.run(question("vqa_two", {"a", "b"})).ids, golden()["text"]["vqa_two"]["greedy"].ids());
}

TEST_BOTH(janus, "guided pictures have the tokens of transformers, one or several at once") {
    Running running(janus_options(attention, true));
    CHECK_EQ(running.generator.info().vocab_size, 256u);
    const auto expected = golden()["picture"]["tokens"].ids();
    CHECK_EQ(running.run(picture_request(0, 0)).ids, expected);
    std::vector<uint64_t> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(running.submit(picture_request(static_cast<uint64_t>(i), 0)));
    for (const uint64_t id : ids) CHECK_EQ(running.recorder.wait(id).ids, expected);
}

TEST_BOTH(janus, "a picture's tokens depend on its seed alone, not on what runs beside it") {
    Running running(janus_options(attention, true));
    std::vector<std::vector<int64_t>> alone;
    for (uint64_t seed = 5; seed < 8; ++seed) alone.push_back(running.run(picture_request(seed, 1)).ids);
    CHECK(alone[0] != alone[1]);
    std::vector<uint64_t> ids;
    for (uint64_t seed = 5; seed < 8; ++seed) ids.push_back(running.submit(picture_request(seed, 1)));
    for (size_t i = 0; i < ids.size(); ++i) CHECK_EQ(running.recorder.wait(ids[i]).ids, alone[i]);
}

TEST(janus, "pictures of one long prompt compute it once, and are what they are alone") {
    const auto lengthened = [](uint64_t seed) {
        RequestInput input = picture_request(seed, 1);
        for (auto* prompt : {&input.prompt, &input.guidance_prompt}) prompt->insert(prompt->begin() + 1, 50, (*prompt)[5]);
        return input;
    };
    std::vector<std::vector<int64_t>> alone;
    {
        GeneratorOptions options = janus_options(Attention::Paged, true);
        options.kv.prefix_caching = false;
        Running running(options);
        for (uint64_t seed = 0; seed < 3; ++seed) alone.push_back(running.run(lengthened(seed)).ids);
        CHECK_EQ(running.generator.stats().cached_tokens, 0u);
    }
    Running running(janus_options(Attention::Paged, true));
    std::vector<uint64_t> ids;
    for (uint64_t seed = 0; seed < 3; ++seed) ids.push_back(running.submit(lengthened(seed)));
    for (size_t i = 0; i < ids.size(); ++i) CHECK_EQ(running.recorder.wait(ids[i]).ids, alone[i]);
    CHECK_EQ(running.generator.stats().cached_tokens, 2u * 64);
}

TEST(janus, "pairs that must give way to each other are computed again and come out the same") {
    GeneratorOptions options = janus_options(Attention::Paged, true);
    const auto expected = golden()["picture"]["tokens"].ids();
    options.kv.tokens = 96 + 64;  // two sequences of 44 tokens take two blocks each; three pairs do not fit
    Running running(options);
    std::vector<uint64_t> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(running.submit(picture_request(0, 0)));
    for (const uint64_t id : ids) CHECK_EQ(running.recorder.wait(id).ids, expected);
    const auto stats = running.generator.stats();
    CHECK_EQ(stats.kv.blocks_used, 0u);
    CHECK_EQ(stats.running + stats.waiting, 0u);
}

TEST_BOTH(janus, "a guided request can be stopped, and closing ends one in mid-flight once") {
    auto running = std::make_unique<Running>(janus_options(attention, true));
    RequestInput endless = picture_request(1, 1);
    endless.max_new_tokens = 1500;
    const uint64_t first = running->submit(endless);
    running->recorder.wait_for_tokens(first, 3);
    running->generator.stop(first);
    CHECK(running->recorder.wait(first).reason == EndReason::Stopped);
    CHECK_EQ(running->run(picture_request(0, 0)).ids, golden()["picture"]["tokens"].ids());
    const uint64_t second = running->submit(endless);
    running->recorder.wait_for_tokens(second, 3);
    running->generator.close();
    CHECK(running->recorder.wait(second).reason == EndReason::Stopped);
}

TEST(janus, "what does not fit the model is an option error") {
    Running running(janus_options(Attention::Paged, false));
    const auto subject = [&](RequestInput input) { return CHECK_ENGINE_ERROR(ErrorCode::Option, running.submit(std::move(input))).subject; };
    RequestInput input = question("vqa_a", {"a"});
    input.rows[0].rows.values.pop_back();
    CHECK_EQ(subject(input), std::string("promptRows"));
    input = question("vqa_two", {"a", "b"});
    input.rows[1].rows.start = input.rows[0].rows.start + 3;
    CHECK_EQ(subject(input), std::string("promptRows"));
    input = question("vqa_a", {"a"});
    input.rows[0].rows.start = input.prompt.size() - 3;
    CHECK_EQ(subject(input), std::string("promptRows"));
    input = question("text_only", {});
    input.guidance_prompt = {1, 2, 3};
    CHECK_EQ(subject(input), std::string("guidance"));
    input = question("text_only", {});
    input.prompt[3] = 304;
    CHECK_EQ(subject(input), std::string("prompt"));
    input = question("text_only", {});
    input.position_axes = 3;
    input.positions.assign(input.prompt.size() * 3, 0);
    CHECK_EQ(subject(input), std::string("positions"));
    CHECK_EQ(running.run(question("vqa_a", {"a"})).ids, golden()["text"]["vqa_a"]["greedy"].ids());
}

TEST(janus, "parts that are missing or of another model are model errors") {
    const auto file = [](const GeneratorOptions& options) {
        return CHECK_ENGINE_ERROR(ErrorCode::Model, Generator(options, LoadControl(), [](std::vector<Event>&&) {})).file;
    };
    GeneratorOptions options = janus_options(Attention::Paged, false);
    options.embeddings = {};
    CHECK_EQ(file(options), part("language").xml);
    options = janus_options(Attention::Paged, false);
    options.head = {};
    CHECK_EQ(file(options), part("language").xml);
    options = janus_options(Attention::Paged, false);
    options.head = part("gen_decoder");
    CHECK_EQ(file(options), part("gen_decoder").xml);
    options = janus_options(Attention::Paged, false);
    options.embeddings = part("gen_head");
    CHECK_EQ(file(options), part("gen_head").xml);
}

TEST(janus, "tokens become the pixels of transformers") {
    GraphOptions options;
    options.files = part("gen_decoder");
    Graph graph(options, LoadControl());
    const auto tokens = golden()["picture"]["tokens"].ids();
    ov::Tensor codes(ov::element::i64, {1, tokens.size()}), shape(ov::element::i32, {4});  // i32 is converted
    std::copy(tokens.begin(), tokens.end(), codes.data<int64_t>());
    const int32_t sizes[] = {1, 8, 4, 4};
    std::copy_n(sizes, 4, shape.data<int32_t>());
    const StopFlag never{false};
    const auto pixels = graph.infer({{"code_b", codes}, {"shape", shape}}, never).at(0).tensor;
    CHECK_EQ(pixels.get_shape(), (ov::Shape{1, 3, 32, 32}));
    const auto expected = floats(golden()["picture"]["pixels_hwc"]);
    for (size_t y = 0; y < 32; ++y)
        for (size_t x = 0; x < 32; ++x)
            for (size_t c = 0; c < 3; ++c)
                CHECK(std::abs(pixels.data<float>()[(c * 32 + y) * 32 + x] - expected[(y * 32 + x) * 3 + c]) < 2.0 / 127.5);
}

TEST(janus, "rotary frequencies that were rounded to f16 get their precision back, others stay") {
    ov::Core core;
    const auto find = [](const std::shared_ptr<ov::Model>& model) {
        std::vector<float> values;
        for (const auto& node : model->get_ordered_ops())
            if (const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(node))
                if (constant->get_shape() == ov::Shape{1, 8, 1}) values = constant->cast_vector<float>();
        return values;
    };
    const auto model = core.read_model(part("language").xml);
    CHECK(find(model)[1] != static_cast<float>(std::pow(10000.0, -1.0 / 8)));
    CHECK_EQ(repair_rope_frequencies(model), 1u);
    for (size_t i = 0; i < 8; ++i) CHECK_EQ(find(model)[i], static_cast<float>(std::pow(10000.0, -static_cast<double>(i) / 8)));
    CHECK_EQ(repair_rope_frequencies(model), 0u);
    const auto scaled = core.read_model(ir_fixture("llama3-rope", "openvino_model.xml"));
    CHECK_EQ(repair_rope_frequencies(scaled), 0u);
}

}  // namespace pergola::test
