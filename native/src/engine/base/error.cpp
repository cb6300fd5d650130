#include "base/error.hpp"

namespace pergola {

const char* to_string(ErrorCode code) {
    switch (code) {
    case ErrorCode::Model: return "model";
    case ErrorCode::Unsupported: return "unsupported";
    case ErrorCode::Device: return "device";
    case ErrorCode::ContextLength: return "context-length";
    case ErrorCode::Option: return "option";
    case ErrorCode::Disposed: return "disposed";
    case ErrorCode::Aborted: return "aborted";
    case ErrorCode::Native: break;
    }
    return "native";
}

EngineError EngineError::model(const std::string& file, const std::string& message) {
    EngineError error(ErrorCode::Model, message);
    error.file = file;
    return error;
}

EngineError EngineError::unsupported(const std::string& subject, const std::string& message) {
    EngineError error(ErrorCode::Unsupported, message);
    error.subject = subject;
    return error;
}

EngineError EngineError::device(const std::string& device, const std::string& message, std::vector<std::string> available) {
    EngineError error(ErrorCode::Device, message);
    error.subject = device;
    error.available = std::move(available);
    return error;
}

EngineError EngineError::context_length(uint64_t limit, uint64_t requested, const std::string& message) {
    EngineError error(ErrorCode::ContextLength, message);
    error.limit = limit;
    error.requested = requested;
    return error;
}

std::string runtime_reason(const std::string& what) {
    std::string result;
    size_t begin = 0;
    while (begin < what.size()) {
        size_t end = what.find('\n', begin);
        if (end == std::string::npos) end = what.size();
        std::string line = what.substr(begin, end - begin);
        begin = end + 1;
        const size_t first = line.find_first_not_of(" \t");
        if (first == std::string::npos) continue;
        line = line.substr(first);
        // "Exception from src/...:123:", "Check '...' failed at src/...:45:" only name places inside the runtime.
        if (line.rfind("Exception from ", 0) == 0) continue;
        const size_t place = line.find(" failed at ");
        if (place != std::string::npos && line.find(".cpp:", place) != std::string::npos) line = line.substr(0, place) + " failed";
        if (!result.empty()) result += "; ";
        result += line;
    }
    return result.empty() ? what : result;
}

void rethrow_inference_error() {
    try {
        throw;
    } catch (const EngineError&) {
        throw;
    } catch (const std::exception& error) {
        throw EngineError(ErrorCode::Native, "inference failed: " + runtime_reason(error.what()));
    }
}

}  // namespace pergola
