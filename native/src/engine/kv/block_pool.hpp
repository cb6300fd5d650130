#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>
#include <vector>

namespace pergola {

/// Book-keeping of KV blocks: who holds which block, and which contents may be used again. Holds no memory itself and knows no
/// runtime, so it can be tested alone. Not thread-safe: the scheduler thread owns it.
///
/// A full block is found by a hash over its tokens and its predecessor's number, and recognised by comparing both. A number is given
/// once, so it stands for the whole prefix whatever the hash does. Blocks that nobody holds keep their content until they are needed
/// for something else, the longest unused one first.
class BlockPool {
public:
    using Hash = uint64_t (*)(uint64_t parent, const int64_t* tokens, size_t count);
    static uint64_t hash_block(uint64_t parent, const int64_t* tokens, size_t count);

    /// `grow(n)` makes memory for blocks [0, n) and returns false when it cannot.
    BlockPool(size_t block_size, size_t max_blocks, size_t max_cached_blocks, bool prefix_caching, std::function<bool(size_t)> grow,
              Hash hash = hash_block);

    struct Table {
        std::vector<int32_t> blocks;
        std::vector<uint64_t> chain;  // numbers of the full blocks that were registered or matched
    };

    /// Takes over the longest cached prefix of `tokens` (whole blocks, at most `limit` tokens) and returns its length in tokens.
    size_t match_prefix(Table& table, const std::vector<int64_t>& tokens, size_t limit);

    /// Makes room for `tokens` tokens in all. False when there are no blocks; the table is then as before.
    bool reserve(Table& table, size_t tokens);

    /// Registers the blocks that `tokens[0, computed)` fills completely, so that others may share them.
    void commit(Table& table, const std::vector<int64_t>& tokens, size_t computed);

    /// Gives all blocks back; registered ones stay cached.
    void release(Table& table);

    /// Forgets all cached contents (memory stays allocated).
    void clear_cache();

    size_t block_size() const { return block_size_; }
    size_t max_blocks() const { return max_blocks_; }
    size_t allocated_blocks() const { return blocks_.size(); }
    size_t used_blocks() const { return used_; }
    size_t cached_blocks() const { return idle_.size(); }
    /// Blocks that `reserve` could still hand out.
    size_t available_blocks() const { return max_blocks_ - used_; }

private:
    struct Block {
        uint32_t holders = 0;
        uint64_t number = 0;  // 0 = not registered
        uint64_t hash = 0;
        uint64_t parent = 0;          // its predecessor's number; 0 = the beginning
        std::vector<int64_t> tokens;  // content, compared on a hit: equal hashes alone are not proof
        std::list<int32_t>::iterator idle;
    };

    /// The registered block with this content behind `parent`; -1 when there is none.
    int32_t find(uint64_t hash, uint64_t parent, const int64_t* content) const;
    int32_t take();
    void hold(int32_t id);
    void drop(int32_t id);
    void forget(int32_t id);
    bool grow_by_step();

    size_t block_size_;
    size_t max_blocks_;
    size_t max_cached_;
    bool prefix_caching_;
    std::function<bool(size_t)> grow_;
    Hash hash_;
    std::vector<Block> blocks_;
    std::vector<int32_t> free_;  // a heap by lowest id: memory stays dense
    std::list<int32_t> idle_;    // registered and held by nobody, longest unused first
    std::unordered_map<uint64_t, int32_t> by_hash_;
    size_t used_ = 0;
    uint64_t next_number_ = 1;
};

}  // namespace pergola
