#include <cmath>

#include "support/transcriber_fixture.hpp"

namespace pergola::test {
namespace {

/// One signal of transcriber.json, encoded.
struct Spoken {
    const Json* expected;
    uint64_t window;
};

std::vector<Spoken> encode_all(Transcriber& transcriber, const Json& file) {
    std::vector<Spoken> result;
    for (const Json& one : file.list) {
        const auto mel = made_mel(one["signal"].text, static_cast<size_t>(one["samples"].number));
        CHECK_EQ(mel->frames(), static_cast<size_t>(one["frames"].number));
        result.push_back({&one, transcriber.encode({{mel, 0, mel->frames()}}, never()).at(0)});
    }
    return result;
}

DecodeOptions options_of(const Json& json) {
    const auto end = json.object.count("end") ? static_cast<int64_t>(json["end"].number) : 256;
    DecodeOptions options = decode_options(json["timestamps"].number != 0, static_cast<size_t>(json["max_new_tokens"].number), end);
    options.beam_size = static_cast<size_t>(json["beam_size"].number);
    if (json.object.count("patience")) options.patience = json["patience"].number;
    if (json.object.count("length_penalty")) {
        options.divide_by_length = false;
        options.length_penalty = json["length_penalty"].number;
    }
    return options;
}

DecodeInput input_of(const Json& json, uint64_t window) {
    DecodeInput input = decode_input(window, json["timestamps"].number != 0);
    if (json.object.count("previous")) {
        std::vector<int64_t> prompt{264};
        for (const int64_t id : json["previous"].ids()) prompt.push_back(id);
        input.sot_index = prompt.size();
        prompt.insert(prompt.end(), input.prompt.begin(), input.prompt.end());
        input.prompt = prompt;
    }
    return input;
}

void check(const Decoding& actual, const Json& expected, const Json& spoken, const std::string& how) {
    const std::vector<int64_t> ids = expected["ids"].ids();
    if (actual.ids == ids && std::fabs(actual.sum_logprob - expected["sum_logprob"].number) < 2e-3 &&
        std::fabs(actual.no_speech_prob - expected["no_speech_prob"].number) < 1e-6)
        return;
    fail(__FILE__, __LINE__, spoken["signal"].text + ", beams " + std::to_string(static_cast<int>(expected["beam_size"].number)) + ", " + how + ": sum " +
                                 std::to_string(actual.sum_logprob) + ", expected " + std::to_string(expected["sum_logprob"].number));
    CHECK_EQ(actual.ids, ids);
    CHECK_EQ(actual.no_speech_prob, static_cast<float>(expected["no_speech_prob"].number));
}

}  // namespace

TEST(transcriber, "decodes as openai/whisper does: greedy and beams, timestamps or none, after a prompt, one by one") {
    const Json file = reference("transcriber.json");
    const auto transcriber = open_transcriber();
    size_t count = 0;
    for (const Spoken& spoken : encode_all(*transcriber, file))
        for (const Json& expected : (*spoken.expected)["decodings"].list) {
            const auto result = transcriber->decode({input_of(expected, spoken.window)}, options_of(expected), never());
            REQUIRE_EQ(result.size(), 1u);
            check(result[0], expected, *spoken.expected, "alone");
            const auto most = static_cast<size_t>(expected["max_new_tokens"].number);
            if (expected["beam_size"].number == 1)
                CHECK_EQ(result[0].reason, expected["ids"].list.size() < most ? Decoding::Reason::Stop : Decoding::Reason::Length);
            ++count;
        }
    CHECK(count > 80);
}

TEST(transcriber, "decodes as openai/whisper does, all windows together in any order") {
    const Json file = reference("transcriber.json");
    const auto transcriber = open_transcriber();
    auto all = encode_all(*transcriber, file);
    const size_t kinds = (*all.front().expected)["decodings"].list.size();
    for (int order = 0; order < 2; ++order) {
        for (size_t kind = 0; kind < kinds; ++kind) {
            std::vector<DecodeInput> inputs;
            for (const Spoken& spoken : all) {
                const auto& decodings = (*spoken.expected)["decodings"].list;
                REQUIRE_EQ(decodings.size(), kinds);
                inputs.push_back(input_of(decodings[kind], spoken.window));
            }
            const auto result = transcriber->decode(inputs, options_of((*all.front().expected)["decodings"].list[kind]), never());
            REQUIRE_EQ(result.size(), all.size());
            for (size_t i = 0; i < all.size(); ++i) check(result[i], (*all[i].expected)["decodings"].list[kind], *all[i].expected, "together");
        }
        std::reverse(all.begin(), all.end());
    }
}

TEST(transcriber, "languages as openai/whisper tells them, whatever is done in between") {
    const Json file = reference("transcriber.json");
    const auto transcriber = open_transcriber();
    const auto all = encode_all(*transcriber, file);
    for (int round = 0; round < 2; ++round) {
        std::vector<uint64_t> windows;
        for (const Spoken& spoken : all) windows.push_back(spoken.window);
        const auto detections = transcriber->detect(windows, {258, 259, 260}, never());
        REQUIRE_EQ(detections.size(), all.size());
        for (size_t i = 0; i < all.size(); ++i) {
            REQUIRE_EQ(detections[i].probabilities.size(), 3u);
            for (size_t j = 0; j < 3; ++j)
                CHECK(std::fabs(detections[i].probabilities[j] - (*all[i].expected)["languages"].list[j].number) < 2e-5);
            CHECK(std::fabs(detections[i].no_speech_prob - (*all[i].expected)["no_speech_prob"].number) < 1e-6);
        }
        transcriber->decode({decode_input(windows[0]), decode_input(windows[1])}, decode_options(true, 5), never());
    }
    // Only the ids asked for share the probability; ids that there are not have none.
    const auto some = transcriber->detect({all[0].window}, {259, 5000, -3}, never()).at(0);
    CHECK_EQ(some.probabilities, (std::vector<float>{1, 0, 0}));
    CHECK(transcriber->detect({all[0].window}, {}, never()).at(0).probabilities.empty());
    CHECK(transcriber->detect({}, {258}, never()).empty());
}

TEST(transcriber, "token times and probabilities as openai/whisper has them") {
    const Json file = reference("transcriber.json");
    const auto transcriber = open_transcriber();
    std::vector<AlignInput> inputs;
    std::vector<const Json*> expected;
    for (const Spoken& spoken : encode_all(*transcriber, file))
        for (const Json& one : (*spoken.expected)["alignments"].list) {
            AlignInput input;
            input.window = spoken.window;
            input.frames = static_cast<size_t>((*spoken.expected)["frames"].number);
            input.ids = prompt_of(false);
            for (const int64_t id : one["text"].ids()) input.ids.push_back(id);
            input.ids.push_back(256);
            input.sot_length = 3;
            inputs.push_back(input);
            expected.push_back(&one);
        }
    REQUIRE(inputs.size() > 15);
    const auto result = transcriber->align(inputs, never());
    REQUIRE_EQ(result.size(), inputs.size());
    for (size_t i = 0; i < result.size(); ++i) {
        CHECK_EQ(std::vector<int64_t>(result[i].starts.begin(), result[i].starts.end()), (*expected[i])["starts"].ids());
        const auto& probabilities = (*expected[i])["probabilities"].list;
        REQUIRE_EQ(result[i].probabilities.size(), probabilities.size());
        for (size_t j = 0; j < probabilities.size(); ++j) CHECK(std::fabs(result[i].probabilities[j] - probabilities[j].number) < 1e-5);
    }
}

}  // namespace pergola::test
