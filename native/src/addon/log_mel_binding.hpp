#pragma once

#include <napi.h>

#include <memory>

#include "speech/log_mel.hpp"

namespace pergola {

/// `NativeLogMel` of native-types.ts.
class LogMelBinding : public Napi::ObjectWrap<LogMelBinding> {
public:
    static void define(Napi::Env env);
    /// `createLogMel(bins)`.
    static Napi::Value create(const Napi::CallbackInfo& info);

    explicit LogMelBinding(const Napi::CallbackInfo& info);

    const std::shared_ptr<LogMel>& mel() const { return mel_; }
    /// The object behind a JavaScript value; throws TypeError for anything else.
    static LogMelBinding& of(const Napi::Value& value);

private:
    Napi::Value bins(const Napi::CallbackInfo& info);
    Napi::Value frames(const Napi::CallbackInfo& info);
    Napi::Value first_frame(const Napi::CallbackInfo& info);
    Napi::Value append(const Napi::CallbackInfo& info);
    Napi::Value finish(const Napi::CallbackInfo& info);
    Napi::Value discard(const Napi::CallbackInfo& info);
    Napi::Value read(const Napi::CallbackInfo& info);

    /// Runs after what came before: pieces are computed in the order in which they came.
    template <typename Work>
    Napi::Value run(const Napi::CallbackInfo& info, Work work);

    std::shared_ptr<LogMel> mel_;
};

}  // namespace pergola
