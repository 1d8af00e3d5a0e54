#include "reports/papers/context.hpp"

#include "model/choose/ranking.hpp"
#include "model/machine/assume.hpp"
#include "model/predict.hpp"
#include "model/shape/conv_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

namespace {

/// Appends the cases of a study in `from` to `to`. What stands at the head of `to` is that of the first
/// document that has such cases. A case that names no study is one of this study: documents of a single study
/// need not name it.
void add_cases(Run &to, const Run &from, const std::string &study) {
    if (to.cases.empty()) {
        to.producer = from.producer;
        to.profile_id = from.profile_id;
        to.profile_hash = from.profile_hash;
        to.conditions = from.conditions;
        to.own_kernels = from.own_kernels;
    }
    std::copy_if(from.cases.begin(), from.cases.end(), std::back_inserter(to.cases),
                 [&](const Case &item) { return item.study.value_or(study) == study; });
}

} // namespace

ForecastGpu::ForecastGpu(GpuProfile its) : profile(std::move(its)), knowledge(knowledge_for(profile)) {}

Case ForecastGpu::forecast(const std::string &strategy, const std::string &shape) const {
    return predict(parse_strategy(strategy), ConvShape::parse(shape), profile, knowledge);
}

const std::optional<ChosenSetting> &ForecastGpu::chosen(const std::string &strategy,
                                                        const std::string &shape) const {
    return made_once(chosen_, strategy + " " + shape, [&]() -> std::optional<ChosenSetting> {
        const Ranking ranking = rank(ConvShape::parse(shape), profile, knowledge, {strategy}, 1);
        if (ranking.settings.empty() || !ranking.settings.front().time)
            return std::nullopt;
        const auto &best = ranking.settings.front();
        return ChosenSetting{to_text(best.planned.strategy), *best.time};
    });
}

const RungForecast &ForecastGpu::rung(const Network &network, const Ladder &ladder, const Rung &rung,
                                      std::int64_t images) const {
    return made_once(rungs_, fmt::format("{} {} {}", network.id, rung.id, images),
                     [&] { return forecast_rung(ladder, rung, network, images, profile); });
}

PaperContext::PaperContext(Paper paper, GpuProfile ours, Recordings recordings)
    : paper_(std::move(paper)), papers_(find_profile(paper_.gpu)), ours_(std::move(ours)),
      recordings_(std::move(recordings)) {}

const StudyResults *PaperContext::measured(const std::string &recording) const {
    const auto &results = made_once(results_, recording, [&]() -> std::optional<StudyResults> {
        const std::string id = recording.substr(0, recording.find('/')); // of "chang_multi/settings"
        const RecordedPart part = id == recording ? RecordedPart::study : RecordedPart::settings;
        StudyResults measured;
        measured.from = recordings_.find({part, id}, ours_.profile.name);
        for (const Recording *its : measured.from)
            add_cases(measured.run, std::get<Run>(its->document), id); // find gives Runs of these parts
        if (measured.run.cases.empty())
            return std::nullopt;
        for (Case &item : measured.run.cases)
            if (item.strategy)
                item.prediction = ours_.forecast(*item.strategy, item.shape).prediction;
        measured.statistics = summarize(measured.run, {&study(id), 1});
        return measured;
    });
    if (!results)
        return nullptr;
    recordings_.use(results->from); // an earlier call may have found them, for another answer
    return &*results;
}

const NetworkRun *PaperContext::measured(const RecordedOf &of,
                                         const std::function<bool(const NetworkRun &)> &wanted) const {
    const auto first = [&](const std::string &gpu, auto only) {
        const auto found = recordings_.find(of, gpu, only);
        return found.empty() ? nullptr : &std::get<NetworkRun>(found.front()->document);
    };
    const NetworkRun *ours = first(ours_.profile.name, nullptr);
    if (!wanted || (ours != nullptr && wanted(*ours)))
        return ours;
    const NetworkRun *other =
        first("", [&](const Recording &its) { return wanted(std::get<NetworkRun>(its.document)); });
    return other != nullptr ? other : ours;
}

const Study &PaperContext::study(const std::string &id) const {
    return made_once(studies_, id, [&] { return find_study(id); });
}

const ForecastGpu &PaperContext::gpu(const std::string &profile) const {
    return made_once(gpus_, profile, [&] { return find_profile(profile); });
}

const ForecastGpu &PaperContext::with_number(const ForecastGpu &gpu, const std::string &number) const {
    return made_once(gpus_, gpu.profile.id + " " + number, [&] {
        GpuProfile profile = gpu.profile;
        set_number(profile, number);
        return ForecastGpu(std::move(profile));
    });
}

Case PaperContext::sample() const {
    return papers_.forecast("naive_global", "n1c64h56w56k64r3s3");
}

std::string PaperContext::no_time() const {
    const Case item = sample();
    if (item.prediction && item.prediction->time_s)
        return "";
    const std::string why = item.prediction ? item.prediction->reason.value_or("no forecast")
                                            : item.reason.value_or("no forecast");
    const std::string prefix = "no time: "; // which every place that shows the reason has in its own words
    return why.starts_with(prefix) ? why.substr(prefix.size()) : why;
}

std::string short_name(const GpuProfile &profile) {
    return short_name(profile.name);
}

std::string short_name(std::string name) {
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
