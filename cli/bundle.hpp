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
#include <vector>

namespace convcast::cli {

/// Texts by their path in the archive.
using BundleFiles = std::map<std::string, std::string>;

/// What a report was made of: the run with its forecasts, the profile, facts and calibration behind them,
/// studies, versions, and the commands that make it again.
BundleFiles documents_of(const Run &run, const std::optional<GpuProfile> &profile,
                         const std::optional<Knowledge> &knowledge, const std::vector<Study> &studies,
                         const std::vector<std::string> &words);

/// Adds the files of a folder and of those in it, under the same names; what begins with a dot stays out.
void add_folder(BundleFiles &files, const std::filesystem::path &folder);

/// An archive in the ustar format, in the order of the names. Everything in it has the time of
/// SOURCE_DATE_EPOCH, or of 1980 where that is not set: equal files give equal bytes.
std::string tar_of(const BundleFiles &files, const std::string &folder);

/// Throws UsageError unless the name ends in .tar, .tar.gz or .tgz.
void check_bundle_name(const std::string &file);

/// Writes the archive, packed by gzip unless it ends in .tar. In it is one folder of the archive's own name.
void write_bundle(const std::string &file, const BundleFiles &files);

} // namespace convcast::cli
