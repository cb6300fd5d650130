#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/stop_flag.hpp"
#include "models/whisper_model.hpp"
#include "speech/log_mel.hpp"
#include "speech/whisper_rules.hpp"

namespace pergola {

struct TranscriberOptions {
    WhisperModelOptions model;
    size_t mel_bins = 80, max_positions = 448;
    WhisperTokens tokens;
    std::vector<std::pair<size_t, size_t>> alignment_heads;
    bool warm_up = true;
};

struct TranscriberInfo {
    std::string device;
    size_t vocab_size = 0, window_frames = 0, max_positions = 0;
    bool from_cache = false, shared = false;
    LoadTimings timings;
};

/// Counters since the transcriber was opened, over all calls.
struct TranscriberStats {
    uint64_t encoded_windows = 0, decode_steps = 0, decoded_tokens = 0;
};

/// What one call took, without the time it waited for others. `decode_ms` includes choosing tokens; `steps`: inferences after the prompt's.
struct TranscriberTimings {
    double encode_ms = 0, prefill_ms = 0, decode_ms = 0, align_ms = 0;
    uint64_t steps = 0;
};

/// One call of a transcriber: the caller may end it and learns what it took.
struct TranscriberCall {
    StopFlag stop{false};
    TranscriberTimings timings;
};

struct WindowInput {
    std::shared_ptr<LogMel> mel;
    size_t start = 0, count = 0;
};

struct DecodeInput {
    uint64_t window = 0;
    std::vector<int64_t> prompt;
    size_t sot_index = 0;
    uint64_t seed = 0;
    size_t prefix_length = 0;  // tokens at the prompt's end that belong to the text already
};

struct DecodeOptions {
    size_t max_new_tokens = 224;
    float temperature = 0;
    size_t best_of = 1, beam_size = 1;
    double patience = 1;
    bool divide_by_length = true;  // else Google's rule with `length_penalty`
    double length_penalty = 0;
    WhisperRuleOptions rules;
};

struct Decoding {
    enum class Reason { Stop, Length, Stopped };
    std::vector<int64_t> ids;
    Reason reason = Reason::Length;
    double sum_logprob = 0;
    float no_speech_prob = 0;
};

struct Detection {
    std::vector<float> probabilities;
    float no_speech_prob = 0;
};

struct AlignInput {
    uint64_t window = 0;
    size_t frames = 0;
    std::vector<int64_t> ids;
    size_t sot_length = 0;
};

struct Alignment {
    std::vector<int32_t> starts;
    std::vector<float> probabilities;
};

/// An encoder-decoder speech model (Whisper). Calls may come from any thread; one runs at a time. The `stop` flag of a call ends `encode`
/// and `decode` between two inferences, with what there is; the other two are short.
class Transcriber {
public:
    Transcriber(const TranscriberOptions& options, const LoadControl& control);

    TranscriberInfo info() const { return info_; }
    const WhisperTokens& tokens() const { return options_.tokens; }
    TranscriberStats stats() const;

    std::vector<uint64_t> encode(const std::vector<WindowInput>& windows, TranscriberCall& call);
    std::vector<Detection> detect(const std::vector<uint64_t>& windows, const std::vector<int32_t>& ids, TranscriberCall& call);
    std::vector<Decoding> decode(const std::vector<DecodeInput>& inputs, const DecodeOptions& options, TranscriberCall& call);
    std::vector<Alignment> align(const std::vector<AlignInput>& inputs, TranscriberCall& call);
    void release(const std::vector<uint64_t>& windows);

    /// Ends running calls soon; later ones throw `disposed`.
    void interrupt() { closed_ = true; }
    /// Waits for running calls and gives memory back.
    void close();

private:
    /// Cross-attention keys and values of one window, in the order of the model's names.
    struct Window {
        std::vector<ov::Tensor> tensors;
    };
    using WindowPointer = std::shared_ptr<const Window>;
    class DecodeRun;

    WindowPointer window(uint64_t id) const;
    std::vector<WindowPointer> windows_of(const std::vector<uint64_t>& ids) const;
    void check_open() const;
    /// Waits for the call that runs; while the lock is held, no other does.
    std::unique_lock<std::mutex> begin_call();
    void warm_up();
    /// One inference: `ids` [rows][count], row `i` continues row `parents[i]` of the inference before (none: a fresh start).
    /// Returns logits `[rows][sampled.size()][vocab]`, which the caller may change.
    float* infer(const std::vector<int64_t>& ids, size_t rows, const std::vector<int32_t>& parents, const std::vector<int64_t>& sampled);
    /// Gives row `i` of the decoder the cross-attention of `windows[i]`.
    void bind_windows(const std::vector<WindowPointer>& windows);
    float no_speech(const float* logits) const;
    std::vector<int32_t> align_tokens(const Window& window, const AlignInput& input);

    TranscriberOptions options_;
    std::shared_ptr<WhisperModel> model_;
    TranscriberInfo info_;
    ov::InferRequest encoder_, decoder_;
    std::vector<std::string> cross_names_;
    std::atomic<bool> closed_{false};

    // Windows of the decoder's rows, and the tensors that hold several in one batch.
    std::vector<WindowPointer> bound_;
    std::vector<ov::Tensor> batched_;

    std::mutex run_mutex_;  // one call

    mutable std::mutex windows_mutex_;
    std::unordered_map<uint64_t, WindowPointer> windows_;
    uint64_t last_window_ = 0;

    mutable std::mutex stats_mutex_;
    TranscriberStats stats_;
};

}  // namespace pergola
