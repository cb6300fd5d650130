#include "runtime/core_registry.hpp"

#include <algorithm>
#include <sstream>

#include "base/error.hpp"

namespace pergola {

ov::Core& core() {
    static ov::Core* instance = new ov::Core();
    return *instance;
}

std::vector<DeviceInfo> list_devices() {
    std::vector<DeviceInfo> result;
    for (const auto& name : core().get_available_devices()) {
        DeviceInfo info;
        info.name = name;
        info.full_name = core().get_property(name, ov::device::full_name);
        info.capabilities = core().get_property(name, ov::device::capabilities);
        try {
            if (name.rfind("GPU", 0) == 0)
                info.memory_bytes = core().get_property(name, "GPU_DEVICE_TOTAL_MEM_SIZE").as<uint64_t>();
        } catch (const std::exception&) {
            // Older drivers do not report it; 0 means unknown.
        }
        result.push_back(std::move(info));
    }
    return result;
}

void check_device(const std::string& device) {
    if (device == "CPU") return;  // always there, and listing the others starts their plugins
    const auto available = core().get_available_devices();
    const auto exists = [&](std::string name) {
        // "-GPU" excludes a device in AUTO's list; "GPU.0" may be the only GPU, which the runtime then calls "GPU".
        if (!name.empty() && name[0] == '-') name.erase(0, 1);
        const std::string family = name.substr(0, name.find('.'));
        return std::any_of(available.begin(), available.end(), [&](const std::string& one) {
            return one == name || (one == family && (name == family + ".0" || name == family)) ||
                   (name == family && one.rfind(family + ".", 0) == 0);
        });
    };
    const size_t colon = device.find(':');
    const std::string head = device.substr(0, colon);
    const bool is_virtual = head == "AUTO" || head == "HETERO" || head == "MULTI" || head == "BATCH";
    std::vector<std::string> parts;
    if (!is_virtual) {
        parts.push_back(device);
    } else if (colon != std::string::npos) {
        std::stringstream list(device.substr(colon + 1));
        for (std::string part; std::getline(list, part, ',');) parts.push_back(part);
    }
    for (const auto& part : parts)
        if (!exists(part)) {
            std::string names;
            for (const auto& one : available) names += (names.empty() ? "" : ", ") + one;
            throw EngineError::device(part, "device \"" + part + "\" does not exist here; available: " + names + ", AUTO, HETERO:...",
                                      available);
        }
}

void rethrow_load_error(const std::string& device, const std::string& file, const std::string& properties) {
    try {
        throw;
    } catch (const EngineError&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw EngineError(ErrorCode::Native, "not enough memory to load " + file + " on " + device);
    } catch (const std::exception& error) {
        const std::string reason = runtime_reason(error.what());
        // The plugin refused: with another device (or without the property) the same files may work.
        if (reason.find("roperty") != std::string::npos)
            throw EngineError::device(device, device + " refused the model's properties: " + reason, core().get_available_devices());
        const std::string with = properties.empty() ? "" : " with the properties " + properties;
        throw EngineError::model(file, file + " could not be loaded on " + device + with + ": " + reason);
    } catch (...) {
        throw EngineError(ErrorCode::Native, "unknown failure while loading " + file + " on " + device);
    }
}

}  // namespace pergola
