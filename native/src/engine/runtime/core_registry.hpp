#pragma once

#include <functional>
#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

namespace pergola {

struct DeviceInfo {
    std::string name;
    std::string full_name;
    std::vector<std::string> capabilities;
    uint64_t memory_bytes = 0;
};

/// The one `ov::Core` of the process. Never destroyed: plugins must outlive threads that are still leaving at exit.
ov::Core& core();

std::vector<DeviceInfo> list_devices();

/// Throws `device` when `device` (or a part of `AUTO:...`, `HETERO:...`) names something that is not there.
void check_device(const std::string& device);

/// Turns whatever is being handled in a `catch (...)` of a load on `device` into an EngineError. `properties`: what the caller set
/// ("" = nothing), told in the message, because a bad value is not always named by the runtime.
[[noreturn]] void rethrow_load_error(const std::string& device, const std::string& file, const std::string& properties = "");

/// Opened things shared between users by key and dropped when the last user is gone. A second caller with the same key
/// waits for the first one's load instead of repeating it; a failed load is not remembered.
template <typename T>
class SharedRegistry {
public:
    /// `shared` tells whether somebody else's object was taken.
    std::shared_ptr<T> open(const std::string& key, const std::function<std::shared_ptr<T>()>& load, bool& shared) {
        std::shared_ptr<Slot> slot;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            for (auto it = slots_.begin(); it != slots_.end();) {
                if (it->second.use_count() == 1 && it->second->object.expired()) it = slots_.erase(it);
                else ++it;
            }
            auto& entry = slots_[key];
            if (!entry) entry = std::make_shared<Slot>();
            slot = entry;
        }
        std::lock_guard<std::mutex> lock(slot->loading);
        if (auto existing = slot->object.lock()) {
            shared = true;
            return existing;
        }
        shared = false;
        auto object = load();
        std::lock_guard<std::mutex> lock_for_sweep(mutex_);  // another caller's sweep looks at all objects
        slot->object = object;
        return object;
    }

private:
    struct Slot {
        std::mutex loading;
        std::weak_ptr<T> object;
    };
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Slot>> slots_;
};

}  // namespace pergola
