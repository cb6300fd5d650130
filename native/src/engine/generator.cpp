#include "generator.hpp"

#include <algorithm>

#include "stateful_runner.hpp"

namespace pergola {
namespace {

/// Hands out runners with their facts filled in.
std::unique_ptr<KvRunner> make_runner(const std::shared_ptr<LanguageModel>& model, const KvLimits& limits, GeneratorInfo& info) {
    if (model->paged) {
        auto runner = std::make_unique<PagedRunner>(model, limits);
        info.block_size = runner->block_size();
        info.kv_bytes_per_token = runner->bytes_per_token();
        info.kv_precision = runner->kv_precision();
        return runner;
    }
    auto runner = std::make_unique<StatefulRunner>(model, limits);
    info.kv_bytes_per_token = runner->bytes_per_token();
    info.kv_precision = "state";
    return runner;
}

Event event_of(Event::Type type, const Request& request) {
    Event event;
    event.type = type;
    event.request = request.id;
    return event;
}

Event end_event(const Request& request, EndReason reason, int64_t stop_token = -1) {
    Event event = event_of(Event::Type::End, request);
    event.reason = reason;
    event.stop_token = stop_token;
    event.timings = request.timings();
    return event;
}

Event error_event(const Request& request, std::exception_ptr error) {
    Event event = event_of(Event::Type::Error, request);
    event.error = error;
    return event;
}

}  // namespace

Generator::Generator(const GeneratorOptions& options, const LoadControl& control, EventSink sink) : sink_(std::move(sink)) {
    model_ = open_language_model(options.model, control, info_.shared);
    info_.paged = model_->paged;
    info_.device = model_->device;
    info_.vocab_size = model_->vocab_size;
    info_.from_cache = model_->from_cache;
    info_.fallback_reason = model_->fallback_reason;
    info_.timings = model_->timings;
    try {
        runner_ = make_runner(model_, options.kv, info_);
    } catch (const EngineError&) {
        throw;
    } catch (const std::exception& error) {
        throw EngineError(ErrorCode::Native, "the model could not be prepared for inference on " + info_.device + ": " + runtime_reason(error.what()));
    }
    scheduler_ = std::make_unique<Scheduler>(*runner_, options.scheduler);
    info_.kv_capacity_tokens = runner_->capacity_tokens();
    const uint64_t context = options.kv.context_length;
    info_.max_request_tokens = context > 0 ? std::min<uint64_t>(context, info_.kv_capacity_tokens) : info_.kv_capacity_tokens;
    if (options.warm_up && !info_.shared) {
        control.enter(LoadStage::WarmUp);
        const auto start = Clock::now();
        warm_up();
        model_->drop_load_memory();
        info_.timings.warm_up_ms = milliseconds(start, Clock::now());
    }
    control.check();
    publish_stats();
    thread_ = std::thread([this] { loop(); });
}

Generator::~Generator() { close(); }

void Generator::warm_up() {
    // Kernels are made at the first inference of each kind; the ids do not matter, so the prefix cache is not touched.
    constexpr size_t kPrompt = 48;
    constexpr size_t kSteps = 8;
    if (info_.max_request_tokens < kPrompt + kSteps) return;
    const std::vector<int64_t> ids(kPrompt + kSteps, 0);
    runner_->attach(0, ids);
    if (runner_->reserve(0, ids.size())) {
        try {
            runner_->run({{0, ids.data(), kPrompt, 0, true}});
            for (size_t i = 0; i < kSteps; ++i) runner_->run({{0, ids.data() + kPrompt + i, 1, kPrompt + i, true}});
        } catch (const std::exception& error) {
            runner_->release(0);
            throw EngineError(ErrorCode::Native, "the first inference on " + info_.device + " failed: " + runtime_reason(error.what()));
        }
    }
    runner_->release(0);
}

void Generator::submit(uint64_t id, RequestInput input) {
    if (input.prompt.size() + 1 > info_.max_request_tokens)
        throw EngineError::context_length(info_.max_request_tokens, input.prompt.size() + 1,
                                          "the prompt has " + std::to_string(input.prompt.size()) + " tokens; the context holds " +
                                              std::to_string(info_.max_request_tokens) + " with the answer");
    if (input.prompt.empty()) {
        EngineError error(ErrorCode::Option, "the prompt has no token");
        error.subject = "prompt";
        throw error;
    }
    for (int64_t token : input.prompt)
        if (token < 0 || static_cast<size_t>(token) >= info_.vocab_size) {
            EngineError error(ErrorCode::Option, "token id " + std::to_string(token) + " is outside the model's vocabulary of " +
                                                     std::to_string(info_.vocab_size));
            error.subject = "prompt";
            throw error;
        }
    auto request = std::make_unique<Request>(id, std::move(input), info_.vocab_size);
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (closing_) throw EngineError(ErrorCode::Disposed, "the generator is closed");
        inbox_.push_back(std::move(request));
    }
    wake_.notify_one();
}

