#include "speech/whisper_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/vector_math.hpp"

namespace pergola {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void forbid(float* logits, int64_t begin, int64_t end) {
    if (end > begin) std::fill(logits + begin, logits + end, kNever);
}

}  // namespace

WhisperRules::WhisperRules(const WhisperRuleOptions& options, size_t vocab_size) : options_(options), vocab_(vocab_size) {}

void WhisperRules::apply(float* logits, const std::vector<int64_t>& generated, bool first) const {
    const auto suppress = [&](const std::vector<int32_t>& ids) {
        for (const int32_t id : ids)
            if (id >= 0 && static_cast<size_t>(id) < vocab_) logits[id] = kNever;
    };
    suppress(options_.suppress);
    if (first) suppress(options_.begin_suppress);
    if (options_.timestamps) forbid_by_time(logits, generated);
    log_softmax(logits, vocab_);
    if (!options_.timestamps) return;
    // Whatever single word is likeliest: if a time is likelier than that, it has to be a time.
    const int64_t begin = options_.tokens.timestamp_begin;
    const float time = log_sum_exp(logits + begin, vocab_ - static_cast<size_t>(begin));
    const float text = greatest(logits, static_cast<size_t>(begin));
    if (time > text) {
        forbid(logits, 0, begin);
        log_softmax(logits, vocab_);
    }
}

void WhisperRules::forbid_by_time(float* logits, const std::vector<int64_t>& generated) const {
    const int64_t begin = options_.tokens.timestamp_begin, vocab = static_cast<int64_t>(vocab_);
    if (options_.tokens.no_timestamps >= 0 && options_.tokens.no_timestamps < vocab) logits[options_.tokens.no_timestamps] = kNever;
    const size_t size = generated.size();
    const auto is_time = [&](size_t from_end) { return size >= from_end && generated[size - from_end] >= begin; };
    const bool open = is_time(1) && size >= 2 && !is_time(2);  // text, then a time: a segment's end whose successor is to come
    if (is_time(1)) {
        if (open) forbid(logits, 0, options_.tokens.end_of_text);
        else forbid(logits, begin, vocab);
    }
    const auto last = std::find_if(generated.rbegin(), generated.rend(), [&](int64_t id) { return id >= begin; });
    if (last != generated.rend()) forbid(logits, begin, std::min(vocab, open ? *last : *last + 1));
    if (generated.empty()) {
        forbid(logits, 0, begin);
        if (options_.max_initial_timestamp >= 0) forbid(logits, std::min(vocab, begin + options_.max_initial_timestamp + 1), vocab);
    }
}

}  // namespace pergola
