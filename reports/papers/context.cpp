#include "reports/papers/context.hpp"

#include "model/base/embedded.hpp"
#include "model/base/files.hpp"
#include "model/choose/ranking.hpp"
#include "model/predict.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/papers/computations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
extern const std::vector<EmbeddedFile> shipped_recordings;

namespace {

/// The recordings that have a study's cases, and those of its paper's own settings.
struct StudyRecordings {
    const char *study, *run, *settings;
};
constexpr StudyRecordings recordings_of_studies[] = {
    {"chang_single", "chang", "chang_settings"},     {"chang_multi", "chang", "chang_settings"},
    {"chen_special", "chen", "chen_settings"},       {"chen_general", "chen", "chen_settings"},
    {"chen_sgemm", "chen_sgemm", "chen_settings"},   {"chen_bank_width", "chen_bank_width", "chen_settings"},
    {"partition_2bcde", "partition_2bcde", nullptr}, {"regime_map", "regime_map", nullptr}};

std::optional<Run> shipped(const char *StudyRecordings::*name, const std::string &study) {
    static std::map<std::string, Run> read; // each once: two studies share one
    for (const StudyRecordings &its : recordings_of_studies)
        if (its.study == study && its.*name != nullptr) {
            const std::string file = fmt::format("data/recorded/h200/{}.json.gz", its.*name);
            if (!read.contains(file))
                read.emplace(file,
                             read_run(unpacked(find_embedded(shipped_recordings, file)->text(), file), file));
            return read.at(file);
        }
    return std::nullopt;
}

/// Forecasts of our kernels by this version, beside what was measured.
void forecast(Run &run, const ForecastGpu &gpu) {
    for (Case &item : run.cases)
        if (item.strategy && !item.prediction)
            item.prediction = gpu.forecast(*item.strategy, item.shape).prediction;
}

} // namespace

std::optional<Run> shipped_recording(const std::string &study) {
    return shipped(&StudyRecordings::run, study);
}

std::optional<Run> shipped_settings(const std::string &study) {
    return shipped(&StudyRecordings::settings, study);
}

ForecastGpu::ForecastGpu(GpuProfile its) : profile(std::move(its)), knowledge(knowledge_for(profile)) {}

Case ForecastGpu::forecast(const std::string &strategy, const std::string &shape) const {
    return predict(parse_strategy(strategy), ConvShape::parse(shape), profile, knowledge);
}

const std::optional<ChosenSetting> &ForecastGpu::chosen(const std::string &strategy,
                                                        const std::string &shape) const {
    const std::string key = strategy + " " + shape;
    if (const auto found = chosen_.find(key); found != chosen_.end())
        return found->second;
    std::optional<ChosenSetting> best;
    const Ranking ranking = rank(ConvShape::parse(shape), profile, knowledge, {strategy}, 1);
    if (!ranking.settings.empty() && ranking.settings.front().time)
        best = {to_text(ranking.settings.front().planned.strategy), *ranking.settings.front().time};
    return chosen_.emplace(key, std::move(best)).first->second;
}

PaperContext::PaperContext(Paper paper, GpuProfile ours, Recordings recordings, Recordings settings)
    : paper_(std::move(paper)), papers_(find_profile(paper_.gpu)), ours_(std::move(ours)),
      recordings_(std::move(recordings)), settings_(std::move(settings)) {}

const StudyResults *PaperContext::measured(const std::string &id) const {
    return results_of(id, recordings_, results_);
}

const StudyResults *PaperContext::measured_settings(const std::string &id) const {
    return settings_ ? results_of(id, settings_, settings_results_) : measured(id);
}

const StudyResults *PaperContext::results_of(const std::string &id, const Recordings &from,
                                             Results &all) const {
    if (const auto found = all.find(id); found != all.end())
        return found->second.get();
    std::unique_ptr<StudyResults> &results = all[id];
    std::optional<Run> run = from(id);
    if (!run || run->profile_id != ours_.profile.id)
        return nullptr;
    std::erase_if(run->cases, [&](const Case &item) { return item.study.value_or(id) != id; });
    run->unread.clear();
    if (std::none_of(run->cases.begin(), run->cases.end(),
                     [](const Case &item) { return !item.measurements.empty(); }))
        return nullptr;
    forecast(*run, ours_);
    results = std::make_unique<StudyResults>();
    results->study = study(id);
    results->run = std::move(*run);
    results->statistics = summarize(results->run, {&results->study, 1});
    return results.get();
}

const Study &PaperContext::study(const std::string &id) const {
    const auto found = studies_.find(id);
    return found != studies_.end() ? found->second : studies_.emplace(id, find_study(id)).first->second;
}

const ForecastGpu &PaperContext::gpu(const std::string &profile) const {
    const auto found = gpus_.find(profile);
    return found != gpus_.end() ? found->second : gpus_.emplace(profile, find_profile(profile)).first->second;
}

const PublishedCell *PaperContext::cell(const std::string &item, const std::string &of,
                                        const std::string &at) const {
    for (const PaperItem &its : paper_.items)
        if (its.id == item)
            return cell_of(its, of, at);
    return nullptr;
}

std::string PaperContext::no_time() const {
    const Case item = papers_.forecast("naive_global", "n1c64h56w56k64r3s3");
    if (item.prediction && item.prediction->time_s)
        return "";
    const std::string why = item.prediction ? item.prediction->reason.value_or("no forecast")
                                            : item.reason.value_or("no forecast");
    const std::string said = "no time: "; // which every place that shows the reason says too
    return why.starts_with(said) ? why.substr(said.size()) : why;
}

std::string short_name(const GpuProfile &profile) {
    std::string name = profile.name;
    for (const std::string vendor : {"NVIDIA ", "GeForce "})
        if (name.starts_with(vendor))
            name = name.substr(vendor.size());
    return name.substr(0, name.find(" ("));
}

std::string shape_text(const std::string &shape) {
    const ConvShape s = ConvShape::parse(shape);
    std::string text = s.n > 1 ? fmt::format("{} × ", s.n) : "";
    text += s.h == s.w ? fmt::format("{}", s.h) : fmt::format("{}×{}", s.h, s.w);
    text += s.c == 1 ? fmt::format(", {} filter{}", s.k, s.k == 1 ? "" : "s")
                     : fmt::format(", {} → {}", s.c, s.k);
    if (s.dtype != DataType::f32)
        text += s.dtype == DataType::f16 ? ", half" : ", int8";
    return text;
}

std::string grouped_digits(double value) {
    std::string text = fmt::format("{}", value); // the shortest that reads back: the digits of the document
    std::size_t point = text.find_first_of(".e");
    if (point == std::string::npos)
        point = text.size();
    for (std::size_t at = point; at > 3 + (text.front() == '-' ? 1u : 0u); at -= 3)
        text.insert(at - 3, ",");
    return text;
}

std::string printed(const PublishedCell &cell) {
    std::string text = grouped_digits(cell.value);
    if (cell.unit == PaperUnit::times)
        text += unit_text(cell.unit);
    else if (const std::string unit = unit_text(cell.unit); !unit.empty())
        text += "\u00a0" + unit;
    return text;
}

} // namespace convcast
