#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "base/work_queue.hpp"
#include "native_job.hpp"

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

/// A JavaScript object around something of the engine that is opened and closed (`Engine`); `Binding` adds its methods. What goes
/// through its queue runs in the order of the calls.
template <typename Binding, typename Engine>
class EngineObject : public Napi::ObjectWrap<Binding>, public NativeHandle {
public:
    explicit EngineObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Binding>(info), environment_(&Environment::of(info.Env())) {
        if (info.Length() < 1 || !info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "only the addon makes such objects");
        engine_ = *info[0].template As<Napi::External<std::shared_ptr<Engine>>>().Data();
        environment_->add(this);
    }
    ~EngineObject() override { environment_->remove(this); }

    void interrupt() override { engine_->interrupt(); }
    void close_now() override {
        engine_->close();
        queue_->close();
    }
    void keep() override { this->Ref(); }
    void let_go() override { this->Unref(); }

    Napi::Value close(const Napi::CallbackInfo& info) {
        engine_->interrupt();
        return start_task(*environment_, info.This().As<Napi::Object>(), [engine = engine_, queue = queue_] {
            engine->close();
            queue->close();
        });
    }

protected:
    /// Makes the JavaScript class, with these members and `close`.
    static void define_as(Napi::Env env, const char* name, std::vector<Napi::ClassPropertyDescriptor<Binding>> members) {
        members.push_back(Binding::InstanceMethod("close", &Binding::close));
        constructor_of<Binding>(env) = Napi::Persistent(Binding::DefineClass(env, name, members));
    }

    /// A `NativeJob` whose object is this one.
    template <typename Work, typename Convert>
    Napi::Value start(const Napi::CallbackInfo& info, JobOptions options, Work work, Convert convert) {
        return start_job(*environment_, info.This().As<Napi::Object>(), std::move(options), work, convert);
    }

    /// A `NativeJob` of an object that `make(control)` opens on a thread of its own. Stopping it aborts the load.
    template <typename Make>
    static Napi::Value open_with(Napi::Env env, Make make) {
        Environment& environment = Environment::of(env);
        const uint64_t id = environment.next_id();
        auto control = std::make_shared<LoadControl>();
        Environment* target = &environment;
        control->on_progress = [mailbox = environment.mailbox(), target, id](LoadStage stage, double fraction) {
            mailbox->post(Mailbox::Task([target, id, stage, fraction](Napi::Env js) {
                Napi::Array events = Napi::Array::New(js, 1);
                events.Set(0u, progress_event(js, id, stage, fraction));
                target->send(events);
            }));
        };
        auto promise = start_work(
            environment, id, Napi::Object::New(env), {[control] { control->aborted = true; }, nullptr, false}, [make, control] { return make(*control); },
            [](Napi::Env js, std::shared_ptr<Engine>& made) { return constructor_of<Binding>(js).New({Napi::External<std::shared_ptr<Engine>>::New(js, &made)}); });
        return native_job(env, id, promise);
    }

    static Napi::Object options_of(const Napi::CallbackInfo& info) {
        if (info.Length() < 1 || !info[0].IsObject()) throw Napi::TypeError::New(info.Env(), "options must be an object");
        return info[0].As<Napi::Object>();
    }

    std::shared_ptr<Engine> engine_;
    Environment* environment_;
    std::shared_ptr<WorkQueue> queue_ = std::make_shared<WorkQueue>();
};

}  // namespace pergola
