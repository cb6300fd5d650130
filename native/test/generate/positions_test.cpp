#include "support/generation.hpp"
#include "support/references.hpp"

// Positions on several axes (multimodal rotary embedding): the tiny Qwen2-VL of test/fixtures/vlm against transformers.

namespace pergola::test {
namespace {

const Json& golden() {
    static const Json* json = new Json(reference("positions.json"));
    return *json;
}

GeneratorOptions options_for(Attention attention) {
    const auto file = [](const char* name) { return fixture(std::string("qwen2_vl-tiny-ir/openvino_") + name, "vlm"); };
    GeneratorOptions options;
    options.model.source.xml = file("language_model.xml");
    options.model.source.bin = file("language_model.bin");
    options.model.model_key = "qwen2_vl";
    options.model.attention = attention;
    options.embeddings = {file("text_embeddings_model.xml"), file("text_embeddings_model.bin"), "qwen2_vl-embeddings"};
    options.kv.context_length = 2048;
    options.warm_up = false;
    return options;
}

/// The prompt with one picture; without `positions` every token is at its index.
RequestInput picture_prompt(bool positions) {
    RequestInput input = greedy_request(golden()["input_ids"].ids(), 16);
    const auto token = static_cast<int64_t>(golden()["image_token_id"].number);
    PromptRowsInput rows;
    rows.rows.start = static_cast<size_t>(std::find(input.prompt.begin(), input.prompt.end(), token) - input.prompt.begin());
    rows.rows.count = static_cast<size_t>(std::count(input.prompt.begin(), input.prompt.end(), token));
    for (const Json& value : golden()["features"].list) rows.rows.values.push_back(static_cast<float>(value.number));
    rows.key = "wide";
    input.rows.push_back(std::move(rows));
    if (!positions) return input;
    input.position_axes = 3;
    for (const Json& axis : golden()["positions"].list)
        for (const int64_t position : axis.ids()) input.positions.push_back(position);
    input.position_delta = static_cast<int64_t>(golden()["delta"].number);
    return input;
}

std::vector<int64_t> head(std::vector<int64_t> ids, const Json& golden) {
    ids.resize(std::min(ids.size(), static_cast<size_t>(golden["stable_prefix"].number)));
    return ids;
}

}  // namespace

TEST_BOTH(positions, "a prompt with a picture is answered as transformers does, with positions on three axes") {
    Running running(options_for(attention));
    const auto ids = running.run(picture_prompt(true)).ids;
    CHECK_EQ(head(ids, golden()), head(golden()["greedy"].ids(), golden()));
    // They matter: counted as text, the picture's tokens are elsewhere.
    CHECK(running.run(picture_prompt(false)).ids != ids);
}

TEST_BOTH(positions, "in chunks shorter than the picture the answer is the same") {
    GeneratorOptions options = options_for(attention);
    options.scheduler.max_batch_tokens = 5;
    Running running(options);
    CHECK_EQ(head(running.run(picture_prompt(true)).ids, golden()), head(golden()["greedy"].ids(), golden()));
}

TEST_BOTH(positions, "text alone counts up on all axes") {
    const Json& text = golden()["text"];
    Running running(options_for(attention));
    CHECK_EQ(head(running.run(greedy_request(text["input_ids"].ids(), 16)).ids, text), head(text["greedy"].ids(), text));
}

}  // namespace pergola::test
