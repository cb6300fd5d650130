#include "environment.hpp"

#include "events.hpp"

namespace pergola {

void Mailbox::open(napi_threadsafe_function bell) {
    std::lock_guard<std::mutex> lock(mutex_);
    bell_ = bell;
}

void Mailbox::shut() {
    std::lock_guard<std::mutex> lock(mutex_);
    bell_ = nullptr;
    events_.clear();
    tasks_.clear();
}

void Mailbox::ring() {
    if (rung_ || !bell_) return;
    rung_ = napi_call_threadsafe_function(bell_, nullptr, napi_tsfn_nonblocking) == napi_ok;
}

void Mailbox::post(std::vector<Event>&& events) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!bell_) return;
    for (auto& event : events) events_.push_back(std::move(event));
    ring();
}

void Mailbox::post(Task task) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!bell_) return;
    tasks_.push_back(std::move(task));
    ring();
}

void Mailbox::drain(std::vector<Event>& events, std::vector<Task>& tasks) {
    std::lock_guard<std::mutex> lock(mutex_);
    rung_ = false;
    events.swap(events_);
    tasks.swap(tasks_);
}

Environment::Environment(Napi::Env env) : env_(env) {
    const Napi::String name = Napi::String::New(env, "pergola");
    if (napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this, &Environment::on_bell, &bell_) != napi_ok)
        throw Napi::Error::New(env, "the addon's thread-safe function could not be made");
    napi_unref_threadsafe_function(env, bell_);
    mailbox_->open(bell_);
    // Hooks run last in, first out: this one runs before Node takes the thread-safe function away.
    env.AddCleanupHook([this] { tear_down(); });
}

Environment::~Environment() = default;

void Environment::tear_down() {
    // The environment ends (process exit, worker terminated). Native threads must be gone before the memory they use is.
    ended_ = true;
    mailbox_->shut();
    for (auto& [id, control] : loads_) control->aborted = true;
    for (auto* handle : handles_) handle->interrupt();
    for (auto& [id, thread] : threads_) thread.join();
    threads_.clear();
    for (auto* handle : handles_) handle->close_now();
    handles_.clear();
    handler_.Reset();
}

void Environment::set_handler(Napi::Function handler) { handler_ = Napi::Persistent(handler); }

void Environment::send(Napi::Array events) {
    if (handler_.IsEmpty()) return;
    try {
        handler_.Call({events});
    } catch (const Napi::Error& error) {
        // The SDK's handler does not throw; if it does, that is a bug to be seen, as an uncaught exception.
        napi_fatal_exception(env_, error.Value());
    }
}

void Environment::hold() {
    if (held_++ == 0) napi_ref_threadsafe_function(env_, bell_);
}

void Environment::let_go() {
    if (--held_ == 0) napi_unref_threadsafe_function(env_, bell_);
}

void Environment::run(std::function<void()> work, std::function<void(Napi::Env, std::exception_ptr)> done) {
    if (ended_) return;  // nobody will see it: the process is leaving
    hold();
    const uint64_t id = ++last_thread_;
    auto mailbox = mailbox_;
    threads_[id] = std::thread([this, id, mailbox, work = std::move(work), done = std::move(done)] {
        std::exception_ptr error;
        try {
            work();
        } catch (...) {
            error = std::current_exception();
        }
        mailbox->post(Mailbox::Task([this, id, error, done](Napi::Env env) {
            threads_[id].join();
            threads_.erase(id);
            let_go();
            done(env, error);
        }));
    });
}

void Environment::abort_load(double id) {
    const auto found = loads_.find(static_cast<uint64_t>(id));
    if (found != loads_.end()) found->second->aborted = true;
}

void Environment::begin_request(uint64_t id, NativeHandle* owner) {
    hold();
    owner->keep();
    requests_[id] = owner;
}

void Environment::end_request(uint64_t id) {
    const auto found = requests_.find(id);
    if (found == requests_.end()) return;
    found->second->let_go();
    requests_.erase(found);
    let_go();
}

void Environment::on_bell(napi_env env, napi_value, void* context, void*) {
    // A null environment means it is closing; the cleanup hook does the rest.
    if (env != nullptr) static_cast<Environment*>(context)->deliver(Napi::Env(env));
}

void Environment::deliver(Napi::Env env) {
    Napi::HandleScope scope(env);
    std::vector<Event> events;
    std::vector<Mailbox::Task> tasks;
    mailbox_->drain(events, tasks);
    // Where the environment is being terminated (`worker.terminate()`), no value can be made any more, and nobody waits for one.
    const auto unless_terminating = [](const auto& work) {
        try {
            work();
        } catch (const Napi::Error&) {
        }
    };
    if (!events.empty()) unless_terminating([&] { send(to_js(env, events)); });
    for (const auto& event : events)
        if (event.type == Event::Type::End || event.type == Event::Type::Error) end_request(event.request);
    for (auto& task : tasks) unless_terminating([&] { task(env); });
}

}  // namespace pergola
