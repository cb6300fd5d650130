#include "support/generation.hpp"

namespace pergola::test {
namespace {

void check_ids(const Answer& answer, const std::vector<int64_t>& expected) {
    if (answer.error) std::rethrow_exception(answer.error);
    CHECK_EQ(answer.ids, expected);
}

/// A prompt of ids that no other call with another number shares a beginning with.
std::vector<int64_t> prompt_of(size_t count, int64_t number) {
    std::vector<int64_t> ids(count);
    for (size_t i = 0; i < count; ++i) ids[i] = (number * 37 + static_cast<int64_t>(i) * (7 + number)) % 300;
    return ids;
}

}  // namespace

TEST_BOTH(generator, "greedy answers equal those of transformers, as far as rounding leaves them determined") {
    const std::vector<std::string> all = {"llama", "llama3-rope", "mistral", "phi3", "qwen2", "qwen3"};
    const std::vector<std::string> few = {"llama", "qwen3"};
    for (const auto& architecture : kSlow ? few : all) {
        Running running(generator_options(architecture, attention));
        CHECK_EQ(running.generator.info().paged, attention == Attention::Paged);
        CHECK_EQ(running.generator.info().device, std::string("CPU"));
        for (const Golden& golden : goldens(architecture)) {
            const Answer answer = running.run(greedy_request(golden.prompt, golden.greedy.size()));
            if (answer.error) std::rethrow_exception(answer.error);
            CHECK_EQ(answer.reason, EndReason::Length);
            REQUIRE_EQ(answer.ids.size(), golden.greedy.size());
            const auto end = static_cast<std::ptrdiff_t>(golden.stable);
            CHECK_EQ(std::vector<int64_t>(answer.ids.begin(), answer.ids.begin() + end),
                     std::vector<int64_t>(golden.greedy.begin(), golden.greedy.begin() + end));
            CHECK_EQ(answer.ids[0], golden.best);
        }
    }
}

TEST_BOTH(generator, "log-probabilities follow transformers' logits") {
    Running running(generator_options("llama", attention));
    for (const Golden& golden : goldens("llama")) {
        RequestInput input = greedy_request(golden.prompt, 1);
        input.sampling.logprobs = 304;  // the whole vocabulary
        const Answer answer = running.run(input);
        CHECK(answer.has_logprobs);
        REQUIRE_EQ(answer.tokens.size(), 1u);
        std::map<int64_t, double> logprobs(answer.tokens[0].top.begin(), answer.tokens[0].top.end());
        REQUIRE_EQ(logprobs.size(), 304u);
        const double shift = golden.first_logits[0] - logprobs[0];
        for (size_t i = 0; i < golden.first_logits.size(); ++i)
            CHECK(std::abs(golden.first_logits[i] - logprobs[static_cast<int64_t>(i)] - shift) < 0.02);
    }
}

TEST(generator, "a step that is made of several inferences says what single ones say") {
    const GeneratorOptions options = generator_options("llama", Attention::Paged);
    Running running(options);
    std::vector<std::vector<int64_t>> alone;
    for (size_t i = 0; i < 6; ++i) alone.push_back(running.run(greedy_request(prompt_of(5 + i * 9, static_cast<int64_t>(i)), 20)).ids);
    bool shared = false;
    const auto model = open_language_model(options.model, LoadControl(), shared);
    REQUIRE(shared);
    for (const size_t few : {1u, 2u, 3u, 4u}) {
        model->quick_sequences = few;
        std::vector<uint64_t> ids;
        for (size_t i = 0; i < alone.size(); ++i) ids.push_back(running.submit(greedy_request(prompt_of(5 + i * 9, static_cast<int64_t>(i)), 20)));
        for (size_t i = 0; i < ids.size(); ++i) CHECK_EQ(running.recorder.wait(ids[i]).ids, alone[i]);
    }
    model->quick_sequences = 0;
}

TEST_BOTH(generator, "many threads submit and stop at once; every request ends once and says what it says alone") {
    constexpr size_t kThreads = 4;
    const size_t each = kSlow ? 6 : 16;
    Running running(generator_options("llama", attention));
    std::vector<std::vector<int64_t>> alone;
    for (size_t i = 0; i < 6; ++i) alone.push_back(running.run(greedy_request(prompt_of(5 + i * 9, static_cast<int64_t>(i)), 20)).ids);
    std::vector<std::thread> threads;
    std::atomic<int> stopped{0};
    for (size_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            try {
                std::vector<std::pair<uint64_t, size_t>> mine;
                for (size_t i = 0; i < each; ++i) {
                    const size_t which = (t + i) % alone.size();
                    const uint64_t id = running.submit(greedy_request(prompt_of(5 + which * 9, static_cast<int64_t>(which)), 20));
                    mine.emplace_back(id, which);
                    if (i % 3 == 1) {
                        running.recorder.wait_for_tokens(id, i);
                        running.generator.stop(id);
                    }
                    if (i % 3 == 2) running.generator.stop(id);  // at once, often before it began
                    running.generator.stats();
                }
                for (const auto& [id, which] : mine) {
                    const Answer answer = running.recorder.wait(id);
                    CHECK_EQ(answer.ended, 1);
                    CHECK(!answer.error);
                    CHECK(answer.ids.size() <= 20);
                    if (answer.reason == EndReason::Stopped) ++stopped;
                    else CHECK_EQ(answer.ids.size(), 20u);
                    CHECK(std::equal(answer.ids.begin(), answer.ids.end(), alone[which].begin()));
                }
            } catch (const TestEnded&) {
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(stopped > 0);
    const GeneratorStats stats = running.generator.stats();
    CHECK_EQ(stats.running + stats.waiting, 0u);
    CHECK(stats.steps > 0);
    CHECK_EQ(stats.kv.blocks_used, 0u);
}

TEST_BOTH(generator, "sampled answers depend on the seed, not on what runs beside them") {
    Running running(generator_options("llama", attention));
    const auto request = [&](uint64_t seed) {
        RequestInput input = greedy_request(prompt_of(20, 3), 16);
        input.sampling.temperature = 1.f;
        input.sampling.seed = seed;
        return input;
    };
    std::vector<std::vector<int64_t>> alone;
    for (uint64_t seed = 0; seed < 6; ++seed) alone.push_back(running.run(request(seed)).ids);
    CHECK(alone[0] != alone[1]);
    std::vector<uint64_t> ids;
    for (uint64_t seed = 0; seed < 6; ++seed) {
        ids.push_back(running.submit(request(seed)));
        running.submit(greedy_request(prompt_of(30 + seed, static_cast<int64_t>(10 + seed)), 8));
    }
    for (uint64_t seed = 0; seed < 6; ++seed) CHECK_EQ(running.recorder.wait(ids[seed]).ids, alone[seed]);
}

TEST_BOTH(generator, "closing while requests run and wait ends each of them") {
    for (int round = 0; round < 3; ++round) {
        Running running(generator_options("llama", attention));
        std::vector<uint64_t> ids;
        for (int64_t i = 0; i < 12; ++i) ids.push_back(running.submit(greedy_request(prompt_of(40, i), 1500)));
        if (round > 0) running.recorder.wait_for_tokens(ids[0], static_cast<size_t>(round) * 3);
        if (round == 1) running.generator.interrupt();
        running.generator.close();
        for (uint64_t id : ids) {
            const Answer answer = running.recorder.now(id);
            CHECK_EQ(answer.ended, 1);
            CHECK(!answer.error);
            CHECK_EQ(answer.reason, EndReason::Stopped);
        }
        CHECK_ENGINE_ERROR(ErrorCode::Disposed, running.submit(greedy_request({1}, 1)));
        running.generator.stop(ids[0]);  // harmless
        running.generator.stats();
        running.generator.interrupt();
        running.generator.close();
    }
}

TEST_BOTH(generator, "closing from several threads while others submit") {
    Running running(generator_options("llama", attention));
    std::vector<std::thread> threads;
    std::atomic<int> refused{0};
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            try {
                for (int64_t i = 0;; ++i) {
                    const Answer answer = running.run(greedy_request(prompt_of(10, t * 100 + i), 5));
                    CHECK_EQ(answer.ended, 1);
                    CHECK(!answer.error);
                }
            } catch (const EngineError& error) {
                CHECK_EQ(error.code, ErrorCode::Disposed);
                ++refused;
            } catch (const TestEnded&) {
            }
        });
    running.recorder.wait_for_tokens(1, 2);
    for (int t = 0; t < 2; ++t) threads.emplace_back([&] { running.generator.close(); });
    for (auto& thread : threads) thread.join();
    CHECK_EQ(refused, 3);
}

TEST_BOTH(generator, "answers end at max tokens, at stop tokens, and not before min tokens") {
    Running running(generator_options("llama", attention));
    const Golden golden = goldens("llama")[0];  // 297 eleven times, then 16, 14, ...
    Answer answer = running.run(greedy_request(golden.prompt, 3));
    CHECK_EQ(answer.reason, EndReason::Length);
    CHECK_EQ(answer.ids.size(), 3u);

    RequestInput input = greedy_request(golden.prompt, 24);
    input.stop_tokens = {999999, 16};
    answer = running.run(input);
    CHECK_EQ(answer.reason, EndReason::Stop);
    CHECK_EQ(answer.stop_token, 16);
    CHECK_EQ(answer.ids, std::vector<int64_t>(11, 297));  // the stop token itself is no part of the answer

    input.stop_tokens = {297};
    answer = running.run(input);
    CHECK_EQ(answer.reason, EndReason::Stop);
    CHECK(answer.ids.empty());
    CHECK_EQ(answer.started, 1);

    input.min_new_tokens = 4;
    answer = running.run(input);
    CHECK(answer.ids.size() >= 4);
    CHECK_EQ(std::count(answer.ids.begin(), answer.ids.end(), 297), 0);
}

TEST_BOTH(generator, "a prompt seen before is taken from the cache, with the same answer") {
    Running running(generator_options("llama", attention));
    const Golden golden = goldens("llama")[1];  // 360 tokens
    const Answer first = running.run(greedy_request(golden.prompt, 24));
    CHECK_EQ(first.cached, 0u);
    const Answer second = running.run(greedy_request(golden.prompt, 24));
    CHECK(second.cached >= 352 && second.cached < 360);
    CHECK_EQ(second.ids, first.ids);
    // The next turn of a chat: prompt, answer, and something new.
    std::vector<int64_t> longer = golden.prompt;
    longer.insert(longer.end(), first.ids.begin(), first.ids.end());
    longer.insert(longer.end(), {5, 6, 7});
    const Answer next = running.run(greedy_request(longer, 8));
    CHECK(next.cached >= 352);
    // Another ending: only the common beginning may be taken.
    std::vector<int64_t> edited = golden.prompt;
    edited[200] = (edited[200] + 1) % 300;
    const Answer changed = running.run(greedy_request(edited, 8));
    CHECK(changed.cached <= 200);
    const GeneratorStats stats = running.generator.stats();
    CHECK_EQ(stats.cached_tokens, second.cached + next.cached + changed.cached);

    GeneratorOptions options = generator_options("llama", attention);
    options.kv.prefix_caching = false;
    Running without(options);
    CHECK_EQ(without.run(greedy_request(golden.prompt, 24)).ids, first.ids);
    const Answer repeated = without.run(greedy_request(golden.prompt, 24));
    CHECK_EQ(repeated.cached, 0u);
    CHECK_EQ(repeated.ids, first.ids);
    CHECK_EQ(without.run(greedy_request(longer, 8)).ids, next.ids);
    CHECK_EQ(without.run(greedy_request(edited, 8)).ids, changed.ids);
}

TEST_BOTH(generator, "with a tiny KV cache requests wait or are preempted, and say what they say alone") {
    GeneratorOptions options = generator_options("llama", attention);
    std::vector<std::vector<int64_t>> alone;
    {
        Running running(options);
        for (int64_t i = 0; i < 8; ++i) alone.push_back(running.run(greedy_request(prompt_of(40, i), 40)).ids);
    }
    options.kv.tokens = 224;
    for (bool caching : {true, false}) {
        options.kv.prefix_caching = caching;
        Running running(options);
        CHECK_EQ(running.generator.info().kv_capacity_tokens, 224u);
        CHECK_EQ(running.generator.info().max_request_tokens, 224u);
        std::vector<uint64_t> ids;
        for (int64_t i = 0; i < 8; ++i) ids.push_back(running.submit(greedy_request(prompt_of(40, i), 40)));
        uint32_t preempted = 0;
        for (size_t i = 0; i < 8; ++i) {
            const Answer answer = running.recorder.wait(ids[i]);
            check_ids(answer, alone[i]);
            CHECK_EQ(answer.started, 1);
            preempted += answer.timings.preemptions;
        }
        CHECK(preempted > 0);
        CHECK_EQ(running.generator.stats().preemptions, preempted);
    }
}

TEST_BOTH(generator, "sampled answers survive preemption") {
    GeneratorOptions options = generator_options("llama", attention);
    const auto request = [&](int64_t number) {
        RequestInput input = greedy_request(prompt_of(40, number), 40);
        input.sampling.temperature = 1.f;
        input.sampling.seed = static_cast<uint64_t>(number);
        input.sampling.presence_penalty = 0.5f;
        input.sampling.repetition_penalty = 1.2f;
        return input;
    };
    std::vector<std::vector<int64_t>> alone;
    {
        Running running(options);
        for (int64_t i = 0; i < 6; ++i) alone.push_back(running.run(request(i)).ids);
    }
    options.kv.tokens = 160;
    Running running(options);
    std::vector<uint64_t> ids;
    for (int64_t i = 0; i < 6; ++i) ids.push_back(running.submit(request(i)));
    for (size_t i = 0; i < 6; ++i) check_ids(running.recorder.wait(ids[i]), alone[i]);
    CHECK(running.generator.stats().preemptions > 0);
}

TEST_BOTH(generator, "what cannot fit, and what is no token, is refused; the generator goes on") {
    GeneratorOptions options = generator_options("llama", attention);
    options.kv.tokens = 64;
    Running running(options);
    const auto error = CHECK_ENGINE_ERROR(ErrorCode::ContextLength, running.submit(greedy_request(prompt_of(64, 1), 1)));
    CHECK_EQ(error.limit, 64u);
    CHECK_EQ(error.requested, 65u);
    for (int64_t id : {int64_t{-1}, int64_t{304}, int64_t{1} << 40}) {
        const auto wrong = CHECK_ENGINE_ERROR(ErrorCode::Option, running.submit(greedy_request({1, id, 2}, 1)));
        CHECK_EQ(wrong.subject, std::string("prompt"));
    }
    CHECK_ENGINE_ERROR(ErrorCode::Option, running.submit(greedy_request({}, 1)));
    // The longest that fits, until the cache is full.
    const Answer full = running.run(greedy_request(prompt_of(50, 1), 1000));
    CHECK(!full.error);
    CHECK_EQ(full.reason, EndReason::Length);
    CHECK_EQ(full.ids.size(), 14u);
    CHECK_EQ(running.run(greedy_request(prompt_of(63, 1), 10)).ids.size(), 1u);
}

TEST_BOTH(generator, "the context length limits a request whatever the cache holds") {
    GeneratorOptions options = generator_options("llama", attention);
    options.kv.context_length = 48;
    Running running(options);
    CHECK_EQ(running.generator.info().max_request_tokens, 48u);
    const auto error = CHECK_ENGINE_ERROR(ErrorCode::ContextLength, running.submit(greedy_request(prompt_of(48, 1), 1)));
    CHECK_EQ(error.limit, 48u);
    CHECK_EQ(running.run(greedy_request(prompt_of(40, 1), 100)).ids.size(), 8u);
}

TEST_BOTH(generator, "kvCache.bytes too small for anything is an option error") {
    GeneratorOptions options = generator_options("llama", attention);
    options.kv.bytes = 10;
    const auto error = CHECK_ENGINE_ERROR(ErrorCode::Option, Running running(options));
    CHECK_EQ(error.subject, std::string("kvCache.bytes"));
    options.kv.bytes = 4 << 20;
    Running running(options);
    const GeneratorInfo& info = running.generator.info();
    CHECK(info.kv_bytes_per_token > 0);
    CHECK(info.kv_capacity_tokens * info.kv_bytes_per_token <= options.kv.bytes);
    CHECK(info.kv_capacity_tokens * info.kv_bytes_per_token > options.kv.bytes / 2);
}

TEST_BOTH(generator, "prompts longer than a batch are computed in chunks, with the same answer") {
    GeneratorOptions options = generator_options("llama", attention);
    options.scheduler.max_batch_tokens = 50;
    options.kv.prefix_caching = false;
    Running running(options);
    const Golden golden = goldens("llama")[1];
    const Answer answer = running.run(greedy_request(golden.prompt, 24));
    CHECK_EQ(answer.ids, golden.greedy);
    CHECK_EQ(running.generator.stats().steps, 8u + 23u);
    // While another decodes.
    const uint64_t first = running.submit(greedy_request(prompt_of(9, 2), 60));
    running.recorder.wait_for_tokens(first, 3);
    CHECK_EQ(running.run(greedy_request(golden.prompt, 24)).ids, golden.greedy);
    running.recorder.wait(first);
}

TEST_BOTH(generator, "two generators share one model and keep apart what they compute") {
    GeneratorOptions options = generator_options("llama", attention);
    options.model.model_key = "shared";
    auto first = std::make_unique<Running>(options);
    Running second(options);
    CHECK(!first->generator.info().shared);
    CHECK(second.generator.info().shared);
    const auto all = goldens("llama");
    const uint64_t a = first->submit(greedy_request(all[0].prompt, 24));
    const uint64_t b = second.submit(greedy_request(all[2].prompt, 24));
    CHECK_EQ(first->recorder.wait(a).ids, all[0].greedy);
    CHECK_EQ(second.recorder.wait(b).ids, all[2].greedy);
    CHECK_EQ(second.run(greedy_request(all[0].prompt, 24)).cached, 0u);
    first.reset();  // the second still has the model
    CHECK_EQ(second.run(greedy_request(all[2].prompt, 24)).ids, all[2].greedy);
}

TEST_BOTH(generator, "warming up leaves nothing behind") {
    GeneratorOptions options = generator_options("llama", attention);
    options.model.model_key = "not shared";  // a model that is open already is warm
    options.warm_up = true;
    Running running(options);
    const GeneratorStats stats = running.generator.stats();
    CHECK_EQ(stats.generated_tokens, 0u);
    CHECK_EQ(stats.kv.blocks_used, 0u);
    const Golden golden = goldens("llama")[0];
    CHECK_EQ(running.run(greedy_request(std::vector<int64_t>(48, 0), 2)).cached, 0u);
    CHECK_EQ(running.run(greedy_request(golden.prompt, 24)).ids, golden.greedy);
}

TEST(generator, "virtual devices give the same answers") {
    const Golden golden = goldens("llama")[0];
    for (const char* device : {"HETERO:CPU", "AUTO:CPU"})
        for (Attention attention : {Attention::Paged, Attention::Stateful}) {
            if (kSlow && attention == Attention::Stateful) continue;
            GeneratorOptions options = generator_options("llama", attention);
            options.model.device = device;
            Running running(options);
            const Answer answer = running.run(greedy_request(golden.prompt, 24));
            if (answer.error) std::rethrow_exception(answer.error);
            CHECK_EQ(answer.ids, golden.greedy);
        }
}

TEST(generator, "the KV cache has the precision that was asked for") {
    for (const char* precision : {"f32", "f16", "u8"}) {
        GeneratorOptions options = generator_options("llama", Attention::Paged);
        options.model.kv_precision = precision;
        Running running(options);
        CHECK_EQ(running.generator.info().kv_precision, std::string(precision));
        CHECK_EQ(running.run(greedy_request(goldens("llama")[0].prompt, 2)).ids.size(), 2u);
    }
}

}  // namespace pergola::test
