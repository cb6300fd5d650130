#pragma once

#include <napi.h>

#include <vector>

#include "runtime/graph.hpp"

namespace pergola {

/// `NativeGraphFiles` of native-types.ts; empty where there is no such object.
GraphFiles read_graph_files(const Napi::Object& from);

/// `NativeTensor[]` of native-types.ts, copied.
std::vector<NamedTensor> read_tensors(const Napi::Value& from);
Napi::Value to_js(Napi::Env env, const std::vector<NamedTensor>& tensors);

}  // namespace pergola
