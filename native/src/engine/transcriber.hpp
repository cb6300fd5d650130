#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "log_mel.hpp"
#include "whisper_model.hpp"
#include "whisper_rules.hpp"

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

struct TranscriberStats {
    uint64_t encoded_windows = 0, decode_steps = 0, decoded_tokens = 0;
    double encode_ms = 0, prefill_ms = 0, decode_ms = 0, sample_ms = 0, align_ms = 0;
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

/// An encoder-decoder speech model (Whisper). Calls may come from any thread; they run one after the other in the order in which they
/// came. A `stop` flag ends a call between two inferences.
class Transcriber {
public:
    using Stop = std::atomic<bool>;

    Transcriber(const TranscriberOptions& options, const LoadControl& control);

    TranscriberInfo info() const { return info_; }
    const WhisperTokens& tokens() const { return options_.tokens; }
    TranscriberStats stats() const;

    std::vector<uint64_t> encode(const std::vector<WindowInput>& windows, const Stop& stop);
    std::vector<Detection> detect(const std::vector<uint64_t>& windows, const std::vector<int32_t>& ids);
    std::vector<Decoding> decode(const std::vector<DecodeInput>& inputs, const DecodeOptions& options, const Stop& stop);
    std::vector<Alignment> align(const std::vector<AlignInput>& inputs);
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
    class Turn;
    class DecodeRun;

    WindowPointer window(uint64_t id) const;
    std::vector<WindowPointer> windows_of(const std::vector<uint64_t>& ids) const;
    void check_open() const;
    void warm_up();
    /// One inference: `ids` [rows][count], row `i` continues row `parents[i]` of the inference before (none: a fresh start).
    /// Returns logits `[rows][sampled.size()][vocab]`, which the caller may change.
    float* infer(const std::vector<int64_t>& ids, size_t rows, const std::vector<int32_t>& parents, const std::vector<int64_t>& sampled);
    /// Makes row `i` of the decoder listen to `windows[i]`.
    void listen(const std::vector<WindowPointer>& windows);
    float no_speech(const float* logits) const;
    std::vector<int32_t> align_tokens(const Window& window, const AlignInput& input);

    TranscriberOptions options_;
    std::shared_ptr<WhisperModel> model_;
    TranscriberInfo info_;
    ov::InferRequest encoder_, decoder_;
    std::vector<std::string> cross_names_;
    std::atomic<bool> closed_{false};

    // Windows that the rows of the decoder listen to, and the tensors that hold them side by side.
    std::vector<WindowPointer> listening_;
    std::vector<ov::Tensor> side_by_side_;

    mutable std::mutex queue_mutex_;
    std::condition_variable queue_moved_;
    uint64_t next_ticket_ = 0, serving_ = 0;

    mutable std::mutex windows_mutex_;
    std::unordered_map<uint64_t, WindowPointer> windows_;
    uint64_t last_window_ = 0;

    mutable std::mutex stats_mutex_;
    TranscriberStats stats_;
};

}  // namespace pergola