void Generator::stop(uint64_t id) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stops_.push_back(id);
    }
    wake_.notify_one();
}

GeneratorStats Generator::stats() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
}

void Generator::interrupt() {
    std::lock_guard<std::mutex> once(closing_mutex_);
    {
        std::lock_guard<std::mutex> lock(mutex_);
        closing_ = true;
    }
    wake_.notify_one();
    if (runner_) runner_->interrupt();
}

void Generator::close() {
    interrupt();
    std::lock_guard<std::mutex> once(closing_mutex_);
    if (thread_.joinable()) thread_.join();
    scheduler_.reset();
    runner_.reset();
    model_.reset();
}

void Generator::publish_stats() {
    GeneratorStats fresh = counters_;
    fresh.running = scheduler_->running();
    fresh.waiting = scheduler_->waiting();
    fresh.preemptions = scheduler_->preemptions();
    fresh.kv = runner_->usage();
    std::lock_guard<std::mutex> lock(mutex_);
    stats_ = fresh;
}

void Generator::end_stopped(std::vector<Event>& events) {
    std::vector<uint64_t> stops;
    bool closing;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto& request : inbox_) scheduler_->add(std::move(request));
        inbox_.clear();
        stops.swap(stops_);
        closing = closing_;
    }
    if (closing) stops = scheduler_->ids();
    for (uint64_t id : stops)
        if (const auto request = scheduler_->remove(id)) events.push_back(end_event(*request, EndReason::Stopped));
}

void Generator::loop() {
    for (;;) {
        {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [this] { return closing_ || !inbox_.empty() || !stops_.empty() || !scheduler_->idle(); });
        }
        step();
        std::lock_guard<std::mutex> lock(mutex_);
        if (closing_ && inbox_.empty() && scheduler_->idle()) return;
    }
}

void Generator::step() {
    std::vector<Event> events;
    end_stopped(events);
    const Batch batch = scheduler_->plan();
    for (size_t i = 0; i < batch.begun.size(); ++i) {
        Event event = event_of(Event::Type::Start, *batch.begun[i]);
        event.cached_tokens = batch.cached[i];
        counters_.cached_tokens += batch.cached[i];
        counters_.prompt_tokens += batch.begun[i]->input.prompt.size();
        events.push_back(std::move(event));
    }
    if (!events.empty()) {
        publish_stats();
        sink_(std::move(events));
    }
    if (!batch.chunks.empty()) {
        run_batch(batch);
    } else if (!scheduler_->idle()) {
        // Nothing runs and nothing fits: memory that was promised could not be had.
        const auto request = scheduler_->remove(scheduler_->ids().front());
        std::vector<Event> failure;
        failure.push_back(error_event(*request, std::make_exception_ptr(EngineError::context_length(
                                                    runner_->usage().blocks_total * info_.block_size, request->tokens.size() + 1,
                                                    "the KV cache has no room for " + std::to_string(request->tokens.size() + 1) + " tokens"))));
        publish_stats();
        sink_(std::move(failure));
    }
}

