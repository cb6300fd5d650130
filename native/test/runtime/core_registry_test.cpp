#include "runtime/core_registry.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "support/harness.hpp"

namespace pergola::test {

TEST(core_registry, "an object is shared while somebody has it, and made again afterwards") {
    SharedRegistry<int> registry;
    int loads = 0;
    const auto load = [&] { return std::make_shared<int>(++loads); };
    bool shared = true;
    auto first = registry.open("a", load, shared);
    CHECK(!shared);
    auto second = registry.open("a", load, shared);
    CHECK(shared);
    CHECK(first == second);
    auto other = registry.open("b", load, shared);
    CHECK(!shared);
    CHECK(first != other);
    first.reset();
    second.reset();
    first = registry.open("a", load, shared);
    CHECK(!shared);
    CHECK_EQ(loads, 3);
}

TEST(core_registry, "a load that fails is tried again by the next") {
    SharedRegistry<int> registry;
    bool shared = false;
    CHECK_ENGINE_ERROR(ErrorCode::Model, registry.open("a", []() -> std::shared_ptr<int> { throw EngineError::model("f", "no"); }, shared));
    CHECK_EQ(*registry.open("a", [] { return std::make_shared<int>(5); }, shared), 5);
    CHECK(!shared);
}

TEST(core_registry, "many threads with few keys load each object once at a time") {
    SharedRegistry<int> registry;
    std::atomic<int> loading[3] = {{0}, {0}, {0}}, loads{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 300; ++i) {
                const int key = (t + i) % 3;
                bool shared = false;
                const auto object = registry.open(std::to_string(key), [&] {
                    CHECK_EQ(loading[key]++, 0);
                    ++loads;
                    auto made = std::make_shared<int>(key);
                    --loading[key];
                    return made;
                }, shared);
                CHECK_EQ(*object, key);
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(loads >= 3);
}

TEST(core_registry, "devices that exist pass, others are errors that list what exists") {
    for (const char* name : {"CPU", "AUTO", "HETERO:CPU", "AUTO:CPU", "MULTI:CPU", "HETERO:CPU,CPU"}) check_device(name);
    for (const char* name : {"TPU", "cpu", "", "HETERO:TPU,CPU", "AUTO:CPU,TPU", "CPU,GPU"}) {
        const auto error = CHECK_ENGINE_ERROR(ErrorCode::Device, check_device(name));
        CHECK(std::string(error.what()).find("CPU") != std::string::npos);
        CHECK(std::count(error.available.begin(), error.available.end(), "CPU") == 1);
    }
    CHECK_EQ(CHECK_ENGINE_ERROR(ErrorCode::Device, check_device("AUTO:CPU,TPU")).subject, std::string("TPU"));
}

TEST(core_registry, "the list of devices holds the processor") {
    const auto devices = list_devices();
    const auto cpu = std::find_if(devices.begin(), devices.end(), [](const auto& one) { return one.name == "CPU"; });
    REQUIRE(cpu != devices.end());
    CHECK(!cpu->full_name.empty());
    CHECK(!cpu->capabilities.empty());
}

}  // namespace pergola::test
