#include "errors.hpp"

#include "base/error.hpp"
#include "js_values.hpp"

namespace pergola {

Napi::Error to_js_error(Napi::Env env, const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const EngineError& known) {
        Napi::Error result = Napi::Error::New(env, known.what());
        result.Set("code", Napi::String::New(env, to_string(known.code)));
        Napi::Object details = Napi::Object::New(env);
        if (!known.file.empty()) details.Set("file", known.file);
        if (!known.subject.empty()) details.Set("subject", known.subject);
        if (!known.available.empty()) details.Set("available", texts_to_js(env, known.available));
        if (known.code == ErrorCode::ContextLength) {
            details.Set("limit", static_cast<double>(known.limit));
            details.Set("requested", static_cast<double>(known.requested));
        }
        result.Set("details", details);
        return result;
    } catch (const Napi::Error& already) {
        return already;
    } catch (const std::exception& other) {
        Napi::Error result = Napi::Error::New(env, other.what());
        result.Set("code", Napi::String::New(env, "native"));
        return result;
    } catch (...) {
        Napi::Error result = Napi::Error::New(env, "unknown native failure");
        result.Set("code", Napi::String::New(env, "native"));
        return result;
    }
}

}  // namespace pergola
