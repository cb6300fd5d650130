#include "runtime/model_source.hpp"

#include "base/error.hpp"
#include "runtime/core_registry.hpp"

namespace pergola {

std::shared_ptr<ov::Model> read_ir(const ModelSource& source) {
    try {
        return core().read_model(source.xml, source.bin);
    } catch (const std::exception& error) {
        throw EngineError::model(source.xml, source.xml + " is not a readable OpenVINO model (with weights " + source.bin +
                                                 "): " + runtime_reason(error.what()));
    }
}

}  // namespace pergola
