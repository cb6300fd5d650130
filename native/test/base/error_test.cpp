#include "base/error.hpp"

#include "base/system_info.hpp"
#include "support/harness.hpp"

namespace pergola::test {

TEST(error, "of the runtime's messages only the reason is kept") {
    CHECK_EQ(runtime_reason("Exception from src/inference/src/cpp/core.cpp:131:\nException from src/core/x.cpp:1:\n  Unable to read the model\n"),
             "Unable to read the model");
    CHECK_EQ(runtime_reason("Check 'a == b' failed at src/core/src/node.cpp:12:\nShapes differ"), "Check 'a == b' failed; Shapes differ");
    CHECK_EQ(runtime_reason("one\n\n \t\ntwo"), "one; two");
    CHECK_EQ(runtime_reason("plain"), "plain");
    CHECK_EQ(runtime_reason(""), "");
    // Nothing but places: better those than nothing.
    CHECK_EQ(runtime_reason("Exception from src/a.cpp:1:"), "Exception from src/a.cpp:1:");
    CHECK_EQ(runtime_reason("an Exception from the user's file stays"), "an Exception from the user's file stays");
}

TEST(error, "kinds carry their facts and have the names of the addon's contract") {
    const auto model = EngineError::model("a.gguf", "bad");
    CHECK_EQ(model.file, "a.gguf");
    CHECK_EQ(std::string(model.what()), "bad");
    const auto device = EngineError::device("TPU", "none", {"CPU"});
    CHECK_EQ(device.subject, "TPU");
    CHECK_EQ(device.available, std::vector<std::string>{"CPU"});
    const auto context = EngineError::context_length(5, 9, "long");
    CHECK_EQ(context.limit, 5u);
    CHECK_EQ(context.requested, 9u);
    CHECK_EQ(EngineError::unsupported("arch", "no").subject, "arch");
    const std::pair<ErrorCode, const char*> names[] = {
        {ErrorCode::Model, "model"},   {ErrorCode::Unsupported, "unsupported"}, {ErrorCode::Device, "device"},   {ErrorCode::ContextLength, "context-length"},
        {ErrorCode::Option, "option"}, {ErrorCode::Disposed, "disposed"},       {ErrorCode::Aborted, "aborted"}, {ErrorCode::Native, "native"}};
    for (const auto& [code, name] : names) CHECK_EQ(std::string(to_string(code)), name);
}

TEST(system_info, "memory and processor are plausible") {
    const SystemInfo info = read_system_info();
    CHECK(info.total_memory > (64ull << 20));
    CHECK(info.available_memory > 0);
    CHECK(info.available_memory <= info.total_memory);
    CHECK(info.total_memory < (1ull << 50));
#if defined(__x86_64__)
    CHECK(!info.cpu_model.empty());
    CHECK(!info.cpu_flags.empty());
#endif
}

}  // namespace pergola::test
