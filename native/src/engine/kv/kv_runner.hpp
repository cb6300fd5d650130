#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kv/sequence.hpp"

namespace pergola {

struct KvLimits {
    uint64_t bytes = 0;   // 0 = not set
    uint64_t tokens = 0;  // 0 = not set
    uint64_t context_length = 0;  // of the model; 0 = unknown
    bool prefix_caching = true;
};

struct KvUsage {
    size_t blocks_total = 0;
    size_t blocks_used = 0;
    size_t blocks_cached = 0;
    uint64_t bytes = 0;
};

/// Runs a language model over sequences and keeps their keys and values. Two kinds: paged blocks, and the model's own state.
/// Owned by the scheduler thread. Sequence ids are the caller's.
class KvRunner {
public:
    virtual ~KvRunner() = default;

    /// Starts a sequence and returns how many of its first tokens are already computed (at most `tokens.size() - 1`, because the
    /// last one's output is wanted). Not more than `limit` are taken over.
    virtual size_t attach(uint64_t sequence, const std::vector<int64_t>& tokens, size_t limit) = 0;
    /// Makes room for `tokens` tokens of the sequence in all. False: no room now, nothing changed.
    virtual bool reserve(uint64_t sequence, size_t tokens) = 0;
    /// Tells that `tokens[0, computed)` are computed, so that other sequences may share them.
    virtual void commit(uint64_t sequence, const std::vector<int64_t>& tokens, size_t computed) = 0;
    /// Ends a sequence; what it computed may be kept for later prefixes.
    virtual void release(uint64_t sequence) = 0;
    /// Forgets what ended sequences computed.
    virtual void clear_cache() = 0;
    /// Running sequences share what they have in common in pieces of so many tokens; 0 = not before one has ended.
    virtual size_t shared_piece() const = 0;
    /// How many sequences could be attached beside the present ones.
    virtual size_t free_slots() const = 0;
    /// One inference. Returns one row of the model's output (logits or hidden state) for each chunk with `sample`, in order; valid
    /// until the next run, and the caller may change them.
    virtual std::vector<float*> run(const std::vector<Chunk>& chunks) = 0;

    /// From any thread: makes a running inference end early (its `run` throws). Used when the result is no longer wanted.
    virtual void interrupt() = 0;

    virtual size_t capacity_tokens() const = 0;
    virtual KvUsage usage() const = 0;
};

}  // namespace pergola
