#include "base/work_queue.hpp"

#include <algorithm>

namespace pergola {

WorkQueue::~WorkQueue() { close(); }

uint64_t WorkQueue::push(std::function<void()> task) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return 0;
    waiting_.emplace_back(++last_, std::move(task));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    changed_.notify_one();
    return last_;
}

bool WorkQueue::remove(uint64_t number) {
    std::function<void()> task;  // destroyed outside of the lock
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& entry) { return entry.first == number; });
    if (found == waiting_.end()) return false;
    task = std::move(found->second);
    waiting_.erase(found);
    return true;
}

void WorkQueue::close() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
    }
    changed_.notify_one();
    std::lock_guard<std::mutex> once(joining_);
    if (thread_.joinable()) thread_.join();
}

void WorkQueue::work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        auto task = std::move(waiting_.front().second);
        waiting_.pop_front();
        lock.unlock();
        task();
        task = nullptr;  // what it holds goes while nobody waits for the lock
        lock.lock();
    }
}

}  // namespace pergola
