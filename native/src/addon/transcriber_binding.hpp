#pragma once

#include <napi.h>

#include <memory>
#include <unordered_map>

#include "engine/transcriber.hpp"
#include "environment.hpp"

namespace pergola {

/// `NativeTranscriber` of native-types.ts: a thin wrapper; the engine's Transcriber does the work.
class TranscriberBinding : public Napi::ObjectWrap<TranscriberBinding>, public NativeHandle {
public:
    static Napi::Function define(Napi::Env env);
    /// `openTranscriber(options)`.
    static Napi::Value open(const Napi::CallbackInfo& info);

    explicit TranscriberBinding(const Napi::CallbackInfo& info);
    ~TranscriberBinding() override;

    void interrupt() override { transcriber_->interrupt(); }
    void close_now() override { transcriber_->close(); }
    void keep() override { Ref(); }
    void let_go() override { Unref(); }

private:
    using Stop = std::shared_ptr<Transcriber::Stop>;

    Napi::Value info(const Napi::CallbackInfo& info);
    Napi::Value encode(const Napi::CallbackInfo& info);
    Napi::Value detect(const Napi::CallbackInfo& info);
    Napi::Value decode(const Napi::CallbackInfo& info);
    Napi::Value align(const Napi::CallbackInfo& info);
    Napi::Value stop(const Napi::CallbackInfo& info);
    Napi::Value release(const Napi::CallbackInfo& info);
    Napi::Value stats(const Napi::CallbackInfo& info);
    Napi::Value close(const Napi::CallbackInfo& info);

    /// `{ job, promise }` of work that can be stopped.
    template <typename Work, typename Convert>
    Napi::Value job(const Napi::CallbackInfo& info, Work work, Convert convert);

    std::shared_ptr<Transcriber> transcriber_;
    Environment* environment_;
    std::shared_ptr<std::unordered_map<uint64_t, Stop>> jobs_ = std::make_shared<std::unordered_map<uint64_t, Stop>>();
};

}  // namespace pergola
