#include "image_binding.hpp"

#include <algorithm>

#include "image/image_resize.hpp"
#include "native_job.hpp"

namespace pergola {
namespace {

/// Far beyond what any image has, and small enough that no product of sides overflows.
constexpr double kLongestSide = 1 << 30;

/// Resizing so few pixels takes less time (a few tenths of a millisecond) than handing the work to a thread and back.
constexpr size_t kSmall = 320 * 320;

Napi::Value to_js(Napi::Env env, const std::vector<uint8_t>& pixels) { return typed_array<Napi::Uint8Array>(env, pixels); }

ImageSize size_of(const Napi::Value& value, const char* name) {
    const Napi::Object from = value.IsObject() ? value.As<Napi::Object>() : Napi::Object::New(value.Env());
    const double width = number(from, "width"), height = number(from, "height");
    if (!(width >= 1 && width <= kLongestSide && height >= 1 && height <= kLongestSide))
        throw Napi::TypeError::New(value.Env(), std::string(name) + " must have a width and a height of at least 1");
    return {static_cast<size_t>(width), static_cast<size_t>(height)};
}

}  // namespace

Napi::Value resize_image_async(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (info.Length() < 4 || !info[0].IsTypedArray() || info[0].As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
        throw Napi::TypeError::New(env, "pixels must be a Uint8Array");
    const auto pixels = info[0].As<Napi::Uint8Array>();
    const ImageSize size = size_of(info[1], "size"), target = size_of(info[2], "target");
    if (pixels.ElementLength() != size.bytes())
        throw Napi::RangeError::New(env, "pixels must have width * height * 3 = " + std::to_string(size.bytes()) + " bytes, received " +
                                             std::to_string(pixels.ElementLength()));
    return guarded(env, [&]() -> Napi::Value {
        const ResizeFilter filter = resize_filter(info[3].ToString().Utf8Value());
        const uint8_t* const data = pixels.Data();
        if (std::max(size.width, target.width) * std::max(size.height, target.height) <= kSmall) {
            auto deferred = Napi::Promise::Deferred::New(env);
            deferred.Resolve(to_js(env, resize_image(data, size, target, filter)));
            return native_job(env, Environment::of(env).next_id(), deferred.Promise());
        }
        // The promise keeps the array.
        return start_job(
            Environment::of(env), pixels, {}, [data, size, target, filter] { return resize_image(data, size, target, filter); },
            [](Napi::Env js, const std::vector<uint8_t>& resized) { return to_js(js, resized); });
    });
}

}  // namespace pergola
