#include "whisper_model.hpp"

#include <openvino/op/ops.hpp>

#include "core_registry.hpp"
#include "error.hpp"
#include "load_support.hpp"

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
    for (const auto& input : model.encoder.inputs()) {
        model.mel_bins = axis(input, 1);
        model.window_frames = axis(input, 2);
    }
    if (model.mel_bins == 0 || model.window_frames == 0)
        throw EngineError::model(file, file + " is no Whisper encoder: its input is not a spectrogram of fixed size");
    for (const auto& input : model.decoder.inputs())
        for (const auto& name : input.get_names()) model.layers += name.rfind("cross.key.", 0) == 0;
    const auto logits = model.decoder.output("logits");
    model.vocab_size = axis(logits, logits.get_partial_shape().rank().get_length() - 1);
}

std::shared_ptr<WhisperModel> load(const WhisperModelOptions& options, const std::string& key, const LoadControl& control) {
    auto result = std::make_shared<WhisperModel>();
    result->device = options.device;
    const BlobCache cache(options.cache_dir);
    const std::string encoder_key = key + "|encoder";
    try {
        control.check();
        StopWatch watch;
        if (const auto blob = cache.find(encoder_key)) {
            control.enter(LoadStage::Import);
            try {
                result->encoder = core().import_model(blob->data, options.device, effective_properties(options, true));
                result->blob = blob->file;
                result->from_cache = true;
            } catch (const std::exception&) {
                cache.remove(encoder_key);  // of another build, or damaged: made again below
            }
            result->timings.import_ms = watch.ms();
        }
        control.enter(LoadStage::Read);
        watch = {};
        const auto encoder = read_ir(options.encoder), decoder = read_ir(options.decoder);
        result->timings.read_ms = watch.ms();
        control.enter(LoadStage::Convert);
        watch = {};
        join_cross_attention(encoder, decoder, options.alignment_layers, options.decoder.xml);
        result->timings.convert_ms = watch.ms();
        control.enter(LoadStage::Compile);
        watch = {};
        if (!result->from_cache) result->encoder = core().compile_model(encoder, options.device, effective_properties(options, true));
        control.check();
        // Always compiled: the plugin's imported decoder took 1.8 times as long for a token (measured, 2026.4.1), and compiling it is quick.
        result->decoder = core().compile_model(decoder, options.device, effective_properties(options, false));
        result->timings.compile_ms = watch.ms();
        if (!result->from_cache) {
            control.enter(LoadStage::Export);
            cache.store(encoder_key, "", [&](std::ostream& out) { result->encoder.export_model(out); });
        }
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
