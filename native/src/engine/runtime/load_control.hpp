#pragma once

#include <atomic>
#include <functional>

namespace pergola {

enum class LoadStage { Read, Convert, Compile, Import, Export, WarmUp };

/// How far a load is, and whether to go on. Shared between the loading thread and the caller.
struct LoadControl {
    std::function<void(LoadStage, double)> on_progress;
    std::atomic<bool> aborted{false};

    void enter(LoadStage stage) const;
    void check() const;  // throws `aborted`
};

struct LoadTimings {
    double read_ms = 0, convert_ms = 0, compile_ms = 0, import_ms = 0, warm_up_ms = 0;
};

}  // namespace pergola
