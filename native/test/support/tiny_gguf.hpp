#pragma once

#include <random>

#include "support/gguf_writer.hpp"

namespace pergola::test {

/// Metadata of a Llama with random weights that the runtime's GGUF front end can read: one block, 64 wide, 96 tokens.
inline GgufWriter tiny_gguf(const std::string& architecture = "llama") {
    constexpr uint32_t kWidth = 64, kInner = 96, kVocabulary = 96, kHeads = 4, kKvHeads = 2;
    GgufWriter file;
    file.add("general.architecture", architecture);
    file.add("general.file_type", uint32_t{0});
    file.add(architecture + ".block_count", uint32_t{1});
    file.add(architecture + ".context_length", uint32_t{256});
    file.add(architecture + ".embedding_length", kWidth);
    file.add(architecture + ".feed_forward_length", kInner);
    file.add(architecture + ".attention.head_count", kHeads);
    file.add(architecture + ".attention.head_count_kv", kKvHeads);
    file.add(architecture + ".attention.layer_norm_rms_epsilon", 1e-5f);
    file.add(architecture + ".rope.dimension_count", kWidth / kHeads);
    file.add(architecture + ".rope.freq_base", 10000.f);
    file.add(architecture + ".vocab_size", kVocabulary);
    file.add("tokenizer.ggml.model", std::string("gpt2"));
    file.add("tokenizer.ggml.pre", std::string("smollm"));
    std::vector<std::string> tokens;
    for (uint32_t i = 0; i < kVocabulary; ++i) tokens.push_back("t" + std::to_string(i));
    file.add("tokenizer.ggml.tokens", tokens);
    file.add("tokenizer.ggml.token_type", std::vector<int32_t>(kVocabulary, 1));
    file.add("tokenizer.ggml.merges", std::vector<std::string>{"t 1"});
    file.add("tokenizer.ggml.bos_token_id", uint32_t{0});
    file.add("tokenizer.ggml.eos_token_id", uint32_t{1});

    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 0.3f);
    const auto matrix = [&](const std::string& name, uint64_t columns, uint64_t rows) {
        std::vector<float> values(columns * rows);
        for (auto& value : values) value = normal(random);
        file.add_floats(name, {columns, rows}, values);
    };
    const auto norm = [&](const std::string& name) { file.add_floats(name, {kWidth}, std::vector<float>(kWidth, 1.f)); };
    matrix("token_embd.weight", kWidth, kVocabulary);
    norm("blk.0.attn_norm.weight");
    matrix("blk.0.attn_q.weight", kWidth, kWidth);
    matrix("blk.0.attn_k.weight", kWidth, kWidth / kHeads * kKvHeads);
    matrix("blk.0.attn_v.weight", kWidth, kWidth / kHeads * kKvHeads);
    matrix("blk.0.attn_output.weight", kWidth, kWidth);
    norm("blk.0.ffn_norm.weight");
    matrix("blk.0.ffn_gate.weight", kWidth, kInner);
    matrix("blk.0.ffn_up.weight", kWidth, kInner);
    matrix("blk.0.ffn_down.weight", kInner, kWidth);
    norm("output_norm.weight");
    matrix("output.weight", kWidth, kVocabulary);
    return file;
}

/// The same file in `parts` shards, as llama.cpp's gguf-split writes them: all metadata in the first, `split.*` keys in each.
inline std::vector<GgufWriter> split(const GgufWriter& whole, size_t parts) {
    std::vector<GgufWriter> shards(parts);
    shards[0] = whole;
    shards[0].tensors.clear();
    for (size_t i = 0; i < parts; ++i) {
        shards[i].add_raw("split.no", 2, GgufWriter::raw(static_cast<uint16_t>(i)));
        shards[i].add_raw("split.count", 2, GgufWriter::raw(static_cast<uint16_t>(parts)));
        shards[i].add_raw("split.tensors.count", 5, GgufWriter::raw(static_cast<int32_t>(whole.tensors.size())));
    }
    for (size_t i = 0; i < whole.tensors.size(); ++i) shards[i * parts / whole.tensors.size()].tensors.push_back(whole.tensors[i]);
    return shards;
}

}  // namespace pergola::test
