// Times that a paper's answers compare: recorded, forecast, chosen.
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"
#include "reports/papers/evaluator.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace convcast {

std::string Evaluator::study() const {
    if (!item_.answer.study)
        throw UsageError("expected \"study\" in the item's answer, for example \"chang_multi\"");
    return *item_.answer.study;
}

std::vector<const StudyResults *> Evaluator::recordings(const PaperTime &time) {
    std::vector<const StudyResults *> all;
    for (const std::string &in : time.in.empty() ? std::vector<std::string>{"run"} : time.in)
        if (const StudyResults *its = context_.measured(in == "run"        ? study()
                                                        : in == "settings" ? study() + "/settings"
                                                                           : in))
            all.push_back(its);
    return all;
}

namespace {

/// The knobs of a setting as "knob.tile_k".
PaperFacts knobs_of(const std::string &setting) {
    PaperFacts knobs;
    for (const std::string &knob : split(knobs_text(setting), ','))
        if (const std::size_t equals = knob.find('='); equals != std::string::npos) {
            const std::string name = knob.substr(0, equals);
            knobs["knob." + name] = knob_value(setting, name);
        }
    return knobs;
}

PaperFacts found_row(const CaseRow &row) {
    return {{"", row.cold_s},      {"forecast", row.predicted_s},
            {"name", row.name},    {"knobs", knobs_text(row.name)},
            {"setting", row.name}, {"kernel", row.group}};
}

} // namespace

PaperFacts Evaluator::measured(const PaperTime &time, const PaperScope &scope) {
    const PaperValue shape = named("shape", scope);
    for (std::size_t i = 0; i < time.measured.size(); ++i) {
        const std::string setting = told(time.measured[i], scope);
        std::vector<std::string> except;
        for (const std::string &one : time.except)
            except.push_back(told(one, scope));
        const CaseRow *best = nullptr;
        double least = 0.0;
        for (const StudyResults *results : recordings(time))
            for (const CaseRow &row : results->statistics.cases) {
                if (row.shape != shape.text || row.baseline || !row.cold_s ||
                    !has_setting(row.name, setting) ||
                    std::any_of(except.begin(), except.end(),
                                [&](const std::string &e) { return has_setting(row.name, e); }))
                    continue;
                const PaperRow knobs{knobs_of(row.name), {}, nullptr};
                const PaperScope inner{&knobs, &scope};
                if (!so(time.where, inner))
                    continue;
                const double by =
                    time.least ? value(*time.least, inner).number.value_or(0.0) : row.cold_s->value;
                if (best == nullptr || by < least)
                    best = &row, least = by;
            }
        if (best == nullptr)
            continue;
        PaperFacts found = found_row(*best);
        if (i == 0 && setting.find(':') != std::string::npos)
            found["setting"] = setting;
        if (i > 0)
            found["other"] = true;
        return found;
    }
    return {};
}

PaperFacts Evaluator::forecast(const PaperTime &time, const PaperScope &scope) {
    const ForecastGpu &gpu = gpu_of(time.gpu.value_or(AskedGpu::ours), scope);
    const std::string shape = named("shape", scope).text.value(),
                      setting = told(time.forecast ? *time.forecast : *time.chosen, scope);
    if (time.chosen) {
        const auto &first = gpu.chosen(setting, shape);
        if (!first)
            return {};
        return {{"", first->time},
                {"name", first->strategy},
                {"knobs", knobs_text(first->strategy)},
                {"setting", setting}};
    }
    return made_once(forecasts_, gpu.profile.id + " " + setting + " " + shape, [&] {
        const Case made = gpu.forecast(setting, shape);
        PaperFacts found = {{"name", setting}, {"knobs", knobs_text(setting)}, {"setting", setting}};
        if (made.reason)
            found["why"] = *made.reason;
        if (made.prediction && made.status == Status::ok) {
            found[""] = made.prediction->time_s;
            const auto &low = made.prediction->time_low_s, &high = made.prediction->time_high_s;
            found["low"] = low, found["high"] = high;
            if (low && high)
                found["range"] = microseconds(*low) + " to " + microseconds(*high);
        }
        if (made.prediction && made.prediction->plan) {
            const Partition &launch = main_launch(*made.prediction->plan);
            found["threads"] = launch.threads;
            found["ctas"] = launch.ctas;
            found["ctas_per_sm"] = launch.ctas_per_sm;
            found["pieces"] = launch.pieces;
        }
        return found;
    });
}

PaperFacts Evaluator::time(const std::string &name, const PaperScope &scope) {
    const auto its = method_.times.find(name);
    if (its == method_.times.end())
        throw UsageError("expected one of \"times\", found '" + shortened(name) + "'" +
                         did_you_mean(name, names_in(method_.times)));
    const PaperTime &time = its->second;
    if (!time.measured.empty())
        return measured(time, scope);
    if (!so(time.where, scope))
        return {};
    if (time.forecast || time.chosen)
        return forecast(time, scope);
    if (!time.fastest.empty()) {
        PaperFacts best;
        for (const std::string &one : time.fastest)
            if (PaperFacts found = this->time(one, scope);
                found[""].number && (best.empty() || *found[""].number < *best[""].number))
                best = std::move(found);
        return best;
    }
    const std::vector<const StudyResults *> recorded = recordings(time);
    if (recorded.empty())
        return {};
    const ReportStatistics &results = recorded.front()->statistics;
    const PaperValue shape = named("shape", scope);
    if (time.baseline) {
        for (const CaseRow &row : results.cases)
            if (row.shape == shape.text && row.baseline && row.name == *time.baseline)
                return found_row(row);
        return {};
    }
    for (const ShapeRow &row : results.shapes)
        if (row.shape == shape.text)
            if (const auto &id = *time.best == RecordedBest::ours    ? row.ours
                                 : *time.best == RecordedBest::cudnn ? row.cudnn
                                                                     : row.papers)
                return found_row(results.cases[static_cast<std::size_t>(*id)]);
    return {};
}

PaperValue Evaluator::of_time(const std::string &name, const std::string &field, const PaperScope &scope) {
    const PaperFacts found = time(name, scope);
    const auto its = found.find(field);
    return its == found.end() ? PaperValue() : its->second;
}

} // namespace convcast
