#pragma once

#include <openvino/openvino.hpp>
#include <string>

namespace pergola {

/// True where no GPU or NPU takes part.
inline bool runs_on_cpu(const std::string& device) { return device.find("GPU") == std::string::npos && device.find("NPU") == std::string::npos; }

/// "NAME=value;" of each, for keys and messages.
inline std::string describe(const ov::AnyMap& properties) {
    std::string text;
    for (const auto& [name, value] : properties) text += name + "=" + value.as<std::string>() + ";";
    return text;
}

/// Adds a property unless the caller has set it.
inline void prefer(ov::AnyMap& properties, const char* name, const std::string& value) { properties.emplace(name, value); }

/// In which precision the plugin is asked to compute; "" = its own choice.
inline std::string asked_precision(const ov::AnyMap& properties) {
    const auto found = properties.find("INFERENCE_PRECISION_HINT");
    return found == properties.end() ? std::string() : found->second.as<std::string>();
}

}  // namespace pergola
