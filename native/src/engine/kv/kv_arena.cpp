#include "kv/kv_arena.hpp"

#include <sys/mman.h>

#include "base/error.hpp"

namespace pergola {

KvArena::KvArena(ov::CompiledModel& model, const std::string& device) {
    host_ = device.find("GPU") == std::string::npos;
    if (!host_) {
        block_size_ = 16;
        context_ = model.get_context();
    }
    for (const auto& input : model.inputs()) {
        const auto name = input.get_any_name();
        if (name.rfind("key_cache.", 0) != 0 && name.rfind("value_cache.", 0) != 0) continue;
        Cache cache;
        cache.input = input;
        const auto shape = input.get_partial_shape();
        uint64_t elements = 1;
        for (int64_t axis = 1; axis < shape.rank().get_length(); ++axis) {
            if (shape[axis].is_dynamic())
                throw EngineError::unsupported("paged attention", device + " does not tell the layout of " + name + "; use attention: \"stateful\"");
            cache.block_shape.push_back(static_cast<size_t>(shape[axis].get_length()));
            elements *= cache.block_shape.back();
        }
        const auto type = input.get_element_type();
        cache.block_bytes = (elements * type.bitwidth() + 7) / 8;
        bytes_per_block_ += cache.block_bytes;
        if (name.rfind("key_cache.", 0) == 0) precision_ = type.get_type_name();
        caches_.push_back(std::move(cache));
    }
}

KvArena::~KvArena() {
    for (auto& cache : caches_) {
        cache.tensor = {};
        if (cache.reserved) munmap(cache.reserved, cache.reserved_bytes);
    }
}

ov::Tensor KvArena::make(Cache& cache, size_t blocks) {
    ov::Shape shape = cache.block_shape;
    shape.insert(shape.begin(), blocks);
    const auto type = cache.input.get_element_type();
    if (!host_) {
        ov::Tensor larger = context_.create_tensor(type, shape);
        if (cache.tensor) {
            const ov::RemoteTensor target = larger.as<ov::RemoteTensor>();
            ov::RemoteTensor begin(target, ov::Coordinate(shape.size(), 0), ov::Coordinate(cache.tensor.get_shape()));
            begin.copy_from(cache.tensor);
        }
        return larger;
    }
    if (!cache.reserved) {
        cache.reserved_bytes = cache.block_bytes * max_blocks_;
        void* memory = mmap(nullptr, cache.reserved_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        cache.reserved = memory;
    }
    return ov::Tensor(type, shape, cache.reserved);
}

bool KvArena::grow(ov::InferRequest& request, size_t blocks) {
    try {
        std::vector<ov::Tensor> made;
        for (auto& cache : caches_) made.push_back(make(cache, blocks));
        for (size_t i = 0; i < caches_.size(); ++i) {
            request.set_tensor(caches_[i].input, made[i]);
            caches_[i].tensor = made[i];
        }
    } catch (const std::exception&) {
        return false;  // the old tensors are still in place
    }
    blocks_ = blocks;
    return true;
}

}  // namespace pergola
