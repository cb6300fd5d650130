#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/work_queue.hpp"
#include "generate/request.hpp"

namespace pergola {

/// A JavaScript object that owns native work; told when its environment ends.
class NativeHandle {
public:
    virtual ~NativeHandle() = default;
    /// End the running inference soon.
    virtual void interrupt() = 0;
    /// Wait for native work.
    virtual void close_now() = 0;
    /// Keep from garbage collection, and let go again.
    virtual void keep() = 0;
    virtual void let_go() = 0;
};

/// Carries work from native threads to one JavaScript environment: engine events and one-off tasks, in order, through one
/// thread-safe function that is rung at most once per batch. Never blocks the sender; after the environment has gone, what is sent
/// is dropped.
class Mailbox {
public:
    using Task = std::function<void(Napi::Env)>;

    void open(napi_threadsafe_function bell);
    /// From now on nothing is delivered and the bell is not touched.
    void shut();
    void post(std::vector<Event>&& events);
    void post(Task task);
    /// JavaScript thread: takes everything that has come.
    void drain(std::vector<Event>& events, std::vector<Task>& tasks);

private:
    void ring();

    std::mutex mutex_;
    napi_threadsafe_function bell_ = nullptr;
    bool rung_ = false;
    std::vector<Event> events_;
    std::vector<Task> tasks_;
};

/// How work runs and how it is stopped.
struct JobOptions {
    /// On JavaScript's thread: asks the work to end. Null: it cannot be stopped.
    std::function<void()> stop;
    /// Runs it after everything that was put there before. Null: on a thread of its own.
    std::shared_ptr<WorkQueue> queue;
    /// Stopped while it waits in the queue, it does not begin and fails with `aborted`.
    bool abort_waiting = false;
};

/// What the addon keeps for one JavaScript environment (main thread or worker). All members are used on its thread only.
class Environment {
public:
    explicit Environment(Napi::Env env);
    ~Environment();
    static Environment& of(Napi::Env env) { return *env.GetInstanceData<Environment>(); }

    const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
    void set_handler(Napi::Function handler);
    /// Calls the handler with an array of events. Does nothing before there is one.
    void send(Napi::Array events);
    /// Numbers of jobs and requests: unique in the environment.
    uint64_t next_id() { return ++last_id_; }
    /// For short work of objects without a queue of their own (spectrograms).
    const std::shared_ptr<WorkQueue>& queue() const { return queue_; }

    /// Ends all native work of the environment and waits for it; nothing can be started afterwards. May be called more than once.
    void tear_down();

    /// Runs `work` on a native thread that ends before the environment does, then `done` on the JavaScript thread. Until then the event
    /// loop stays alive.
    void start(uint64_t id, JobOptions options, std::function<void()> work, std::function<void(Napi::Env, std::exception_ptr)> done);
    /// A request whose events come through the mailbox. Its owner is kept from garbage collection, and the event loop alive, until the
    /// last event is delivered.
    void add_request(uint64_t id, NativeHandle* owner, std::function<void()> stop);
    /// Stops a job or request; unknown ones are ignored.
    void stop(uint64_t id);

    void add(NativeHandle* handle) { handles_.insert(handle); }
    void remove(NativeHandle* handle) { handles_.erase(handle); }

private:
    /// A job or request that has not ended.
    struct Running {
        JobOptions options;
        uint64_t place = 0;  // in the queue
        std::thread thread;  // where there is no queue
        std::function<void(std::exception_ptr)> settle;
        NativeHandle* owner = nullptr;
    };

    static void on_bell(napi_env env, napi_value callback, void* context, void* data);
    void deliver(Napi::Env env);
    Running& add_running(uint64_t id);
    void remove_running(uint64_t id);

    napi_env env_;
    std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
    napi_threadsafe_function bell_ = nullptr;
    Napi::FunctionReference handler_;
    std::set<NativeHandle*> handles_;
    std::unordered_map<uint64_t, Running> running_;  // the event loop stays alive while there is one
    std::shared_ptr<WorkQueue> queue_ = std::make_shared<WorkQueue>();
    uint64_t last_id_ = 0;
    bool ended_ = false;
};

}  // namespace pergola
