#pragma once

#include <napi.h>

#include <memory>
#include <unordered_map>

#include "engine/graph.hpp"
#include "engine/work_queue.hpp"
#include "environment.hpp"

namespace pergola {

/// `NativeGraph` of native-types.ts: a thin wrapper; the engine's Graph does the work. Calls run in the order they were made.
class GraphBinding : public Napi::ObjectWrap<GraphBinding>, public NativeHandle {
public:
    static Napi::Function define(Napi::Env env);
    /// `openGraph(options)`.
    static Napi::Value open(const Napi::CallbackInfo& info);

    explicit GraphBinding(const Napi::CallbackInfo& info);
    ~GraphBinding() override;

    void interrupt() override { graph_->interrupt(); }
    void close_now() override {
        graph_->close();
        queue_->close();
    }
    void keep() override { Ref(); }
    void let_go() override { Unref(); }

private:
    struct Job;

    Napi::Value info(const Napi::CallbackInfo& info);
    Napi::Value infer(const Napi::CallbackInfo& info);
    Napi::Value stop(const Napi::CallbackInfo& info);
    Napi::Value close(const Napi::CallbackInfo& info);

    std::shared_ptr<Graph> graph_;
    Napi::ObjectReference info_;  // made once: the graph may be closed later
    Environment* environment_;
    std::shared_ptr<WorkQueue> queue_ = std::make_shared<WorkQueue>();
    std::unordered_map<uint64_t, std::weak_ptr<Job>> jobs_;
};

}  // namespace pergola
