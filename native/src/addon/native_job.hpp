#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <type_traits>

#include "environment.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "js_values.hpp"

namespace pergola {

/// Runs `body` and turns engine errors into JavaScript exceptions.
template <typename Body>
Napi::Value guarded(Napi::Env env, Body body) {
    try {
        return body();
    } catch (const Napi::Error&) {
        throw;
    } catch (...) {
        throw to_js_error(env, std::current_exception());
    }
}

/// `NativeJob` of native-types.ts.
inline Napi::Object native_job(Napi::Env env, uint64_t id, Napi::Promise promise) {
    return JsObject(env).set("job", id).set("promise", promise);
}

/// A promise of what `work` computes on another thread; `convert(env, value)` makes the JavaScript value of it (for work without a
/// value: `undefined`). `keep`: an object that is not garbage collected before.
template <typename Work, typename Convert>
Napi::Promise start_work(Environment& environment, uint64_t id, Napi::Object keep, JobOptions options, Work work, Convert convert) {
    using Value = decltype(work());
    auto deferred = std::make_shared<Napi::Promise::Deferred>(keep.Env());
    auto holder = std::make_shared<Napi::ObjectReference>(Napi::Persistent(keep));
    // When the environment ends first, nobody may touch the reference any more, least of all the working thread.
    holder->SuppressDestruct();
    const auto settle = [deferred, holder](Napi::Env env, const std::exception_ptr& error, const auto& value) {
        holder->Reset();
        if (error) deferred->Reject(to_js_error(env, error).Value());
        else deferred->Resolve(value());
    };
    if constexpr (std::is_void_v<Value>) {
        environment.start(id, std::move(options), work, [settle](Napi::Env env, std::exception_ptr error) {
            settle(env, error, [&] { return env.Undefined(); });
        });
    } else {
        auto result = std::make_shared<std::optional<Value>>();
        environment.start(
            id, std::move(options), [work, result] { *result = work(); },
            [settle, result, convert](Napi::Env env, std::exception_ptr error) { settle(env, error, [&] { return convert(env, **result); }); });
    }
    return deferred->Promise();
}

/// A `NativeJob`: a promise with a number that `addon.stop` takes.
template <typename Work, typename Convert>
Napi::Value start_job(Environment& environment, Napi::Object keep, JobOptions options, Work work, Convert convert) {
    const uint64_t id = environment.next_id();
    return native_job(keep.Env(), id, start_work(environment, id, keep, std::move(options), work, convert));
}

/// The promise of work without a value that cannot be stopped.
template <typename Work>
Napi::Value start_task(Environment& environment, Napi::Object keep, Work work, std::shared_ptr<WorkQueue> queue = nullptr) {
    return start_work(environment, environment.next_id(), keep, {nullptr, std::move(queue), false}, work, nullptr);
}

}  // namespace pergola
