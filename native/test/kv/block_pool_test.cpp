#include "kv/block_pool.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "support/harness.hpp"

namespace pergola::test {
namespace {

using Tokens = std::vector<int64_t>;

bool always(size_t) { return true; }

Tokens ramp(int64_t first, size_t count) {
    Tokens result(count);
    std::iota(result.begin(), result.end(), first);
    return result;
}

/// Reserves, "computes" and registers all of `tokens`; returns how many came from the cache.
size_t compute(BlockPool& pool, BlockPool::Table& table, const Tokens& tokens) {
    const size_t matched = pool.match_prefix(table, tokens, tokens.size());
    REQUIRE(pool.reserve(table, tokens.size()));
    pool.commit(table, tokens, tokens.size());
    return matched;
}

uint64_t same_hash_for_all(uint64_t, const int64_t*, size_t) { return 7; }
uint64_t hash_of_first_token(uint64_t, const int64_t* tokens, size_t) { return static_cast<uint64_t>(tokens[0]); }

}  // namespace

TEST(block_pool, "finds the longest cached prefix in whole blocks, up to the limit") {
    BlockPool pool(4, 64, 64, true, always);
    BlockPool::Table first;
    const Tokens tokens = ramp(100, 11);
    CHECK_EQ(compute(pool, first, tokens), 0u);
    CHECK_EQ(first.blocks.size(), 3u);

    const auto matched = [&](const Tokens& asked, size_t limit) {
        BlockPool::Table table;
        const size_t length = pool.match_prefix(table, asked, limit);
        CHECK_EQ(table.blocks.size(), length / 4);
        CHECK(std::equal(table.blocks.begin(), table.blocks.end(), first.blocks.begin()));
        pool.release(table);
        return length;
    };
    CHECK_EQ(matched(tokens, 11), 8u);  // the third block is not full
    CHECK_EQ(matched(tokens, 8), 8u);
    CHECK_EQ(matched(tokens, 7), 4u);
    CHECK_EQ(matched(tokens, 3), 0u);
    CHECK_EQ(matched(ramp(100, 4), 100), 4u);
    CHECK_EQ(matched({}, 100), 0u);
    Tokens other = tokens;
    other[5] = -1;
    CHECK_EQ(matched(other, 11), 4u);
    other = tokens;
    other[0] = -1;  // a later block is only the same behind the same beginning
    CHECK_EQ(matched(other, 11), 0u);
    CHECK_EQ(matched(ramp(104, 4), 4), 0u);
}

TEST(block_pool, "equal hashes are no proof of equal content") {
    BlockPool pool(2, 64, 64, true, always, same_hash_for_all);
    BlockPool::Table first, second, third;
    compute(pool, first, {1, 2, 3, 4});
    CHECK_EQ(pool.match_prefix(second, {9, 9, 3, 4}, 4), 0u);
    CHECK_EQ(pool.match_prefix(third, {1, 2, 9, 9}, 4), 2u);
    CHECK_EQ(third.blocks[0], first.blocks[0]);
}

TEST(block_pool, "a collision in the middle of a chain does not lend its continuation to another prefix") {
    // {1,2} and {1,5} collide. Whoever follows {1,5} must not be found behind {1,2}.
    BlockPool pool(2, 64, 64, true, always, hash_of_first_token);
    BlockPool::Table first, second, reader;
    compute(pool, first, {1, 2});
    compute(pool, second, {1, 5, 3, 4});
    CHECK_EQ(pool.match_prefix(reader, {1, 2, 3, 4}, 4), 2u);
    pool.release(reader);
    // The same when the first of the two has been forgotten in between.
    pool.release(first);
    pool.clear_cache();
    BlockPool::Table third;
    compute(pool, third, {1, 7});
    CHECK_EQ(pool.match_prefix(reader, {1, 7, 3, 4}, 4), 2u);
}

TEST(block_pool, "blocks are shared while somebody holds them and stay cached afterwards") {
    BlockPool pool(4, 8, 8, true, always);
    BlockPool::Table a, b;
    compute(pool, a, ramp(0, 8));
    CHECK_EQ(compute(pool, b, ramp(0, 8)), 8u);
    CHECK_EQ(a.blocks, b.blocks);
    CHECK_EQ(pool.used_blocks(), 2u);
    pool.release(a);
    CHECK_EQ(pool.used_blocks(), 2u);
    CHECK_EQ(pool.cached_blocks(), 0u);
    pool.release(b);
    CHECK_EQ(pool.used_blocks(), 0u);
    CHECK_EQ(pool.cached_blocks(), 2u);
    BlockPool::Table c;
    CHECK_EQ(pool.match_prefix(c, ramp(0, 8), 8), 8u);
    CHECK_EQ(pool.used_blocks(), 2u);
    CHECK_EQ(pool.cached_blocks(), 0u);
}

TEST(block_pool, "of idle blocks the longest unused go first, and of one chain its tail") {
    BlockPool pool(2, 4, 4, true, always);
    BlockPool::Table table;
    compute(pool, table, {1, 1, 1, 2});
    const auto old_chain = table.blocks;
    pool.release(table);
    compute(pool, table, {2, 1, 2, 2});
    const auto new_chain = table.blocks;
    pool.release(table);
    CHECK_EQ(pool.cached_blocks(), 4u);

    BlockPool::Table taker;
    REQUIRE(pool.reserve(taker, 2));
    CHECK_EQ(taker.blocks[0], old_chain[1]);
    REQUIRE(pool.reserve(taker, 4));
    CHECK_EQ(taker.blocks[1], old_chain[0]);
    BlockPool::Table again;
    CHECK_EQ(pool.match_prefix(again, {1, 1}, 2), 0u);
    CHECK_EQ(pool.match_prefix(again, {2, 1, 2, 2}, 4), 4u);
    CHECK_EQ(again.blocks, new_chain);
}

TEST(block_pool, "using a cached block makes it the youngest") {
    BlockPool pool(2, 2, 2, true, always);
    BlockPool::Table table;
    for (int64_t token : {1, 2}) {
        compute(pool, table, {token, token});
        pool.release(table);
    }
    CHECK_EQ(pool.match_prefix(table, {1, 1}, 2), 2u);
    pool.release(table);
    REQUIRE(pool.reserve(table, 2));
    pool.release(table);
    CHECK_EQ(pool.match_prefix(table, {2, 2}, 2), 0u);
    CHECK_EQ(pool.match_prefix(table, {1, 1}, 2), 2u);
}

TEST(block_pool, "a reservation that fails leaves the table as it was") {
    BlockPool pool(4, 4, 4, true, always);
    BlockPool::Table table, other;
    REQUIRE(pool.reserve(other, 8));
    REQUIRE(pool.reserve(table, 3));
    const auto before = table.blocks;
    CHECK(!pool.reserve(table, 13));
    CHECK_EQ(table.blocks, before);
    CHECK_EQ(pool.used_blocks(), 3u);
    CHECK_EQ(pool.available_blocks(), 1u);
    CHECK(pool.reserve(table, 8));
    CHECK(pool.reserve(table, 1));  // less than it has: nothing to do
    CHECK_EQ(table.blocks.size(), 2u);
    CHECK_EQ(pool.available_blocks(), 0u);
    pool.release(other);
    CHECK(pool.reserve(table, 16));
}

TEST(block_pool, "two tables that compute the same content at once share one registered copy") {
    BlockPool pool(4, 8, 8, true, always);
    BlockPool::Table a, b;
    const Tokens tokens = ramp(0, 8);
    REQUIRE(pool.reserve(a, 8) && pool.reserve(b, 8));
    pool.commit(a, tokens, 8);
    pool.commit(b, tokens, 8);
    const auto registered = a.blocks;
    CHECK_EQ(pool.used_blocks(), 4u);
    pool.release(b);
    CHECK_EQ(pool.used_blocks(), 2u);
    CHECK_EQ(pool.cached_blocks(), 0u);  // b's copies are free, not cached
    BlockPool::Table c;
    CHECK_EQ(pool.match_prefix(c, tokens, 8), 8u);
    CHECK_EQ(c.blocks, registered);
}

TEST(block_pool, "what follows a duplicate is found behind the registered copy") {
    BlockPool pool(2, 16, 16, true, always);
    BlockPool::Table a, b, reader;
    REQUIRE(pool.reserve(a, 2) && pool.reserve(b, 4));
    pool.commit(a, {1, 2}, 2);
    pool.commit(b, {1, 2, 3, 4}, 4);
    CHECK_EQ(pool.match_prefix(reader, {1, 2, 3, 4}, 4), 4u);
    CHECK_EQ(reader.blocks[0], a.blocks[0]);
    CHECK_EQ(reader.blocks[1], b.blocks[1]);
}

TEST(block_pool, "commit registers only what is computed, once") {
    BlockPool pool(4, 8, 8, true, always);
    BlockPool::Table table, reader;
    const Tokens tokens = ramp(0, 12);
    REQUIRE(pool.reserve(table, 12));
    pool.commit(table, tokens, 7);
    CHECK_EQ(pool.match_prefix(reader, tokens, 12), 4u);
    pool.release(reader);
    pool.commit(table, tokens, 7);
    pool.commit(table, tokens, 12);
    CHECK_EQ(pool.match_prefix(reader, tokens, 12), 12u);
    CHECK_EQ(pool.used_blocks(), 3u);
}

TEST(block_pool, "memory grows in steps up to its limit, and failing to grow falls back on cached blocks") {
    std::vector<size_t> steps;
    size_t limit = 1000;
    BlockPool pool(1, 40, 40, true, [&](size_t blocks) {
        if (blocks > limit) return false;
        steps.push_back(blocks);
        return true;
    });
    BlockPool::Table table, other;
    REQUIRE(pool.reserve(table, 1));
    CHECK_EQ(steps, std::vector<size_t>{16});
    CHECK(pool.reserve(table, 33));
    CHECK_EQ(steps, (std::vector<size_t>{16, 32, 40}));
    pool.release(table);
    CHECK(!pool.reserve(table, 41));
    CHECK(pool.reserve(table, 40));

    BlockPool small(1, 40, 40, true, [&](size_t blocks) { return blocks <= 16; });
    compute(small, other, ramp(0, 16));
    small.release(other);
    CHECK(small.reserve(other, 10));
    CHECK_EQ(small.cached_blocks(), 6u);
    CHECK(!small.reserve(other, 17));
    CHECK_EQ(small.allocated_blocks(), 16u);
}

TEST(block_pool, "grows before it overwrites cached blocks, until the cache has its share") {
    BlockPool pool(1, 64, 20, true, always);
    BlockPool::Table table;
    compute(pool, table, ramp(0, 16));
    pool.release(table);
    CHECK_EQ(pool.allocated_blocks(), 16u);
    REQUIRE(pool.reserve(table, 1));  // 16 idle blocks are within the cache's share: new memory
    CHECK_EQ(pool.allocated_blocks(), 32u);
    CHECK_EQ(pool.cached_blocks(), 16u);
    compute(pool, table, ramp(1000, 16));
    pool.release(table);
    BlockPool::Table other;
    REQUIRE(pool.reserve(other, 1));  // 32 idle: beyond it, so an old one goes
    CHECK_EQ(pool.allocated_blocks(), 32u);
    BlockPool::Table reader;
    CHECK_EQ(pool.match_prefix(reader, ramp(0, 16), 16), 15u);  // the tail of the older chain went
}

TEST(block_pool, "clear_cache forgets idle contents and nothing that is held") {
    BlockPool pool(2, 8, 8, true, always);
    BlockPool::Table held, idle;
    compute(pool, held, {1, 2});
    compute(pool, idle, {3, 4});
    pool.release(idle);
    pool.clear_cache();
    CHECK_EQ(pool.cached_blocks(), 0u);
    CHECK_EQ(pool.used_blocks(), 1u);
    CHECK_EQ(pool.match_prefix(idle, {3, 4}, 2), 0u);
    CHECK_EQ(pool.match_prefix(idle, {1, 2}, 2), 2u);
    BlockPool::Table all;
    CHECK(pool.reserve(all, 14));
}

TEST(block_pool, "without prefix caching nothing is kept") {
    BlockPool pool(2, 8, 8, false, always);
    BlockPool::Table a, b;
    CHECK_EQ(compute(pool, a, {1, 2, 3, 4}), 0u);
    CHECK_EQ(compute(pool, b, {1, 2, 3, 4}), 0u);
    pool.release(a);
    CHECK_EQ(pool.cached_blocks(), 0u);
    CHECK_EQ(pool.match_prefix(a, {1, 2}, 2), 0u);
}

namespace {

/// Drives a pool at random and remembers, for each block, what a device would have written there. Whatever the pool says is
/// cached must really stand in the block.
void random_operations(size_t rounds, unsigned seed, bool caching, BlockPool::Hash hash, size_t min_hits) {
    constexpr size_t kBlock = 3, kMax = 40, kCached = 12;
    size_t memory_limit = kMax;
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
    BlockPool pool(kBlock, kMax, kCached, caching, [&](size_t blocks) { return blocks <= memory_limit; }, hash);
    struct User {
        BlockPool::Table table;
        Tokens tokens;
        size_t computed = 0;
    };
    std::map<int, User> users;
    std::map<int32_t, Tokens> content;  // of a block: the whole text up to its last computed token
    int next_user = 0;
    size_t hits = 0, refusals = 0;

    const auto check = [&] {
        std::map<int32_t, std::vector<const User*>> holders;
        for (const auto& [id, user] : users) {
            CHECK(user.table.blocks.size() * kBlock >= user.computed);
            std::set<int32_t> own(user.table.blocks.begin(), user.table.blocks.end());
            CHECK_EQ(own.size(), user.table.blocks.size());
            for (size_t i = 0; i * kBlock < user.computed; ++i) {
                const size_t end = std::min(user.computed, (i + 1) * kBlock);
                CHECK(content[user.table.blocks[i]] == Tokens(user.tokens.begin(), user.tokens.begin() + static_cast<std::ptrdiff_t>(end)));
            }
            for (int32_t block : user.table.blocks) {
                CHECK(block >= 0 && static_cast<size_t>(block) < pool.allocated_blocks());
                holders[block].push_back(&user);
            }
        }
        CHECK_EQ(pool.used_blocks(), holders.size());
        CHECK(pool.used_blocks() + pool.cached_blocks() <= pool.allocated_blocks());
        CHECK(pool.allocated_blocks() <= kMax);
        CHECK_EQ(pool.available_blocks(), kMax - holders.size());
        for (const auto& [block, sharing] : holders) CHECK(caching || sharing.size() == 1);
    };
    for (size_t round = 0; round < rounds && failures() < 20; ++round) {
        const size_t action = below(10);
        if (action < 3 || users.empty()) {
            // Few different tokens, so that prefixes meet often.
            User user;
            user.tokens.resize(1 + below(20));
            for (auto& token : user.tokens) token = static_cast<int64_t>(below(2));
            const size_t limit = user.tokens.size() - 1;
            user.computed = pool.match_prefix(user.table, user.tokens, limit);
            CHECK(user.computed <= limit && user.computed % kBlock == 0);
            hits += user.computed > 0;
            users.emplace(next_user++, std::move(user));
        } else if (action < 8) {
            auto it = std::next(users.begin(), static_cast<std::ptrdiff_t>(below(users.size())));
            User& user = it->second;
            if (user.computed == user.tokens.size()) user.tokens.push_back(static_cast<int64_t>(below(2)));
            const size_t target = user.computed + 1 + below(user.tokens.size() - user.computed);
            const auto before = user.table.blocks;
            const size_t used = pool.used_blocks();
            if (!pool.reserve(user.table, target)) {
                ++refusals;
                CHECK_EQ(user.table.blocks, before);
                CHECK_EQ(pool.used_blocks(), used);
                // Rightly refused: memory ran out, nothing idle was left.
                CHECK(used + (target + kBlock - 1) / kBlock - before.size() > std::min(kMax, pool.allocated_blocks()));
            } else {
                for (size_t at = user.computed; at < target; ++at)
                    content[user.table.blocks[at / kBlock]] = Tokens(user.tokens.begin(), user.tokens.begin() + static_cast<std::ptrdiff_t>(at + 1));
                user.computed = target;
                pool.commit(user.table, user.tokens, user.computed);
            }
        } else if (action < 9 || below(20) > 0) {
            auto it = std::next(users.begin(), static_cast<std::ptrdiff_t>(below(users.size())));
            pool.release(it->second.table);
            CHECK(it->second.table.blocks.empty());
            users.erase(it);
        } else if (below(2) == 0) {
            pool.clear_cache();
            CHECK_EQ(pool.cached_blocks(), 0u);
        } else {
            memory_limit = 16 + below(kMax);
        }
        check();
    }
    for (auto& [id, user] : users) pool.release(user.table);
    users.clear();
    check();
    CHECK(hits >= min_hits);
    CHECK(refusals > 0);
    memory_limit = kMax;
    BlockPool::Table all;
    CHECK(pool.reserve(all, kMax * kBlock));  // nothing was lost on the way
}

}  // namespace

TEST(block_pool, "random operations keep every promise") {
    for (unsigned seed = 1; seed <= 4; ++seed) random_operations(kSlow ? 1500 : 6000, seed, true, BlockPool::hash_block, 100);
}

TEST(block_pool, "random operations keep every promise when hashes collide all the time") {
    for (unsigned seed = 11; seed <= 13; ++seed) random_operations(kSlow ? 1500 : 4000, seed, true, hash_of_first_token, 20);
    random_operations(kSlow ? 1500 : 4000, 14, true, same_hash_for_all, 1);
}

TEST(block_pool, "random operations keep every promise without prefix caching") { random_operations(3000, 21, false, BlockPool::hash_block, 0); }

}  // namespace pergola::test
