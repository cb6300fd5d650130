#include "kv/block_pool.hpp"

#include <algorithm>

namespace pergola {

uint64_t BlockPool::hash_block(uint64_t parent, const int64_t* tokens, size_t count) {
    uint64_t hash = parent ^ 0x9ae16a3b2f90404full;
    for (size_t i = 0; i < count; ++i) {
        hash ^= static_cast<uint64_t>(tokens[i]) + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
        hash *= 0xff51afd7ed558ccdull;
        hash ^= hash >> 33;
    }
    return hash;
}

BlockPool::BlockPool(size_t block_size, size_t max_blocks, size_t max_cached_blocks, bool prefix_caching, std::function<bool(size_t)> grow,
                     Hash hash)
    : block_size_(block_size),
      max_blocks_(max_blocks),
      max_cached_(max_cached_blocks),
      prefix_caching_(prefix_caching),
      grow_(std::move(grow)),
      hash_(hash) {}

int32_t BlockPool::find(uint64_t hash, uint64_t parent, const int64_t* content) const {
    const auto found = by_hash_.find(hash);
    if (found == by_hash_.end()) return -1;
    const Block& block = blocks_[found->second];
    return block.parent == parent && std::equal(block.tokens.begin(), block.tokens.end(), content) ? found->second : -1;
}

size_t BlockPool::match_prefix(Table& table, const std::vector<int64_t>& tokens, size_t limit) {
    if (!prefix_caching_) return 0;
    uint64_t parent = 0;
    size_t matched = 0;
    while (matched + block_size_ <= std::min(limit, tokens.size())) {
        const int64_t* content = tokens.data() + matched;
        const int32_t id = find(hash_(parent, content, block_size_), parent, content);
        if (id < 0) break;
        hold(id);
        parent = blocks_[id].number;
        table.blocks.push_back(id);
        table.chain.push_back(parent);
        matched += block_size_;
    }
    return matched;
}

bool BlockPool::reserve(Table& table, size_t tokens) {
    const size_t wanted = (tokens + block_size_ - 1) / block_size_;
    const size_t before = table.blocks.size();
    while (table.blocks.size() < wanted) {
        const int32_t id = take();
        if (id < 0) {
            while (table.blocks.size() > before) {
                drop(table.blocks.back());
                table.blocks.pop_back();
            }
            return false;
        }
        table.blocks.push_back(id);
    }
    return true;
}

void BlockPool::commit(Table& table, const std::vector<int64_t>& tokens, size_t computed) {
    if (!prefix_caching_) return;
    while ((table.chain.size() + 1) * block_size_ <= computed) {
        const size_t index = table.chain.size();
        const int64_t* content = tokens.data() + index * block_size_;
        const uint64_t parent = index == 0 ? 0 : table.chain[index - 1];
        const uint64_t hash = hash_(parent, content, block_size_);
        if (by_hash_.emplace(hash, table.blocks[index]).second) {
            Block& block = blocks_[table.blocks[index]];
            block.number = next_number_++;
            block.hash = hash;
            block.parent = parent;
            block.tokens.assign(content, content + block_size_);
            table.chain.push_back(block.number);
        } else {
            // Somebody computed the same content at the same time: theirs is the shared one, ours ends with us. With other content
            // under this hash, ours and all that follow it stay private.
            const int32_t other = find(hash, parent, content);
            if (other < 0) return;
            table.chain.push_back(blocks_[other].number);
        }
    }
}

void BlockPool::release(Table& table) {
    // Last block first: a chain is reused from its beginning, so the tail should be the first to go.
    for (auto it = table.blocks.rbegin(); it != table.blocks.rend(); ++it) drop(*it);
    table.blocks.clear();
    table.chain.clear();
}

void BlockPool::clear_cache() {
    while (!idle_.empty()) {
        const int32_t id = idle_.front();
        idle_.pop_front();
        forget(id);
        free_.push_back(id);
        std::push_heap(free_.begin(), free_.end(), std::greater<>());
    }
}

int32_t BlockPool::take() {
    int32_t id = -1;
    if (free_.empty() && idle_.size() <= max_cached_) grow_by_step();
    if (!free_.empty()) {
        std::pop_heap(free_.begin(), free_.end(), std::greater<>());
        id = free_.back();
        free_.pop_back();
    } else if (!idle_.empty()) {
        id = idle_.front();
        idle_.pop_front();
        forget(id);
    } else {
        return -1;
    }
    blocks_[id].holders = 1;
    ++used_;
    return id;
}

bool BlockPool::grow_by_step() {
    const size_t now = blocks_.size();
    if (now >= max_blocks_) return false;
    const size_t next = std::min(max_blocks_, now + std::max<size_t>(16, now / 2));
    if (!grow_(next)) return false;
    blocks_.resize(next);
    for (size_t id = now; id < next; ++id) {
        free_.push_back(static_cast<int32_t>(id));
        std::push_heap(free_.begin(), free_.end(), std::greater<>());
    }
    return true;
}

void BlockPool::hold(int32_t id) {
    Block& block = blocks_[id];
    if (block.holders++ == 0) {
        idle_.erase(block.idle);
        ++used_;
    }
}

void BlockPool::drop(int32_t id) {
    Block& block = blocks_[id];
    if (--block.holders > 0) return;
    --used_;
    if (block.number != 0) {
        block.idle = idle_.insert(idle_.end(), id);
    } else {
        free_.push_back(id);
        std::push_heap(free_.begin(), free_.end(), std::greater<>());
    }
}

void BlockPool::forget(int32_t id) {
    Block& block = blocks_[id];
    by_hash_.erase(block.hash);
    block.number = block.hash = block.parent = 0;
    block.tokens.clear();
}

}  // namespace pergola
