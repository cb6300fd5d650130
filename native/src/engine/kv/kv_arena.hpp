#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

namespace pergola {

/// The memory behind the cache inputs of a paged model (`key_cache.N`, `value_cache.N`).
///
/// On the CPU, address space for the largest size is reserved once and pages come when blocks are first written, so growing costs
/// no copy. On other devices each step makes larger tensors in the device's context and copies.
class KvArena {
public:
    KvArena(ov::CompiledModel& model, const std::string& device);
    ~KvArena();
    KvArena(const KvArena&) = delete;
    KvArena& operator=(const KvArena&) = delete;

    /// Fixes the largest number of blocks; before the first `grow`.
    void set_max_blocks(size_t blocks) { max_blocks_ = blocks; }
    /// Makes blocks [0, blocks) usable and hands the tensors to `request`. False when memory could not be had.
    bool grow(ov::InferRequest& request, size_t blocks);

    uint64_t bytes_per_block() const { return bytes_per_block_; }
    size_t blocks() const { return blocks_; }
    std::string precision() const { return precision_; }
    /// Tokens in a block: the CPU and NPU plugins use 32, the GPU plugin 16 (openvino.genai's cache manager).
    size_t block_size() const { return block_size_; }

private:
    struct Cache {
        ov::Output<const ov::Node> input;
        ov::Shape block_shape;  // without the leading number of blocks
        uint64_t block_bytes = 0;
        void* reserved = nullptr;
        uint64_t reserved_bytes = 0;
        ov::Tensor tensor;
    };
    ov::Tensor make(Cache& cache, size_t blocks);

    std::vector<Cache> caches_;
    ov::RemoteContext context_;
    bool host_ = true;
    size_t block_size_ = 32;
    size_t max_blocks_ = 0;
    size_t blocks_ = 0;
    uint64_t bytes_per_block_ = 0;
    std::string precision_;
};

}  // namespace pergola
