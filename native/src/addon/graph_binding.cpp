#include "graph_binding.hpp"

#include "tensors.hpp"

namespace pergola {
namespace {

Napi::Array ports(Napi::Env env, const std::vector<ov::Output<const ov::Node>>& from) {
    return list_to_js(env, from, [&](const ov::Output<const ov::Node>& port) -> Napi::Object {
        const auto dimensions = port.get_partial_shape();
        Napi::Array shape = Napi::Array::New(env);
        if (dimensions.rank().is_static())
            for (const auto& size : dimensions) shape.Set(shape.Length(), size.is_static() ? static_cast<double>(size.get_length()) : -1.0);
        const auto names = list_to_js(env, port.get_names(), [&](const std::string& name) { return Napi::String::New(env, name); });
        return JsObject(env).set("names", names).set("type", port.get_element_type().get_type_name()).set("shape", shape);
    });
}

Napi::Object info_of(Napi::Env env, const Graph& graph) {
    const CompiledGraph& compiled = graph.graph();
    return JsObject(env)
        .set("device", compiled.device)
        .set("inputs", ports(env, compiled.compiled.inputs()))
        .set("outputs", ports(env, compiled.compiled.outputs()))
        .set("fromCache", compiled.from_cache)
        .set("shared", graph.shared())
        .set("timings", to_js(env, compiled.timings));
}

}  // namespace

void GraphBinding::define(Napi::Env env) {
    define_as(env, "NativeGraph",
              {InstanceAccessor<&GraphBinding::info>("info"),
               InstanceMethod<&GraphBinding::infer>("infer")});
}

Napi::Value GraphBinding::open(const Napi::CallbackInfo& info) {
    const Napi::Object from = options_of(info);
    GraphOptions options;
    options.files = read_graph_files(from);
    options.device = text(from, "device");
    options.properties = properties(object(from, "properties"));
    options.cache_dir = text(from, "cacheDir");
    return open_with(info.Env(), [options](const LoadControl& control) { return std::make_shared<Graph>(options, control); });
}

GraphBinding::GraphBinding(const Napi::CallbackInfo& info) : EngineObject(info), info_(Napi::Persistent(info_of(info.Env(), *engine_))) {}

Napi::Value GraphBinding::info(const Napi::CallbackInfo&) { return info_.Value(); }

Napi::Value GraphBinding::infer(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
        auto inputs = std::make_shared<std::vector<NamedTensor>>(read_tensors(info[0]));
        auto stop = std::make_shared<StopFlag>(false);
        return start(
            info, {[graph = engine_, stop] { graph->stop(*stop); }, queue_, true},
            [graph = engine_, inputs, stop] {
                auto outputs = graph->infer(*inputs, *stop);
                inputs->clear();
                return outputs;
            },
            [](Napi::Env env, const std::vector<NamedTensor>& outputs) { return to_js(env, outputs); });
    });
}

}  // namespace pergola
