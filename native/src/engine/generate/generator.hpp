#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "generate/request.hpp"
#include "generate/scheduler.hpp"
#include "kv/paged_runner.hpp"
#include "kv/row_assembler.hpp"
#include "models/language_model.hpp"

namespace pergola {

struct GeneratorOptions {
    LanguageModelOptions model;
    GraphFiles embeddings;            // for a model that takes `inputs_embeds`
    GraphFiles generated_embeddings;  // of generated tokens, where they are of another vocabulary
    GraphFiles head;                  // for a model that gives hidden states
    KvLimits kv;
    SchedulerLimits scheduler;
    bool warm_up = true;
};

struct GeneratorInfo {
    bool paged = false;
    std::string device;
    size_t vocab_size = 0;   // length of a row of logits
    size_t hidden_size = 0;  // of an embedding row; 0 = the model takes ids
    size_t block_size = 1;
    std::string kv_precision;
    uint64_t kv_bytes_per_token = 0;
    uint64_t kv_capacity_tokens = 0;
    uint64_t max_request_tokens = 0;
    bool from_cache = false;
    bool shared = false;
    std::string fallback_reason;
    LoadTimings timings;
};

struct GeneratorStats {
    size_t running = 0, waiting = 0;
    uint64_t steps = 0, preemptions = 0, cached_tokens = 0, prompt_tokens = 0, generated_tokens = 0;
    KvUsage kv;
    double infer_ms = 0, sample_ms = 0;
};

/// A decoder-only language model with continuous batching. One thread of its own runs inferences and samples; requests join and
/// leave between steps. All public methods may be called from any thread; events come from the generator's thread.
class Generator {
public:
    /// Loads the model (see `open_language_model`), and runs a few steps where `warm_up` asks for it.
    Generator(const GeneratorOptions& options, const LoadControl& control, EventSink sink);
    ~Generator();
    Generator(const Generator&) = delete;
    Generator& operator=(const Generator&) = delete;

    const GeneratorInfo& info() const { return info_; }

    /// Queues a request. Throws `context-length` when it can never fit, `option` for token ids outside the vocabulary, and
    /// `disposed` after `close`.
    void submit(uint64_t id, RequestInput input);
    void stop(uint64_t id);
    GeneratorStats stats() const;

    /// Asks the generator to end without waiting for it: no new inference begins and the running one is cut short.
    void interrupt();

    /// Ends every request with an event, waits for the thread, frees the model. Safe to call twice.
    void close();

private:
    void open_parts(const GeneratorOptions& options, const LoadControl& control);
    void check(const RequestInput& input) const;
    void loop();
    void step();
    void run_batch(const Batch& batch);
    void sample_rows(const Batch& batch, const std::vector<float*>& rows, std::vector<Event>& events);
    /// False when the request has ended.
    bool sample(Request& request, float* logits, std::vector<Event>& events);
    void fail_batch(const Batch& batch, std::exception_ptr error);
    void end_stopped(std::vector<Event>& events);
    void warm_up(const LoadControl& control);
    void measure_batches(const LoadControl& control);
    void publish_stats();

    std::vector<float*> infer(const std::vector<Chunk>& chunks);

    std::shared_ptr<LanguageModel> model_;
    std::unique_ptr<RowAssembler> rows_;  // null: the model takes ids
    std::unique_ptr<RowGraph> head_;      // null: the model gives logits
    std::vector<float> hidden_;
    std::unique_ptr<KvRunner> runner_;
    std::unique_ptr<Scheduler> scheduler_;
    EventSink sink_;
    GeneratorInfo info_;
    bool generates_text_ = true;  // false: generated tokens are of another vocabulary. Like the next, fixed once loaded
    size_t position_axes_ = 1;
    GeneratorStats counters_;  // of the generator's thread

    mutable std::mutex mutex_;  // guards what follows, up to the thread
    std::condition_variable wake_;
    std::vector<std::unique_ptr<Request>> inbox_;
    std::vector<uint64_t> stops_;
    GeneratorStats stats_;
    bool closing_ = false;
    std::thread thread_;
    std::mutex closing_mutex_;
};

}  // namespace pergola
