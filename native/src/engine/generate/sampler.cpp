#include "generate/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace pergola {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// SplitMix64 (Steele et al. 2014).
uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/// In (0, 1): both ends would give an infinite Gumbel number.
double uniform_of(uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53; }

/// First index of the largest value; -1 when nothing is greater than -inf (all masked, or NaN).
int64_t argmax(const float* values, size_t count) {
    float best = kNever;
    for (size_t i = 0; i < count; ++i) best = values[i] > best ? values[i] : best;  // vectorises; NaN never wins
    if (best == kNever) return -1;
    for (size_t i = 0; i < count; ++i)
        if (values[i] == best) return static_cast<int64_t>(i);
    return -1;
}

}  // namespace

Sampler::Sampler(SamplingOptions options, size_t vocab_size) : options_(std::move(options)), vocab_(vocab_size) {
    if (options_.repetition_penalty != 1.f) seen_.assign(vocab_, 0);
}

void Sampler::see_prompt(const int64_t* tokens, size_t count) {
    if (seen_.empty()) return;
    for (size_t i = 0; i < count; ++i)
        if (tokens[i] >= 0 && static_cast<size_t>(tokens[i]) < vocab_) seen_[tokens[i]] = 1;
}

void Sampler::apply_penalties(float* logits) const {
    if (!seen_.empty()) {
        const float penalty = options_.repetition_penalty;
        for (size_t i = 0; i < vocab_; ++i)
            if (seen_[i]) logits[i] = logits[i] < 0 ? logits[i] * penalty : logits[i] / penalty;
    }
    if (options_.presence_penalty != 0.f || options_.frequency_penalty != 0.f)
        for (const auto& [id, count] : made_)
            logits[id] -= options_.presence_penalty + options_.frequency_penalty * static_cast<float>(count);
    for (const auto& [id, bias] : options_.logit_bias)
        if (id >= 0 && static_cast<size_t>(id) < vocab_) logits[id] += bias;
}

int64_t Sampler::draw(const float* logits, uint64_t position) {
    const float inverse = 1.f / options_.temperature;
    const int64_t best = argmax(logits, vocab_);
    if (best < 0) return -1;
    const float peak = logits[best];
    candidates_.clear();
    for (size_t i = 0; i < vocab_; ++i) {
        // Beyond 40 nats below the peak a token's share is under 1e-17: it is never drawn with 53 random bits.
        if ((logits[i] - peak) * inverse > -40.f) candidates_.emplace_back((logits[i] - peak) * inverse, static_cast<int32_t>(i));
    }
    if (candidates_.empty()) return best;  // an infinite peak, or a temperature whose inverse is infinite: greedy in the limit
    filter();
    // Gumbel-max (Gumbel 1954; Maddison et al. 2014): the largest of logit - log(-log(u)) is distributed as the softmax. Unlike
    // inversion of the cumulative sum, a rounding difference elsewhere in the vocabulary cannot move the choice to a neighbour.
    double highest = -std::numeric_limits<double>::infinity();
    int64_t chosen = -1;
    const uint64_t key = mix(mix(options_.seed) ^ (position * 0xd6e8feb86659fd93ull + 1));
    // The likeliest first: once the bar is high, most others fail the cheap test.
    const auto top = std::max_element(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::iter_swap(candidates_.begin(), top);
    for (const auto& [value, id] : candidates_) {
        const double u = uniform_of(mix(key ^ (static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15ull)));
        // -log(u) >= 1 - u, so a token whose 1 - u is too large cannot win: saves two logarithms.
        if (1.0 - u > std::exp(value - highest)) continue;
        const double score = value - std::log(-std::log(u));
        if (score > highest || (score == highest && id < chosen)) {
            highest = score;
            chosen = id;
        }
    }
    return chosen;
}

void Sampler::filter() {
    const auto better = [](const auto& a, const auto& b) { return a.first > b.first || (a.first == b.first && a.second < b.second); };
    if (options_.top_k > 0 && options_.top_k < candidates_.size()) {
        std::nth_element(candidates_.begin(), candidates_.begin() + options_.top_k, candidates_.end(), better);
        candidates_.resize(options_.top_k);
    }
    if (options_.top_p < 1.f) {
        // Smallest set whose share reaches top_p; the token that crosses the border is kept (Holtzman et al. 2020).
        std::sort(candidates_.begin(), candidates_.end(), better);
        double total = 0, sum = 0;
        for (const auto& candidate : candidates_) total += std::exp(static_cast<double>(candidate.first));
        size_t kept = 0;
        while (kept < candidates_.size() && (kept == 0 || sum < options_.top_p * total)) sum += std::exp(static_cast<double>(candidates_[kept++].first));
        candidates_.resize(kept);
    }
    if (options_.min_p > 0) {
        const float floor = std::log(options_.min_p);  // relative to the best token, whose value is 0
        candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), [&](const auto& c) { return c.first < floor; }), candidates_.end());
    }
}

SampledToken Sampler::describe(const float* raw, int64_t chosen) const {
    SampledToken result;
    result.id = chosen;
    const int64_t best = argmax(raw, vocab_);
    const float peak = best < 0 ? 0.f : raw[best];
    double total = 0;
    for (size_t i = 0; i < vocab_; ++i) total += std::exp(static_cast<double>(raw[i] - peak));
    const float norm = peak + static_cast<float>(std::log(total));
    result.logprob = raw[chosen] - norm;
    const size_t count = std::min<size_t>(options_.logprobs, vocab_);
    if (count > 0) {
        std::vector<int32_t> order(vocab_);
        for (size_t i = 0; i < vocab_; ++i) order[i] = static_cast<int32_t>(i);
        std::partial_sort(order.begin(), order.begin() + count, order.end(),
                          [&](int32_t a, int32_t b) { return raw[a] > raw[b] || (raw[a] == raw[b] && a < b); });
        for (size_t i = 0; i < count; ++i) result.top.emplace_back(order[i], raw[order[i]] - norm);
    }
    return result;
}

SampledToken Sampler::sample(float* logits, uint64_t position, const std::vector<int64_t>& forbidden) {
    // Log-probabilities are the model's own, so they are taken before anything changes the logits.
    if (options_.logprobs >= 0) raw_.assign(logits, logits + vocab_);
    apply_penalties(logits);
    for (int64_t id : forbidden)
        if (id >= 0 && static_cast<size_t>(id) < vocab_) logits[id] = kNever;
    const int64_t id = options_.temperature > 0.f ? draw(logits, position) : argmax(logits, vocab_);
    if (id < 0)
        throw EngineError(ErrorCode::Native,
                          "the model gave no finite logits (NaN): its weights may be damaged, or the device's precision overflows; "
                          "try properties: { INFERENCE_PRECISION_HINT: \"f32\" }");
    if (!seen_.empty()) seen_[id] = 1;
    if (options_.presence_penalty != 0.f || options_.frequency_penalty != 0.f) ++made_[id];
    SampledToken result;
    if (options_.logprobs >= 0) result = describe(raw_.data(), id);
    result.id = id;
    return result;
}

}  // namespace pergola