void Generator::run_batch(const Batch& batch) {
    std::vector<Event> events;
    const auto start = Clock::now();
    std::vector<float*> rows;
    try {
        rows = runner_->run(batch.chunks);
    } catch (...) {
        fail_batch(batch, std::current_exception());
        return;
    }
    const auto inferred = Clock::now();
    sample_rows(batch, rows, events);
    ++counters_.steps;
    counters_.infer_ms += milliseconds(start, inferred);
    counters_.sample_ms += milliseconds(inferred, Clock::now());
    publish_stats();
    if (!events.empty()) sink_(std::move(events));
}

void Generator::sample_rows(const Batch& batch, const std::vector<float*>& rows, std::vector<Event>& events) {
    size_t row = 0;
    for (size_t i = 0; i < batch.chunks.size(); ++i) {
        const Chunk& chunk = batch.chunks[i];
        Request& request = *batch.requests[i];
        request.computed += chunk.count;
        runner_->commit(request.id, request.tokens, request.computed);
        if (!chunk.sample) continue;
        float* logits = rows[row++];
        const uint64_t position = request.generated();
        SampledToken token;
        try {
            static const std::vector<int64_t> none;
            token = request.sampler.sample(logits, position, position < request.input.min_new_tokens ? request.input.stop_tokens : none);
        } catch (...) {
            events.push_back(error_event(request, std::current_exception()));
            scheduler_->remove(request.id);
            continue;
        }
        const auto now = Clock::now();
        const auto& stops = request.input.stop_tokens;
        if (std::find(stops.begin(), stops.end(), token.id) != stops.end()) {
            // A stop token ends the answer and is no part of it; it still is the first thing said when nothing else was.
            if (position == 0) request.first_token = now;
            request.last_token = now;
            events.push_back(end_event(request, EndReason::Stop, token.id));
            scheduler_->remove(request.id);
            continue;
        }
        if (position == 0) request.first_token = now;
        request.last_token = now;
        request.tokens.push_back(token.id);
        ++counters_.generated_tokens;
        Event event = event_of(Event::Type::Tokens, request);
        event.has_logprobs = request.input.sampling.logprobs >= 0;
        event.tokens.push_back(std::move(token));
        events.push_back(std::move(event));
        if (request.generated() >= request.input.max_new_tokens || request.tokens.size() >= info_.max_request_tokens) {
            events.push_back(end_event(request, EndReason::Length));
            scheduler_->remove(request.id);
        }
    }
}

void Generator::fail_batch(const Batch& batch, std::exception_ptr error) {
    // The whole inference failed, so none of its requests has a usable state; others (waiting, preempted) go on.
    std::exception_ptr typed = error;
    try {
        std::rethrow_exception(error);
    } catch (const EngineError&) {
    } catch (const std::bad_alloc&) {
        typed = std::make_exception_ptr(EngineError(ErrorCode::Native, "not enough memory for this inference; use a smaller maxBatchTokens"));
    } catch (const std::exception& reason) {
        typed = std::make_exception_ptr(EngineError(ErrorCode::Native, "inference failed: " + runtime_reason(reason.what())));
    } catch (...) {
        typed = std::make_exception_ptr(EngineError(ErrorCode::Native, "inference failed"));
    }
    bool closing;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        closing = closing_;
    }
    std::vector<Event> events;
    for (Request* request : batch.requests)  // closing cuts an inference short; to its requests that is an ordinary end
        events.push_back(closing ? end_event(*request, EndReason::Stopped) : error_event(*request, typed));
    for (const Event& event : events) scheduler_->remove(event.request);
    publish_stats();
    sink_(std::move(events));
}

}  // namespace pergola
