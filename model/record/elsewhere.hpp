// Times that were measured elsewhere: by another program, on another day, by somebody else. They stand beside
// ours and are never part of a statistic of ours.
#pragma once

#include "model/record/run.hpp"

#include <string>
#include <vector>

namespace convcast {

/// A case of such a time has a baseline of this prefix and the name that the user gave.
inline constexpr const char *elsewhere_prefix = "elsewhere:";
bool is_elsewhere(const std::string &baseline);
bool is_elsewhere(const Case &item);

/// Measurement::method of such a time.
inline constexpr const char *elsewhere_method = "elsewhere";

/// The case that --time gives: a shape, a name and a time with a unit of s, ms, us or ns, as in
/// "n1c64h56w56k64r3s3 cudnn_v7 12.3us". `source` is noted as where it is from. Throws UsageError.
Case parse_elsewhere(const std::string &text, const std::string &source);

/// The cases of a table in CSV, the file of --times. Its first line names its columns: shape, name, and
/// either time, with a unit in each cell, or time_s, time_ms, time_us or time_ns. Throws InputError.
std::vector<Case> read_elsewhere(const std::string &csv, const std::string &file);

} // namespace convcast
