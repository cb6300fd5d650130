#include "gguf/read_gguf.hpp"

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <openvino/frontend/extension/decoder_transformation.hpp>
#include <openvino/frontend/gguf/adapt_to_genai.hpp>
#include <openvino/frontend/gguf/make_stateful.hpp>
#include <openvino/frontend/manager.hpp>

#include "base/error.hpp"
#include "gguf/gguf_merge.hpp"
#include "gguf/gguf_repairs.hpp"

namespace pergola {
namespace {

/// Without it the front end rounds the minimum of every Q4_K block, which changes a model's answers.
void ask_for_exact_weights() {
    static std::once_flag once;
    std::call_once(once, [] { setenv("OV_GGUF_Q4_K_ZP_F16", "1", 0); });
}

/// The front end only takes names that end in ".gguf"; a blob of the Hugging Face cache has none. Others are read through a link.
class NamedGguf {
public:
    explicit NamedGguf(const std::string& path) : path_(path) {
        if (std::filesystem::path(path).extension() == ".gguf") return;
        std::string folder = (std::filesystem::temp_directory_path() / "pergola-XXXXXX").string();
        if (!mkdtemp(folder.data())) throw EngineError::model(path, path + " does not end in .gguf, and no link can be made in " + folder);
        folder_ = folder;
        path_ = folder + "/model.gguf";
        std::filesystem::create_symlink(std::filesystem::absolute(path), path_);
    }
    ~NamedGguf() {
        std::error_code ignored;
        if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
    }
    NamedGguf(const NamedGguf&) = delete;
    NamedGguf& operator=(const NamedGguf&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_, folder_;
};

std::shared_ptr<ov::Model> convert_gguf(const std::string& path) {
    ask_for_exact_weights();
    // The GGUF front end is not in the list that read_model searches, so it is asked for by name.
    ov::frontend::FrontEndManager manager;
    auto front_end = manager.load_by_framework("gguf");
    front_end->add_extension(
        std::make_shared<ov::frontend::DecoderTransformationExtension>(ov::frontend::gguf::pass::GGUFMakeStateful()));
    auto model = front_end->convert(front_end->load(path));
    ov::pass::Manager passes;
    passes.register_pass<ov::frontend::gguf::pass::AdaptToGenAI>();
    passes.run_passes(model);
    repair_gguf_graph(model, {path});
    return model;
}

}  // namespace

std::shared_ptr<ov::Model> read_gguf(const ModelSource& source, const std::string& scratch_folder) {
    const std::string& named = source.main_file();
    try {
        if (source.shards.size() == 1) return convert_gguf(NamedGguf(named).path());
        const MergedGguf merged(source.shards, scratch_folder);
        return convert_gguf(merged.path());
    } catch (const EngineError&) {
        throw;
    } catch (const std::exception& error) {
        const std::string reason = runtime_reason(error.what());
        const GgufSummary summary = summarize_gguf(source.shards);
        // A file that parses and whose tensors lie within it is sound; then the front end lacks support for what it holds.
        throw EngineError::unsupported(
            summary.architecture,
            named + ": OpenVINO's GGUF front end cannot convert this model (architecture \"" + summary.architecture + "\", tensor types " +
                summary.tensor_types + "): " + reason +
                ". Use a file with other tensor types (Q4_0, Q4_1, Q8_0, Q4_K, Q6_K, F16), or an OpenVINO IR export of the model.");
    }
}

}  // namespace pergola
