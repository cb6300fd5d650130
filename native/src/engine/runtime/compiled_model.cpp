#include "runtime/compiled_model.hpp"

#include "base/stop_watch.hpp"
#include "runtime/core_registry.hpp"

namespace pergola {

void CompiledModel::load(const CompileTarget& target, const LoadControl& control, const std::function<std::shared_ptr<ov::Model>()>& make) {
    control.check();
    from_cache = import_blob(target, &control);
    if (!from_cache) {
        const auto model = make();
        control.enter(LoadStage::Compile);
        compile(model, target);
        export_blob(target, control);
    }
    control.check();
}

bool CompiledModel::import_blob(const CompileTarget& target, const LoadControl* control) {
    const StopWatch watch;
    const BlobCache cache(target.cache_dir);
    const auto found = cache.find(target.key);
    if (!found) return false;
    if (control) control->enter(LoadStage::Import);
    bool imported = false;
    try {
        compiled = core().import_model(found->data, target.device, target.properties);
        blob = found->file;
        device = target.device;
        note = found->note;
        imported = true;
    } catch (const std::exception&) {
        cache.remove(target.key);  // written by another build of the runtime, or damaged: made again
    }
    timings.import_ms += watch.ms();
    return imported;
}

void CompiledModel::compile(const std::shared_ptr<ov::Model>& model, const CompileTarget& target) {
    const StopWatch watch;
    compiled = core().compile_model(model, target.device, target.properties);
    device = target.device;
    timings.compile_ms += watch.ms();
}

void CompiledModel::export_blob(const CompileTarget& target, const LoadControl& control) {
    control.enter(LoadStage::Export);
    BlobCache(target.cache_dir).store(target.key, note, [&](std::ostream& out) { compiled.export_model(out); });
}

}  // namespace pergola
