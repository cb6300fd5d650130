#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "generate/generator.hpp"

namespace pergola {

GeneratorOptions read_generator_options(const Napi::Object& from);
RequestInput read_request(const Napi::Object& from);

Napi::Object to_js(Napi::Env env, const GeneratorInfo& info);
Napi::Object to_js(Napi::Env env, const GeneratorStats& stats);

}  // namespace pergola
