#pragma once

#include <napi.h>

#include <exception>

namespace pergola {

/// A JavaScript `Error` with the `code` and `details` of `NativeErrorShape`.
Napi::Error to_js_error(Napi::Env env, const std::exception_ptr& error);

}  // namespace pergola
