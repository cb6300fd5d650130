#include "generate/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "support/harness.hpp"

namespace pergola::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

SampledToken sample_once(const SamplingOptions& options, std::vector<float> logits, uint64_t position = 0, const std::vector<int64_t>& forbidden = {},
                         const std::vector<int64_t>& prompt = {}) {
    Sampler sampler(options, logits.size());
    sampler.see_prompt(prompt.data(), prompt.size());
    return sampler.sample(logits.data(), position, forbidden);
}

int64_t choose(const SamplingOptions& options, const std::vector<float>& logits, const std::vector<int64_t>& forbidden = {},
               const std::vector<int64_t>& prompt = {}) {
    return sample_once(options, logits, 0, forbidden, prompt).id;
}

SamplingOptions sampled(float temperature = 1.f, uint64_t seed = 1) {
    SamplingOptions options;
    options.temperature = temperature;
    options.seed = seed;
    return options;
}

std::vector<float> random_logits(size_t count, float spread, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> result(count);
    for (auto& one : result) one = normal(random);
    return result;
}

/// What transformers' logits warpers do, written down plainly and in double: temperature, top-k, top-p, min-p, softmax.
/// Without equal logits, so that ties do not matter.
std::vector<double> reference_distribution(const std::vector<float>& logits, const SamplingOptions& options) {
    const size_t count = logits.size();
    std::vector<double> scaled(count);
    for (size_t i = 0; i < count; ++i) scaled[i] = static_cast<double>(logits[i]) / static_cast<double>(options.temperature);
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scaled[a] > scaled[b]; });
    std::vector<char> alive(count, 1);
    const auto softmax = [&] {
        std::vector<double> result(count, 0.0);
        double total = 0;
        for (size_t i = 0; i < count; ++i)
            if (alive[i]) total += result[i] = std::exp(scaled[i] - scaled[order[0]]);
        for (auto& one : result) one /= total;
        return result;
    };
    if (options.top_k > 0)
        for (size_t i = options.top_k; i < count; ++i) alive[order[i]] = 0;
    if (options.top_p < 1.f) {
        const auto probabilities = softmax();
        double before = 0;
        for (size_t i = 0; i < count; ++i) {
            if (before >= static_cast<double>(options.top_p) && i > 0) alive[order[i]] = 0;
            before += probabilities[order[i]];
        }
    }
    if (options.min_p > 0) {
        const auto probabilities = softmax();
        for (size_t i = 0; i < count; ++i)
            if (probabilities[i] < static_cast<double>(options.min_p) * probabilities[order[0]]) alive[i] = 0;
    }
    return softmax();
}

/// Pearson's statistic against `expected` probabilities, rare outcomes taken together. Fails the test when it is more than five
/// standard deviations above its mean (chance: about one in a million), or when something impossible was drawn.
void check_distribution(const std::vector<size_t>& counts, const std::vector<double>& expected) {
    const double draws = static_cast<double>(std::accumulate(counts.begin(), counts.end(), size_t{0}));
    double statistic = 0, rare_expected = 0, rare_seen = 0;
    int cells = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
        const double mean = expected[i] * draws, seen = static_cast<double>(counts[i]);
        if (expected[i] == 0) CHECK_EQ(counts[i], 0u);
        if (mean < 10) {
            rare_expected += mean;
            rare_seen += seen;
        } else {
            statistic += (seen - mean) * (seen - mean) / mean;
            ++cells;
        }
    }
    if (rare_expected > 5) {
        statistic += (rare_seen - rare_expected) * (rare_seen - rare_expected) / rare_expected;
        ++cells;
    } else {
        CHECK(rare_seen < 40);
    }
    const double freedom = std::max(1, cells - 1);
    if (statistic > freedom + 5 * std::sqrt(2 * freedom) + 5)
        fail(__FILE__, __LINE__, "chi-square " + std::to_string(statistic) + " with " + std::to_string(freedom) + " degrees of freedom");
}

constexpr size_t kDraws = kSlow ? 40000 : 200000;

void check_draws(const std::vector<float>& logits, const SamplingOptions& options) {
    const auto expected = reference_distribution(logits, options);
    Sampler sampler(options, logits.size());
    std::vector<size_t> counts(logits.size(), 0);
    for (size_t i = 0; i < kDraws; ++i) {
        std::vector<float> copy = logits;
        ++counts[static_cast<size_t>(sampler.sample(copy.data(), i, {}).id)];
    }
    check_distribution(counts, expected);
}

}  // namespace

