#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pergola {

struct SamplingOptions {
    float temperature = 0.f;  // 0 = greedy
    uint32_t top_k = 0;       // 0 = off
    float top_p = 1.f;
    float min_p = 0.f;
    float repetition_penalty = 1.f;
    float presence_penalty = 0.f;
    float frequency_penalty = 0.f;
    std::vector<std::pair<int64_t, float>> logit_bias;
    uint64_t seed = 0;
    int logprobs = -1;  // -1 = none, n = also the n best
};

struct SampledToken {
    int64_t id = 0;
    float logprob = 0.f;
    std::vector<std::pair<int64_t, float>> top;
};

/// Chooses the next token of one sequence. Logits are changed in the order of Hugging Face's processors: penalties, bias, forbidden
/// ids, temperature, top-k, top-p, min-p. Random numbers depend on (seed, position, token) alone, so a text can be repeated whatever
/// else runs in the batch and however often the request was preempted.
class Sampler {
public:
    Sampler(SamplingOptions options, size_t vocab_size);

    /// Tokens that the repetition penalty looks at (prompt), before the first `sample`.
    void see_prompt(const int64_t* tokens, size_t count);

    /// `logits` is changed in place. `position`: index of the new token in the answer. `forbidden`: ids that may not be chosen
    /// (stop tokens before `minNewTokens`). Throws `native` when the model gave no finite number to choose from.
    SampledToken sample(float* logits, uint64_t position, const std::vector<int64_t>& forbidden);

private:
    void apply_penalties(float* logits) const;
    int64_t draw(const float* logits, uint64_t position);
    void filter();
    SampledToken describe(const float* raw, int64_t chosen) const;

    SamplingOptions options_;
    size_t vocab_;
    std::vector<char> seen_;                     // prompt and answer; only kept for the repetition penalty
    std::unordered_map<int64_t, uint32_t> made_;  // counts in the answer
    std::vector<std::pair<float, int32_t>> candidates_;  // (logit - peak) / temperature, token
    std::vector<float> raw_;
};

}  // namespace pergola
