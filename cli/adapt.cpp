#include "cli/device.hpp"
#include "cli/document.hpp"
#include "cli/forecasts.hpp"
#include "cli/measure.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "microbench/analysis.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/fit/adapted.hpp"
#include "model/fit/facts_of_counters.hpp"
#include "model/machine/architecture.hpp"
#include "model/record/measured_calls.hpp"
#include "model/record/run_lines.hpp"
#include "model/record/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace convcast::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Conditions = std::map<std::string, std::string>;

constexpr const char *training_study = "adapt"; ///< of data/studies
constexpr int chosen_of_a_layer =
    3; ///< settings that `choose` ranks first are run too, so many of each layer

/// The folder of -o, without a / at its end. Throws UsageError for a name that ends as a file's.
FolderOfGpu folder_of(const Arguments &arguments) {
    std::string folder = arguments.text("output", "");
    refuse_file_name(arguments, "-o", folder, "profile, run and calibration");
    while (folder.size() > 1 && folder.back() == '/')
        folder.pop_back();
    return {folder};
}

/// Makes the folder. Throws, before any work, where it cannot be written or its README is not adapt's.
void make_folder(const FolderOfGpu &files) {
    std::filesystem::create_directories(files.folder);
    if (file_exists(files.readme()) && !file_exists(files.calibration()))
        throw UsageError(
            "adapt: " + files.readme() +
            " was not written by adapt, which would replace it; give another folder, for example "
            "convcast adapt -o my_gpu");
    for (const std::string &file :
         {files.samples(), files.profile(), files.run(), files.facts(), files.calibration(), files.readme()})
        check_writable(file);
}

/// Sentences for refusals: what to type to measure anew, or to use what is there.
std::string anew(const FolderOfGpu &files) {
    return "To measure anew give another folder, for example convcast adapt -o " + files.folder +
           "_2; to fit what is there without a GPU, hide this one: CUDA_VISIBLE_DEVICES= convcast adapt -o " +
           files.folder;
}

/// Throws UsageError where samples or a profile, `file`, were taken on another GPU, with another driver or
/// with other probes: `then` has their conditions, `now` those of gpu_at_hand.
void require_same_gpu(const FolderOfGpu &files, const std::string &file, const Conditions &then,
                      const Conditions &now) {
    for (const auto &[condition, words] : Conditions{
             {"gpu", "on another GPU"}, {"driver", "with another driver"}, {"probes", "with other probes"}})
        if (then.contains(condition) && then.at(condition) != now.at(condition))
            throw UsageError(fmt::format("adapt: {} was measured {}, {}; here it is {}. {}", file, words,
                                         then.at(condition), now.at(condition), anew(files)));
}

/// Throws UsageError where the run has kernels of another version.
void require_same_version(const FolderOfGpu &files, const Run &earlier) {
    if (measured(earlier) && (earlier.producer.device_code_hash != producer().device_code_hash ||
                              earlier.producer.measuring_code_hash != producer().measuring_code_hash))
        throw UsageError(
            "adapt: " + files.run() + " was measured by another version, " + earlier.producer.version +
            " with device code " + earlier.producer.device_code_hash.substr(0, 8) + "; this one is " +
            producer().version + " with " + producer().device_code_hash.substr(0, 8) + ". " + anew(files));
}

/// Says on standard error what of `convcast doctor` does not work here.
void say_what_is_absent() {
    for (const Finding &finding : examine_device())
        if (finding.health != Health::works)
            note(finding.what + ": " + finding.detail);
}

/// The folder's profile of the GPU at hand, or one measured now, from the folder's samples on, and written.
GpuProfile measured_profile(const FolderOfGpu &files, int device) {
    const Conditions now = gpu_at_hand(device);
    if (file_exists(files.profile())) {
        GpuProfile profile = find_profile(files.folder);
        require_same_gpu(files, files.profile(), profile.conditions, now);
        return profile;
    }
    SamplesRequest request;
    request.device = device;
    if (file_exists(files.samples())) {
        request.resume = samples_of_file(files.samples());
        require_same_gpu(files, files.samples(), request.resume->conditions, now);
    }
    const RawSamples raw = kept_samples(std::move(request), files.samples());
    write_file_atomically(files.profile(), write_profile(analyze(raw, profile_id_of(raw.name))));
    return find_profile(files.folder);
}

/// Runs the layers of the study on the GPU at hand but those that the folder has; no case is started after
/// `until`. The folder's run is written as cases finish, and when an interrupt ends the program.
Run training_run(const FolderOfGpu &files, const GpuProfile &profile, const Knowledge &knowledge, int device,
                 Clock::time_point until) {
    Question question;
    question.profile = profile;
    question.knowledge = knowledge;
    for (const std::string &shape : find_study(training_study).shapes)
        question.shapes.push_back({.shape = ConvShape::parse(shape), .study = training_study});
    Run run = new_run(question, predict_all(question, {.best = chosen_of_a_layer}));
    if (file_exists(files.run())) {
        require_same_version(files, read_document(files.run()));
        resume(run, files.run());
        note_knowledge(run, knowledge);
    }
    RunRequest request;
    request.device = device;
    request.until = until;
    request.keep = [&](const Run &so_far) { write_run_file(files.run(), so_far); };
    request.last_words = [&](const Run &so_far) {
        note("interrupted; what was measured is kept, and the same command goes on");
        write_run_file(files.run(), so_far);
    };
    request.exact_fmas = false; // facts and calibration do not need them
    const RunEnd end = run_on_device(run, profile, request);
    write_run_file(files.run(), run);
    if (end == RunEnd::incomplete)
        note(fmt::format("the time is over and {} of {} cases were not run; the same command runs them",
                         std::ranges::count_if(run.cases, [](const Case &item) { return is_open(item); }),
                         run.cases.size()));
    if (end == RunEnd::device_lost)
        throw GpuError("the GPU stopped answering; finished cases are kept, and the same command goes on");
    return run;
}

