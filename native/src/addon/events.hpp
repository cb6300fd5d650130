#pragma once

#include <napi.h>

#include <vector>

#include "engine/language_model.hpp"
#include "engine/request.hpp"

namespace pergola {

/// Array of `NativeEvent`.
Napi::Array to_js(Napi::Env env, const std::vector<Event>& events);
Napi::Object progress_event(Napi::Env env, double load, LoadStage stage, double fraction);

}  // namespace pergola
