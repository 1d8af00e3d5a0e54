// reproduce --run and --measure: recordings that were made before, and those that are made now.
#pragma once

#include "cli/arguments.hpp"
#include "model/machine/profile.hpp"
#include "model/record/paper.hpp"
#include "reports/papers/recordings.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace convcast::cli {

/// A command `convcast run` with its words, whose answer is a file.
struct PlannedRun {
    RecordedOf of;                  ///< what it measures; steps only where there are two GPUs
    std::vector<std::string> words; ///< behind `convcast run`
    std::string file;               ///< of -o
};

struct MeasurePlan {
    std::vector<PlannedRun> runs;
    std::vector<std::string> left_out; ///< what is not measured, a sentence each: why, and what to type
};

/// That of this program.
DeviceCode device_code_here();

/// The document of --run FILE. Throws InputError, with why and what to type, for one that is no run, was
/// measured on another GPU, or holds nothing that a paper's page may use.
Recording given_recording(const std::string &file, const GpuProfile &ours);

/// Throws InputError where two of them have the same case or the same part of a network.
void refuse_twice(const std::vector<Recording> &recordings);

/// What --measure runs so that the pages have what they ask for: `asked`, without what `given` has. The files
/// are in `folder`. Needs no GPU.
MeasurePlan plan_to_measure(const std::vector<Paper> &papers, const std::set<RecordedOf> &asked,
                            const std::vector<Recording> &given, const GpuProfile &ours,
                            const Arguments &arguments, const std::filesystem::path &folder);

/// The plan as command lines, with what is left out as comments.
std::string to_text(const MeasurePlan &plan);

/// Runs the commands in this process, by the verb `run` itself. Returns the files. Throws GpuError where
/// there is no GPU, UsageError where it is another one than `ours`.
std::vector<std::string> measure(const MeasurePlan &plan, const GpuProfile &ours, const Arguments &arguments);

} // namespace convcast::cli
