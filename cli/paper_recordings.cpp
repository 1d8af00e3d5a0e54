#include "cli/paper_recordings.hpp"

#include "cli/bundle.hpp"
#include "cli/device.hpp"
#include "cli/document.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/shipped.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "executor/network/network_source.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast::cli {
namespace {

/// What to type for a GPU of this name: "--gpu h200", or how to get a profile of it where none ships.
std::string gpu_word(const std::string &name) {
    for (const std::string &id : shipped_profiles())
        if (find_profile(id).name == name)
            return "--gpu " + id;
    return "--gpu FILE, with a profile that `convcast measure -o FILE` or `convcast adapt` made on it";
}

/// How a part of the study or network {0} is measured, of a ladder with {1} images a call.
struct Measuring {
    const char *words; ///< behind `convcast run`
    const char *given; ///< further words, which depend on the paper or on the user's files: for messages
    const char *file;  ///< the name of the recording
};
constexpr std::array<Measuring, 5> ways_to_measure = {{
    // in the order of RecordedPart: study, settings, ladder, steps, training
    {"--study {0} --choose 3", "", "{0}.json.gz"},
    {"--study {0}", " --strategy SETTING ...", "{0}_settings.json.gz"},
    {"--network {0} --batch {1}", "", "ladder_{0}_b{1}.json"},
    {"--network {0} --devices 0,1", "", "steps_{0}.json"},
    {"--network {0}", " --data FOLDER", "training_{0}.json"},
}};

bool is_of_network(const RecordedOf &of) {
    return of.part != RecordedPart::study && of.part != RecordedPart::settings;
}

std::string filled_in(const char *text, const RecordedOf &of) {
    return fmt::format(fmt::runtime(text), of.name, of.batch);
}

const Measuring &way_to_measure(const RecordedOf &of) {
    return ways_to_measure[static_cast<std::size_t>(of.part)];
}

/// The command that measures a part of a study or a network, as messages show it.
std::string command_of(const RecordedOf &of) {
    const Measuring &way = way_to_measure(of);
    return "convcast run " + filled_in(way.words, of) + way.given + " -o new.json" +
           (is_of_network(of) ? "" : ".gz");
}

/// Throws InputError for a recording of another GPU, of a part of its SMs, or that no page can use. A
/// recording that has no `why_not` has a part.
void check_recording(const Recording &recording, const GpuProfile &ours) {
    const auto refuse = [&](const std::string &why) { throw InputError(recording.file, why); };
    const bool usable = recording.why_not.empty();
    if (!recording.gpu.empty() && recording.gpu != ours.name)
        refuse(fmt::format("was measured on {}, and the pages would be of {}; {}", recording.gpu, ours.name,
                           usable ? "for pages of that GPU: " + gpu_word(recording.gpu)
                                  : "pages of that GPU cannot use it either: " + recording.why_not));
    if (!usable)
        refuse("no page of a paper can use it: " + recording.why_not);
    if (recording.gpu.empty())
        refuse("does not say which GPU it was measured on; measure it again: " +
               command_of(recording.of.front()));
    if (recording.conditions().contains("sms"))
        refuse("was measured on " + recording.conditions().at("sms") +
               " of the GPU's SMs, and the pages are of whole GPUs; measure it again without --sms: " +
               command_of(recording.of.front()));
}

/// Throws InputError for a recording by another version of the program, unless it ships with this one.
void check_version(const Recording &recording, const std::string &file) {
    const DeviceCode here = device_code_here();
    const std::string version = producer().version, code = here.*recording.part; // of the kernels it is of
    const bool same_code = recording.code == code;
    if ((same_code && (recording.version.empty() || recording.version == version)) ||
        (file != "-" && is_shipped_recording(read_file(file))))
        return;
    const auto named = [](const std::string &text) {
        return text.empty() ? "not named" : text.substr(0, 20);
    };
    throw InputError(
        recording.file,
        fmt::format(
            "was measured by another version: version {}, device code {}, and this program has version {}, "
            "device code {}{}; measure it again: {}, or make the pages with the version that measured it",
            named(recording.version), named(recording.code).substr(0, 8), version, code.substr(0, 8),
            same_code ? "" : ", so its times are of other kernels", command_of(recording.of.front())));
}

/// Which part of a study a recording has: all strategies, or settings of the paper alone.
RecordedPart part_of(const Recording &recording, const std::string &study) {
    return std::ranges::find(recording.of, RecordedOf{RecordedPart::study, study}) == recording.of.end()
               ? RecordedPart::settings
               : RecordedPart::study;
}

/// The folders of --data NETWORK=FOLDER, by network. Throws UsageError for one not among `networks`.
std::map<std::string, std::string> data_folders(const Arguments &arguments,
                                                const std::set<std::string> &networks) {
    std::map<std::string, std::string> folders;
    for (const std::string &text : arguments.texts("data")) {
        const std::size_t equals = text.find('=');
        const std::string network = text.substr(0, equals);
        if (equals == std::string::npos || equals + 1 == text.size())
            arguments.refuse("--data takes a network and the folder of its images, for example --data "
                             "fashion_mnist=FOLDER, got '" +
                             text + "'");
        const std::vector<std::string> known(networks.begin(), networks.end());
        if (!networks.contains(network))
            arguments.refuse(known.empty()
                                 ? "--data " + text + ": no page that is asked trains a network"
                                 : "--data " + text + ": no page that is asked trains '" + network + "'" +
                                       did_you_mean(network, known) + " Those that do: " + join(known));
        folders[network] = text.substr(equals + 1);
    }
    return folders;
}

/// What the items of papers ask of a study.
struct AskedStudy {
    std::set<std::string> settings; ///< settings of the paper
    bool all = false;               ///< all strategies and baselines
};

/// What is asked of every study of the papers. All strategies are asked by items without settings, and by
/// those with knobs in a setting, which are compared with the others.
std::map<std::string, AskedStudy> studies_of(const std::vector<Paper> &papers) {
    std::map<std::string, AskedStudy> studies;
    for (const Paper &paper : papers)
        for (const PaperItem &item : paper.items)
            if (item.answer.study) {
                const std::vector<std::string> &settings = item.answer.settings;
                AskedStudy &asked = studies[*item.answer.study];
                asked.settings.insert(settings.begin(), settings.end());
                asked.all = asked.all || settings.empty() ||
                            std::ranges::any_of(settings, [](const std::string &setting) {
                                return setting.find(':') != std::string::npos;
                            });
            }
    return studies;
}

/// The command that measures a part now into a file in `folder`, with the words `more`.
PlannedRun planned_run(const RecordedOf &of, const std::vector<std::string> &more, const Arguments &arguments,
                       const std::filesystem::path &folder) {
    const Measuring &way = way_to_measure(of);
    PlannedRun run{of, split(filled_in(way.words, of), ' '), (folder / filled_in(way.file, of)).string()};
    std::vector<std::string> device = {"--device", std::to_string(arguments.integer("device"))};
    if (of.part == RecordedPart::steps) // its words have --devices
        device.clear();
    for (const std::vector<std::string> &part :
         {more, {"--gpu", arguments.text("gpu")}, device, {"-o", run.file}})
        run.words.insert(run.words.end(), part.begin(), part.end());
    return run;
}

} // namespace