TEST(sampler, "greedy takes the largest logit, of equal ones the first, and never NaN") {
    const SamplingOptions greedy;
    CHECK_EQ(choose(greedy, {0.f, 3.f, 2.f}), 1);
    CHECK_EQ(choose(greedy, {-5.f, -1.f, -1.f}), 1);
    CHECK_EQ(choose(greedy, {kNaN, 1.f, kNaN, 2.f, kNaN}), 3);
    CHECK_EQ(choose(greedy, {-kInfinity, -1e30f, -kInfinity}), 1);
    CHECK_EQ(choose(greedy, {0.f, kInfinity}), 1);
    CHECK_EQ(choose(greedy, {-0.f, 0.f}), 0);
}

TEST(sampler, "logits without any number are a typed error, greedy and sampled") {
    for (float temperature : {0.f, 1.f}) {
        const SamplingOptions options = sampled(temperature);
        const auto error = CHECK_ENGINE_ERROR(ErrorCode::Native, choose(options, {kNaN, kNaN}));
        CHECK(std::string(error.what()).find("INFERENCE_PRECISION_HINT") != std::string::npos);
        CHECK_ENGINE_ERROR(ErrorCode::Native, choose(options, {-kInfinity, -kInfinity}));
        CHECK_ENGINE_ERROR(ErrorCode::Native, choose(options, {1.f, 2.f}, {0, 1}));
    }
}

TEST(sampler, "an infinite logit and a vanishing temperature choose the best token") {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        CHECK_EQ(choose(sampled(1.f, seed), {1.f, kInfinity, 2.f}), 1);
        CHECK_EQ(choose(sampled(1e-40f, seed), {1.f, 1.5f, 2.f}), 2);
        CHECK_EQ(choose(sampled(1e-6f, seed), {1.f, 2.5f, 2.f}), 1);
        CHECK_EQ(choose(sampled(1.f, seed), {kNaN, 2.5f, kNaN}), 1);
    }
}

TEST(sampler, "the repetition penalty works as in transformers: prompt and answer, each token once, by sign") {
    SamplingOptions options;
    options.repetition_penalty = 2.f;
    CHECK_EQ(choose(options, {1.f, 1.5f, 0.9f}, {}, {1, 1, 1}), 0);   // 1.5 / 2, not / 8
    CHECK_EQ(choose(options, {0.5f, 1.5f, 0.7f}, {}, {1, 1, 1}), 1);  // 0.75
    CHECK_EQ(choose(options, {-1.f, -1.5f}, {}, {0}), 1);             // -1 * 2
    CHECK_EQ(choose(options, {1.f, 1.5f}, {}, {-3, 99}), 1);          // ids outside the vocabulary are passed over
    options.repetition_penalty = 0.5f;
    CHECK_EQ(choose(options, {1.f, 1.5f}, {}, {0}), 0);  // a reward

    options.repetition_penalty = 1.6f;
    Sampler sampler(options, 3);
    std::vector<int64_t> answer;
    for (uint64_t i = 0; i < 4; ++i) {
        std::vector<float> logits{3.f, 2.f, 1.f};
        answer.push_back(sampler.sample(logits.data(), i, {}).id);
    }
    CHECK_EQ(answer, (std::vector<int64_t>{0, 1, 0, 0}));  // 3; 1.875 < 2; 1.875 > 1.25, 1; and stays so
}

TEST(sampler, "presence and frequency penalties work as OpenAI documents them, on the answer alone") {
    SamplingOptions options;
    options.presence_penalty = 0.4f;
    options.frequency_penalty = 0.25f;
    Sampler sampler(options, 3);
    const std::vector<int64_t> prompt{0, 0, 0, 0};
    sampler.see_prompt(prompt.data(), prompt.size());
    std::vector<size_t> counts(3, 0);
    for (uint64_t i = 0; i < 30; ++i) {
        const std::vector<float> model{1.f, 0.7f, -0.35f};
        std::vector<float> expected = model, logits = model;
        for (size_t t = 0; t < 3; ++t)
            expected[t] = model[t] - static_cast<float>(counts[t]) * 0.25f - (counts[t] > 0 ? 0.4f : 0.f);
        const auto best = static_cast<int64_t>(std::max_element(expected.begin(), expected.end()) - expected.begin());
        const int64_t id = sampler.sample(logits.data(), i, {}).id;
        REQUIRE_EQ(id, best);
        for (size_t t = 0; t < 3; ++t) CHECK(std::abs(logits[t] - expected[t]) < 1e-4f);
        ++counts[static_cast<size_t>(id)];
    }
    CHECK(counts[2] > 0);
}

TEST(sampler, "penalties come before the bias, the bias before forbidden tokens") {
    SamplingOptions options;
    options.repetition_penalty = 2.f;
    options.logit_bias = {{0, 1.f}, {2, 100.f}, {-1, 50.f}, {77, 50.f}};
    std::vector<float> logits{4.f, 3.f, 0.f};
    Sampler sampler(options, 3);
    const int64_t prompt = 0;
    sampler.see_prompt(&prompt, 1);
    CHECK_EQ(sampler.sample(logits.data(), 0, {2}).id, 0);  // 4 / 2 + 1 = 3, the first of two equal ones
    CHECK_EQ(logits[0], 3.f);
    CHECK_EQ(logits[2], -kInfinity);
    options.logit_bias = {{0, -kInfinity}};
    CHECK_EQ(choose(options, {9.f, 1.f}), 1);
}

