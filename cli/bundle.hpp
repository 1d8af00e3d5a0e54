// One archive with everything that a report stands on, so that somebody else can look at it and make it
// again.
#pragma once

#include "model/machine/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "model/record/study.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast::cli {

/// The files of an archive by their path in it: each is a text, or a file on disk that holds it.
using BundleFiles = std::map<std::string, std::variant<std::string, std::filesystem::path>>;

/// A word of a command line as a shell takes it, in quotes where it needs them.
std::string shell_word(const std::string &word);

/// The files that a report was made of: the run with its forecasts, profile, facts and calibration if at
/// hand, studies, versions, and the commands that make it again. `words` are those behind `convcast report`.
/// Of a run of very many cases the file `lines` is the document, and `run` has only what a page shows.
BundleFiles documents_of(const Run &run, const std::optional<std::filesystem::path> &lines,
                         const std::optional<GpuProfile> &profile, const std::optional<Knowledge> &knowledge,
                         const std::vector<Study> &studies, const std::vector<std::string> &words);

/// All files of a folder and of the folders in it, by their paths in it.
std::map<std::string, std::filesystem::path> files_in(const std::filesystem::path &folder);

/// Throws UsageError unless the name ends in .tar, .tar.gz or .tgz.
void check_bundle_name(const std::string &file);

/// Writes the archive in the ustar format, packed by gzip unless it ends in .tar. In it is one folder of the
/// archive's own name, its files in the order of their names. Everything has the time of SOURCE_DATE_EPOCH,
/// or of 1980 where that is not set: equal files give equal bytes. Throws InputError.
void write_bundle(const std::string &file, const BundleFiles &files);

} // namespace convcast::cli
