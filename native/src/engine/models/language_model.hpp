#pragma once

#include <atomic>
#include <memory>
#include <openvino/openvino.hpp>
#include <string>

#include "runtime/compiled_model.hpp"
#include "runtime/model_source.hpp"

namespace pergola {

enum class Attention { Auto, Paged, Stateful };

struct LanguageModelOptions {
    ModelSource source;
    std::string device = "CPU";
    ov::AnyMap properties;
    Attention attention = Attention::Auto;
    bool int8_weights = false;
    std::string kv_precision;  // "" = the SDK's choice for the device
    std::string cache_dir;     // "" = no compile cache
    std::string model_key;
};

/// A compiled decoder-only language model, with keys and values either in paged inputs or in model state. It takes `input_ids` or
/// `inputs_embeds`, and gives `logits` or `last_hidden_state`.
struct LanguageModel : CompiledModel {
    bool paged = false;
    bool gathers_rows = false;
    bool takes_rows = false;    // `inputs_embeds` in place of `input_ids`
    bool gives_hidden = false;  // `last_hidden_state` in place of `logits`
    size_t output_width = 0;    // of a row of logits, or of hidden states
    size_t position_axes = 1;   // 3 where a token's position has three coordinates
    /// Sequences in one step, where two steps of so many are quicker than one of twice as many; 0 = not so, or not known. Measured by
    /// who warms the model up, for all who share it.
    std::atomic<size_t> quick_sequences{0};
    std::string kv_precision;  // as asked of the plugin; "" = its own choice

    /// Why `Attention::Auto` gave a stateful model; "" = it did not. Stands beside the blob.
    const std::string& fallback_reason() const { return note; }
    bool has_input(const std::string& name) const;
    const char* output_name() const { return gives_hidden ? "last_hidden_state" : "logits"; }
    /// Gives memory back that only loading needed. After the first inference, when kernels have packed their weights.
    void drop_load_memory() const;
};

/// Opens a model, from the compile cache where it holds this (files, device, properties, runtime version, our version), shared with
/// everybody in the process who asked for the same. `shared` tells whether it was open already.
std::shared_ptr<LanguageModel> open_language_model(const LanguageModelOptions& options, const LoadControl& control, bool& shared);

}  // namespace pergola
