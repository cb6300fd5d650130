#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace pergola {

/// The codes of `NativeErrorCode` in sdk/core/native-types.ts.
enum class ErrorCode { Model, Unsupported, Device, ContextLength, Option, Disposed, Aborted, Native };

const char* to_string(ErrorCode code);

/// Every failure of the engine that has a meaning to the caller; the addon turns it into a typed JavaScript error.
class EngineError : public std::runtime_error {
public:
    EngineError(ErrorCode kind, const std::string& message) : std::runtime_error(message), code(kind) {}

    static EngineError model(const std::string& file, const std::string& message);
    static EngineError unsupported(const std::string& subject, const std::string& message);
    static EngineError device(const std::string& device, const std::string& message, std::vector<std::string> available);
    static EngineError context_length(uint64_t limit, uint64_t requested, const std::string& message);

    ErrorCode code;
    std::string file;
    std::string subject;
    std::vector<std::string> available;
    uint64_t limit = 0;
    uint64_t requested = 0;
};

/// Messages of the runtime start with the place in its own source; users need only the reason.
std::string runtime_reason(const std::string& what);

/// For `catch (...)` around inferences: the runtime's exceptions become `native`, the engine's own pass.
[[noreturn]] void rethrow_inference_error();

}  // namespace pergola
