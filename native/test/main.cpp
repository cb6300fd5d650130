#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include "support/harness.hpp"

namespace pergola::test {

int run_all(int count, char** arguments) {
    std::vector<std::string> wanted;
    bool times = false;
    for (int i = 1; i < count; ++i) {
        if (std::string(arguments[i]) == "--times") times = true;
        else wanted.emplace_back(arguments[i]);
    }
    int passed = 0, failed = 0;
    std::map<std::string, double> seconds;
    std::stable_sort(cases().begin(), cases().end(), [](const Case& a, const Case& b) { return a.name < b.name; });
    for (const Case& one : cases()) {
        const auto matches = [&](const std::string& part) { return one.name.find(part) != std::string::npos; };
        if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), matches)) continue;
        const int before = failures();
        const auto start = std::chrono::steady_clock::now();
        try {
            one.run();
        } catch (const TestEnded&) {
        } catch (const std::exception& error) {
            fail("main.cpp", __LINE__, std::string("the test threw: ") + error.what());
        } catch (...) {
            fail("main.cpp", __LINE__, "the test threw something that is no std::exception");
        }
        const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        seconds[one.name.substr(0, one.name.find(':'))] += spent;
        const bool good = failures() == before;
        ++(good ? passed : failed);
        std::cout << (good ? "ok   " : "FAIL ") << one.name;
        if (times) std::cout << "  (" << spent << " s)";
        std::cout << std::endl;
    }
    if (times)
        for (const auto& [suite, spent] : seconds) std::cout << suite << ": " << spent << " s" << std::endl;
    if (passed + failed == 0) {
        std::cout << "no test has such a name" << std::endl;
        failed = 1;
    }
    std::cout << passed << " passed, " << failed << " failed" << std::endl;
    return failed == 0 ? 0 : 1;
}

}  // namespace pergola::test

int main(int count, char** arguments) {
    // TBB opens its NUMA helper in a way that AddressSanitizer refuses, unless told so.
    if (pergola::test::kSlow) setenv("TBB_ENABLE_SANITIZERS", "1", 1);
    return pergola::test::run_all(count, arguments);
}
