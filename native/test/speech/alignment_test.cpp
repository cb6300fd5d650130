#include "speech/alignment.hpp"

#include <algorithm>
#include <cmath>

#include "support/harness.hpp"
#include "support/whisper_fixture.hpp"

namespace pergola::test {
namespace {

/// The scores of make_alignment.py.
std::vector<HeadScores> made_scores(uint64_t seed, size_t heads, size_t tokens, size_t frames, float ridge) {
    SeededNumbers numbers(seed);
    std::vector<HeadScores> result(heads);
    for (HeadScores& head : result) {
        head.tokens = tokens;
        head.frames = frames;
        for (size_t i = 0; i < tokens; ++i)
            for (size_t j = 0; j < frames; ++j) {
                const float noise = static_cast<float>(numbers.next() / 4194304.0 - 2);
                const auto distance = std::abs(static_cast<ptrdiff_t>(j * tokens) - static_cast<ptrdiff_t>(i * frames));
                head.values.push_back(noise + (distance < 2 * static_cast<ptrdiff_t>(frames) ? ridge : 0.f));
            }
    }
    return result;
}

}  // namespace

TEST(alignment, "token times equal those of openai/whisper") {
    const Json cases = reference("alignment.json");
    REQUIRE(cases.list.size() > 10);
    for (const Json& one : cases.list) {
        const auto number = [&](const char* key) { return static_cast<size_t>(one[key].number); };
        auto heads = made_scores(number("seed"), number("heads"), number("tokens"), number("frames"), static_cast<float>(one["ridge"].number));
        const std::vector<int32_t> starts = align_tokens(heads, number("first"), number("end"));
        CHECK_EQ(std::vector<int64_t>(starts.begin(), starts.end()), one["starts"].ids());
    }
}

TEST(alignment, "times never go back, begin with the first frame and stay inside the audio") {
    SeededNumbers numbers(77);
    for (int round = 0; round < 40; ++round) {
        const size_t heads = 1 + numbers.next() % 4, tokens = 1 + numbers.next() % 30, frames = 1 + numbers.next() % 80;
        const size_t first = numbers.next() % tokens, end = first + 1 + numbers.next() % (tokens - first);
        auto scores = made_scores(numbers.next(), heads, tokens, frames, 1);
        const std::vector<int32_t> starts = align_tokens(scores, first, end);
        REQUIRE_EQ(starts.size(), end - first);
        CHECK_EQ(starts.front(), 0);
        CHECK(std::is_sorted(starts.begin(), starts.end()));
        CHECK(starts.back() < static_cast<int32_t>(frames));
    }
}

TEST(alignment, "a path that cannot be missed is found") {
    // Token i is spoken in frames 10 i ... 10 i + 9.
    HeadScores head;
    head.tokens = 6;
    head.frames = 60;
    for (size_t i = 0; i < head.tokens; ++i)
        for (size_t j = 0; j < head.frames; ++j) head.values.push_back(j / 10 == i ? 8.f : 0.f);
    std::vector<HeadScores> heads{head, head};
    CHECK_EQ(align_tokens(heads, 0, 6), (std::vector<int32_t>{0, 10, 20, 30, 40, 50}));
}

TEST(alignment, "one spike is no beginning: the median takes it away") {
    HeadScores head;
    head.tokens = 2;
    head.frames = 40;
    for (size_t i = 0; i < head.tokens; ++i)
        for (size_t j = 0; j < head.frames; ++j) head.values.push_back((j >= 20) == (i == 1) ? 8.f : 0.f);
    head.values[40 + 3] = 9.f;  // a spike of the second token far too early
    std::vector<HeadScores> heads{head};
    CHECK_EQ(align_tokens(heads, 0, 2)[1], 20);
}

TEST(alignment, "nothing to align, no frames, and equal scores have an answer") {
    std::vector<HeadScores> none;
    CHECK(align_tokens(none, 0, 3).empty());
    auto heads = made_scores(1, 2, 5, 20, 0);
    CHECK(align_tokens(heads, 3, 3).empty());
    std::vector<HeadScores> silent(1);
    silent[0].tokens = 3;
    CHECK_EQ(align_tokens(silent, 0, 3), (std::vector<int32_t>{0, 0, 0}));
    std::vector<HeadScores> flat(2);
    for (auto& head : flat) {
        head.tokens = 4;
        head.frames = 12;
        head.values.assign(48, 1.f);
    }
    const auto starts = align_tokens(flat, 0, 4);
    REQUIRE_EQ(starts.size(), 4u);
    CHECK(std::is_sorted(starts.begin(), starts.end()));
}

TEST(alignment, "scores as large as floats can be do not overflow") {
    auto heads = made_scores(4, 2, 6, 30, 2);
    for (auto& head : heads)
        for (float& value : head.values) value *= 1e37f;
    const auto starts = align_tokens(heads, 0, 6);
    CHECK(std::is_sorted(starts.begin(), starts.end()));
    CHECK(starts.back() < 30);
}

}  // namespace pergola::test
