#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "base/stop_watch.hpp"
#include "base/vector_math.hpp"
#include "generate/sampler.hpp"
#include "speech/transcriber.hpp"

namespace pergola {
namespace {

/// A text in the making, or a finished one.
struct Hypothesis {
    std::vector<int64_t> ids;
    double sum = 0;
    int32_t row = 0;  // of the last inference
    std::optional<Sampler> sampler;
};

struct Candidate {
    double sum;
    int64_t id;
    size_t from;
};

}  // namespace

/// One call of `decode`: all windows step by step together. A window whose text is complete leaves the batch.
class Transcriber::DecodeRun {
public:
    DecodeRun(Transcriber& owner, const std::vector<DecodeInput>& inputs, const DecodeOptions& options, TranscriberCall& call)
        : owner_(owner), inputs_(inputs), options_(options), call_(call), rules_(options.rules, owner.model_->vocab_size), vocab_(owner.model_->vocab_size),
          width_(options.temperature > 0 ? std::max<size_t>(1, options.best_of) : std::max<size_t>(1, options.beam_size)) {}

    std::vector<Decoding> run() {
        prefill();
        size_t step = 1;
        while (!active_.empty() && step < limit_) {
            if (call_.stop || owner_.closed_) return collect(Decoding::Reason::Stopped);
            advance(step++);
        }
        return collect(Decoding::Reason::Length);
    }

private:
    struct Item {
        size_t input = 0;
        WindowPointer window;
        std::vector<Hypothesis> open, finished;
        float no_speech = 0;
    };

    void prefill() {
        const StopWatch watch;
        const size_t length = inputs_.front().prompt.size();
        limit_ = std::min(options_.max_new_tokens, owner_.info_.max_positions - std::min(owner_.info_.max_positions, length));
        std::vector<int64_t> ids;
        std::vector<WindowPointer> windows;
        for (size_t i = 0; i < inputs_.size(); ++i) {
            Item item;
            item.input = i;
            item.window = owner_.window(inputs_[i].window);
            windows.push_back(item.window);
            items_.push_back(std::move(item));
            ids.insert(ids.end(), inputs_[i].prompt.begin(), inputs_[i].prompt.end());
        }
        const size_t sot = inputs_.front().sot_index;
        std::vector<int64_t> sampled;
        if (sot + 1 < length) sampled.push_back(static_cast<int64_t>(sot));
        sampled.push_back(static_cast<int64_t>(length - 1));
        owner_.bind_windows(windows);
        float* logits = owner_.infer(ids, inputs_.size(), {}, sampled);
        call_.timings.prefill_ms += watch.ms();
        const StopWatch sampling;
        for (size_t i = 0; i < items_.size(); ++i) {
            float* rows = logits + i * sampled.size() * vocab_;
            Item& item = items_[i];
            item.no_speech = owner_.no_speech(rows);
            float* last = rows + (sampled.size() - 1) * vocab_;
            Hypothesis start;
            // The rules go on from a text that is there already.
            start.ids.assign(inputs_[i].prompt.end() - static_cast<ptrdiff_t>(inputs_[i].prefix_length), inputs_[i].prompt.end());
            rules_.apply(last, start.ids, true);
            start.row = static_cast<int32_t>(i);
            if (options_.temperature > 0) {
                for (size_t j = 0; j < width_; ++j) {
                    start.sampler.emplace(sampling_options(inputs_[i].seed + j), vocab_);
                    item.open.push_back(start);
                }
                sample(item, {last}, 0);
            } else {
                item.open.push_back(start);
                choose(item, {last});
            }
        }
        for (size_t i = 0; i < items_.size(); ++i)
            if (!items_[i].open.empty()) active_.push_back(i);
        count(sampling.ms());
    }

