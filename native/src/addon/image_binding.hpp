#pragma once

#include <napi.h>

namespace pergola {

/// `resizeImage` of native-types.ts.
Napi::Value resize_image_async(const Napi::CallbackInfo& info);

}  // namespace pergola
