#include "generate/scheduler.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "support/harness.hpp"

namespace pergola::test {
namespace {

/// A runner that computes nothing, but keeps account: blocks of four tokens out of `capacity`, and checks that the scheduler keeps its
/// side of the contract.
class FakeRunner : public KvRunner {
public:
    static constexpr size_t kBlock = 4;

    explicit FakeRunner(size_t capacity, size_t slots = 1000) : capacity_(capacity), slots_(slots) {}

    size_t attach(uint64_t sequence, const std::vector<int64_t>& tokens, size_t limit) override {
        CHECK(held_.count(sequence) == 0);
        CHECK(free_slots() > 0);
        const auto known = cached_of.find(sequence);
        const size_t cached = std::min({known == cached_of.end() ? cached_prefix : known->second, tokens.size() - 1, limit});
        held_[sequence] = 0;
        computed_[sequence] = cached;
        return cached;
    }
    bool reserve(uint64_t sequence, size_t tokens) override {
        const size_t wanted = (tokens + kBlock - 1) / kBlock;
        size_t& held = held_.at(sequence);
        if (wanted <= held) return true;
        if (used() + wanted - held > capacity_) return false;
        held = wanted;
        return true;
    }
    void commit(uint64_t, const std::vector<int64_t>&, size_t) override {}
    void release(uint64_t sequence) override {
        held_.erase(sequence);
        computed_.erase(sequence);
    }
    void clear_cache() override {}
    size_t shared_piece() const override { return shared; }
    size_t free_slots() const override { return slots_ - held_.size(); }
    std::vector<float*> run(const std::vector<Chunk>& chunks) override {
        std::map<uint64_t, int> seen;
        for (const Chunk& chunk : chunks) {
            CHECK_EQ(seen[chunk.sequence]++, 0);
            CHECK(chunk.count > 0);
            CHECK_EQ(chunk.past, computed_.at(chunk.sequence));
            CHECK(held_.at(chunk.sequence) * kBlock >= chunk.past + chunk.count);
            computed_.at(chunk.sequence) += chunk.count;
        }
        return {};
    }
    void interrupt() override {}
    size_t capacity_tokens() const override { return capacity_ * kBlock; }
    KvUsage usage() const override { return {capacity_, used(), 0, 0}; }

    size_t used() const {
        size_t sum = 0;
        for (const auto& [sequence, blocks] : held_) sum += blocks;
        return sum;
    }
    size_t sequences() const { return held_.size(); }

    size_t cached_prefix = 0;
    std::map<uint64_t, size_t> cached_of;  // of single sequences, before `cached_prefix`
    size_t shared = 0;

private:
    size_t capacity_, slots_;
    std::map<uint64_t, size_t> held_, computed_;
};

std::unique_ptr<Request> request(uint64_t id, size_t prompt, uint64_t max_new_tokens = 1000) {
    RequestInput input;
    input.prompt.assign(prompt, 1);
    input.max_new_tokens = max_new_tokens;
    return std::make_unique<Request>(id, std::move(input), 100);
}

/// Plans and runs one step as the generator does: whoever sampled gets one more token, whoever has enough leaves.
struct Step {
    std::vector<uint64_t> sequences, finished, begun;
    std::vector<size_t> counts;
    size_t tokens = 0;
};

class Driver {
public:
    Driver(size_t capacity, SchedulerLimits limits, size_t slots = 1000) : runner(capacity, slots), scheduler(runner, limits), limits_(limits) {}

    void add(uint64_t id, size_t prompt, uint64_t max_new_tokens = 1000) { scheduler.add(request(id, prompt, max_new_tokens)); }

    Step step() {
        Step result;
        const Batch batch = scheduler.plan();
        REQUIRE_EQ(batch.requests.size(), batch.chunks.size());
        REQUIRE_EQ(batch.cached.size(), batch.begun.size());
        CHECK(batch.chunks.size() <= limits_.max_batch_sequences);
        for (const Request* one : batch.begun) result.begun.push_back(one->id);
        for (const Chunk& chunk : batch.chunks) {
            result.sequences.push_back(chunk.sequence);
            result.counts.push_back(chunk.count);
            result.tokens += chunk.count;
        }
        runner.run(batch.chunks);
        for (size_t i = 0; i < batch.chunks.size(); ++i) {
            Request& one = *batch.requests[i];
            const Chunk& chunk = batch.chunks[i];
            CHECK_EQ(one.id, chunk.sequence);
            CHECK(chunk.tokens == one.tokens.data() + chunk.past);
            one.computed += chunk.count;
            CHECK_EQ(chunk.sample, one.computed == one.tokens.size());
            if (!chunk.sample) continue;
            one.tokens.push_back(2);
            if (one.generated() < one.input.max_new_tokens) continue;
            result.finished.push_back(one.id);
            scheduler.remove(one.id);
        }
        return result;
    }

