// Files that the build puts into the program: device code, profiles, studies, the page's script, runs.
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

/// The names of files, in their order, without folder and ending: "h200" of "profiles/h200.json".
std::vector<std::string> names_of(const std::vector<EmbeddedFile> &files);

/// Calls `read(text, path)` for each of the files and returns what it returned, in their order.
template <class Read> auto read_each(const std::vector<EmbeddedFile> &files, const Read &read) {
    std::vector<std::invoke_result_t<Read, std::string, std::string>> all;
    for (const EmbeddedFile &file : files)
        all.push_back(read(file.text(), file.path));
    return all;
}

struct NamedText {
    std::string text, place; ///< place: what messages call it
    bool ships = false;      ///< whether it is part of the program
};

/// The text that an option's value `name` stands for: one of the files `shipped` by its name (names_of), else
/// the file of that path, or standard input for "-". Throws InputError for an unreadable file, UsageError for
/// a name that is neither: it has `kind` ("study") and the names that ship, and ends with `or_else`.
NamedText named_file(const std::string &kind, const std::string &name,
                     const std::vector<EmbeddedFile> &shipped, const std::string &or_else);

/// A source file's text as it enters the hashes of code in recordings: includes of model/ headers lack the
/// folder, so that moving a header inside model/ does not make recordings look outdated.
std::string hashed_text(std::string_view text);

} // namespace convcast
