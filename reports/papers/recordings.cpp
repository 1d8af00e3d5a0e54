#include "reports/papers/recordings.hpp"

#include "model/base/comparison.hpp"
#include "model/base/document.hpp"
#include "model/base/embedded.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
extern const std::vector<EmbeddedFile> shipped_recordings;

namespace {

/// A part for each study with measured cases. Baselines are run with the model's own choices only, so without
/// a baseline it is a run of the paper's settings.
std::vector<RecordedOf> parts_of(const Run &run) {
    std::map<std::string, bool> studies;
    for (const Case &item : run.cases)
        if (item.study && !item.measurements.empty()) {
            bool &any_baseline = studies[*item.study];
            any_baseline = any_baseline || item.baseline.has_value();
        }
    std::vector<RecordedOf> parts;
    for (const auto &[study, any_baseline] : studies)
        parts.push_back({any_baseline ? RecordedPart::study : RecordedPart::settings, study});
    return parts;
}

/// Why no page can use a network run; "" where one can.
std::string why_not(const NetworkRun &run) {
    const NetworkCase &first = run.first();
    if (std::none_of(run.cases.begin(), run.cases.end(),
                     [](const NetworkCase &item) { return item.measured || item.training; }))
        return "it is a forecast, and nothing in it was measured";
    if (first.training)
        return run.cases.size() > 1 ? "it has several trainings, and pages use one"
               : first.training->tested_on != "test images"
                   ? "it was tested on " + first.training->tested_on + ", and pages use the test images"
                   : "";
    if (first.split)
        return run.devices.size() != 2 || run.shares_a_gpu()
                   ? "its steps are not of two different GPUs, which pages compare with one"
               : run.conditions.contains("ranks")
                   ? "its steps are of several processes, and pages use those of one: run --devices 0,1"
                   : "";
    return first.id ? ""
                    : "it is of a whole network, and pages use the ladder, the steps and the training of one";
}

/// What a network run records, which why_not() has nothing against.
std::vector<RecordedOf> parts_of(const NetworkRun &run) {
    const NetworkCase &first = run.first();
    if (first.training)
        return {{RecordedPart::training, run.network}};
    if (first.split)
        return {{RecordedPart::steps, run.network}};
    return {{RecordedPart::ladder, run.network, first.batch}};
}

} // namespace

std::string to_text(const RecordedOf &of) {
    constexpr std::array<const char *, 5> words = {// in the order of RecordedPart
                                                   "the study {0}", "the paper's settings of the study {0}",
                                                   "the ladder of {0} with {1} image{2} a call",
                                                   "steps of {0} over two GPUs", "the training of {0}"};
    return fmt::format(fmt::runtime(words[static_cast<std::size_t>(of.part)]), of.name, of.batch,
                       of.batch == 1 ? "" : "s");
}

const std::map<std::string, std::string> &Recording::conditions() const {
    return std::visit(
        [](const auto &its) -> const auto & { return its.conditions; }, document);
}

Recording recording_of(std::variant<Run, NetworkRun> document, std::string file) {
    Recording recording{std::move(file), std::move(document)};
    const auto condition = [&](const char *name) { return condition_of(recording.conditions(), name); };
    recording.gpu = condition("gpu");
    if (const auto *network = std::get_if<NetworkRun>(&recording.document)) {
        const bool steps = network->first().split.has_value();
        recording.part = steps ? &DeviceCode::steps : &DeviceCode::ladders;
        recording.code = condition(steps ? "split_code_hash" : "network_code_hash");
        recording.version = condition("version");
        recording.why_not = why_not(*network);
        if (recording.why_not.empty())
            recording.of = parts_of(*network);
    } else {
        const Run &run = std::get<Run>(recording.document);
        recording.code = run.producer.device_code_hash;
        recording.version = run.producer.version;
        recording.of = parts_of(run);
        if (recording.of.empty())
            recording.why_not = "it has no measured case of a study";
    }
    return recording;
}

Recordings Recordings::shipped(DeviceCode here) {
    Recordings all(std::move(here));
    all.runs_to_load_ = all.networks_to_load_ = true;
    return all;
}

void Recordings::add(Recording recording) {
    all_.push_back(std::make_shared<const Recording>(std::move(recording)));
}

/// Adds the recordings of the program, once: Run documents, or else NetworkRun documents. A process unpacks
/// each file only once, however many papers it reproduces.
void Recordings::load(bool runs) const {
    bool &to_load = runs ? runs_to_load_ : networks_to_load_;
    if (!std::exchange(to_load, false))
        return;
    static std::map<std::string, std::shared_ptr<const Recording>> read;
    for (const EmbeddedFile &file : shipped_recordings) {
        std::shared_ptr<const Recording> &its = read[file.path];
        if (!its) {
            const std::string text = unpacked(file.text(), file.path),
                              schema = member_of_json(text, file.path, "schema").value_or("");
            if (schema.starts_with("convcast/network_run/") == runs)
                continue;
            Recording recording =
                runs ? recording_of(read_run(text, file.path), file.path)
                     : recording_of(described::read_document<NetworkRun>(text, file.path), file.path);
            recording.ships = true;
            its = std::make_shared<const Recording>(std::move(recording));
        }
        if (std::holds_alternative<Run>(its->document) == runs)
            all_.push_back(its);
    }
}

std::vector<const Recording *> Recordings::find(const RecordedOf &of, const std::string &gpu,
                                                const std::function<bool(const Recording &)> &only) const {
    load(of.part == RecordedPart::study || of.part == RecordedPart::settings);
    asked_.insert(of);
    std::vector<const Recording *> found;
    const auto collect = [&](const RecordedOf &wanted) {
        for (const auto &its : all_)
            if (std::ranges::find(its->of, wanted) != its->of.end() && (gpu.empty() || its->gpu == gpu) &&
                (!only || only(*its)))
                found.push_back(its.get());
    };
    collect(of);
    if (found.empty() && of.part == RecordedPart::study)
        collect({RecordedPart::settings, of.name});
    else if (found.empty() && of.part == RecordedPart::settings)
        collect({RecordedPart::study, of.name});
    used_.insert(found.begin(), found.end());
    return found;
}

std::vector<const Recording *> Recordings::given() const {
    std::vector<const Recording *> all;
    for (const auto &recording : all_)
        if (!recording->ships)
            all.push_back(recording.get());
    return all;
}

std::string Recordings::of_other_code(const std::set<const Recording *> &recordings) const {
    std::map<std::string, std::set<std::string>> parts; // by version and code, in any order of recordings
    const auto named = [](const std::string &text,
                          std::size_t most) { // the first characters tell hashes apart
        return text.empty() ? "not named" : text.substr(0, most);
    };
    for (const Recording *its : recordings)
        if (its->code != here_.*its->part)
            for (const RecordedOf &of : its->of)
                parts[fmt::format("version {}, device code {}", named(its->version, 20), named(its->code, 8))]
                    .insert(to_text(of));
    std::vector<std::string> texts;
    for (const auto &[made_by, what] : parts)
        texts.push_back(fmt::format("{} ({})", join({what.begin(), what.end()}, " and "), made_by));
    return texts.empty()
               ? ""
               : "Recorded with other device code than this program has: " + join(texts, "; ") + ".";
}

bool is_shipped_recording(const std::string &text) {
    return std::any_of(shipped_recordings.begin(), shipped_recordings.end(),
                       [&](const EmbeddedFile &file) { return unpacked(file.text(), file.path) == text; });
}

std::string shipped_bytes(const std::string &file) {
    return find_embedded(shipped_recordings, file)->text();
}

} // namespace convcast
