// Files that are part of the program: device code, shipped profiles, studies, the page's script, recorded
// runs.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace convcast {

struct EmbeddedFile {
    std::string path; ///< relative to the project, e.g. "executor/kernels/row_register.cu"
    std::string_view bytes;
    std::string text() const { return std::string(bytes); }
};

/// The file whose path ends in `/name` or equals it; nullptr if there is none.
const EmbeddedFile *find_embedded(const std::vector<EmbeddedFile> &files, std::string_view name);

/// What files are called: their names without folder and ending.
std::vector<std::string> names_of(const std::vector<EmbeddedFile> &files);

/// What `read(text, file)` makes of each of the files.
template <class Read> auto read_each(const std::vector<EmbeddedFile> &files, const Read &read) {
    std::vector<std::invoke_result_t<Read, std::string, std::string>> all;
    for (const EmbeddedFile &file : files)
        all.push_back(read(file.text(), file.path));
    return all;
}

/// A text, what messages call it, and whether it is part of the program.
struct NamedText {
    std::string text, place;
    bool ships = false;
};

/// What stands behind a name: one of the files `shipped` by what it is called, else a file, - for standard
/// input. Throws InputError, and UsageError for a name that is neither: it names `kind`, what there is, and
/// `or_else`.
NamedText named_file(const std::string &kind, const std::string &name,
                     const std::vector<EmbeddedFile> &shipped, const std::string &or_else);

/// A file's text as hashes of code take it: an include of a header of model/ names no folder inside model/,
/// so that moving a header leaves recordings tied to the code that they ran.
std::string hashed_text(std::string_view text);

} // namespace convcast
