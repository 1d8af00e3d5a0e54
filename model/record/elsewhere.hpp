// Times that were measured elsewhere: by another program, on another day, by somebody else. They stand beside
// ours and are never part of a statistic of ours.
#pragma once

#include "model/record/run.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Cases of them are baselines of this prefix and the name that the user gave.
inline constexpr const char *elsewhere_prefix = "elsewhere:";
bool is_elsewhere(const std::string &baseline);
bool is_elsewhere(const Case &item);

/// Measurement::method of such a time.
inline constexpr const char *elsewhere_method = "elsewhere";

/// A case of "n1c64h56w56k64r3s3 cudnn_v7 12.3us", as `source` says it. Units: s, ms, us, ns. Throws
/// UsageError.
Case parse_elsewhere(const std::string &text, const std::string &source);

/// Of a table in CSV whose first line names its columns: shape, name, and time with a unit or time_s,
/// time_ms, time_us or time_ns without; others are left alone. Throws InputError with all problems.
std::vector<Case> read_elsewhere(const std::string &csv, const std::string &file);

} // namespace convcast
