#include "environment.hpp"

#include "base/error.hpp"
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
    for (auto& [id, running] : running_)
        if (running.options.stop) running.options.stop();
    for (auto* handle : handles_) handle->interrupt();
    for (auto& [id, running] : running_)
        if (running.thread.joinable()) running.thread.join();
    queue_->close();
    for (auto* handle : handles_) handle->close_now();
    running_.clear();
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

Environment::Running& Environment::add_running(uint64_t id) {
    if (running_.empty()) napi_ref_threadsafe_function(env_, bell_);
    return running_[id];
}

void Environment::remove_running(uint64_t id) {
    const auto found = running_.find(id);
    if (found == running_.end()) return;
    Running ended = std::move(found->second);
    running_.erase(found);
    if (ended.thread.joinable()) ended.thread.join();
    if (ended.owner) ended.owner->let_go();
    if (running_.empty()) napi_unref_threadsafe_function(env_, bell_);
}

void Environment::start(uint64_t id, JobOptions options, std::function<void()> work, std::function<void(Napi::Env, std::exception_ptr)> done) {
    if (ended_) return;  // nobody will see it: the process is leaving
    Running& running = add_running(id);
    running.options = std::move(options);
    running.settle = [this, id, mailbox = mailbox_, done = std::move(done)](std::exception_ptr error) {
        mailbox->post(Mailbox::Task([this, id, error, done](Napi::Env env) {
            remove_running(id);
            done(env, error);
        }));
    };
    auto task = [work = std::move(work), settle = running.settle] {
        std::exception_ptr error;
        try {
            work();
        } catch (...) {
            error = std::current_exception();
        }
        settle(error);
    };
    if (running.options.queue) running.place = running.options.queue->push(task);
    // Work for a queue that is closed fails by itself, as its object is closed too.
    if (running.place == 0) running.thread = std::thread(std::move(task));
}

void Environment::add_request(uint64_t id, NativeHandle* owner, std::function<void()> stop) {
    Running& running = add_running(id);
    running.options.stop = std::move(stop);
    running.owner = owner;
    owner->keep();
}

void Environment::stop(uint64_t id) {
    const auto found = running_.find(id);
    if (found == running_.end()) return;
    Running& running = found->second;
    if (running.options.stop) running.options.stop();
    if (running.options.abort_waiting && running.options.queue && running.options.queue->remove(running.place))
        running.settle(std::make_exception_ptr(EngineError(ErrorCode::Aborted, "the job was stopped before it began")));
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
        if (event.type == Event::Type::End || event.type == Event::Type::Error) remove_running(event.request);
    for (auto& task : tasks) unless_terminating([&] { task(env); });
}

}  // namespace pergola
