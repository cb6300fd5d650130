#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "base/stop_watch.hpp"
#include "generate/sampler.hpp"
#include "kv/sequence.hpp"

namespace pergola {

struct PromptRowsInput {
    PromptRows rows;
    std::string key;  // equal keys, equal rows
};

struct RequestInput {
    std::vector<int64_t> prompt;
    std::vector<PromptRowsInput> rows;  // in order of their places
    size_t position_axes = 0;
    std::vector<int64_t> positions;
    int64_t position_delta = 0;
    /// Classifier-free guidance: the unconditional prompt, as long as `prompt`; empty = none.
    std::vector<int64_t> guidance_prompt;
    float guidance_scale = 1.f;
    uint64_t max_new_tokens = 1;
    uint64_t min_new_tokens = 0;
    std::vector<int64_t> stop_tokens;
    SamplingOptions sampling;
};

enum class EndReason { Stop, Length, Stopped };

struct RequestTimings {
    double queue_ms = 0, prefill_ms = 0, decode_ms = 0, first_token_ms = 0;
    uint32_t preemptions = 0;
};

struct Event {
    enum class Type { Start, Tokens, End, Error } type = Type::Start;
    uint64_t request = 0;
    uint64_t cached_tokens = 0;        // Start
    std::vector<SampledToken> tokens;  // Tokens
    bool has_logprobs = false;
    EndReason reason = EndReason::Stop;  // End
    int64_t stop_token = -1;
    RequestTimings timings;
    std::exception_ptr error;  // Error
};

/// Takes the events of one step. Called on the generator's thread; must not block.
using EventSink = std::function<void(std::vector<Event>&&)>;

/// A request on its way. `tokens` is the prompt and what was sampled so far; the first `computed` of them have keys and values.
/// A guided request is two sequences that go through every inference together.
struct Request {
    Request(uint64_t number, RequestInput given, size_t vocab_size);

    uint64_t id;
    RequestInput input;
    SequenceInput sequence;
    std::vector<int64_t> tokens;
    std::vector<int64_t> guidance_tokens;  // of the second sequence
    Sampler sampler;
    size_t computed = 0;
    bool attached = false;
    bool started = false;
    uint64_t order = 0;  // of arrival
    Clock::time_point submitted = Clock::now(), begun, first_token, last_token;
    uint32_t preemptions = 0;

    bool guided() const { return !input.guidance_prompt.empty(); }
    size_t sequences() const { return guided() ? 2 : 1; }
    /// Number of the second sequence; requests never reach so far.
    uint64_t guidance_id() const { return id | (uint64_t{1} << 63); }
    size_t generated() const { return tokens.size() - input.prompt.size(); }
    void append(int64_t token) {
        tokens.push_back(token);
        if (guided()) guidance_tokens.push_back(token);
    }

    RequestTimings timings() const {
        RequestTimings result;
        result.preemptions = preemptions;
        if (!started) return result;
        result.queue_ms = milliseconds(submitted, begun);
        if (generated() == 0) return result;
        result.prefill_ms = milliseconds(begun, first_token);
        result.decode_ms = milliseconds(first_token, last_token);
        result.first_token_ms = milliseconds(submitted, first_token);
        return result;
    }
};

inline Event event_of(Event::Type type, const Request& request) {
    Event event;
    event.type = type;
    event.request = request.id;
    return event;
}

inline Event end_event(const Request& request, EndReason reason, int64_t stop_token = -1) {
    Event event = event_of(Event::Type::End, request);
    event.reason = reason;
    event.stop_token = stop_token;
    event.timings = request.timings();
    return event;
}

inline Event error_event(const Request& request, std::exception_ptr error) {
    Event event = event_of(Event::Type::Error, request);
    event.error = error;
    return event;
}

}  // namespace pergola
