#include "kv/stateful_runner.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/system_info.hpp"

namespace pergola {
namespace {

constexpr size_t kSlots = 8;
constexpr uint64_t kUnknownContext = 32768;
constexpr size_t kProbeTokens = 13;  // a length that no head count or head size has, to find the token axis of the states

size_t common_prefix(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    const size_t limit = std::min(a.size(), b.size());
    return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(limit), b.begin()).first - a.begin());
}

}  // namespace

StatefulRunner::StatefulRunner(std::shared_ptr<LanguageModel> model, const KvLimits& limits, RowAssembler* rows)
    : model_(std::move(model)), assembler_(rows), prefix_caching_(limits.prefix_caching) {
    // NPU pipelines hold one static request.
    max_slots_ = model_->device.find("NPU") == std::string::npos ? kSlots : 1;
    has_position_ids_ = model_->has_input("position_ids");
    has_attention_mask_ = model_->has_input("attention_mask");
    has_beam_idx_ = model_->has_input("beam_idx");
    has_token_types_ = model_->has_input("token_type_ids");
    slots_.reserve(max_slots_);
    add_slot();
    learn_layout(slots_.front());
    const uint64_t context = limits.context_length > 0 ? limits.context_length : kUnknownContext;
    capacity_ = static_cast<size_t>(context * 4);
    if (limits.tokens > 0) {
        capacity_ = static_cast<size_t>(limits.tokens);
    } else if (bytes_per_token_ > 0) {
        const uint64_t bytes = limits.bytes > 0 ? limits.bytes : read_system_info().available_memory / 4;
        const auto affordable = static_cast<size_t>(bytes / bytes_per_token_);
        capacity_ = limits.bytes > 0 ? affordable : std::min(capacity_, affordable);
        if (capacity_ == 0) {
            EngineError error(ErrorCode::Option, "kvCache.bytes is less than one token (" + std::to_string(bytes_per_token_) + " bytes)");
            error.subject = "kvCache.bytes";
            throw error;
        }
    }
}

void StatefulRunner::add_slot() {
    auto request = model_->compiled.create_infer_request();
    std::lock_guard<std::mutex> lock(slots_mutex_);
    slots_.push_back({std::move(request), {}, false, 0});
}

void StatefulRunner::learn_layout(Slot& slot) {
    std::vector<int64_t> probe(kProbeTokens, 0);
    sequences_[0] = 0;
    run({{0, probe.data(), probe.size(), 0, true, nullptr}});
    sequences_.clear();
    for (auto& state : slot.request.query_state()) {
        const ov::Tensor tensor = state.get_state();
        const auto& shape = tensor.get_shape();
        int64_t axis = -2;
        for (size_t d = 0; d < shape.size(); ++d)
            if (shape[d] == kProbeTokens) axis = axis == -2 ? static_cast<int64_t>(d) : -3;
        if (axis < 0 || (token_axis_ >= 0 && axis != token_axis_)) {
            token_axis_ = -2;  // recurrent states and the like: no cutting back, only starting anew
            break;
        }
        token_axis_ = axis;
        bytes_per_token_ += tensor.get_byte_size() / kProbeTokens;
    }
    reset(slot);
}

void StatefulRunner::reset(Slot& slot) {
    slot.request.reset_state();
    slot.tokens.clear();
}

bool StatefulRunner::cut(Slot& slot, size_t length) {
    if (length == slot.tokens.size()) return true;
    if (length == 0 || token_axis_ < 0) return false;
    for (auto& state : slot.request.query_state()) {
        const ov::Tensor whole = state.get_state();
        ov::Shape shape = whole.get_shape();
        shape[static_cast<size_t>(token_axis_)] = length;
        const ov::Tensor kept(whole, ov::Coordinate(shape.size(), 0), ov::Coordinate(shape));
        ov::Tensor copy(whole.get_element_type(), shape);
        kept.copy_to(copy);
        state.set_state(copy);
    }
    slot.tokens.resize(length);
    return true;
}

void StatefulRunner::clear_cache() {
    for (auto& slot : slots_)
        if (!slot.busy) reset(slot);
}

size_t StatefulRunner::free_slots() const {
    return max_slots_ - static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.busy; }));
}

size_t StatefulRunner::attach(uint64_t sequence, const std::vector<int64_t>& tokens, size_t limit) {
    size_t best = slots_.size(), common = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].busy) continue;
        const size_t length = prefix_caching_ ? std::min({common_prefix(slots_[i].tokens, tokens), tokens.size() - 1, limit}) : 0;
        if (best == slots_.size() || length > common || (length == common && slots_[i].last_use < slots_[best].last_use)) {
            best = i;
            common = length;
        }
    }
    // A prefix of a few tokens is not worth an idle sequence's state while there are unused slots.
    if ((best == slots_.size() || (common < slots_[best].tokens.size() / 2 && common < 32)) && slots_.size() < max_slots_) {
        add_slot();
        best = slots_.size() - 1;
        common = 0;
    }
    Slot& slot = slots_[best];
    if (common == 0 || !cut(slot, common)) {
        reset(slot);
        common = 0;
    }
    slot.busy = true;
    slot.last_use = ++clock_;
    sequences_[sequence] = best;
    reserved_[sequence] = common;
    return common;
}