    void advance(size_t step) {
        const StopWatch watch;
        std::vector<int64_t> ids;
        std::vector<int32_t> parents;
        std::vector<WindowPointer> windows;
        for (const size_t index : active_)
            for (auto& hypothesis : items_[index].open) {
                ids.push_back(hypothesis.ids.back());
                parents.push_back(hypothesis.row);
                hypothesis.row = static_cast<int32_t>(parents.size() - 1);
                windows.push_back(items_[index].window);
            }
        owner_.bind_windows(windows);
        float* logits = owner_.infer(ids, ids.size(), parents, {0});
        ++call_.timings.steps;
        {
            std::lock_guard<std::mutex> lock(owner_.stats_mutex_);
            ++owner_.stats_.decode_steps;
        }
        for (size_t at = 0; at < active_.size();) {
            Item& item = items_[active_[at]];
            std::vector<float*> rows;
            for (auto& hypothesis : item.open) {
                rows.push_back(logits + static_cast<size_t>(hypothesis.row) * vocab_);
                rules_.apply(rows.back(), hypothesis.ids, false);
            }
            if (options_.temperature > 0) sample(item, rows, step);
            else choose(item, rows);
            if (!item.open.empty()) ++at;
            else {
                // The last one takes the free place, so that only its keys and values have to be moved.
                active_[at] = active_.back();
                active_.pop_back();
            }
        }
        count(watch.ms());
    }

    SamplingOptions sampling_options(uint64_t seed) const {
        SamplingOptions result;
        result.temperature = options_.temperature;
        result.seed = seed;
        return result;
    }

    /// Independent samples; `rows` has one row for each open hypothesis, or one for all.
    void sample(Item& item, const std::vector<float*>& rows, size_t position) {
        std::vector<Hypothesis> next;
        for (size_t i = 0; i < item.open.size(); ++i) {
            Hypothesis hypothesis = std::move(item.open[i]);
            const float* logprobs = rows[std::min(i, rows.size() - 1)];
            scratch_.assign(logprobs, logprobs + vocab_);
            const int64_t id = hypothesis.sampler->sample(scratch_.data(), position, {}).id;
            hypothesis.sum += logprobs[id];
            extend(item, std::move(hypothesis), id, next);
        }
        item.open = std::move(next);
    }

