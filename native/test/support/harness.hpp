#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"

/// A small test harness: `TEST(suite, "what holds") { CHECK(...); }`. `engine_test [part of a name ...]` runs the tests whose
/// "suite: what holds" contains one of the parts. Checks may be made on any thread; a test goes on after a failed CHECK and
/// ends at a failed REQUIRE.
namespace pergola::test {

struct Case {
    std::string name;
    std::function<void()> run;
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

struct Registrar {
    Registrar(const std::string& suite, const std::string& title, std::function<void()> run) {
        cases().push_back({suite + ": " + title, std::move(run)});
    }
};

/// Ends a test whose further steps would make no sense.
struct TestEnded {};

inline std::atomic<int>& failures() {
    static std::atomic<int> count{0};
    return count;
}

inline void fail(const char* file, int line, const std::string& text) {
    static std::mutex printing;
    std::lock_guard<std::mutex> lock(printing);
    ++failures();
    std::cout << "    " << std::filesystem::path(file).filename().string() << ":" << line << ": " << text << std::endl;
}

template <typename T>
void show(std::ostream& out, const T& value) {
    if constexpr (std::is_enum_v<T>) out << static_cast<long long>(value);
    else out << value;
}
template <typename T>
void show(std::ostream& out, const std::vector<T>& values) {
    out << "[";
    for (size_t i = 0; i < values.size(); ++i) {
        if (i > 0) out << ", ";
        show(out, values[i]);
    }
    out << "]";
}

template <typename A, typename B>
bool check_equal(const char* file, int line, const char* text, const A& actual, const B& expected) {
    if (actual == expected) return true;
    std::ostringstream out;
    out << text << ": ";
    show(out, actual);
    out << ", expected ";
    show(out, expected);
    fail(file, line, out.str());
    return false;
}

/// The EngineError that `action` throws; a failure and a blank error when it throws none, or another code.
inline EngineError engine_error(const char* file, int line, ErrorCode code, const std::function<void()>& action) {
    try {
        action();
        fail(file, line, std::string("nothing was thrown, expected \"") + to_string(code) + "\"");
    } catch (const EngineError& error) {
        if (error.code != code)
            fail(file, line, std::string("threw \"") + to_string(error.code) + "\" (" + error.what() + "), expected \"" + to_string(code) + "\"");
        return error;
    } catch (const std::exception& error) {
        fail(file, line, std::string("threw an untyped error (") + error.what() + "), expected \"" + to_string(code) + "\"");
    }
    return EngineError(code, "");
}

/// True under a sanitizer that slows everything down: randomized tests do fewer rounds there.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = false;
#endif

int run_all(int count, char** arguments);

}  // namespace pergola::test

#define PERGOLA_JOIN_(a, b) a##b
#define PERGOLA_JOIN(a, b) PERGOLA_JOIN_(a, b)

#define TEST(suite, title)                                                                                              \
    static void PERGOLA_JOIN(test_, __LINE__)();                                                                        \
    static const ::pergola::test::Registrar PERGOLA_JOIN(registrar_, __LINE__)(#suite, title, PERGOLA_JOIN(test_, __LINE__)); \
    static void PERGOLA_JOIN(test_, __LINE__)()

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) ::pergola::test::fail(__FILE__, __LINE__, "not so: " #condition); \
    } while (false)

#define REQUIRE(condition)                                                        \
    do {                                                                          \
        if (!(condition)) {                                                       \
            ::pergola::test::fail(__FILE__, __LINE__, "not so: " #condition);     \
            throw ::pergola::test::TestEnded();                                   \
        }                                                                         \
    } while (false)

#define CHECK_EQ(actual, expected) ::pergola::test::check_equal(__FILE__, __LINE__, #actual, (actual), (expected))
#define REQUIRE_EQ(actual, expected) \
    do {                             \
        if (!CHECK_EQ(actual, expected)) throw ::pergola::test::TestEnded(); \
    } while (false)

/// `const auto error = CHECK_ENGINE_ERROR(ErrorCode::Option, statement);`
#define CHECK_ENGINE_ERROR(code, ...) ::pergola::test::engine_error(__FILE__, __LINE__, code, [&] { __VA_ARGS__; })
