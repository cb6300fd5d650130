#pragma once

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "generate/generator.hpp"
#include "support/files.hpp"
#include "support/harness.hpp"
#include "support/json.hpp"

namespace pergola::test {

/// What became of one request.
struct Answer {
    std::vector<int64_t> ids;
    std::vector<SampledToken> tokens;
    uint64_t cached = 0;
    int started = 0, ended = 0;
    EndReason reason = EndReason::Stop;
    int64_t stop_token = -1;
    RequestTimings timings;
    std::exception_ptr error;
    bool has_logprobs = false;
};

/// Collects events and lets tests wait for ends; checks on the way that events come in order.
class Recorder {
public:
    EventSink sink() {
        return [this](std::vector<Event>&& events) {
            std::lock_guard<std::mutex> lock(mutex_);
            CHECK(!events.empty());
            for (Event& event : events) take(event);
            changed_.notify_all();
        };
    }

    /// The answer, once it has ended in whatever way. Fails the test when that does not come.
    Answer wait(uint64_t id) {
        std::unique_lock<std::mutex> lock(mutex_);
        REQUIRE(changed_.wait_for(lock, std::chrono::seconds(120), [&] { return answers_[id].ended > 0; }));
        return answers_[id];
    }
    void wait_for_tokens(uint64_t id, size_t count) {
        std::unique_lock<std::mutex> lock(mutex_);
        REQUIRE(changed_.wait_for(lock, std::chrono::seconds(120), [&] { return answers_[id].ended > 0 || answers_[id].ids.size() >= count; }));
    }
    Answer now(uint64_t id) {
        std::lock_guard<std::mutex> lock(mutex_);
        return answers_[id];
    }

private:
    void take(Event& event) {
        Answer& answer = answers_[event.request];
        CHECK_EQ(answer.ended, 0);  // nothing comes after the end
        switch (event.type) {
        case Event::Type::Start:
            CHECK(answer.ids.empty());
            ++answer.started;
            answer.cached = event.cached_tokens;
            break;
        case Event::Type::Tokens:
            CHECK_EQ(answer.started, 1);
            answer.has_logprobs = event.has_logprobs;
            for (auto& token : event.tokens) {
                answer.ids.push_back(token.id);
                answer.tokens.push_back(token);
            }
            break;
        case Event::Type::End:
            ++answer.ended;
            answer.reason = event.reason;
            answer.stop_token = event.stop_token;
            answer.timings = event.timings;
            break;
        case Event::Type::Error:
            ++answer.ended;
            answer.error = event.error;
            break;
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<uint64_t, Answer> answers_;
};

inline std::string ir_fixture(const std::string& architecture, const char* file) { return fixture(architecture + "-tiny-ir/" + file); }

/// Keeps one compiled model of each kind open, so that tests share it instead of compiling it again.
inline void keep_open(const GeneratorOptions& options) {
    static auto* kept = new std::map<std::pair<std::string, Attention>, std::shared_ptr<LanguageModel>>();
    auto& model = (*kept)[{options.model.model_key, options.model.attention}];
    bool shared = false;
    if (!model) model = open_language_model(options.model, LoadControl(), shared);
}

/// Options as the SDK gives them for a fixture: no compile cache, no warm-up.
inline GeneratorOptions generator_options(const std::string& architecture, Attention attention) {
    GeneratorOptions options;
    options.model.source.xml = ir_fixture(architecture, "openvino_model.xml");
    options.model.source.bin = ir_fixture(architecture, "openvino_model.bin");
    options.model.model_key = architecture;
    options.model.attention = attention;
    options.kv.context_length = 2048;
    options.warm_up = false;
    if (architecture == "llama") keep_open(options);
    return options;
}

/// A generator with its recorder.
struct Running {
    explicit Running(const GeneratorOptions& options) : generator(options, control, recorder.sink()) {}

    uint64_t submit(RequestInput input) {
        const uint64_t id = next.fetch_add(1);
        generator.submit(id, std::move(input));
        return id;
    }
    Answer run(RequestInput input) { return recorder.wait(submit(std::move(input))); }

    Recorder recorder;
    LoadControl control;
    std::atomic<uint64_t> next{1};
    Generator generator;
};

struct Golden {
    std::vector<int64_t> prompt, greedy;
    size_t stable = 0;  // tokens before the first one that a rounding difference could change
    std::vector<double> first_logits;
    int64_t best = 0;
};

/// What transformers say, from the fixture's golden file.
inline std::vector<Golden> goldens(const std::string& architecture) {
    const Json file = JsonReader(read_file(fixture(architecture + "-golden.json"))).read();
    std::vector<Golden> result;
    for (const char* group : {"raw", "chat"})
        for (const Json& one : file[group].list) {
            Golden golden{one["input_ids"].ids(), one["greedy"].ids(), static_cast<size_t>(one["stable_prefix"].number), {}, 0};
            for (const Json& logit : one["logits_first64"].list) golden.first_logits.push_back(logit.number);
            golden.best = static_cast<int64_t>(one["argmax"].number);
            result.push_back(golden);
        }
    return result;
}

inline RequestInput greedy_request(std::vector<int64_t> prompt, uint64_t max_new_tokens) {
    RequestInput input;
    input.prompt = std::move(prompt);
    input.max_new_tokens = max_new_tokens;
    return input;
}

/// Tests that hold for both kinds of KV cache: `TEST_BOTH(suite, "what holds") { ... attention ... }`.
#define TEST_BOTH(suite, title)                                                                                                               \
    static void PERGOLA_JOIN(test_, __LINE__)(::pergola::Attention attention);                                                                \
    static const ::pergola::test::Registrar PERGOLA_JOIN(paged_, __LINE__)(#suite, "paged, " title,                                           \
                                                                           [] { PERGOLA_JOIN(test_, __LINE__)(::pergola::Attention::Paged); });  \
    static const ::pergola::test::Registrar PERGOLA_JOIN(stateful_, __LINE__)(#suite, "stateful, " title,                                     \
                                                                              [] { PERGOLA_JOIN(test_, __LINE__)(::pergola::Attention::Stateful); }); \
    static void PERGOLA_JOIN(test_, __LINE__)(::pergola::Attention attention)

}  // namespace pergola::test
