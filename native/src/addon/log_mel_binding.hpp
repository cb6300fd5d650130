#pragma once

#include <napi.h>

#include <deque>
#include <memory>
#include <mutex>

#include "engine/log_mel.hpp"

namespace pergola {

/// `NativeLogMel` of native-types.ts.
class LogMelBinding : public Napi::ObjectWrap<LogMelBinding> {
public:
    static Napi::Function define(Napi::Env env);
    /// `createLogMel(bins)`.
    static Napi::Value create(const Napi::CallbackInfo& info);

    explicit LogMelBinding(const Napi::CallbackInfo& info);

    const std::shared_ptr<LogMel>& mel() const { return work_->mel; }
    /// The object behind a JavaScript value; throws TypeError for anything else.
    static LogMelBinding& of(const Napi::Value& value);

private:
    /// Pieces in the order in which they came, whichever thread gets to them first.
    struct Work {
        std::shared_ptr<LogMel> mel;
        std::mutex queue_mutex, compute_mutex;
        std::deque<std::vector<float>> pieces;
        void drain();
    };

    Napi::Value bins(const Napi::CallbackInfo& info);
    Napi::Value frames(const Napi::CallbackInfo& info);
    Napi::Value first_frame(const Napi::CallbackInfo& info);
    Napi::Value append(const Napi::CallbackInfo& info);
    Napi::Value finish(const Napi::CallbackInfo& info);
    Napi::Value discard(const Napi::CallbackInfo& info);
    Napi::Value read(const Napi::CallbackInfo& info);

    std::shared_ptr<Work> work_;
};

}  // namespace pergola
