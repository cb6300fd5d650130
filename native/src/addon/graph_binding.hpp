#pragma once

#include "engine_object.hpp"
#include "runtime/graph.hpp"

namespace pergola {

/// `NativeGraph` of native-types.ts: a thin wrapper; the engine's Graph does the work.
class GraphBinding : public EngineObject<GraphBinding, Graph> {
public:
    static void define(Napi::Env env);
    /// `openGraph(options)`.
    static Napi::Value open(const Napi::CallbackInfo& info);

    explicit GraphBinding(const Napi::CallbackInfo& info);

private:
    Napi::Value info(const Napi::CallbackInfo& info);
    Napi::Value infer(const Napi::CallbackInfo& info);

    Napi::ObjectReference info_;  // made once: the graph may be closed later
};

}  // namespace pergola
