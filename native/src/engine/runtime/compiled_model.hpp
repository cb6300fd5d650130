#pragma once

#include <functional>
#include <memory>
#include <openvino/openvino.hpp>
#include <string>

#include "runtime/blob_cache.hpp"
#include "runtime/load_control.hpp"

namespace pergola {

/// For what a model is compiled, and under which name the result is kept.
struct CompileTarget {
    std::string device;
    ov::AnyMap properties;
    std::string cache_dir;  // "" = no compile cache
    std::string key;
};

/// What all opened models are: compiled, or imported from the compile cache.
struct CompiledModel {
    std::shared_ptr<BlobCache::Mapping> blob;  // what `compiled` was imported from; declared first, so it goes last
    ov::CompiledModel compiled;
    std::string device;
    std::string note;  // remembered beside the blob
    bool from_cache = false;
    LoadTimings timings;

    /// Imports the model where the cache holds it; else compiles what `make` gives, and exports that into the cache.
    void load(const CompileTarget& target, const LoadControl& control, const std::function<std::shared_ptr<ov::Model>()>& make);

    // The steps of `load`.

    /// False when the cache has no such model, or one that cannot be used any more. `control`: is told of the stage; may be null.
    bool import_blob(const CompileTarget& target, const LoadControl* control);
    void compile(const std::shared_ptr<ov::Model>& model, const CompileTarget& target);
    void export_blob(const CompileTarget& target, const LoadControl& control);
};

}  // namespace pergola
