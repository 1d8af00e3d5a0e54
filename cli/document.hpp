// Documents that a verb reads, and the care that none of them is written over.
#pragma once

#include "cli/arguments.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
struct FigureFiles;
}

namespace convcast::cli {

/// What a word of the command line names: a profile or a network that ships, or a document, - for standard
/// input.
struct NamedDocument {
    std::string name;
    std::string shown; ///< the name in messages
    /// The whole file; absent for what ships, and for a document of lines, which may be longer than memory.
    std::optional<std::string> text;
    std::string schema; ///< "convcast/run/1"; "onnx" of an ONNX file; "" where it says none

    /// Whether it is a document of this kind: "run", "profile", ...
    bool is_a(const std::string &kind) const { return schema.starts_with("convcast/" + kind + "/"); }

    /// Throws InputError or UsageError where it is none.
    GpuProfile profile() const;
    /// As read_document. `each` sees, and may change, each piece of a document of lines, or else the whole as
    /// one piece; `of` is the number of cases of the whole document.
    Run run(const std::function<void(Run &piece, std::size_t of)> &each = {}) const;
};
/// Finds out what a name means. Does not throw where there is no such thing: whoever reads it then says so.
NamedDocument look_at(const std::string &name);

/// Reads a Run document, - for standard input. Says on standard error which cases cannot be read; they are in
/// Run::unread. Throws InputError where nothing can be read, and for an answer for several GPUs.
Run read_document(const std::string &file);

/// Calls `take` for each piece of a document of lines (model/record/run_lines.hpp); `of` is the number of
/// cases of the whole document. Says at the end which cases cannot be read.
void read_document_pieces(const std::string &file,
                          const std::function<void(Run piece, std::size_t of)> &take);

/// Exit code of a verb that did what it was asked for: 1 where a case was left out because it cannot be read.
inline int code_of(const Run &document) {
    return document.unread.empty() ? 0 : 1;
}

/// Whether any case of the run has times that convcast measured, not only times from elsewhere.
bool measured(const Run &run);

/// For a run `now` that goes on with the document `earlier` of `file`. Throws InputError if `earlier` was
/// measured by other code (device code, measuring code, or a kernel added later), since one document holds
/// the numbers of one version, or if it was forecast from another profile.
void require_same_origin(const Run &earlier, const Run &now, const std::string &file);

/// Takes over what the earlier run of `file` measured, and the cases that it found unsupported: into the same
/// cases of `run`, and behind them where `run` does not have them, so that nothing recorded is lost. Says on
/// standard error how many. Throws InputError where `earlier` is of another origin or number of SMs.
void resume(Run &run, const std::string &file);

/// How many cases failed or gave a wrong result.
std::ptrdiff_t wrong_cases(const std::vector<Case> &cases);

/// What a verb does with the document RUN, and with that of --resume.
enum class Documents {
    read,   ///< its answer is another document, which must not take the place of the one that it read
    filled, ///< it may write the document back with more in it, as nothing in it is lost
};

/// Names on standard error the files of a figure that were written.
void say_what_is_written(const FigureFiles &written);

/// Throws UsageError where a file that the command reads would be written over: by -o, by the figure of
/// `choose` or the diagram of `predict` with what lies beside them, an archive, samples or weights. Links to
/// a file count as the file, and a kernel's source and its includes as read.
void refuse_overwriting(const Arguments &arguments, Documents documents = Documents::read);

/// The same for the `folder` of `option`, which gets a page, figures, tables, and the files `besides`.
void refuse_overwriting_in(const std::string &folder, const Arguments &arguments,
                           const std::vector<std::string> &besides = {}, const std::string &option = "-o");

/// The same for the figure `id` that -o names a file or a folder for.
void refuse_overwriting_by_figure(const std::string &id, const Arguments &arguments);

/// Throws UsageError where a folder is to be made under a name that ends as a file's, as in -o x.png. `holds`
/// says what it would hold, and `for_a_file` what to type where a file was meant.
void refuse_file_name(const Arguments &arguments, const std::string &option, const std::string &folder,
                      const std::string &holds, const std::string &for_a_file = "");

} // namespace convcast::cli
