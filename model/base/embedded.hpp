// Files that are part of the program: device code, shipped profiles, studies, the page's script, recorded
// runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convcast {

struct EmbeddedFile {
    std::string path; ///< relative to the project, e.g. "executor/kernels/row_register.cu"
    std::string_view bytes;
    std::string text() const { return std::string(bytes); }
};

/// The file whose path ends in `/name` or equals it; nullptr if there is none.
const EmbeddedFile *find_embedded(const std::vector<EmbeddedFile> &files, std::string_view name);

/// A file's text as hashes of code take it: an include of a header of model/ names no folder inside model/,
/// so that moving a header leaves recordings tied to the code that they ran.
std::string hashed_text(std::string_view text);

} // namespace convcast