    FakeRunner runner;
    Scheduler scheduler;

private:
    SchedulerLimits limits_;
};

using Ids = std::vector<uint64_t>;

TEST(scheduler, "a beginning that is being computed is waited for, in whole pieces; what shares none of it is not held up") {
    Driver driver(1000, {512, 64});
    driver.runner.shared = 4;
    for (uint64_t id = 1; id <= 3; ++id) driver.add(id, 10, 2);
    Step step = driver.step();
    CHECK_EQ(step.begun, Ids{1});
    CHECK_EQ(step.counts, std::vector<size_t>{10});
    driver.runner.cached_prefix = 8;
    step = driver.step();  // what the first has computed is there for all others, so none of them waits for another
    CHECK_EQ(step.begun, (Ids{2, 3}));
    CHECK_EQ(step.counts, (std::vector<size_t>{1, 2, 2}));

    Driver other(1000, {512, 64});
    other.runner.shared = 4;
    other.add(1, 4, 2);  // one piece, but of the last token the logits are wanted
    other.add(2, 4, 2);
    CHECK_EQ(other.step().begun, (Ids{1, 2}));
}

TEST(scheduler, "the sequences of a guided request take over equally much, and go together") {
    FakeRunner runner(1000);
    Scheduler scheduler(runner, {512, 64});
    RequestInput input;
    input.prompt.assign(10, 1);
    input.guidance_prompt.assign(10, 3);
    input.max_new_tokens = 2;
    runner.cached_of = {{1, 8}, {Request(1, input, 100).guidance_id(), 4}};
    scheduler.add(std::make_unique<Request>(1, input, 100));
    const Batch batch = scheduler.plan();
    REQUIRE_EQ(batch.chunks.size(), 2u);
    for (const Chunk& chunk : batch.chunks) {
        CHECK_EQ(chunk.past, 4u);
        CHECK_EQ(chunk.count, 6u);
        CHECK(chunk.sample);
    }
    CHECK_EQ(batch.chunks[0].tokens[0], 1);
    CHECK_EQ(batch.chunks[1].tokens[0], 3);
    runner.run(batch.chunks);
    CHECK_EQ(runner.sequences(), 2u);
    scheduler.remove(1);
    CHECK_EQ(runner.sequences(), 0u);
}
using Counts = std::vector<size_t>;

}  // namespace

TEST(scheduler, "requests begin in order of arrival, as many as the token budget takes") {
    Driver driver(1000, {16, 64});
    driver.add(1, 6);
    driver.add(2, 6);
    driver.add(3, 6);
    Step step = driver.step();
    CHECK_EQ(step.sequences, (Ids{1, 2, 3}));
    CHECK_EQ(step.counts, (Counts{6, 6, 4}));
    CHECK_EQ(step.begun, (Ids{1, 2, 3}));
    step = driver.step();
    CHECK_EQ(step.sequences, (Ids{1, 2, 3}));
    CHECK_EQ(step.counts, (Counts{1, 1, 2}));
    CHECK(step.begun.empty());
}

TEST(scheduler, "a long prompt is computed in chunks, each token once") {
    Driver driver(1000, {10, 64});
    driver.add(1, 35, 2);
    Counts counts;
    while (!driver.scheduler.idle()) counts.push_back(driver.step().tokens);
    CHECK_EQ(counts, (Counts{10, 10, 10, 5, 1}));
    CHECK_EQ(driver.runner.sequences(), 0u);
}

TEST(scheduler, "those who decode come first, and a prompt beside them is held to 128 tokens a step") {
    Driver driver(1000, {512, 64});
    driver.add(1, 4);
    driver.step();
    driver.add(2, 600);
    driver.add(3, 4);
    Step step = driver.step();
    CHECK_EQ(step.sequences, (Ids{1, 2}));
    CHECK_EQ(step.counts, (Counts{1, 128}));
    step = driver.step();
    CHECK_EQ(step.counts, (Counts{1, 128}));
    driver.scheduler.remove(1);
    step = driver.step();
    CHECK_EQ(step.sequences, (Ids{2, 3}));
    CHECK_EQ(step.counts, (Counts{344, 4}));
}

TEST(scheduler, "a smaller maxBatchTokens holds beside decoding too") {
    Driver driver(1000, {8, 64});
    driver.add(1, 4);
    driver.step();
    driver.add(2, 20);
    CHECK_EQ(driver.step().counts, (Counts{1, 8}));
}

TEST(scheduler, "never more sequences in a batch than allowed; the next begins when one leaves") {
    Driver driver(1000, {512, 2});
    driver.add(1, 3, 2);
    driver.add(2, 3, 4);
    driver.add(3, 3, 2);
    CHECK_EQ(driver.step().sequences, (Ids{1, 2}));
    CHECK_EQ(driver.step().finished, Ids{1});
    CHECK_EQ(driver.step().sequences, (Ids{2, 3}));
}

TEST(scheduler, "a runner with few slots gets no more sequences than it has slots") {
    Driver driver(1000, {512, 64}, 2);
    for (uint64_t id = 1; id <= 5; ++id) driver.add(id, 3, id);
    Ids finished;
    while (!driver.scheduler.idle()) {
        for (uint64_t id : driver.step().finished) finished.push_back(id);
        CHECK(driver.runner.sequences() <= 2);
    }
    CHECK_EQ(finished, (Ids{1, 2, 3, 4, 5}));
}

TEST(scheduler, "tokens from the prefix cache are not computed and are reported once") {
    Driver driver(1000, {512, 64});
    driver.runner.cached_prefix = 8;
    driver.add(1, 20);
    driver.add(2, 5);
    const Batch batch = driver.scheduler.plan();
    REQUIRE_EQ(batch.chunks.size(), 2u);
    CHECK_EQ(batch.cached, (std::vector<uint64_t>{8, 4}));
    CHECK_EQ(batch.chunks[0].past, 8u);
    CHECK_EQ(batch.chunks[0].count, 12u);
    CHECK_EQ(batch.chunks[1].count, 1u);  // the last token is always computed: its logits are wanted
}

TEST(scheduler, "who does not fit waits, and nobody behind overtakes") {
    Driver driver(4, {512, 64});  // 16 tokens
    driver.add(1, 8, 3);
    driver.add(2, 12, 1);
    driver.add(3, 1, 1);
    CHECK_EQ(driver.step().sequences, Ids{1});
    CHECK_EQ(driver.scheduler.waiting(), 2u);
    CHECK_EQ(driver.runner.sequences(), 1u);  // the one that did not fit holds nothing
    CHECK_EQ(driver.step().sequences, Ids{1});
    CHECK_EQ(driver.step().finished, Ids{1});
    CHECK_EQ(driver.step().sequences, (Ids{2, 3}));
}

TEST(scheduler, "when memory runs out the youngest gives way, and is computed again with what it said") {
    Driver driver(4, {512, 64});  // 16 tokens
    driver.add(1, 7, 9);
    driver.add(2, 7, 6);
    driver.step();
    driver.step();
    CHECK_EQ(driver.scheduler.running(), 2u);
    // Both have 8 computed tokens in two blocks each, all four are in use, and both want a third block.
    Step step = driver.step();
    CHECK_EQ(step.sequences, Ids{1});
    CHECK_EQ(driver.scheduler.preemptions(), 1u);
    CHECK_EQ(driver.scheduler.running(), 1u);
    CHECK_EQ(driver.scheduler.waiting(), 1u);
    const Request* second = driver.scheduler.find(2);
    REQUIRE(second != nullptr);
    CHECK_EQ(second->generated(), 2u);
    CHECK_EQ(second->preemptions, 1u);
    while (driver.scheduler.find(1)) step = driver.step();
    CHECK_EQ(step.finished, Ids{1});
    step = driver.step();
    CHECK_EQ(step.sequences, Ids{2});
    CHECK_EQ(step.counts, Counts{9});  // prompt and answer so far
    CHECK(step.begun.empty());         // it began long ago
    while (!driver.scheduler.idle()) step = driver.step();
    CHECK_EQ(step.finished, Ids{2});
    CHECK_EQ(driver.runner.used(), 0u);
}

TEST(scheduler, "the oldest is never preempted and never held up") {
    Driver driver(6, {512, 64});
    driver.add(1, 3, 20);
    for (uint64_t id = 2; id < 8; ++id) driver.add(id, 3, 15);
    for (size_t steps = 0; driver.scheduler.find(1); ++steps) {
        REQUIRE(steps < 20);
        const Step step = driver.step();
        REQUIRE(!step.sequences.empty());
        CHECK_EQ(step.sequences[0], 1u);
    }
    CHECK(driver.scheduler.preemptions() > 0);
    size_t steps = 0;
    while (!driver.scheduler.idle() && ++steps < 1000) driver.step();
    CHECK(driver.scheduler.idle());
}

TEST(scheduler, "who is alone and finds no room gives an empty plan instead of waiting for itself") {
    Driver driver(2, {512, 64});  // 8 tokens
    driver.add(1, 8);
    CHECK_EQ(driver.step().counts, Counts{8});
    CHECK(driver.scheduler.plan().chunks.empty());
    CHECK_EQ(driver.scheduler.running(), 1u);
    CHECK_EQ(driver.scheduler.ids(), Ids{1});
    Driver small(1, {512, 64});
    small.add(7, 9);
    CHECK(small.scheduler.plan().chunks.empty());
    CHECK_EQ(small.runner.sequences(), 0u);
}

TEST(scheduler, "requests can be taken out while they run, wait, and wait preempted") {
    Driver driver(4, {512, 64});
    driver.add(1, 7);
    driver.add(2, 7);
    driver.add(3, 7);
    for (int i = 0; i < 3; ++i) driver.step();  // 2 is preempted, 3 never began
    CHECK_EQ(driver.scheduler.ids(), (Ids{1, 2, 3}));
    CHECK_EQ(driver.scheduler.waiting(), 2u);
    CHECK(driver.scheduler.remove(99) == nullptr);
    const auto third = driver.scheduler.remove(3);
    REQUIRE(third != nullptr);
    CHECK(!third->started);
    CHECK_EQ(third->timings().queue_ms, 0.0);
    CHECK(driver.scheduler.remove(2) != nullptr);
    CHECK(driver.scheduler.find(2) == nullptr);
    CHECK(driver.scheduler.remove(1) != nullptr);
    CHECK(driver.scheduler.remove(1) == nullptr);
    CHECK(driver.scheduler.idle());
    CHECK_EQ(driver.runner.used(), 0u);
    CHECK_EQ(driver.runner.sequences(), 0u);
    CHECK(driver.scheduler.plan().chunks.empty());
}

TEST(scheduler, "random loads run to their end, whatever the limits") {
    for (unsigned seed = 1; seed <= (kSlow ? 60u : 200u) && failures() < 20; ++seed) {
        std::mt19937 random(seed);
        const auto between = [&](size_t low, size_t high) { return std::uniform_int_distribution<size_t>(low, high)(random); };
        const size_t capacity = between(6, 40);
        const size_t longest = capacity * FakeRunner::kBlock;
        const size_t slots = between(1, 12);
        const SchedulerLimits limits{between(1, 64), between(1, 10)};
        Driver driver(capacity, limits, slots);
        driver.runner.cached_prefix = between(0, 5);
        std::set<uint64_t> expected;
        size_t finished = 0, removed = 0, steps = 0;
        uint64_t next = 1;
        Ids begun;
        while (next <= 40 || !driver.scheduler.idle()) {
            REQUIRE(++steps < 100000);
            if (next <= 40 && between(0, 3) == 0) {
                const size_t prompt = between(1, longest - 1);
                const size_t answer = between(1, longest - prompt);
                expected.insert(next);
                driver.add(next++, prompt, answer);
            }
            if (between(0, 30) == 0 && !driver.scheduler.ids().empty()) {
                const auto ids = driver.scheduler.ids();
                const uint64_t id = ids[between(0, ids.size() - 1)];
                CHECK(driver.scheduler.remove(id) != nullptr);
                expected.erase(id);
                ++removed;
            }
            const auto before = driver.scheduler.ids();
            CHECK(std::is_sorted(before.begin(), before.end()));
            const Step step = driver.step();
            begun.insert(begun.end(), step.begun.begin(), step.begun.end());
            CHECK_EQ(step.sequences.empty(), before.empty());  // work is never left lying
            if (!before.empty()) CHECK(std::count(step.sequences.begin(), step.sequences.end(), before[0]) == 1);  // the oldest goes on in each step
            CHECK(step.tokens <= limits.max_batch_tokens + limits.max_batch_sequences);
            CHECK(driver.scheduler.running() <= limits.max_batch_sequences);
            CHECK(driver.runner.used() <= capacity);
            for (uint64_t id : step.finished) {
                CHECK_EQ(expected.erase(id), 1u);
                ++finished;
            }
        }
        CHECK(expected.empty());
        CHECK_EQ(finished + removed, 40u);
        CHECK(std::is_sorted(begun.begin(), begun.end()));
        CHECK_EQ(driver.runner.used(), 0u);
        CHECK_EQ(driver.runner.sequences(), 0u);
    }
}

}  // namespace pergola::test
