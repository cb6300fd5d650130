#include "events.hpp"

#include "errors.hpp"
#include "js_values.hpp"

namespace pergola {
namespace {

Napi::Object timings_to_js(Napi::Env env, const RequestTimings& timings) {
    return JsObject(env)
        .set("queueMs", timings.queue_ms)
        .set("prefillMs", timings.prefill_ms)
        .set("decodeMs", timings.decode_ms)
        .set("firstTokenMs", timings.first_token_ms)
        .set("preemptions", timings.preemptions);
}

Napi::Object logprob_to_js(Napi::Env env, const SampledToken& token) {
    const auto top = list_to_js(env, token.top, [&](const auto& entry) {
        Napi::Array pair = Napi::Array::New(env, 2);
        pair.Set(0u, static_cast<double>(entry.first));
        pair.Set(1u, entry.second);
        return pair;
    });
    return JsObject(env).set("logprob", token.logprob).set("top", top);
}

Napi::Object event_to_js(Napi::Env env, const Event& event) {
    JsObject result(env);
    result.set("request", event.request);
    switch (event.type) {
    case Event::Type::Start:
        result.set("type", "start").set("cachedTokens", event.cached_tokens);
        break;
    case Event::Type::Tokens:
        result.set("type", "tokens").set("ids", list_to_js(env, event.tokens, [&](const SampledToken& token) {
            return Napi::Number::New(env, static_cast<double>(token.id));
        }));
        if (event.has_logprobs)
            result.set("logprobs", list_to_js(env, event.tokens, [&](const SampledToken& token) { return logprob_to_js(env, token); }));
        break;
    case Event::Type::End: {
        static const char* reasons[] = {"stop", "length", "stopped"};
        result.set("type", "end").set("reason", reasons[static_cast<int>(event.reason)]);
        if (event.stop_token >= 0) result.set("stopToken", event.stop_token);
        result.set("timings", timings_to_js(env, event.timings));
        break;
    }
    case Event::Type::Error:
        result.set("type", "error").set("error", to_js_error(env, event.error).Value());
        break;
    }
    return result;
}

}  // namespace

Napi::Array to_js(Napi::Env env, const std::vector<Event>& events) {
    return list_to_js(env, events, [&](const Event& event) { return event_to_js(env, event); });
}

Napi::Object progress_event(Napi::Env env, uint64_t job, LoadStage stage, double fraction) {
    static const char* stages[] = {"read", "convert", "compile", "import", "export", "warm-up"};
    return JsObject(env).set("type", "progress").set("job", job).set("stage", stages[static_cast<int>(stage)]).set("fraction", fraction);
}

}  // namespace pergola
