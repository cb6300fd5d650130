#pragma once

#include <filesystem>
#include <string>

#include "support/files.hpp"
#include "support/json.hpp"

namespace pergola::test {

/// Expected values of references, made by the scripts beside them in native/test/fixtures.
inline std::string reference_file(const std::string& name) {
    return (std::filesystem::path(__FILE__).parent_path() / ".." / "fixtures" / name).lexically_normal().string();
}

inline Json reference(const std::string& name) { return JsonReader(read_file(reference_file(name))).read(); }

}  // namespace pergola::test
