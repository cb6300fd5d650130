#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "generate/request.hpp"
#include "kv/kv_runner.hpp"

namespace pergola {

struct SchedulerLimits {
    size_t max_batch_tokens = 512;    // prompt tokens in one inference
    size_t max_batch_sequences = 64;  // sequences in one inference
};

/// What one inference computes.
struct Batch {
    std::vector<Chunk> chunks;
    std::vector<Request*> requests;  // one for each chunk; a guided request's two chunks follow each other
    std::vector<Request*> begun;     // joined in this step
    std::vector<uint64_t> cached;    // tokens found in the prefix cache, one for each of `begun`
};

/// Decides which requests go into the next inference: every decoding request with one token, then prompt chunks in order of
/// arrival. When the KV cache is full the youngest request gives its memory back and is computed again later (recomputation
/// costs time, never correctness: its sampler goes on where it was). Not thread-safe; owned by the generator's thread.
class Scheduler {
public:
    Scheduler(KvRunner& runner, SchedulerLimits limits) : runner_(runner), limits_(limits) {}

    void add(std::unique_ptr<Request> request);
    /// Empty when nothing can run. The batch never has more new tokens than the KV cache has room for.
    Batch plan();
    /// Takes a request out and frees its KV. Null when the id is unknown.
    std::unique_ptr<Request> remove(uint64_t id);
    Request* find(uint64_t id);

    bool idle() const { return running_.empty() && waiting_.empty(); }
    size_t running() const { return running_.size(); }
    size_t waiting() const { return waiting_.size(); }
    uint64_t preemptions() const { return preemptions_; }
    /// Ids of all requests, in order of arrival.
    std::vector<uint64_t> ids() const;

private:
    bool make_room(Request& request, size_t tokens);
    void preempt(size_t index);
    void admit(Batch& batch, size_t& budget);
    void add_chunk(Batch& batch, Request& request, size_t count);
    bool reserve(Request& request, size_t tokens);
    size_t attach(Request& request);
    bool waits_for_prefix(const Request& request) const;
    void release(Request& request);

    KvRunner& runner_;
    SchedulerLimits limits_;
    std::vector<std::unique_ptr<Request>> running_;  // in order of arrival
    std::deque<std::unique_ptr<Request>> waiting_;
    uint64_t next_order_ = 0;
    uint64_t preemptions_ = 0;
};

}  // namespace pergola