/// Writes the facts that the counters of the run give of the kernels, for a compute capability without facts
/// that ship; says so where no kernel was counted often enough.
void write_own_facts(const FolderOfGpu &files, const Run &run, const GpuProfile &profile) {
    Facts facts = derive_facts(counted_calls(run, profile, WhichCalls::all), Gpu(profile).architecture);
    facts.architecture = architecture_of(profile);
    facts.device_code_hash = run.producer.device_code_hash;
    if (facts.kernels.empty()) {
        std::filesystem::remove(files.facts()); // of a run before this one
        note(
            "no facts: no kernel was counted in " + std::to_string(least_cases) +
            " calls; forecasts are those without counters. If counters were not permitted, `convcast doctor` "
            "says what to do");
        return;
    }
    write_file_atomically(files.facts(), write_facts(facts));
}

/// The text of the folder's README. The calibration must be of adapted(), which has `test`.
std::string readme_of(const FolderOfGpu &files, const GpuProfile &profile, const Run &run,
                      const Calibration &calibration, std::size_t width) {
    std::set<std::string> layers;
    for (const Case &item : run.cases)
        if (item.strategy && !item.measurements.empty())
            layers.insert(item.shape);
    const std::string date = calibration.profile.date.value_or("an unknown date").substr(0, 10);
    return wrapped(
               fmt::format("{}, measured on {} by convcast {}.", profile.name, date, run.producer.version), 0,
               width) +
           "\n" +
           wrapped(fmt::format(
                       "A forecast of a layer that was not measured is off by {:.1f} % in the mean. This is "
                       "the error of {} calls of {} layers, each layer forecast by a fit to the others. "
                       "With nothing fitted it is {:.1f} %. Nine of ten times lie in their interval, "
                       "which goes from {:+.0f} % to {:+.0f} % for a typical call.",
                       100.0 * calibration.test->fitted, calibration.cases, layers.size(),
                       100.0 * calibration.test->assumed, 100.0 * (calibration.ratio_p05 - 1.0),
                       100.0 * (calibration.ratio_p95 - 1.0)),
                   0, width) +
           "\nTo use it:\n\n    convcast choose --gpu " + files.folder + " --shape n1c64h56w56k64r3s3\n";
}

} // namespace

int adapt(const Arguments &arguments) {
    const Clock::time_point until = Clock::now() + std::chrono::minutes(arguments.integer("minutes"));
    const FolderOfGpu files = folder_of(arguments);
    const int device = arguments.integer("device");
    const std::optional<std::string> no_gpu = why_not_run(device);
    const bool measured_before = file_exists(files.profile()) && file_exists(files.run());
    if (no_gpu && !measured_before)
        throw GpuError("adapt: " + files.folder + " lacks what is measured on a GPU: " + *no_gpu);
    make_folder(files);
    if (no_gpu)
        note("no GPU is used, and " + files.folder + " is fitted to what was measured before: " + *no_gpu);
    else
        say_what_is_absent();

    const GpuProfile profile = no_gpu ? find_profile(files.folder) : measured_profile(files, device);
    GpuProfile bare = profile; // without the folder's facts and calibration, which are made of the run below
    bare.folder.clear();
    const Knowledge shipped = knowledge_for(bare);
    const Run run = no_gpu ? read_document(files.run()) : training_run(files, bare, shipped, device, until);
    if (run.profile_hash != profile_hash(profile))
        throw UsageError("adapt: " + files.run() + " was forecast from another profile than " +
                         files.profile() + ". " + anew(files));
    if (shipped.facts.kernels.empty())
        write_own_facts(files, run, profile);
    const Facts facts = knowledge_for(profile, "", "none").facts;
    Calibration calibration = adapted(shipped.calibration.value_or(Calibration()),
                                      measured_calls(run, profile, facts, WhichCalls::all), profile);
    calibration.facts_hash = facts_hash(facts);
    const std::string text = write_calibration(calibration);
    (void)read_calibration(text, files.calibration()); // no file is written that could not be read
    write_file_atomically(files.calibration(), text);
    constexpr std::size_t readme_width = 100;
    write_file_atomically(files.readme(), readme_of(files, profile, run, calibration, readme_width));
    write_file_atomically(
        "-", arguments.has("json") ? text : readme_of(files, profile, run, calibration, terminal_width()));
    const std::ptrdiff_t wrong = wrong_cases(run.cases);
    if (wrong > 0)
        note(fmt::format(
            "{} cases failed or gave a wrong result and were left out; convcast report {} --gpu {} -o page "
            "names them",
            wrong, files.run(), files.folder));
    return wrong > 0 ? 1 : code_of(run);
}

} // namespace convcast::cli