size_t StatefulRunner::tokens_held() const {
    size_t sum = 0;
    for (const auto& [sequence, tokens] : reserved_) sum += tokens;
    for (const auto& slot : slots_)
        if (!slot.busy) sum += slot.tokens.size();
    return sum;
}

bool StatefulRunner::reserve(uint64_t sequence, size_t tokens) {
    const size_t before = reserved_.at(sequence);
    if (tokens <= before) return true;
    while (tokens_held() - before + tokens > capacity_) {
        Slot* oldest = nullptr;
        for (auto& slot : slots_)
            if (!slot.busy && !slot.tokens.empty() && (!oldest || slot.last_use < oldest->last_use)) oldest = &slot;
        if (!oldest) return false;
        reset(*oldest);
    }
    reserved_[sequence] = tokens;
    return true;
}

void StatefulRunner::commit(uint64_t, const std::vector<int64_t>&, size_t) {}

void StatefulRunner::release(uint64_t sequence) {
    const auto found = sequences_.find(sequence);
    if (found == sequences_.end()) return;
    Slot& slot = slots_[found->second];
    slot.busy = false;
    slot.last_use = ++clock_;
    if (!prefix_caching_) reset(slot);
    sequences_.erase(found);
    reserved_.erase(sequence);
}

std::vector<float*> StatefulRunner::run(const std::vector<Chunk>& chunks) {
    rows_.clear();
    for (const auto& chunk : chunks) {
        Slot& slot = slot_of(chunk.sequence);
        auto& request = slot.request;
        const ov::Shape shape{1, chunk.count};
        if (assembler_) {
            const ov::Tensor rows = assembler_->rows_of({chunk}, chunk.count);
            request.set_tensor("inputs_embeds", ov::Tensor(ov::element::f32, {1, chunk.count, assembler_->width()}, rows.data()));
        } else {
            ov::Tensor ids(ov::element::i64, shape);
            std::memcpy(ids.data(), chunk.tokens, chunk.count * sizeof(int64_t));
            request.set_tensor("input_ids", ids);
        }
        if (has_position_ids_) {
            const size_t axes = model_->position_axes;
            ov::Tensor positions(ov::element::i64, axes == 1 ? shape : ov::Shape{axes, 1, chunk.count});
            for (size_t axis = 0; axis < axes; ++axis)
                for (size_t i = 0; i < chunk.count; ++i) positions.data<int64_t>()[axis * chunk.count + i] = position_of(chunk, axis, i);
            request.set_tensor("position_ids", positions);
        }
        if (has_attention_mask_) {
            ov::Tensor mask(ov::element::i64, {1, chunk.past + chunk.count});
            std::fill_n(mask.data<int64_t>(), mask.get_size(), 1);
            request.set_tensor("attention_mask", mask);
        }
        if (has_token_types_) {
            ov::Tensor types(ov::element::i64, shape);
            std::memset(types.data(), 0, types.get_byte_size());
            request.set_tensor("token_type_ids", types);
        }
        if (has_beam_idx_) {
            ov::Tensor beam(ov::element::i32, {1});
            *beam.data<int32_t>() = 0;
            request.set_tensor("beam_idx", beam);
        }
        if (model_->gathers_rows) {
            ov::Tensor row(ov::element::i64, {1});
            *row.data<int64_t>() = static_cast<int64_t>(chunk.count - 1);
            request.set_tensor("sampled_rows", row);
        }
        // Empty while the state is in motion: after a failed inference the slot counts as unknown and is reset.
        std::vector<int64_t> content = std::move(slot.tokens);
        slot.tokens.clear();
        request.infer();
        content.insert(content.end(), chunk.tokens, chunk.tokens + chunk.count);
        slot.tokens = std::move(content);
        if (!chunk.sample) continue;
        const ov::Tensor output = request.get_tensor(model_->output_name());
        const float* last = output.data<float>() + (output.get_size() - model_->output_width);
        rows_.emplace_back(last, last + model_->output_width);
    }
    std::vector<float*> result;
    for (auto& row : rows_) result.push_back(row.data());
    return result;
}

void StatefulRunner::interrupt() {
    std::lock_guard<std::mutex> lock(slots_mutex_);
    for (auto& slot : slots_) slot.request.cancel();
}

KvUsage StatefulRunner::usage() const {
    size_t used = 0, idle = 0;
    for (const auto& slot : slots_) (slot.busy ? used : idle) += slot.tokens.size();
    return {capacity_, used, idle, (used + idle) * bytes_per_token_};
}

}  // namespace pergola
