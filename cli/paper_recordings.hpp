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

/// A command `convcast run` that measures what pages of papers ask for.
struct PlannedRun {
    RecordedOf of;                  ///< what it measures; steps are measured only where there are two GPUs
    std::vector<std::string> words; ///< behind `convcast run`
    std::string file;               ///< that it writes: the value of -o
};

struct MeasurePlan {
    std::vector<PlannedRun> runs;
    std::vector<std::string> left_out; ///< what is not measured, a sentence each: why, and what to type
};

/// The hashes of this program's kernels.
DeviceCode device_code_here();

/// Reads the document of --run FILE, for pages of the GPU `ours`. Throws InputError, with why and what to
/// type, for one that is no run, was measured on another GPU or by another version, or that no page can use.
Recording given_recording(const std::string &file, const GpuProfile &ours);

/// Throws InputError where two of them have the same case or the same part of a network.
void refuse_twice(const std::vector<Recording> &recordings);

/// Plans the commands of --measure, so that pages have what they ask for: what the papers' items ask of
/// studies, and `asked` of networks, without what the recordings `given` have. Their files will be in
/// `folder`. Needs no GPU. Throws UsageError for a wrong --data.
MeasurePlan plan_to_measure(const std::vector<Paper> &papers, const std::set<RecordedOf> &asked,
                            const std::vector<Recording> &given, const GpuProfile &ours,
                            const Arguments &arguments, const std::filesystem::path &folder);

/// The plan as command lines, with what is left out as comments.
std::string to_text(const MeasurePlan &plan);

/// Runs the commands in this process, by the verb `run` itself, and says what is not measured. Returns the
/// files. Throws GpuError where there is no GPU, UsageError where it is another one than `ours`.
std::vector<std::string> measure(const MeasurePlan &plan, const GpuProfile &ours, const Arguments &arguments);

} // namespace convcast::cli
