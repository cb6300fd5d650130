#include "models/language_model.hpp"

#include <algorithm>

#include <malloc.h>

#include "base/error.hpp"
#include "base/stop_watch.hpp"
#include "gguf/read_gguf.hpp"
#include "rewrite/paged_import.hpp"
#include "rewrite/transforms.hpp"
#include "runtime/core_registry.hpp"
#include "runtime/properties.hpp"

namespace pergola {
namespace {

// Part of the blob's key: raise it when transforms.cpp or the choice of properties changes what is compiled.
constexpr const char* kGraphVersion = "7";
constexpr size_t kInt8GroupSize = 64;

ov::AnyMap effective_properties(const LanguageModelOptions& options) {
    ov::AnyMap properties = options.properties;
    if (runs_on_cpu(options.device)) {
        // Exact arithmetic is the default. With activations in bf16 or int8, or keys in 8 bits, a small model says other things, and
        // what it says depends on what else is in the batch (docs/performance.md has the figures).
        prefer(properties, "INFERENCE_PRECISION_HINT", "f32");
        prefer(properties, "DYNAMIC_QUANTIZATION_GROUP_SIZE", "0");
        // The plugin's attention takes keys in the precision it computes in, or narrower ones.
        const std::string precision = asked_precision(properties);
        const bool narrow = precision == "bf16" || precision == "f16";
        if (options.kv_precision == (narrow ? "f32" : "bf16")) {
            EngineError error(ErrorCode::Option, "kvCache.precision \"" + options.kv_precision + "\" does not go with computing in " + precision + " on " +
                                                     options.device + "; use " + (narrow ? "\"" + precision + "\" or \"u8\"" : "\"f32\", \"f16\" or \"u8\"") +
                                                     ", or another INFERENCE_PRECISION_HINT in properties");
            error.subject = "kvCache.precision";
            throw error;
        }
        prefer(properties, "KV_CACHE_PRECISION", narrow ? precision : std::string("f32"));
    }
    if (!options.kv_precision.empty()) properties["KV_CACHE_PRECISION"] = options.kv_precision;
    return properties;
}

std::string full_key(const LanguageModelOptions& options, const ov::AnyMap& properties) {
    static const char* attention[] = {"auto", "paged", "stateful"};
    return options.model_key + "|" + options.device + "|" + describe(properties) + "|" + attention[static_cast<int>(options.attention)] + "|" +
           (options.int8_weights ? "int8" : "file") + "|" + ov::get_openvino_version().buildNumber + "|" + kGraphVersion;
}

template <typename Model>
bool gives_hidden(const Model& model) {
    const auto& outputs = model.outputs();
    return std::none_of(outputs.begin(), outputs.end(), [](const auto& output) { return output.get_names().count("logits") > 0; });
}

void check_contract(const ov::Model& model, const std::string& file) {
    const auto named = [](const auto& ports, const std::string& name) {
        return std::any_of(ports.begin(), ports.end(), [&](const auto& port) { return port.get_names().count(name) > 0; });
    };
    const bool takes = named(model.inputs(), "input_ids") || named(model.inputs(), "inputs_embeds");
    const bool gives = named(model.outputs(), "logits") || named(model.outputs(), "last_hidden_state");
    if (!takes || !gives)
        throw EngineError::model(file, file + " is not a decoder-only language model: it needs an input \"input_ids\" (or \"inputs_embeds\") and an " +
                                           "output \"logits\" (or \"last_hidden_state\")");
}

/// The model as its file has it, rewritten so that the CPU's kernels suit it. Other plugins have fusions of their own.
std::shared_ptr<ov::Model> read(const LanguageModelOptions& options) {
    const bool is_ir = options.source.kind == ModelSource::Kind::Ir;
    auto model = is_ir ? read_ir(options.source) : read_gguf(options.source, options.cache_dir);
    check_contract(*model, options.source.main_file());
    if (runs_on_cpu(options.device)) {
        // Exports of optimum-intel round them too, and are used as they are everywhere; only the Janus notebook's layout is mended.
        if (gives_hidden(*model)) repair_rope_frequencies(model);
        rotate_by_halves(model);
        fuse_projections(model);
    }
    return model;
}

/// The graph to compile, and whether it is the paged one.
std::shared_ptr<ov::Model> prepare(const LanguageModelOptions& options, LanguageModel& result, const LoadControl& control) {
    const std::string& file = options.source.main_file();
    StopWatch watch;
    control.enter(LoadStage::Read);
    auto model = read(options);
    result.timings.read_ms = watch.ms();
    control.enter(LoadStage::Convert);
    watch = {};
    if (options.attention != Attention::Stateful) {
        try {
            make_paged(model);
            result.paged = true;
        } catch (const std::exception& error) {
            const std::string reason = runtime_reason(error.what());
            if (options.attention == Attention::Paged)
                throw EngineError::unsupported("paged attention", file + " cannot use paged attention: " + reason + ". Use attention: \"stateful\"");
            result.note = reason;
            model = read(options);  // the failed pass left the graph half changed
        }
    }
    control.check();
    if (options.int8_weights) round_weights_to_int8(model, kInt8GroupSize);
    // The GGUF front end's stateful graph selects the last token itself (in its paged form that selection has no effect).
    if (result.paged || options.source.kind == ModelSource::Kind::Ir) gather_sampled_rows(model);
    result.timings.convert_ms = watch.ms();
    return model;
}

void inspect(LanguageModel& model) {
    model.paged = model.has_input("block_indices");
    model.gathers_rows = model.has_input("sampled_rows");
    const auto last_axis = [](const ov::PartialShape& shape) {
        const auto& axis = shape[shape.rank().get_length() - 1];
        return axis.is_static() ? static_cast<size_t>(axis.get_length()) : 0;
    };
    model.gives_hidden = gives_hidden(model.compiled);
    model.output_width = last_axis(model.compiled.output(model.output_name()).get_partial_shape());
    model.takes_rows = model.has_input("inputs_embeds");
    if (model.has_input("position_ids")) {
        const auto shape = model.compiled.input("position_ids").get_partial_shape();
        // [axes, tokens] paged, [axes, batch, tokens] stateful.
        if (shape.rank().get_length() == (model.paged ? 2 : 3) && shape[0].is_static()) model.position_axes = static_cast<size_t>(shape[0].get_length());
    }
}

std::shared_ptr<LanguageModel> load(const LanguageModelOptions& options, const ov::AnyMap& properties, const std::string& key,
                                    const LoadControl& control) {
    static std::once_flag readable;
    std::call_once(readable, [] { enable_paged_import(core()); });
    auto result = std::make_shared<LanguageModel>();
    if (const auto found = properties.find("KV_CACHE_PRECISION"); found != properties.end()) result->kv_precision = found->second.as<std::string>();
    const CompileTarget target{options.device, properties, options.cache_dir, key};
    try {
        result->load(target, control, [&] { return prepare(options, *result, control); });
        // Weights that were rewritten (stacked projections) are in memory of this process; the blob's pages are the file's.
        if (!result->from_cache) result->import_blob(target, nullptr);
        inspect(*result);
        control.check();
        return result;
    } catch (...) {
        rethrow_load_error(options.device, options.source.main_file(), describe(options.properties));
    }
}

}  // namespace

bool LanguageModel::has_input(const std::string& name) const {
    const auto& inputs = compiled.inputs();
    return std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.get_names().count(name) > 0; });
}

void LanguageModel::drop_load_memory() const {
    if (blob) blob->drop_pages();
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

std::shared_ptr<LanguageModel> open_language_model(const LanguageModelOptions& options, const LoadControl& control, bool& shared) {
    static auto* registry = new SharedRegistry<LanguageModel>();  // like the core, it outlives static destruction
    check_device(options.device);
    const ov::AnyMap properties = effective_properties(options);
    const std::string key = full_key(options, properties);
    return registry->open(key, [&] { return load(options, properties, key, control); }, shared);
}

}  // namespace pergola