DeviceCode device_code_here() {
    return {producer().device_code_hash, network_code_hash(), network_code_hash(split_sources)};
}

Recording given_recording(const std::string &file, const GpuProfile &ours) {
    const NamedDocument named = look_at(shipped_file(file));
    if (!file_exists(named.name) && named.name != "-")
        (void)read_file(named.name); // throws: its message says why there is no such file
    const bool network = named.is_a("network_run");
    if (!network && !named.is_a("run"))
        throw InputError(named.shown,
                         (named.schema.empty() ? std::string("is no document of convcast")
                                               : "is a document of the schema " + named.schema) +
                             "; --run reads what `convcast run -o FILE` writes: Run documents and runs of "
                             "networks" +
                             (named.is_a("profile") ? "; a profile is given by --gpu" : ""));
    Recording recording =
        network ? recording_of(described::read_document<NetworkRun>(*named.text, named.shown), named.shown)
                : recording_of(named.run(), named.shown);
    check_recording(recording, ours);
    check_version(recording, named.name);
    return recording;
}

void refuse_twice(const std::vector<Recording> &recordings) {
    // The same setting may be in two parts of a study, since the model may choose a setting of the paper too:
    // only what is in the same part twice is refused.
    std::map<std::pair<RecordedPart, std::string>, const Recording *> first; // who has it first
    const auto add = [&](const Recording &recording, RecordedPart part, const std::string &what,
                         const char *or_else) {
        const auto [at, fresh] = first.try_emplace({part, what}, &recording);
        if (!fresh && at->second != &recording)
            throw InputError(recording.file, fmt::format("has {}, which {} has too; leave one out{}", what,
                                                         at->second->file, or_else));
    };
    for (const Recording &recording : recordings)
        if (const auto *run = std::get_if<Run>(&recording.document)) {
            for (const Case &item : run->cases)
                if (item.study && !item.measurements.empty())
                    add(recording, part_of(recording, *item.study),
                        fmt::format("{} by {} of the study {}", item.shape, item.called(), *item.study),
                        ", or join them: convcast merge --newest FILE FILE -o joined.json.gz");
        } else {
            add(recording, recording.of.front().part, to_text(recording.of.front()), "");
        }
}

