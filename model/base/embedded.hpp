// Files compiled into the binary: device code, shipped profiles, studies, the page's script, recorded runs.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

struct EmbeddedFile {
    std::string path; ///< relative to the project, e.g. "executor/kernels/row_register.cu"
    std::string text;
};

/// A file's bytes, for example packed ones, in pieces.
struct EmbeddedBytes {
    std::string_view path; ///< relative to the project
    std::vector<std::string_view> pieces;
};

std::string join_text(std::initializer_list<std::string_view> pieces);

/// The file whose path ends in `/name` or equals it; nullptr if there is none.
const EmbeddedFile *find_embedded(const std::vector<EmbeddedFile> &files, std::string_view name);

} // namespace convcast
