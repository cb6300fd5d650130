#pragma once

#include <napi.h>

#include <memory>

#include "environment.hpp"
#include "errors.hpp"
#include "events.hpp"

namespace pergola {

/// The class's JavaScript constructor; one for each environment, like everything that holds JavaScript values.
template <typename Binding>
Napi::FunctionReference& constructor_of(Napi::Env env) {
    static thread_local Napi::FunctionReference* reference = nullptr;
    if (!reference) {
        reference = new Napi::FunctionReference();
        env.AddCleanupHook([] {
            delete reference;
            reference = nullptr;
        });
    }
    return *reference;
}

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

/// Registers a load that can be aborted and reports progress; the id goes into its events.
inline double begin_load(Environment& environment, const std::shared_ptr<LoadControl>& control) {
    const double load = environment.next_id();
    auto mailbox = environment.mailbox();
    Environment* target = &environment;
    control->on_progress = [mailbox, target, load](LoadStage stage, double fraction) {
        mailbox->post(Mailbox::Task([target, load, stage, fraction](Napi::Env js) {
            Napi::Array events = Napi::Array::New(js, 1);
            events.Set(0u, progress_event(js, load, stage, fraction));
            target->send(events);
        }));
    };
    environment.add_load(load, control);
    return load;
}

/// `{ load, promise }` of an object that `make(control)` opens on a thread of its own; `Binding` wraps it.
template <typename Binding, typename Made, typename Make>
Napi::Value begin_open(Napi::Env env, Make make) {
    Environment& environment = Environment::of(env);
    auto control = std::make_shared<LoadControl>();
    const double load = begin_load(environment, control);
    Environment* target = &environment;
    auto deferred = std::make_shared<Napi::Promise::Deferred>(env);
    auto made = std::make_shared<std::shared_ptr<Made>>();
    environment.run([make, control, made] { *made = make(*control); },
                    [target, load, deferred, made](Napi::Env js, std::exception_ptr error) {
                        target->remove_load(load);
                        if (error) deferred->Reject(to_js_error(js, error).Value());
                        else deferred->Resolve(constructor_of<Binding>(js).New({Napi::External<std::shared_ptr<Made>>::New(js, made.get())}));
                    });
    Napi::Object result = Napi::Object::New(env);
    result.Set("load", load);
    result.Set("promise", deferred->Promise());
    return result;
}

/// A promise of what `work` computes on a thread of its own; `convert(env, value)` makes the JavaScript value. `keep`: an object that
/// is not garbage collected before.
template <typename Work, typename Convert>
Napi::Promise promise_of(Environment& environment, Napi::Object keep, Work work, Convert convert) {
    using Value = decltype(work());
    auto deferred = std::make_shared<Napi::Promise::Deferred>(keep.Env());
    auto holder = std::make_shared<Napi::ObjectReference>(Napi::Persistent(keep));
    // When the environment ends first, nobody may touch the reference any more, least of all the working thread.
    holder->SuppressDestruct();
    auto value = std::make_shared<std::unique_ptr<Value>>();
    environment.run([work, value] { *value = std::make_unique<Value>(work()); },
                    [deferred, holder, value, convert](Napi::Env env, std::exception_ptr error) {
                        holder->Reset();
                        if (error) deferred->Reject(to_js_error(env, error).Value());
                        else deferred->Resolve(convert(env, **value));
                    });
    return deferred->Promise();
}

}  // namespace pergola