MeasurePlan plan_to_measure(const std::vector<Paper> &papers, const std::set<RecordedOf> &asked,
                            const std::vector<Recording> &given, const GpuProfile &ours,
                            const Arguments &arguments, const std::filesystem::path &folder) {
    // The batches of the shipped recording of steps, from which the page of several GPUs was made.
    const std::string batches_of_steps = "512,1024,2048,4096,8192,16384,32768,65536,131072";
    std::set<RecordedOf> recorded;
    std::set<std::string> trained; // networks whose training is asked
    for (const Recording &recording : given)
        recorded.insert(recording.of.begin(), recording.of.end());
    for (const RecordedOf &of : asked)
        if (of.part == RecordedPart::training)
            trained.insert(of.name);
    const std::map<std::string, std::string> data = data_folders(arguments, trained);
    MeasurePlan plan;
    const auto add = [&](const RecordedOf &of, const std::vector<std::string> &more) {
        if (!recorded.contains(of))
            plan.runs.push_back(planned_run(of, more, arguments, folder));
    };
    for (const auto &[study, parts] : studies_of(papers)) {
        if (parts.all)
            add({RecordedPart::study, study}, {});
        std::vector<std::string> settings;
        for (const std::string &setting : parts.settings)
            settings.insert(settings.end(), {"--strategy", setting});
        if (!settings.empty())
            add({RecordedPart::settings, study}, settings);
    }
    for (const RecordedOf &of : asked) {
        const auto leave_out = [&](const std::string &why) {
            if (!recorded.contains(of))
                plan.left_out.push_back(to_text(of) + ": " + why);
        };
        if (of.part == RecordedPart::ladder)
            add(of, {});
        else if (of.part == RecordedPart::steps && ours.peers.empty())
            leave_out(
                "the profile says nothing of copies between GPUs; with two GPUs there, `convcast measure "
                "-o FILE` makes one that does");
        else if (of.part == RecordedPart::steps)
            add(of, {"--batch", batches_of_steps});
        else if (of.part == RecordedPart::training && data.contains(of.name))
            add(of, {"--data", data.at(of.name)});
        else if (of.part == RecordedPart::training)
            leave_out(fmt::format("its images are not given; with --data {}=FOLDER, which holds the four IDX "
                                  "files, it is measured too",
                                  of.name));
    }
    return plan;
}

std::string to_text(const MeasurePlan &plan) {
    std::string text;
    if (!plan.runs.empty())
        text += "mkdir -p " +
                shell_word(std::filesystem::path(plan.runs.front().file).parent_path().string()) + "\n";
    for (const PlannedRun &run : plan.runs) {
        if (run.of.part == RecordedPart::steps)
            text += "# where two GPUs are there:\n";
        text += "convcast run";
        for (const std::string &word : run.words)
            text += " " + shell_word(word);
        text += "\n";
    }
    for (const std::string &what : plan.left_out)
        text += "# not measured: " + what + "\n";
    return text.empty() ? "# nothing to measure: --run has all that these pages ask for\n" : text;
}

std::vector<std::string> measure(const MeasurePlan &plan, const GpuProfile &ours,
                                 const Arguments &arguments) {
    const int device = arguments.integer("device");
    if (const auto why = why_not_run(device))
        throw GpuError(*why +
                       ". Without --measure `convcast reproduce` answers from the recordings that ship, "
                       "most of them recordings of an H200, on any machine");
    if (const std::string name = gpu_at_hand(device).at("name"); name != ours.name)
        arguments.refuse(
            fmt::format("--measure would run on {}, and the pages would be of {}; for pages of the "
                        "GPU at hand: {}",
                        name, ours.name, gpu_word(name)));
    for (const std::string &what : plan.left_out)
        note("not measured: " + what);
    std::vector<std::string> files;
    for (const PlannedRun &planned : plan.runs) {
        if (planned.of.part == RecordedPart::steps && (why_not_run(0) || why_not_run(1))) {
            note("not measured, as there are no two GPUs: " +
                 std::filesystem::path(planned.file).stem().string());
            continue;
        }
        convcast::make_folder(std::filesystem::path(planned.file).parent_path().string());
        (void)run_into_file(Arguments("run", planned.words)); // what went wrong is in the document
        files.push_back(planned.file);
    }
    return files;
}

} // namespace convcast::cli
