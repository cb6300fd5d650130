#include <algorithm>
#include <utility>

#include "generate/generator.hpp"

// The generator's thread: one turn takes what has come, plans a batch, runs it, samples and tells what happened.

namespace pergola {
namespace {

/// `conditional` becomes `unconditional + scale * (conditional - unconditional)`.
void guide(float* conditional, const float* unconditional, float scale, size_t count) {
    for (size_t i = 0; i < count; ++i) conditional[i] = unconditional[i] + scale * (conditional[i] - unconditional[i]);
}

}  // namespace

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
        rows = infer(batch.chunks);
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
        // Tokens of another vocabulary must not be taken for those of the prompt's.
        const size_t shared = rows_ && rows_->has_generated() ? std::min(request.computed, request.input.prompt.size()) : request.computed;
        runner_->commit(request.id, request.tokens, shared);
        float* logits = chunk.sample ? rows[row++] : nullptr;
        if (request.guided()) {
            ++i;  // its second chunk
            runner_->commit(request.guidance_id(), request.guidance_tokens, shared);
            // Ho & Salimans 2022, on raw logits as Janus does.
            if (logits) guide(logits, rows[row++], request.input.guidance_scale, info_.vocab_size);
        }
        if (logits && !sample(request, logits, events)) scheduler_->remove(request.id);
    }
}

bool Generator::sample(Request& request, float* logits, std::vector<Event>& events) {
    const uint64_t position = request.generated();
    SampledToken token;
    try {
        static const std::vector<int64_t> none;
        token = request.sampler.sample(logits, position, position < request.input.min_new_tokens ? request.input.stop_tokens : none);
    } catch (...) {
        events.push_back(error_event(request, std::current_exception()));
        return false;
    }
    const auto now = Clock::now();
    // A stop token ends the answer and is no part of it; it still is the first thing said when nothing else was.
    if (position == 0) request.first_token = now;
    request.last_token = now;
    const auto& stops = request.input.stop_tokens;
    if (std::find(stops.begin(), stops.end(), token.id) != stops.end()) {
        events.push_back(end_event(request, EndReason::Stop, token.id));
        return false;
    }
    request.append(token.id);
    ++counters_.generated_tokens;
    Event event = event_of(Event::Type::Tokens, request);
    event.has_logprobs = request.input.sampling.logprobs >= 0;
    event.tokens.push_back(std::move(token));
    events.push_back(std::move(event));
    if (request.generated() < request.input.max_new_tokens && request.tokens.size() < info_.max_request_tokens) return true;
    events.push_back(end_event(request, EndReason::Length));
    return false;
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
    const Request* previous = nullptr;
    for (Request* request : batch.requests) {  // closing cuts an inference short; to its requests that is an ordinary end
        if (request == std::exchange(previous, request)) continue;  // the two sequences of a guided one
        events.push_back(closing ? end_event(*request, EndReason::Stopped) : error_event(*request, typed));
    }
    for (const Event& event : events) scheduler_->remove(event.request);
    publish_stats();
    sink_(std::move(events));
}

}  // namespace pergola
