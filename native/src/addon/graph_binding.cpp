#include "graph_binding.hpp"

#include "binding_support.hpp"
#include "engine/error.hpp"
#include "js_values.hpp"
#include "tensors.hpp"

namespace pergola {
namespace {

Napi::Array ports(Napi::Env env, const std::vector<ov::Output<const ov::Node>>& from) {
    Napi::Array result = Napi::Array::New(env, from.size());
    for (uint32_t i = 0; i < from.size(); ++i) {
        Napi::Object port = Napi::Object::New(env);
        Napi::Array names = Napi::Array::New(env);
        for (const auto& name : from[i].get_names()) names.Set(names.Length(), name);
        port.Set("names", names);
        port.Set("type", from[i].get_element_type().get_type_name());
        Napi::Array shape = Napi::Array::New(env);
        const auto dimensions = from[i].get_partial_shape();
        if (dimensions.rank().is_static())
            for (const auto& size : dimensions) shape.Set(shape.Length(), size.is_static() ? static_cast<double>(size.get_length()) : -1.0);
        port.Set("shape", shape);
        result.Set(i, port);
    }
    return result;
}

Napi::Object info_of(Napi::Env env, const Graph& graph) {
    const CompiledGraph& compiled = graph.graph();
    Napi::Object result = Napi::Object::New(env);
    result.Set("device", compiled.device);
    result.Set("inputs", ports(env, compiled.compiled.inputs()));
    result.Set("outputs", ports(env, compiled.compiled.outputs()));
    result.Set("fromCache", compiled.from_cache);
    result.Set("shared", graph.shared());
    result.Set("timings", to_js(env, compiled.timings));
    return result;
}

}  // namespace

Napi::Function GraphBinding::define(Napi::Env env) {
    Napi::Function function = DefineClass(env, "NativeGraph",
                                          {InstanceAccessor<&GraphBinding::info>("info"), InstanceMethod<&GraphBinding::infer>("infer"),
                                           InstanceMethod<&GraphBinding::stop>("stop"), InstanceMethod<&GraphBinding::close>("close")});
    constructor_of<GraphBinding>(env) = Napi::Persistent(function);
    return function;
}

Napi::Value GraphBinding::open(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (info.Length() < 1 || !info[0].IsObject()) throw Napi::TypeError::New(env, "options must be an object");
    const Napi::Object from = info[0].As<Napi::Object>();
    GraphOptions options;
    options.files = read_graph_files(from);
    options.device = text(from, "device");
    options.properties = properties(object(from, "properties"));
    options.cache_dir = text(from, "cacheDir");
    return begin_open<GraphBinding, Graph>(env, [options](const LoadControl& control) { return std::make_shared<Graph>(options, control); });
}

GraphBinding::GraphBinding(const Napi::CallbackInfo& info) : ObjectWrap(info), environment_(&Environment::of(info.Env())) {
    if (info.Length() < 1 || !info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "NativeGraph is made by openGraph()");
    graph_ = *info[0].As<Napi::External<std::shared_ptr<Graph>>>().Data();
    info_ = Napi::Persistent(info_of(info.Env(), *graph_));
    environment_->add(this);
}

GraphBinding::~GraphBinding() { environment_->remove(this); }

/// One inference that was asked for. Settled on JavaScript's thread.
struct GraphBinding::Job {
    Job(Environment& in, const Napi::Object& owner) : environment(in), mailbox(in.mailbox()), deferred(owner.Env()), holder(Napi::Persistent(owner)) {
        environment.hold();
        // When the environment ends first, nobody may touch the reference any more, least of all the working thread.
        holder.SuppressDestruct();
    }

    /// From any thread: has the job settled on JavaScript's.
    static void post(const std::shared_ptr<Job>& job) {
        job->mailbox->post(Mailbox::Task([job](Napi::Env env) { job->settle(env); }));
    }

    void settle(Napi::Env env) {
        environment.let_go();
        holder.Reset();
        if (error) deferred.Reject(to_js_error(env, error).Value());
        else deferred.Resolve(to_js(env, outputs));
    }

    Environment& environment;
    std::shared_ptr<Mailbox> mailbox;
    Napi::Promise::Deferred deferred;
    Napi::ObjectReference holder;  // the graph's object is not garbage collected before
    std::vector<NamedTensor> inputs, outputs;
    Graph::Stop stop{false};
    std::exception_ptr error;
    uint64_t place = 0;  // in the queue
};

Napi::Value GraphBinding::info(const Napi::CallbackInfo&) { return info_.Value(); }

Napi::Value GraphBinding::infer(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        auto inputs = read_tensors(info[0]);
        auto job = std::make_shared<Job>(*environment_, info.This().As<Napi::Object>());
        job->inputs = std::move(inputs);
        job->place = queue_->push([job, graph = graph_] {
            try {
                job->outputs = graph->infer(job->inputs, job->stop);
            } catch (...) {
                job->error = std::current_exception();
            }
            job->inputs.clear();
            Job::post(job);
        });
        if (job->place == 0) {
            job->error = std::make_exception_ptr(EngineError(ErrorCode::Disposed, "the graph is closed"));
            Job::post(job);
        }
        const auto id = static_cast<uint64_t>(environment_->next_id());
        for (auto it = jobs_.begin(); it != jobs_.end();) it = it->second.expired() ? jobs_.erase(it) : std::next(it);
        jobs_[id] = job;
        Napi::Object result = Napi::Object::New(info.Env());
        result.Set("job", static_cast<double>(id));
        result.Set("promise", job->deferred.Promise());
        return result;
    });
}

Napi::Value GraphBinding::stop(const Napi::CallbackInfo& info) {
    const auto found = info.Length() > 0 && info[0].IsNumber() ? jobs_.find(static_cast<uint64_t>(info[0].As<Napi::Number>().Int64Value())) : jobs_.end();
    const auto job = found == jobs_.end() ? nullptr : found->second.lock();
    if (!job) return info.Env().Undefined();
    graph_->stop(job->stop);
    if (queue_->remove(job->place)) {
        job->error = std::make_exception_ptr(EngineError(ErrorCode::Aborted, "the inference was stopped"));
        Job::post(job);
    }
    return info.Env().Undefined();
}

Napi::Value GraphBinding::close(const Napi::CallbackInfo& info) {
    auto graph = graph_;
    auto queue = queue_;
    graph->interrupt();
    struct Nothing {};
    return promise_of(*environment_, info.This().As<Napi::Object>(),
                      [graph, queue] {
                          graph->close();
                          queue->close();
                          return Nothing{};
                      },
                      [](Napi::Env env, const Nothing&) { return env.Undefined(); });
}

}  // namespace pergola
