#include "models/whisper_model.hpp"

#include <openvino/op/ops.hpp>

#include "base/error.hpp"
#include "base/stop_watch.hpp"
#include "runtime/core_registry.hpp"
#include "runtime/properties.hpp"

namespace pergola {
namespace {

constexpr const char* kWhisperGraphVersion = "whisper-1";  // raise it when whisper_graph.cpp changes what is compiled

/// Exact arithmetic in the decoder, whose windows are batched: what is said must not depend on what else is in the batch. The encoder
/// takes its windows one by one, so it may compute in what the processor is fastest at (bf16 where there are instructions for it;
/// docs/performance.md has the word error rates).
ov::AnyMap effective_properties(const WhisperModelOptions& options, bool encoder) {
    ov::AnyMap properties = options.properties;
    if (runs_on_cpu(options.device)) {
        prefer(properties, "DYNAMIC_QUANTIZATION_GROUP_SIZE", "0");
        if (encoder) return properties;
        prefer(properties, "INFERENCE_PRECISION_HINT", "f32");
        // Exports ask for f16 or, in silence, get u8.
        const std::string precision = asked_precision(properties);
        prefer(properties, "KV_CACHE_PRECISION", precision == "bf16" || precision == "f16" ? precision : "f32");
    }
    return properties;
}

size_t axis(const ov::Output<const ov::Node>& port, size_t index) {
    const auto shape = port.get_partial_shape();
    return shape.rank().is_static() && static_cast<size_t>(shape.rank().get_length()) > index && shape[index].is_static()
               ? static_cast<size_t>(shape[index].get_length())
               : 0;
}

void inspect(WhisperModel& model, const std::string& file) {
    for (const auto& input : model.encoder.compiled.inputs()) {
        model.mel_bins = axis(input, 1);
        model.window_frames = axis(input, 2);
    }
    if (model.mel_bins == 0 || model.window_frames == 0)
        throw EngineError::model(file, file + " is no Whisper encoder: its input is not a spectrogram of fixed size");
    for (const auto& input : model.decoder.compiled.inputs())
        for (const auto& name : input.get_names()) model.layers += name.rfind("cross.key.", 0) == 0;
    const auto logits = model.decoder.compiled.output("logits");
    model.vocab_size = axis(logits, logits.get_partial_shape().rank().get_length() - 1);
}

std::shared_ptr<WhisperModel> load(const WhisperModelOptions& options, const std::string& key, const LoadControl& control) {
    auto result = std::make_shared<WhisperModel>();
    const CompileTarget encoder_target{options.device, effective_properties(options, true), options.cache_dir, key + "|encoder"};
    // The plugin's imported decoder took 1.8 times as long for a token (measured, 2026.4.1), and compiling it is quick: no cache.
    const CompileTarget decoder_target{options.device, effective_properties(options, false), "", ""};
    try {
        control.check();
        auto& timings = result->encoder.timings;
        result->encoder.from_cache = result->encoder.import_blob(encoder_target, &control);
        control.enter(LoadStage::Read);
        StopWatch watch;
        const auto encoder = read_ir(options.encoder), decoder = read_ir(options.decoder);
        timings.read_ms = watch.ms();
        control.enter(LoadStage::Convert);
        watch = {};
        join_cross_attention(encoder, decoder, options.alignment_layers, options.decoder.xml);
        timings.convert_ms = watch.ms();
        control.enter(LoadStage::Compile);
        if (!result->encoder.from_cache) result->encoder.compile(encoder, encoder_target);
        control.check();
        result->decoder.compile(decoder, decoder_target);
        timings.compile_ms += result->decoder.timings.compile_ms;
        if (!result->encoder.from_cache) result->encoder.export_blob(encoder_target, control);
        inspect(*result, options.encoder.xml);
        control.check();
        return result;
    } catch (...) {
        rethrow_load_error(options.device, options.decoder.xml, describe(options.properties));
    }
}

}  // namespace

std::shared_ptr<WhisperModel> open_whisper_model(const WhisperModelOptions& options, const LoadControl& control, bool& shared) {
    static auto* registry = new SharedRegistry<WhisperModel>();  // like the core, it outlives static destruction
    check_device(options.device);
    std::string key = options.model_key + "|" + options.device + "|" + describe(effective_properties(options, true)) + "|" +
                      describe(effective_properties(options, false)) + "|" + ov::get_openvino_version().buildNumber + "|" +
                      kWhisperGraphVersion;
    for (const size_t layer : options.alignment_layers) key += "," + std::to_string(layer);
    return registry->open(key, [&] { return load(options, key, control); }, shared);
}

}  // namespace pergola