TEST(sampler, "forbidden ids are never chosen; ids outside the vocabulary are passed over") {
    for (uint64_t seed = 0; seed < 200; ++seed) {
        const int64_t id = sample_once(sampled(1.f, seed), {9.f, 1.f, 1.f, 9.f}, seed, {0, 3, -1, 400}).id;
        CHECK(id == 1 || id == 2);
    }
    CHECK_EQ(choose(SamplingOptions(), {9.f, 1.f}, {0}), 1);
}

TEST(sampler, "draws follow the softmax at several temperatures") {
    const auto logits = random_logits(60, 2.f, 5);
    for (float temperature : {0.3f, 0.7f, 1.f, 1.6f}) check_draws(logits, sampled(temperature, 77));
    check_draws(logits, sampled(1.f, 0));
    check_draws({0.f, 0.f, 0.f, 0.f, 0.f}, sampled(1.f, 3));
    check_draws({100.f, 101.f, -3000.f}, sampled(1.f, 3));
}

TEST(sampler, "draws follow the filtered distribution of transformers") {
    const auto logits = random_logits(60, 2.f, 6);
    SamplingOptions options = sampled(1.f, 4);
    options.top_k = 7;
    check_draws(logits, options);
    options.top_p = 0.8f;
    check_draws(logits, options);
    options.temperature = 1.4f;
    options.min_p = 0.15f;
    check_draws(logits, options);
    options = sampled(0.9f, 5);
    options.top_p = 0.6f;
    check_draws(logits, options);
    options = sampled(1.5f, 6);
    options.min_p = 0.1f;
    check_draws(logits, options);
}

TEST(sampler, "filters keep exactly the tokens that transformers keep") {
    std::mt19937 random(9);
    const auto real = [&](float low, float high) { return std::uniform_real_distribution<float>(low, high)(random); };
    for (int round = 0; round < (kSlow ? 40 : 150); ++round) {
        const auto logits = random_logits(24, real(0.2f, 3.f), static_cast<unsigned>(round));
        SamplingOptions options = sampled(real(0.4f, 2.f), static_cast<uint64_t>(round));
        if (round % 2) options.top_k = 1 + static_cast<uint32_t>(round) % 23;
        if (round % 3) options.top_p = real(0.05f, 0.99f);
        if (round % 5 == 0) options.min_p = real(0.001f, 0.9f);
        const auto expected = reference_distribution(logits, options);
        std::vector<char> drawn(24, 0);
        for (uint64_t i = 0; i < 3000; ++i) drawn[static_cast<size_t>(sample_once(options, logits, i).id)] = 1;
        for (size_t i = 0; i < 24; ++i) {
            if (expected[i] == 0) CHECK(!drawn[i]);
            if (expected[i] > 0.006) CHECK(drawn[i]);  // missing it 3000 times: one in 10^8
        }
    }
}

TEST(sampler, "the filters' edges") {
    // Shares 0.5, 0.3, 0.2.
    const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.2f)};
    const auto drawn = [&](const SamplingOptions& options) {
        std::vector<int64_t> seen;
        for (uint64_t i = 0; i < 400; ++i) {
            const int64_t id = sample_once(options, logits, i).id;
            if (std::find(seen.begin(), seen.end(), id) == seen.end()) seen.push_back(id);
        }
        std::sort(seen.begin(), seen.end());
        return seen;
    };
    using Ids = std::vector<int64_t>;
    SamplingOptions options = sampled();
    options.top_p = 0.6f;
    CHECK_EQ(drawn(options), (Ids{0, 1}));  // the token that crosses the border is kept
    options.top_p = 0.4f;
    CHECK_EQ(drawn(options), Ids{0});
    options.top_p = 0.f;
    CHECK_EQ(drawn(options), Ids{0});
    options = sampled();
    options.min_p = 0.5f;
    CHECK_EQ(drawn(options), (Ids{0, 1}));  // 0.3 >= 0.5 * 0.5 > 0.2
    options.min_p = 1.f;
    CHECK_EQ(drawn(options), Ids{0});
    options = sampled();
    options.top_k = 1;
    CHECK_EQ(drawn(options), Ids{0});
    options.top_k = 1000;
    CHECK_EQ(drawn(options), (Ids{0, 1, 2}));
    // top-p after top-k: of the two left, the first has 0.625 of the share.
    options.top_k = 2;
    options.top_p = 0.6f;
    CHECK_EQ(drawn(options), Ids{0});
    // min-p is relative to the best, so what top-k took away does not change it.
    options.top_p = 1.f;
    options.min_p = 0.65f;
    CHECK_EQ(drawn(options), Ids{0});
}

