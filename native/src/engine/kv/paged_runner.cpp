#include "kv/paged_runner.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/system_info.hpp"

namespace pergola {
namespace {

// Without a limit by the user: a quarter of the memory that is free, and room for four full contexts at most.
constexpr uint64_t kShareOfFreeMemory = 4;
constexpr uint64_t kContexts = 4;
constexpr uint64_t kUnknownContext = 32768;
constexpr size_t kIdleTokens = 2048;
constexpr size_t kLeastTokens = 2048;

/// Idle blocks kept for later prefixes before new memory is taken; beyond it the longest unused are overwritten. A limit that the
/// user set may be used up; a planned one is kept to what requests need at once and some remembered text, so that memory stays flat.
size_t idle_blocks(const KvLimits& limits, size_t blocks, size_t block_size) {
    if (!limits.prefix_caching) return 0;
    if (limits.tokens > 0 || limits.bytes > 0) return blocks;
    return std::min(blocks, kIdleTokens / block_size);
}

size_t plan_blocks(const KvLimits& limits, uint64_t block_bytes, size_t block_size) {
    // A limit beyond the machine's memory is no limit; as an address range it could not even be reserved.
    const uint64_t most = std::max<uint64_t>(read_system_info().total_memory / block_bytes, 1);
    if (limits.tokens > 0) return static_cast<size_t>(std::min(limits.tokens / block_size + (limits.tokens % block_size > 0), most));
    if (limits.bytes > 0) {
        const auto blocks = static_cast<size_t>(std::min(limits.bytes / block_bytes, most));
        if (blocks == 0) {
            EngineError error(ErrorCode::Option, "kvCache.bytes is " + std::to_string(limits.bytes) + ", less than one block of " +
                                                     std::to_string(block_size) + " tokens (" + std::to_string(block_bytes) + " bytes)");
            error.subject = "kvCache.bytes";
            throw error;
        }
        return blocks;
    }
    const uint64_t context = limits.context_length > 0 ? limits.context_length : kUnknownContext;
    const uint64_t wanted = kContexts * ((context + block_size - 1) / block_size);
    const uint64_t affordable = read_system_info().available_memory / kShareOfFreeMemory / block_bytes;
    // However little is free: one prompt with a picture or two and its answer must fit. Memory is taken only as it is needed.
    const uint64_t least = std::min<uint64_t>(wanted, kLeastTokens / block_size);
    return static_cast<size_t>(std::max(std::min(wanted, affordable), least));
}

template <typename T>
ov::Tensor tensor_of(const ov::element::Type& type, const std::vector<T>& values) {
    ov::Tensor tensor(type, {values.size()});
    std::memcpy(tensor.data(), values.data(), values.size() * sizeof(T));
    return tensor;
}

}  // namespace

PagedRunner::PagedRunner(std::shared_ptr<LanguageModel> model, const KvLimits& limits, RowAssembler* rows)
    : model_(std::move(model)), rows_(rows), request_(model_->compiled.create_infer_request()) {
    arena_ = std::make_unique<KvArena>(model_->compiled, model_->device);
    const size_t blocks = plan_blocks(limits, arena_->bytes_per_block(), arena_->block_size());
    arena_->set_max_blocks(blocks);
    pool_ = std::make_unique<BlockPool>(arena_->block_size(), blocks, idle_blocks(limits, blocks, arena_->block_size()), limits.prefix_caching, [this](size_t count) { return arena_->grow(request_, count); });
    prefix_caching_ = limits.prefix_caching;
    has_position_ids_ = model_->has_input("position_ids");
    has_token_types_ = model_->has_input("token_type_ids");
}

size_t PagedRunner::attach(uint64_t sequence, const std::vector<int64_t>& tokens, size_t limit) {
    return pool_->match_prefix(tables_[sequence], tokens, std::min(limit, tokens.size() - 1));
}

bool PagedRunner::reserve(uint64_t sequence, size_t tokens) { return pool_->reserve(tables_.at(sequence), tokens); }

void PagedRunner::commit(uint64_t sequence, const std::vector<int64_t>& tokens, size_t computed) {
    pool_->commit(tables_.at(sequence), tokens, computed);
}

void PagedRunner::release(uint64_t sequence) {
    const auto found = tables_.find(sequence);
    if (found == tables_.end()) return;
    pool_->release(found->second);
    tables_.erase(found);
}

void PagedRunner::set_inputs(const std::vector<Chunk>& chunks, size_t tokens) {
    const size_t axes = model_->position_axes;
    ov::Tensor positions(ov::element::i64, axes == 1 ? ov::Shape{tokens} : ov::Shape{axes, tokens});
    std::vector<int32_t> past, begins{0}, blocks, block_begins{0};
    std::vector<int64_t> rows;
    int32_t longest = 0;
    size_t at = 0;
    for (const auto& chunk : chunks) {
        for (size_t axis = 0; axis < axes; ++axis)
            for (size_t i = 0; i < chunk.count; ++i)
                positions.data<int64_t>()[axis * tokens + at + i] = position_of(chunk, axis, i);
        at += chunk.count;
        past.push_back(static_cast<int32_t>(chunk.past));
        begins.push_back(static_cast<int32_t>(at));
        const size_t length = chunk.past + chunk.count;
        longest = std::max(longest, static_cast<int32_t>(length));
        const auto& table = tables_.at(chunk.sequence).blocks;
        blocks.insert(blocks.end(), table.begin(), table.begin() + static_cast<std::ptrdiff_t>((length + block_size() - 1) / block_size()));
        block_begins.push_back(static_cast<int32_t>(blocks.size()));
        if (chunk.sample) rows.push_back(static_cast<int64_t>(at - 1));
    }
    // The graph wants at least one row; an unused one is cheaper than a second graph.
    if (rows.empty()) rows.push_back(0);
    if (rows_) {
        request_.set_tensor("inputs_embeds", rows_->rows_of(chunks, tokens));
    } else {
        ov::Tensor ids(ov::element::i64, {tokens});
        auto* next = ids.data<int64_t>();
        for (const auto& chunk : chunks) next = std::copy_n(chunk.tokens, chunk.count, next);
        request_.set_tensor("input_ids", ids);
    }
    if (has_position_ids_) request_.set_tensor("position_ids", positions);
    if (has_token_types_) {
        ov::Tensor types(ov::element::i64, {tokens});
        std::memset(types.data(), 0, types.get_byte_size());
        request_.set_tensor("token_type_ids", types);
    }
    request_.set_tensor("past_lens", tensor_of(ov::element::i32, past));
    request_.set_tensor("subsequence_begins", tensor_of(ov::element::i32, begins));
    request_.set_tensor("block_indices", tensor_of(ov::element::i32, blocks));
    request_.set_tensor("block_indices_begins", tensor_of(ov::element::i32, block_begins));
    ov::Tensor context(ov::element::i32, ov::Shape{});
    *context.data<int32_t>() = longest;
    request_.set_tensor("max_context_len", context);
    if (model_->gathers_rows) request_.set_tensor("sampled_rows", tensor_of(ov::element::i64, rows));
}

std::vector<float*> PagedRunner::run(const std::vector<Chunk>& chunks) {
    const size_t few = model_->quick_sequences;
    const auto is_step = [](const Chunk& chunk) { return chunk.count == 1 && chunk.sample; };
    // From three times as many on, one inference is the quicker way again.
    if (few == 0 || chunks.size() <= few || chunks.size() >= 3 * few || !std::all_of(chunks.begin(), chunks.end(), is_step)) return run_at_once(chunks);
    const size_t width = model_->output_width;
    gathered_.resize(chunks.size() * width);
    std::vector<float*> result;
    for (size_t begin = 0; begin < chunks.size(); begin += few) {
        const auto from = chunks.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto to = chunks.begin() + static_cast<std::ptrdiff_t>(std::min(chunks.size(), begin + few));
        for (const float* row : run_at_once({from, to})) {
            result.push_back(gathered_.data() + result.size() * width);
            std::copy_n(row, width, result.back());
        }
    }
    return result;
}

std::vector<float*> PagedRunner::run_at_once(const std::vector<Chunk>& chunks) {
    size_t tokens = 0, wanted = 0;
    for (const auto& chunk : chunks) {
        tokens += chunk.count;
        wanted += chunk.sample ? 1 : 0;
    }
    set_inputs(chunks, tokens);
    request_.infer();
    ov::Tensor output = request_.get_tensor(model_->output_name());
    const size_t rows = output.get_size() / model_->output_width;
    std::vector<float*> result;
    size_t at = 0, row = 0;
    for (const auto& chunk : chunks) {
        at += chunk.count;
        if (!chunk.sample) continue;
        const size_t index = model_->gathers_rows ? row++ : at - 1;
        if (index >= rows) throw EngineError(ErrorCode::Native, "the model returned fewer rows than asked for");
        result.push_back(output.data<float>() + index * model_->output_width);
    }
    return result;
}

KvUsage PagedRunner::usage() const {
    return {pool_->allocated_blocks(), pool_->used_blocks(), pool_->cached_blocks(), pool_->allocated_blocks() * arena_->bytes_per_block()};
}

}  // namespace pergola
