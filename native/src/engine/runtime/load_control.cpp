#include "runtime/load_control.hpp"

#include "base/error.hpp"

namespace pergola {

void LoadControl::enter(LoadStage stage) const {
    check();
    if (on_progress) on_progress(stage, 0.0);
}

void LoadControl::check() const {
    if (aborted) throw EngineError(ErrorCode::Aborted, "loading was aborted");
}

}  // namespace pergola
