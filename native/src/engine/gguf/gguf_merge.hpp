#pragma once

#include <string>
#include <vector>

namespace pergola {

struct GgufSummary {
    std::string architecture;  // "" when the file does not name one
    std::string tensor_types;  // for messages: "Q4_1, F32"
};

/// Reads headers only. Throws `model` for files that are no sound GGUF.
GgufSummary summarize_gguf(const std::vector<std::string>& shards);

/// Joins the shards of a split GGUF into one temporary file and removes it again. Metadata comes from the first shard (without the
/// `split.*` keys), tensors keep their bytes. Layout: GGUF v2/v3, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
class MergedGguf {
public:
    MergedGguf(const std::vector<std::string>& shards, const std::string& folder);
    ~MergedGguf();
    MergedGguf(const MergedGguf&) = delete;
    MergedGguf& operator=(const MergedGguf&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace pergola
