#include "base/work_queue.hpp"

#include <atomic>
#include <future>
#include <vector>

#include "support/harness.hpp"

namespace pergola::test {

TEST(work_queue, "tasks run one after the other, in the order they came, on one thread") {
    WorkQueue queue;
    std::vector<int> order;
    std::vector<std::thread::id> threads;
    for (int i = 0; i < 100; ++i)
        CHECK(queue.push([&, i] {
            order.push_back(i);
            threads.push_back(std::this_thread::get_id());
        }) > 0);
    queue.close();
    REQUIRE_EQ(order.size(), 100u);
    for (int i = 0; i < 100; ++i) {
        CHECK_EQ(order[i], i);
        CHECK(threads[i] == threads[0] && threads[i] != std::this_thread::get_id());
    }
}

TEST(work_queue, "a task that waits can be taken out, one that runs or has run cannot") {
    WorkQueue queue;
    std::promise<void> begun, released;
    const uint64_t first = queue.push([&] {
        begun.set_value();
        released.get_future().wait();
    });
    bool second_ran = false, third_ran = false;
    const uint64_t second = queue.push([&] { second_ran = true; });
    const uint64_t third = queue.push([&] { third_ran = true; });
    begun.get_future().wait();
    CHECK(!queue.remove(first));
    CHECK(queue.remove(second));
    CHECK(!queue.remove(second));
    released.set_value();
    queue.close();
    CHECK(!second_ran);
    CHECK(third_ran);
    CHECK(!queue.remove(third));
}

TEST(work_queue, "after the end nothing is taken, and ending twice, or without a task, is fine") {
    WorkQueue unused;
    unused.close();
    WorkQueue queue;
    std::atomic<int> ran{0};
    queue.push([&] { ++ran; });
    std::thread other([&] { queue.close(); });
    queue.close();
    other.join();
    CHECK_EQ(ran.load(), 1);
    CHECK_EQ(queue.push([&] { ++ran; }), 0u);
    CHECK_EQ(ran.load(), 1);
}

TEST(work_queue, "many threads may push; everything runs once") {
    std::atomic<int> ran{0};
    {
        WorkQueue queue;
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 200; ++i) queue.push([&] { ++ran; });
            });
        for (auto& thread : threads) thread.join();
    }
    CHECK_EQ(ran.load(), 800);
}

}  // namespace pergola::test
