#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pergola {

/// Ids with a meaning of their own.
struct WhisperTokens {
    int64_t end_of_text = 0, start_of_transcript = 0, no_timestamps = 0, timestamp_begin = 0, no_speech = -1;
};

struct WhisperRuleOptions {
    WhisperTokens tokens;
    bool timestamps = true;
    int64_t max_initial_timestamp = 50;  // steps of 0.02 s; -1 = none
    std::vector<int32_t> suppress, begin_suppress;
};

/// What a Whisper decoder may say next: suppress lists, and the grammar of timestamps (pairs, never back, the first one soon, a time
/// rather than text when times together are likelier). After openai/whisper's decoding rules.
class WhisperRules {
public:
    WhisperRules(const WhisperRuleOptions& options, size_t vocab_size);

    /// Turns logits into natural-log probabilities of what is allowed (others: -infinity), given the tokens generated so far.
    /// `first`: the first step, which must not end the text; with tokens when a text is continued.
    void apply(float* logits, const std::vector<int64_t>& generated, bool first) const;
    void apply(float* logits, const std::vector<int64_t>& generated) const { apply(logits, generated, generated.empty()); }

private:
    void forbid_by_time(float* logits, const std::vector<int64_t>& generated) const;

    WhisperRuleOptions options_;
    size_t vocab_;
};

}  // namespace pergola
