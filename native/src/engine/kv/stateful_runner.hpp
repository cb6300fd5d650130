#pragma once

#include <mutex>
#include <unordered_map>

#include "kv/kv_runner.hpp"
#include "kv/paged_runner.hpp"
#include "models/language_model.hpp"

namespace pergola {

/// Keys and values in the model's own state (`ReadValue`/`Assign`): one infer request a sequence, one inference a chunk. For devices
/// and models that cannot page. A finished sequence's state stays in its slot; the next sequence takes the slot with the longest
/// common prefix and cuts the state back to it.
class StatefulRunner : public KvRunner {
public:
    /// @param rows makes embeddings; null for a model that takes ids
    StatefulRunner(std::shared_ptr<LanguageModel> model, const KvLimits& limits, RowAssembler* rows);

    size_t attach(uint64_t sequence, const std::vector<int64_t>& tokens, size_t limit) override;
    bool reserve(uint64_t sequence, size_t tokens) override;
    void commit(uint64_t sequence, const std::vector<int64_t>& tokens, size_t computed) override;
    void release(uint64_t sequence) override;
    void clear_cache() override;
    size_t shared_piece() const override { return 0; }
    size_t free_slots() const override;
    std::vector<float*> run(const std::vector<Chunk>& chunks) override;
    void interrupt() override;
    size_t capacity_tokens() const override { return capacity_; }
    KvUsage usage() const override;

    uint64_t bytes_per_token() const { return bytes_per_token_; }

private:
    struct Slot {
        ov::InferRequest request;
        std::vector<int64_t> tokens;  // content of the state
        bool busy = false;
        uint64_t last_use = 0;
    };

    Slot& slot_of(uint64_t sequence) { return slots_[sequences_.at(sequence)]; }
    void reset(Slot& slot);
    bool cut(Slot& slot, size_t length);
    void learn_layout(Slot& slot);
    void add_slot();
    size_t tokens_held() const;

    std::shared_ptr<LanguageModel> model_;
    RowAssembler* assembler_;
    std::vector<Slot> slots_;
    std::mutex slots_mutex_;  // `interrupt` looks at the slots while the scheduler thread adds one
    std::unordered_map<uint64_t, size_t> sequences_;
    std::unordered_map<uint64_t, size_t> reserved_;
    std::vector<std::vector<float>> rows_;
    size_t max_slots_;
    size_t capacity_ = 0;
    bool prefix_caching_;
    int64_t token_axis_ = -1;  // of the state tensors; -1 = not known yet, -2 = cannot be told
    uint64_t bytes_per_token_ = 0;
    uint64_t clock_ = 0;
    bool has_position_ids_, has_attention_mask_, has_beam_idx_, has_token_types_;
};

}  // namespace pergola
