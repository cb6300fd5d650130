#include "base/vector_math.hpp"
#include "speech/whisper_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/harness.hpp"
#include "support/whisper_fixture.hpp"

namespace pergola::test {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// A vocabulary of 16: words 0-4, end 5, start 6, another special 7, no timestamps 8, times 9-15.
constexpr size_t kVocab = 16;

WhisperRuleOptions small(bool timestamps) {
    WhisperRuleOptions options;
    options.tokens.end_of_text = 5;
    options.tokens.start_of_transcript = 6;
    options.tokens.no_timestamps = 8;
    options.tokens.timestamp_begin = 9;
    options.timestamps = timestamps;
    options.max_initial_timestamp = 3;
    options.suppress = {1, 6};
    options.begin_suppress = {2, 5};
    return options;
}

std::vector<int64_t> allowed_after(const WhisperRuleOptions& options, const std::vector<int64_t>& generated, std::vector<float> logits = {}) {
    // Words are likelier than all times together unless the caller says otherwise.
    if (logits.empty())
        for (size_t i = 0; i < kVocab; ++i) logits.push_back(i < 9 ? 5.f + static_cast<float>(i) / 8 : -static_cast<float>(i) / 8);
    WhisperRules(options, logits.size()).apply(logits.data(), generated);
    std::vector<int64_t> result;
    for (size_t i = 0; i < logits.size(); ++i)
        if (logits[i] != kNever) result.push_back(static_cast<int64_t>(i));
    return result;
}

using Ids = std::vector<int64_t>;

}  // namespace

