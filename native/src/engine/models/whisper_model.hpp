#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "runtime/compiled_model.hpp"
#include "runtime/model_source.hpp"

namespace pergola {

struct WhisperModelOptions {
    ModelSource encoder, decoder;
    std::string device = "CPU";
    ov::AnyMap properties;
    std::string cache_dir;
    std::string model_key;
    std::vector<size_t> alignment_layers;  // decoder layers whose queries are wanted
};

/// Whisper, cut where it pays: the encoder also computes every layer's cross-attention keys and values, once a window, and the decoder
/// takes them as inputs. So windows can be gathered into batches and taken out again freely, and word times need no second graph.
struct WhisperModel {
    CompiledModel encoder;  // its timings and `from_cache` are those of the pair
    CompiledModel decoder;
    size_t layers = 0, mel_bins = 0, window_frames = 0, vocab_size = 0;
};

/// Names of what connects the two graphs; `cross_name("key", 3)`.
std::string cross_name(const char* what, size_t layer);

/// Rewrites a pair of graphs as optimum-intel exports them (stateful decoder). Throws `unsupported` where the pair is something else.
void join_cross_attention(const std::shared_ptr<ov::Model>& encoder, const std::shared_ptr<ov::Model>& decoder,
                          const std::vector<size_t>& alignment_layers, const std::string& file);

/// Opens a pair, from the compile cache where possible, shared with everybody who asked for the same.
std::shared_ptr<WhisperModel> open_whisper_model(const WhisperModelOptions& options, const LoadControl& control, bool& shared);

}  // namespace pergola
