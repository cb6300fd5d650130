#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pergola {

/// A part of one sequence that goes into one inference.
struct Chunk {
    uint64_t sequence = 0;
    const int64_t* tokens = nullptr;  // the tokens to compute
    size_t count = 0;
    size_t past = 0;      // tokens of the sequence that are computed already
    bool sample = false;  // logits of the last token are wanted
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
    /// last one's logits are wanted).
    virtual size_t attach(uint64_t sequence, const std::vector<int64_t>& tokens) = 0;
    /// Makes room for `tokens` tokens of the sequence in all. False: no room now, nothing changed.
    virtual bool reserve(uint64_t sequence, size_t tokens) = 0;
    /// Tells that `tokens[0, computed)` are computed, so that other sequences may share them.
    virtual void commit(uint64_t sequence, const std::vector<int64_t>& tokens, size_t computed) = 0;
    /// Ends a sequence; what it computed may be kept for later prefixes.
    virtual void release(uint64_t sequence) = 0;
    /// Forgets what ended sequences computed.
    virtual void clear_cache() = 0;
    /// True when another sequence could be attached beside the present ones.
    virtual bool has_slot() const = 0;
    /// One inference. Returns one row of `vocab_size` logits for each chunk with `sample`, in order; valid until the next run, and
    /// the caller may change them.
    virtual std::vector<float*> run(const std::vector<Chunk>& chunks) = 0;

    /// From any thread: makes a running inference end early (its `run` throws). Used when the result is no longer wanted.
    virtual void interrupt() = 0;

    virtual size_t vocab_size() const = 0;
    virtual size_t capacity_tokens() const = 0;
    virtual KvUsage usage() const = 0;
};

}  // namespace pergola