TEST(sampler, "the same seed and position give the same token, whatever was drawn before") {
    const auto logits = random_logits(200, 1.f, 1);
    SamplingOptions options = sampled(1.2f, 1234567);
    Sampler in_order(options, logits.size()), backwards(options, logits.size());
    std::vector<int64_t> ids, reversed;
    for (uint64_t i = 0; i < 100; ++i) {
        auto copy = logits;
        ids.push_back(in_order.sample(copy.data(), i, {}).id);
        copy = logits;
        reversed.push_back(backwards.sample(copy.data(), 99 - i, {}).id);
    }
    std::reverse(reversed.begin(), reversed.end());
    CHECK_EQ(ids, reversed);
    CHECK(std::count(ids.begin(), ids.end(), ids[0]) < 50);  // positions differ
    size_t equal = 0;
    for (uint64_t i = 0; i < 100; ++i) equal += sample_once(sampled(1.2f, 1234568), logits, i).id == ids[i];
    CHECK(equal < 30);
}

TEST(sampler, "neighbouring positions, and neighbouring seeds, are independent") {
    const std::vector<float> logits{0.f, 0.5f, 1.f, -0.5f};
    const auto single = reference_distribution(logits, sampled());
    std::vector<double> pairs(16);
    for (size_t a = 0; a < 4; ++a)
        for (size_t b = 0; b < 4; ++b) pairs[a * 4 + b] = single[a] * single[b];
    std::vector<size_t> by_position(16, 0), by_seed(16, 0);
    for (uint64_t i = 0; i < kDraws / 4; ++i) {
        const auto at = [&](uint64_t seed, uint64_t position) { return static_cast<size_t>(sample_once(sampled(1.f, seed), logits, position).id); };
        ++by_position[at(42, 2 * i) * 4 + at(42, 2 * i + 1)];
        ++by_seed[at(2 * i, 3) * 4 + at(2 * i + 1, 3)];
    }
    check_distribution(by_position, pairs);
    check_distribution(by_seed, pairs);
}

TEST(sampler, "log-probabilities are the model's own: before penalties, bias, temperature and filters") {
    const std::vector<float> logits{1.f, 2.f, 3.f, 0.5f};
    double total = 0;
    for (float one : logits) total += std::exp(static_cast<double>(one));
    const auto expected = [&](int64_t id) { return static_cast<double>(logits[static_cast<size_t>(id)]) - std::log(total); };
    SamplingOptions options = sampled(0.5f, 8);
    options.top_k = 2;
    options.repetition_penalty = 3.f;
    options.logit_bias = {{1, 50.f}};
    options.logprobs = 3;
    const auto token = sample_once(options, logits, 0, {2}, {0, 1, 2});
    CHECK_EQ(token.id, 1);
    CHECK(std::abs(token.logprob - expected(1)) < 1e-5);
    REQUIRE_EQ(token.top.size(), 3u);
    const int64_t order[] = {2, 1, 0};
    for (size_t i = 0; i < 3; ++i) {
        CHECK_EQ(token.top[i].first, order[i]);
        CHECK(std::abs(token.top[i].second - expected(order[i])) < 1e-5);
    }
}

TEST(sampler, "log-probabilities add up to one, order ties by id, and come only when asked for") {
    const auto logits = random_logits(500, 4.f, 3);
    SamplingOptions options;
    options.logprobs = 500;
    const auto token = sample_once(options, logits);
    double sum = 0;
    for (const auto& [id, logprob] : token.top) sum += std::exp(static_cast<double>(logprob));
    CHECK(std::abs(sum - 1) < 1e-4);
    CHECK_EQ(token.top[0].first, token.id);
    CHECK_EQ(token.top[0].second, token.logprob);
    options.logprobs = 1000;
    CHECK_EQ(sample_once(options, logits).top.size(), 500u);
    options.logprobs = 2;
    const auto tied = sample_once(options, {1.f, 2.f, 2.f, 2.f});
    CHECK_EQ(tied.top[0].first, 1);
    CHECK_EQ(tied.top[1].first, 2);
    options.logprobs = 0;
    CHECK(sample_once(options, logits).top.empty());
    CHECK(sample_once(options, logits).logprob < 0);
    options.logprobs = -1;
    CHECK_EQ(sample_once(options, logits).logprob, 0.f);
    // Large logits do not overflow.
    options.logprobs = 1;
    CHECK(std::abs(sample_once(options, {3000.f, 3000.f}).logprob + std::log(2.f)) < 1e-3f);
}

}  // namespace pergola::test
