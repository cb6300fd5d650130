#include "events.hpp"

#include "errors.hpp"

namespace pergola {
namespace {

Napi::Object timings_to_js(Napi::Env env, const RequestTimings& timings) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("queueMs", timings.queue_ms);
    result.Set("prefillMs", timings.prefill_ms);
    result.Set("decodeMs", timings.decode_ms);
    result.Set("firstTokenMs", timings.first_token_ms);
    result.Set("preemptions", timings.preemptions);
    return result;
}

Napi::Object logprob_to_js(Napi::Env env, const SampledToken& token) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("logprob", token.logprob);
    Napi::Array top = Napi::Array::New(env, token.top.size());
    for (uint32_t i = 0; i < token.top.size(); ++i) {
        Napi::Array pair = Napi::Array::New(env, 2);
        pair.Set(0u, static_cast<double>(token.top[i].first));
        pair.Set(1u, token.top[i].second);
        top.Set(i, pair);
    }
    entry.Set("top", top);
    return entry;
}

Napi::Object event_to_js(Napi::Env env, const Event& event) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("request", static_cast<double>(event.request));
    switch (event.type) {
    case Event::Type::Start:
        result.Set("type", "start");
        result.Set("cachedTokens", static_cast<double>(event.cached_tokens));
        break;
    case Event::Type::Tokens: {
        result.Set("type", "tokens");
        Napi::Array ids = Napi::Array::New(env, event.tokens.size());
        for (uint32_t i = 0; i < event.tokens.size(); ++i) ids.Set(i, static_cast<double>(event.tokens[i].id));
        result.Set("ids", ids);
        if (event.has_logprobs) {
            Napi::Array entries = Napi::Array::New(env, event.tokens.size());
            for (uint32_t i = 0; i < event.tokens.size(); ++i) entries.Set(i, logprob_to_js(env, event.tokens[i]));
            result.Set("logprobs", entries);
        }
        break;
    }
    case Event::Type::End: {
        static const char* reasons[] = {"stop", "length", "stopped"};
        result.Set("type", "end");
        result.Set("reason", reasons[static_cast<int>(event.reason)]);
        if (event.stop_token >= 0) result.Set("stopToken", static_cast<double>(event.stop_token));
        result.Set("timings", timings_to_js(env, event.timings));
        break;
    }
    case Event::Type::Error:
        result.Set("type", "error");
        result.Set("error", to_js_error(env, event.error).Value());
        break;
    }
    return result;
}

}  // namespace

Napi::Array to_js(Napi::Env env, const std::vector<Event>& events) {
    Napi::Array result = Napi::Array::New(env, events.size());
    for (uint32_t i = 0; i < events.size(); ++i) result.Set(i, event_to_js(env, events[i]));
    return result;
}

Napi::Object progress_event(Napi::Env env, double load, LoadStage stage, double fraction) {
    static const char* stages[] = {"read", "convert", "compile", "import", "export", "warm-up"};
    Napi::Object result = Napi::Object::New(env);
    result.Set("type", "progress");
    result.Set("load", load);
    result.Set("stage", stages[static_cast<int>(stage)]);
    result.Set("fraction", fraction);
    return result;
}

}  // namespace pergola
