#pragma once

#include <napi.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "engine/graph.hpp"
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
    void close_now() override { graph_->close(); }
    void keep() override { Ref(); }
    void let_go() override { Unref(); }

private:
    /// Jobs have their turn in the order of their numbers, whichever thread comes first.
    class Line {
    public:
        uint64_t join() { return last_++; }
        /// Waits for the turn of `place`, or until `stop`; `work` runs while others wait.
        void take_turn(uint64_t place, const Graph::Stop& stop, const std::function<void()>& work);
        /// A flag has changed that somebody in the line waits for.
        void wake() {
            { std::lock_guard<std::mutex> lock(mutex_); }  // nobody is between looking at the flag and waiting
            changed_.notify_all();
        }

    private:
        void leave(uint64_t place);

        std::mutex mutex_;
        std::condition_variable changed_;
        uint64_t last_ = 0;  // JavaScript's thread only
        uint64_t next_ = 0;
        std::set<uint64_t> left_;  // before their turn
    };

    Napi::Value info(const Napi::CallbackInfo& info);
    Napi::Value infer(const Napi::CallbackInfo& info);
    Napi::Value stop(const Napi::CallbackInfo& info);
    Napi::Value close(const Napi::CallbackInfo& info);

    std::shared_ptr<Graph> graph_;
    Napi::ObjectReference info_;  // made once: the graph may be closed later
    Environment* environment_;
    std::shared_ptr<Line> line_ = std::make_shared<Line>();
    std::unordered_map<uint64_t, std::weak_ptr<Graph::Stop>> jobs_;
};

}  // namespace pergola