    /// Greedy (one beam) or beam search.
    void choose(Item& item, const std::vector<float*>& rows) {
        const int64_t end = options_.rules.tokens.end_of_text;
        std::vector<Candidate> candidates;
        for (size_t i = 0; i < item.open.size(); ++i) add_best(rows[i], item.open[i].sum, i, candidates);
        if (candidates.empty() || !std::isfinite(candidates.front().sum))
            throw EngineError(ErrorCode::Native, "the model gave no finite logits (NaN): its weights may be damaged, or the device's precision overflows; "
                                                 "try properties: { INFERENCE_PRECISION_HINT: \"f32\" }");
        std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.sum > b.sum; });
        std::vector<Hypothesis> next;
        for (const Candidate& candidate : candidates) {
            if (next.size() == width_) break;
            Hypothesis hypothesis;
            hypothesis.ids = item.open[candidate.from].ids;
            hypothesis.row = item.open[candidate.from].row;
            hypothesis.sum = candidate.sum;
            if (candidate.id == end && width_ > 1 && item.finished.size() >= finished_wanted()) continue;
            extend(item, std::move(hypothesis), candidate.id, next);
            if (width_ == 1) break;
        }
        item.open = std::move(next);
        if (item.finished.size() >= finished_wanted()) item.open.clear();
    }

    void add_best(const float* logprobs, double sum, size_t from, std::vector<Candidate>& candidates) const {
        if (width_ == 1) {
            const auto id = static_cast<int64_t>(index_of_greatest(logprobs, vocab_));
            candidates.push_back({sum + logprobs[id], id, from});
            return;
        }
        // The few best of a vocabulary: a heap whose worst entry is on top.
        using Entry = std::pair<float, int64_t>;
        const auto better = [](const Entry& a, const Entry& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; };
        std::vector<Entry> best;
        for (size_t i = 0; i < vocab_; ++i) {
            const Entry entry{logprobs[i], static_cast<int64_t>(i)};
            if (best.size() > width_ && !better(entry, best.front())) continue;
            if (!std::isfinite(entry.first)) continue;
            best.push_back(entry);
            std::push_heap(best.begin(), best.end(), better);
            if (best.size() > width_ + 1) {
                std::pop_heap(best.begin(), best.end(), better);
                best.pop_back();
            }
        }
        std::sort(best.begin(), best.end(), better);
        for (const auto& [logprob, id] : best) candidates.push_back({sum + logprob, id, from});
    }

    size_t finished_wanted() const { return std::max<size_t>(1, static_cast<size_t>(std::lround(static_cast<double>(width_) * options_.patience))); }

    void extend(Item& item, Hypothesis&& hypothesis, int64_t id, std::vector<Hypothesis>& next) {
        ++tokens_;
        if (id == options_.rules.tokens.end_of_text) {
            item.finished.push_back(std::move(hypothesis));
            return;
        }
        hypothesis.ids.push_back(id);
        next.push_back(std::move(hypothesis));
    }

    double score(const Hypothesis& hypothesis) const {
        const size_t prefix = inputs_.front().prefix_length;  // one length of prompt, one length of prefix
        const double length = static_cast<double>(std::max<size_t>(1, hypothesis.ids.size() - prefix));
        return hypothesis.sum / (options_.divide_by_length ? length : std::pow((5 + length) / 6, options_.length_penalty));
    }

    std::vector<Decoding> collect(Decoding::Reason unfinished) {
        std::vector<Decoding> result;
        for (Item& item : items_) {
            const bool complete = !item.finished.empty() && (item.finished.size() >= finished_wanted() || item.open.empty());
            std::vector<Hypothesis> all = std::move(item.finished);
            const size_t ended = all.size();
            // Texts that ran out of room count only where too few came to their end.
            if (ended < width_) {
                std::sort(item.open.begin(), item.open.end(), [](const Hypothesis& a, const Hypothesis& b) { return a.sum > b.sum; });
                for (auto& hypothesis : item.open)
                    if (all.size() < width_) all.push_back(std::move(hypothesis));
            }
            size_t best = 0;
            for (size_t i = 1; i < all.size(); ++i)
                if (score(all[i]) > score(all[best])) best = i;
            Decoding decoding;
            decoding.no_speech_prob = item.no_speech;
            if (!all.empty()) {
                const auto prefix = static_cast<ptrdiff_t>(inputs_[item.input].prefix_length);
                decoding.ids.assign(all[best].ids.begin() + prefix, all[best].ids.end());
                decoding.sum_logprob = all[best].sum;
            }
            decoding.reason = complete || best < ended ? Decoding::Reason::Stop : unfinished;
            result.push_back(std::move(decoding));
        }
        return result;
    }

    void count(double decode_ms) {
        call_.timings.decode_ms += decode_ms;
        std::lock_guard<std::mutex> lock(owner_.stats_mutex_);
        owner_.stats_.decoded_tokens += tokens_;
        tokens_ = 0;
    }

    Transcriber& owner_;
    const std::vector<DecodeInput>& inputs_;
    const DecodeOptions& options_;
    TranscriberCall& call_;
    WhisperRules rules_;
    size_t vocab_, width_, limit_ = 0, tokens_ = 0;
    std::vector<Item> items_;
    std::vector<size_t> active_;  // items still in the batch, in the order of their rows
    std::vector<float> scratch_;
};

std::vector<Decoding> Transcriber::decode(const std::vector<DecodeInput>& inputs, const DecodeOptions& options, TranscriberCall& call) {
    const auto running = begin_call();
    if (inputs.empty()) return {};
    const auto& first = inputs.front();
    for (const auto& input : inputs)
        if (input.prompt.size() != first.prompt.size() || input.prompt.empty() || input.sot_index != first.sot_index ||
            input.prompt.size() >= info_.max_positions || input.sot_index >= input.prompt.size() ||
            input.prefix_length != first.prefix_length ||
            input.prefix_length > input.prompt.size() - input.sot_index - 1)
            throw EngineError(ErrorCode::Option, "the prompts of windows that are decoded together must have one length, below " +
                                                     std::to_string(info_.max_positions) + " tokens");
    try {
        return DecodeRun(*this, inputs, options, call).run();
    } catch (...) {
        rethrow_inference_error();
    }
}

}  // namespace pergola
