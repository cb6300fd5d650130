#include "generate/scheduler.hpp"

#include <algorithm>

namespace pergola {
namespace {

// While others wait for their next token, a prompt may hold them up by this many tokens' worth of computation at most.
constexpr size_t kChunkBesideDecoding = 128;

size_t common_prefix(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    const auto limit = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
    return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + limit, b.begin()).first - a.begin());
}

/// Tokens of the request's next chunk; at least one.
size_t share(size_t budget, const Request& request) {
    return std::min(std::max<size_t>(budget / request.sequences(), 1), request.tokens.size() - request.computed);
}

}  // namespace

void Scheduler::add(std::unique_ptr<Request> request) {
    request->order = next_order_++;
    waiting_.push_back(std::move(request));
}

void Scheduler::add_chunk(Batch& batch, Request& request, size_t count) {
    Chunk chunk;
    chunk.sequence = request.id;
    chunk.tokens = request.tokens.data() + request.computed;
    chunk.count = count;
    chunk.past = request.computed;
    chunk.sample = request.computed + count == request.tokens.size();
    chunk.input = &request.sequence;
    batch.chunks.push_back(chunk);
    batch.requests.push_back(&request);
    if (!request.guided()) return;
    chunk.sequence = request.guidance_id();
    chunk.tokens = request.guidance_tokens.data() + request.computed;
    batch.chunks.push_back(chunk);
    batch.requests.push_back(&request);
}

bool Scheduler::reserve(Request& request, size_t tokens) {
    return runner_.reserve(request.id, tokens) && (!request.guided() || runner_.reserve(request.guidance_id(), tokens));
}

/// Attaches the request's sequences and returns how many tokens are computed. The two of a guided request stay abreast, so they take
/// over as much as both can.
size_t Scheduler::attach(Request& request) {
    size_t limit = SIZE_MAX;
    for (;;) {
        const size_t cached = runner_.attach(request.id, request.tokens, limit);
        if (!request.guided()) return cached;
        const size_t other = runner_.attach(request.guidance_id(), request.guidance_tokens, cached);
        if (other == cached) return cached;
        release(request);
        limit = limit == SIZE_MAX ? other : 0;
    }
}

/// True when a running request is about to compute a beginning that this one has as well: then it is computed once.
bool Scheduler::waits_for_prefix(const Request& request) const {
    const size_t piece = runner_.shared_piece();
    if (piece == 0) return false;
    for (const auto& other : running_) {
        const size_t known = other->computed;
        if (known >= other->input.prompt.size()) continue;
        size_t common = common_prefix(request.tokens, other->tokens);
        if (request.guided() || other->guided()) {
            if (request.guided() != other->guided()) continue;
            common = std::min(common, common_prefix(request.guidance_tokens, other->guidance_tokens));
        }
        // Of its own last token the logits are wanted, so that one is computed in any case.
        common = std::min({common, other->input.prompt.size(), request.tokens.size() - 1});
        if (common / piece * piece > known) return true;
    }
    return false;
}

void Scheduler::release(Request& request) {
    runner_.release(request.id);
    if (request.guided()) runner_.release(request.guidance_id());
}

void Scheduler::preempt(size_t index) {
    auto request = std::move(running_[index]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
    release(*request);
    request->attached = false;
    request->computed = 0;
    ++request->preemptions;
    ++preemptions_;
    // Back in order of arrival, so that the oldest is the first to return.
    const auto place = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& other) { return other->order > request->order; });
    waiting_.insert(place, std::move(request));
}

bool Scheduler::make_room(Request& request, size_t tokens) {
    while (!reserve(request, tokens)) {
        // The youngest gives way; when that is the one asking, it waits for the older ones.
        const bool is_self = running_.back().get() == &request;
        if (is_self && running_.size() == 1) return false;
        preempt(running_.size() - 1);
        if (is_self) return false;
    }
    return true;
}

Batch Scheduler::plan() {
    Batch batch;
    const auto is_decoding = [](const Request& request) { return request.computed + 1 == request.tokens.size() && request.generated() > 0; };
    const bool any_decoding = std::any_of(running_.begin(), running_.end(), [&](const auto& request) { return is_decoding(*request); });
    // Decoding first. Preemption removes from the back, so indices before it stay valid.
    for (size_t i = 0; i < running_.size() && batch.chunks.size() < limits_.max_batch_sequences; ++i) {
        Request& request = *running_[i];
        if (is_decoding(request) && make_room(request, request.tokens.size())) add_chunk(batch, request, 1);
    }
    size_t budget = any_decoding ? std::min(limits_.max_batch_tokens, kChunkBesideDecoding) : limits_.max_batch_tokens;
    for (auto& entry : running_) {
        Request& request = *entry;
        if (is_decoding(request) || budget == 0 || batch.chunks.size() >= limits_.max_batch_sequences) continue;
        const size_t count = share(budget, request);
        add_chunk(batch, request, count);  // room for the whole prompt was made when it was admitted
        budget -= std::min(budget, count * request.sequences());
    }
    admit(batch, budget);
    return batch;
}

void Scheduler::admit(Batch& batch, size_t& budget) {
    while (!waiting_.empty() && budget > 0 && batch.chunks.size() < limits_.max_batch_sequences) {
        Request& request = *waiting_.front();
        if (runner_.free_slots() < request.sequences()) return;
        if (waits_for_prefix(request)) return;
        const size_t cached = attach(request);
        if (!reserve(request, request.tokens.size())) {
            release(request);
            return;  // in order of arrival: a smaller request behind it does not overtake
        }
        request.attached = true;
        request.computed = cached;
        if (!request.started) {
            request.started = true;
            request.begun = Clock::now();
            batch.begun.push_back(&request);
            batch.cached.push_back(std::min(cached, request.input.prompt.size()));
        }
        const auto place = std::find_if(running_.begin(), running_.end(), [&](const auto& other) { return other->order > request.order; });
        running_.insert(place, std::move(waiting_.front()));
        waiting_.pop_front();
        const size_t count = share(budget, request);
        add_chunk(batch, request, count);
        budget -= std::min(budget, count * request.sequences());
    }
}

std::unique_ptr<Request> Scheduler::remove(uint64_t id) {
    const auto has_id = [&](const auto& request) { return request->id == id; };
    std::unique_ptr<Request> result;
    if (auto it = std::find_if(running_.begin(), running_.end(), has_id); it != running_.end()) {
        result = std::move(*it);
        running_.erase(it);
    } else if (auto queued = std::find_if(waiting_.begin(), waiting_.end(), has_id); queued != waiting_.end()) {
        result = std::move(*queued);
        waiting_.erase(queued);
    }
    if (result && result->attached) release(*result);
    return result;
}

Request* Scheduler::find(uint64_t id) {
    for (auto& request : running_)
        if (request->id == id) return request.get();
    for (auto& request : waiting_)
        if (request->id == id) return request.get();
    return nullptr;
}

std::vector<uint64_t> Scheduler::ids() const {
    std::vector<const Request*> all;
    for (const auto& request : running_) all.push_back(request.get());
    for (const auto& request : waiting_) all.push_back(request.get());
    std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->order < b->order; });
    std::vector<uint64_t> result;
    for (const auto* request : all) result.push_back(request->id);
    return result;
}

}  // namespace pergola
