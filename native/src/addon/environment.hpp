#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/language_model.hpp"
#include "engine/request.hpp"

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
    double next_id() { return static_cast<double>(++last_id_); }

    /// Ends all native work of the environment and waits for it; nothing can be started afterwards. May be called more than once.
    void tear_down();

    /// While something is held, the event loop stays alive.
    void hold();
    void let_go();

    /// Runs `work` on a thread of its own that ends before the environment does, then `done` on the JavaScript thread.
    void run(std::function<void()> work, std::function<void(Napi::Env, std::exception_ptr)> done);

    void add_load(double id, std::shared_ptr<LoadControl> control) { loads_[static_cast<uint64_t>(id)] = std::move(control); }
    void remove_load(double id) { loads_.erase(static_cast<uint64_t>(id)); }
    void abort_load(double id);

    void add(NativeHandle* handle) { handles_.insert(handle); }
    void remove(NativeHandle* handle) { handles_.erase(handle); }
    /// The object that owns a running request is kept from garbage collection until the request's last event is delivered.
    void begin_request(uint64_t id, NativeHandle* owner);
    void end_request(uint64_t id);

private:
    static void on_bell(napi_env env, napi_value callback, void* context, void* data);
    void deliver(Napi::Env env);

    napi_env env_;
    std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
    napi_threadsafe_function bell_ = nullptr;
    Napi::FunctionReference handler_;
    std::set<NativeHandle*> handles_;
    std::unordered_map<uint64_t, NativeHandle*> requests_;
    std::unordered_map<uint64_t, std::shared_ptr<LoadControl>> loads_;
    std::unordered_map<uint64_t, std::thread> threads_;
    uint64_t last_id_ = 0;
    uint64_t last_thread_ = 0;
    uint32_t held_ = 0;
    bool ended_ = false;
};

}  // namespace pergola
