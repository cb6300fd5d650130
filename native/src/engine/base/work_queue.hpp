#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace pergola {

/// A thread of its own that runs tasks in the order they came. One thread for all is quicker than one each: the runtime sets up what it
/// keeps for a thread only once.
class WorkQueue {
public:
    WorkQueue() = default;
    ~WorkQueue();
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;

    /// Returns a number that `remove` knows; 0 after `close`, when nothing is run any more. Tasks must not throw.
    uint64_t push(std::function<void()> task);
    /// Takes a task out that has not begun. False when it has, or is unknown.
    bool remove(uint64_t number);
    /// Runs what is there, then ends the thread. May be called more than once, and from several threads.
    void close();

private:
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::pair<uint64_t, std::function<void()>>> waiting_;
    uint64_t last_ = 0;
    bool closed_ = false;
    std::thread thread_;  // since the first task
    std::mutex joining_;
};

}  // namespace pergola
