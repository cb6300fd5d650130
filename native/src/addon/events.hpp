#pragma once

#include <napi.h>

#include <vector>

#include "generate/request.hpp"
#include "runtime/load_control.hpp"

namespace pergola {

/// Array of `NativeEvent`.
Napi::Array to_js(Napi::Env env, const std::vector<Event>& events);
Napi::Object progress_event(Napi::Env env, uint64_t job, LoadStage stage, double fraction);

}  // namespace pergola
