#include <cmath>
#include <limits>

#include "base/vector_math.hpp"
#include "speech/whisper_rules.hpp"
#include "support/harness.hpp"
#include "support/whisper_fixture.hpp"

namespace pergola::test {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::vector<int32_t> list(const Json& json) {
    const std::vector<int64_t> ids = json.ids();
    return {ids.begin(), ids.end()};
}

}  // namespace

TEST(whisper_rules, "log-probabilities equal those of transformers' processors") {
    const Json file = reference("rules.json");
    const Json& tokens = file["tokens"];
    const auto vocab = static_cast<size_t>(tokens["vocab"].number);
    WhisperRuleOptions options;
    options.tokens.end_of_text = static_cast<int64_t>(tokens["end_of_text"].number);
    options.tokens.no_timestamps = static_cast<int64_t>(tokens["no_timestamps"].number);
    options.tokens.timestamp_begin = static_cast<int64_t>(tokens["timestamp_begin"].number);
    options.suppress = list(tokens["suppress"]);
    options.begin_suppress = list(tokens["begin_suppress"]);
    REQUIRE(file["cases"].list.size() > 100);
    for (const Json& one : file["cases"].list) {
        SeededNumbers numbers(static_cast<uint64_t>(one["seed"].number));
        std::vector<float> logits;
        for (size_t i = 0; i < vocab; ++i) {
            const double bias = static_cast<int64_t>(i) >= options.tokens.timestamp_begin ? one["time_bias"].number : 0;
            logits.push_back(static_cast<float>(numbers.next() / 2097152.0 - 4 + bias));
        }
        options.timestamps = one["timestamps"].number != 0;
        options.max_initial_timestamp = static_cast<int64_t>(one["max_initial_timestamp"].number);
        WhisperRules(options, vocab).apply(logits.data(), one["generated"].ids());
        std::vector<float> expected(vocab, kNever);
        for (const Json& entry : one["logprobs"].list) expected[static_cast<size_t>(entry.list[0].number)] = static_cast<float>(entry.list[1].number);
        for (size_t i = 0; i < vocab; ++i) {
            const bool same = expected[i] == kNever ? logits[i] == kNever : std::fabs(logits[i] - expected[i]) < 1e-5f;
            if (same) continue;
            fail(__FILE__, __LINE__, "seed " + std::to_string(static_cast<int>(one["seed"].number)) + ", id " + std::to_string(i) + ": " +
                                         std::to_string(logits[i]) + ", expected " + std::to_string(expected[i]));
            break;
        }
    }
}

TEST(vector_math, "the greatest entry and its first place, at any size and place") {
    SeededNumbers numbers(3);
    for (size_t size = 1; size < 70; ++size)
        for (size_t place = 0; place < size; ++place) {
            std::vector<float> values;
            for (size_t i = 0; i < size; ++i) values.push_back(i == place ? 3.f : 2 * numbers.sample());
            CHECK_EQ(greatest(values.data(), size), 3.f);
            CHECK_EQ(index_of_greatest(values.data(), size), place);
            values.back() = 3.f;  // a second one: the first counts
            CHECK_EQ(index_of_greatest(values.data(), size), place);
        }
    const std::vector<float> forbidden(20, kNever);
    CHECK_EQ(index_of_greatest(forbidden.data(), 20), 0u);
    CHECK_EQ(greatest(forbidden.data(), 20), kNever);
    CHECK_EQ(greatest(forbidden.data(), 0), kNever);
    CHECK_EQ(index_of_greatest(forbidden.data(), 0), 0u);
}

TEST(vector_math, "the logarithm of a sum of exponentials is exact to 1e-6, whatever is forbidden") {
    for (const size_t size : {1u, 3u, 16u, 100u, 1024u, 1025u, 51866u})
        for (const float scale : {0.f, 1.f, 20.f, 200.f}) {
            SeededNumbers numbers(size + 1);
            std::vector<float> values;
            for (size_t i = 0; i < size; ++i) values.push_back(i > 0 && numbers.next() % 3 == 0 ? kNever : scale * numbers.sample());
            double peak = kNever, sum = 0;
            for (const float value : values) peak = std::max<double>(peak, value);
            for (const float value : values) sum += std::exp(value - peak);
            const double expected = peak + std::log(sum);
            const double difference = std::fabs(log_sum_exp(values.data(), size) - expected);
            // Half a unit in the last place of the result itself comes on top.
            if (difference > 1e-6 + std::fabs(expected) * 6e-8)
                fail(__FILE__, __LINE__, "size " + std::to_string(size) + ", scale " + std::to_string(scale) + ": off by " + std::to_string(difference));
        }
    const std::vector<float> forbidden(40, kNever);
    CHECK_EQ(log_sum_exp(forbidden.data(), 40), kNever);
    CHECK_EQ(log_sum_exp(forbidden.data(), 0), kNever);
    CHECK_EQ(log_sum_exp(std::vector<float>{3.25f}.data(), 1), 3.25f);
}

}  // namespace pergola::test
