#pragma once

#include "error.hpp"
#include "load_support.hpp"
#include "transcriber.hpp"

namespace pergola {

/// Waits until all calls that came before are done; the destructor lets the next one in.
class Transcriber::Turn {
public:
    explicit Turn(Transcriber& owner) : owner_(owner) {
        std::unique_lock<std::mutex> lock(owner.queue_mutex_);
        const uint64_t ticket = owner.next_ticket_++;
        owner.queue_moved_.wait(lock, [&] { return owner.serving_ == ticket; });
        if (!owner.closed_) return;
        pass_on();
        owner.check_open();
    }
    ~Turn() {
        std::lock_guard<std::mutex> lock(owner_.queue_mutex_);
        pass_on();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    void pass_on() {
        ++owner_.serving_;
        owner_.queue_moved_.notify_all();
    }
    Transcriber& owner_;
};

/// For `catch (...)`: the runtime's exceptions become `native`, the engine's own pass.
[[noreturn]] inline void rethrow_inference_error() {
    try {
        throw;
    } catch (const EngineError&) {
        throw;
    } catch (const std::exception& error) {
        throw EngineError(ErrorCode::Native, "inference failed: " + runtime_reason(error.what()));
    }
}

}  // namespace pergola
