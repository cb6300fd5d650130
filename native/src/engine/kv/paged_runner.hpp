#pragma once

#include <unordered_map>

#include "kv/block_pool.hpp"
#include "kv/kv_arena.hpp"
#include "kv/kv_runner.hpp"
#include "kv/row_assembler.hpp"
#include "models/language_model.hpp"

namespace pergola {

/// Keys and values in blocks that the graph addresses by block tables (vLLM's PagedAttention, Kwon et al. 2023, as OpenVINO
/// implements it): many sequences, at different lengths, in one inference.
class PagedRunner : public KvRunner {
public:
    /// @param rows makes embeddings; null for a model that takes ids
    PagedRunner(std::shared_ptr<LanguageModel> model, const KvLimits& limits, RowAssembler* rows);

    size_t attach(uint64_t sequence, const std::vector<int64_t>& tokens, size_t limit) override;
    bool reserve(uint64_t sequence, size_t tokens) override;
    void commit(uint64_t sequence, const std::vector<int64_t>& tokens, size_t computed) override;
    void release(uint64_t sequence) override;
    void clear_cache() override { pool_->clear_cache(); }
    size_t free_slots() const override { return SIZE_MAX; }
    size_t shared_piece() const override { return prefix_caching_ ? block_size() : 0; }
    std::vector<float*> run(const std::vector<Chunk>& chunks) override;
    void interrupt() override { request_.cancel(); }
    size_t capacity_tokens() const override { return pool_->max_blocks() * pool_->block_size(); }
    KvUsage usage() const override;

    size_t block_size() const { return pool_->block_size(); }
    uint64_t bytes_per_token() const { return arena_->bytes_per_block() / pool_->block_size(); }
    std::string kv_precision() const { return arena_->precision(); }

private:
    std::vector<float*> run_at_once(const std::vector<Chunk>& chunks);
    void set_inputs(const std::vector<Chunk>& chunks, size_t tokens);

    std::shared_ptr<LanguageModel> model_;
    RowAssembler* rows_;
    ov::InferRequest request_;
    std::unique_ptr<KvArena> arena_;
    std::unique_ptr<BlockPool> pool_;
    std::unordered_map<uint64_t, BlockPool::Table> tables_;
    std::vector<float> gathered_;  // rows of a step that was made of several inferences
    bool prefix_caching_;
    bool has_position_ids_;
    bool has_token_types_;
};

}  // namespace pergola
