#include "graph_binding.hpp"

#include "binding_support.hpp"
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

void GraphBinding::Line::leave(uint64_t place) {
    left_.insert(place);
    while (left_.erase(next_) > 0) ++next_;
    changed_.notify_all();
}

void GraphBinding::Line::take_turn(uint64_t place, const Graph::Stop& stop, const std::function<void()>& work) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return next_ == place || stop; });
    lock.unlock();
    std::exception_ptr error;
    try {
        work();
    } catch (...) {
        error = std::current_exception();
    }
    lock.lock();
    leave(place);
    if (error) std::rethrow_exception(error);
}

Napi::Value GraphBinding::info(const Napi::CallbackInfo&) { return info_.Value(); }

Napi::Value GraphBinding::infer(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        const auto inputs = read_tensors(info[0]);
        const auto id = static_cast<uint64_t>(environment_->next_id());
        for (auto it = jobs_.begin(); it != jobs_.end();) it = it->second.expired() ? jobs_.erase(it) : std::next(it);
        auto stop = std::make_shared<Graph::Stop>(false);
        jobs_[id] = stop;
        auto line = line_;
        auto graph = graph_;
        auto promise = promise_of(*environment_, info.This().As<Napi::Object>(),
                                  [line, graph, inputs, stop, place = line->join()] {
                                      std::vector<NamedTensor> outputs;
                                      line->take_turn(place, *stop, [&] { outputs = graph->infer(inputs, *stop); });
                                      return outputs;
                                  },
                                  [](Napi::Env env, const std::vector<NamedTensor>& outputs) { return to_js(env, outputs); });
        Napi::Object result = Napi::Object::New(info.Env());
        result.Set("job", static_cast<double>(id));
        result.Set("promise", promise);
        return result;
    });
}

Napi::Value GraphBinding::stop(const Napi::CallbackInfo& info) {
    if (info.Length() > 0 && info[0].IsNumber()) {
        const auto found = jobs_.find(static_cast<uint64_t>(info[0].As<Napi::Number>().Int64Value()));
        if (found == jobs_.end()) return info.Env().Undefined();
        if (const auto stop = found->second.lock()) graph_->stop(*stop);
        line_->wake();
    }
    return info.Env().Undefined();
}

Napi::Value GraphBinding::close(const Napi::CallbackInfo& info) {
    auto graph = graph_;
    graph->interrupt();
    struct Nothing {};
    return promise_of(*environment_, info.This().As<Napi::Object>(),
                      [graph] {
                          graph->close();
                          return Nothing{};
                      },
                      [](Napi::Env env, const Nothing&) { return env.Undefined(); });
}

}  // namespace pergola