TEST(whisper_rules, "without timestamps only the lists forbid, one of them at the beginning alone") {
    CHECK_EQ(allowed_after(small(false), {}), (Ids{0, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
    CHECK_EQ(allowed_after(small(false), {3}), (Ids{0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
    CHECK_EQ(allowed_after(small(false), {3, 12}), (Ids{0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(whisper_rules, "the grammar of timestamps") {
    const struct {
        const char* why;
        Ids generated, allowed;
    } table[] = {
        {"a text begins with a time, and soon", {}, {9, 10, 11, 12}},
        {"after the first time: text or the end", {10}, {0, 2, 3, 4, 5, 7}},
        {"text may go on, end, or be closed by a later time", {10, 3}, {0, 2, 3, 4, 5, 7, 11, 12, 13, 14, 15}},
        {"the same after more text", {10, 3, 4}, {0, 2, 3, 4, 5, 7, 11, 12, 13, 14, 15}},
        {"a closed segment: the end, or a time not before it", {10, 3, 12}, {5, 7, 12, 13, 14, 15}},
        {"the next one's beginning: text or the end", {10, 3, 12, 12}, {0, 2, 3, 4, 5, 7}},
        {"so too after a gap", {10, 3, 12, 14}, {0, 2, 3, 4, 5, 7}},
        {"and its end lies behind its beginning", {10, 3, 12, 14, 0}, {0, 2, 3, 4, 5, 7, 15}},
        {"no time is left behind the last one", {10, 3, 15, 15, 4}, {0, 2, 3, 4, 5, 7}},
        {"closed by the last one: only that one again", {10, 3, 15}, {5, 7, 15}},
        {"text without a time so far", {3}, {0, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15}},
        {"a first time after text closes it", {3, 11}, {5, 7, 11, 12, 13, 14, 15}},
        {"a special token between times is text", {10, 7}, {0, 2, 3, 4, 5, 7, 11, 12, 13, 14, 15}},
    };
    for (const auto& row : table)
        if (!CHECK_EQ(allowed_after(small(true), row.generated), row.allowed)) std::cout << "      (" << row.why << ")" << std::endl;
}

TEST(whisper_rules, "the limit of the first time may be absent, zero, or beyond the vocabulary") {
    WhisperRuleOptions options = small(true);
    options.max_initial_timestamp = -1;
    CHECK_EQ(allowed_after(options, {}), (Ids{9, 10, 11, 12, 13, 14, 15}));
    options.max_initial_timestamp = 0;
    CHECK_EQ(allowed_after(options, {}), Ids{9});
    options.max_initial_timestamp = 6;
    CHECK_EQ(allowed_after(options, {}), (Ids{9, 10, 11, 12, 13, 14, 15}));
    options.max_initial_timestamp = 1000;
    CHECK_EQ(allowed_after(options, {}), (Ids{9, 10, 11, 12, 13, 14, 15}));
}

TEST(whisper_rules, "times that are likelier together than any word leave no words") {
    // Words at ln 0.3 at most, seven times of ln 0.06 each: 0.42 together.
    std::vector<float> logits(kVocab, std::log(0.01f));
    logits[3] = std::log(0.3f);
    for (size_t i = 9; i < kVocab; ++i) logits[i] = std::log(0.06f);
    CHECK_EQ(allowed_after(small(true), {4}, logits), (Ids{9, 10, 11, 12, 13, 14, 15}));
    // Only those that are still allowed count: after time 12 three are left, 0.18.
    CHECK_EQ(allowed_after(small(true), {10, 3, 12, 12, 4}, logits), (Ids{0, 2, 3, 4, 5, 7, 13, 14, 15}));
    // Suppressed words do not count.
    logits[1] = 9.f;
    CHECK_EQ(allowed_after(small(true), {4}, logits), (Ids{9, 10, 11, 12, 13, 14, 15}));
    CHECK_EQ(allowed_after(small(false), {4}, logits).size(), 14u);
}

TEST(whisper_rules, "ids outside of the vocabulary in the lists are passed over") {
    WhisperRuleOptions options = small(false);
    options.suppress = {-1, 16, 17, 2000000000, -2000000000, 4};
    options.begin_suppress = {-5, 99, 0};
    CHECK_EQ(allowed_after(options, {}), (Ids{1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(whisper_rules, "a model without the token \"no timestamps\" needs no special case") {
    WhisperRuleOptions options = small(true);
    options.tokens.no_timestamps = -1;
    CHECK_EQ(allowed_after(options, {10, 3}), (Ids{0, 2, 3, 4, 5, 7, 8, 11, 12, 13, 14, 15}));
}

TEST(whisper_rules, "what is left are probabilities, in the order and proportions of the logits") {
    std::vector<float> logits;
    SeededNumbers numbers(5);
    for (size_t i = 0; i < kVocab; ++i) logits.push_back(8 * numbers.sample());
    const std::vector<float> before = logits;
    WhisperRules(small(false), kVocab).apply(logits.data(), {3});
    double sum = 0;
    for (size_t i = 0; i < kVocab; ++i) {
        sum += std::exp(static_cast<double>(logits[i]));
        if (logits[i] != kNever) CHECK(std::fabs((logits[i] - logits[0]) - (before[i] - before[0])) < 1e-4f);
    }
    CHECK(std::fabs(sum - 1) < 1e-5);
}

TEST(whisper_rules, "where everything is forbidden nothing becomes allowed") {
    WhisperRuleOptions options = small(true);
    options.suppress = {0, 1, 2, 3, 4, 5, 6, 7};
    options.begin_suppress = {9, 10, 11, 12};
    CHECK_EQ(allowed_after(options, {}), Ids{});
    CHECK_EQ(allowed_after(options, {10, 3, 15, 15}), Ids{});
    options.timestamps = false;
    CHECK_EQ(allowed_after(options, {10}, std::vector<float>(kVocab, kNever)), Ids{});
}

TEST(log_softmax, "probabilities sum to one at any scale, shift and size") {
    for (const size_t size : {1u, 2u, 15u, 16u, 17u, 1000u, 51865u})
        for (const float scale : {0.f, 1.f, 30.f, 1e4f})
            for (const float shift : {0.f, 1e3f, -1e6f}) {
                SeededNumbers numbers(size);
                std::vector<float> values;
                std::vector<double> exact;
                for (size_t i = 0; i < size; ++i) {
                    values.push_back(shift + scale * numbers.sample());
                    exact.push_back(values.back());
                }
                const double peak = *std::max_element(exact.begin(), exact.end());
                double sum = 0;
                for (const double value : exact) sum += std::exp(value - peak);
                const double total = peak + std::log(sum);
                REQUIRE(log_softmax(values.data(), size));
                // A float near 1e6 is exact to 0.06; elsewhere the values' own size decides.
                const double tolerance = 2e-6 * (1 + scale + 30) + std::fabs(shift) * 1.2e-7;
                for (size_t i = 0; i < size; ++i) {
                    if (std::fabs(values[i] - (exact[i] - total)) <= tolerance) continue;
                    fail(__FILE__, __LINE__, "size " + std::to_string(size) + ", scale " + std::to_string(scale) + ", shift " + std::to_string(shift) + ": " +
                                                 std::to_string(values[i]) + ", expected " + std::to_string(exact[i] - total));
                    break;
                }
            }
}

TEST(log_softmax, "forbidden entries stay forbidden, and nothing but them is told apart") {
    std::vector<float> values{kNever, 2.f, kNever, 2.f};
    CHECK(log_softmax(values.data(), values.size()));
    CHECK(values[0] == kNever && values[2] == kNever);
    CHECK(std::fabs(values[1] - std::log(0.5f)) < 1e-6f);
    std::vector<float> forbidden(5, kNever);
    CHECK(!log_softmax(forbidden.data(), forbidden.size()));
    CHECK(forbidden == std::vector<float>(5, kNever));
    CHECK(!log_softmax(forbidden.data(), 0));
    std::vector<float> lone{kNever, -1e30f, kNever};
    CHECK(log_softmax(lone.data(), lone.size()));
    CHECK_EQ(lone[1], 0.f);
}

}  // namespace pergola::test
