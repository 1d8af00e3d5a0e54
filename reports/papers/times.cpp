// Times that a paper's answers compare: recorded, forecast, chosen.
#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/evaluator.hpp"
#include "reports/report_figures.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

std::vector<std::string> fields_of_times() {
    return {"forecast", "name",  "knobs",   "kernel", "setting",     "other",  "low",
            "high",     "range", "threads", "ctas",   "ctas_per_sm", "pieces", "why"};
}

std::string Evaluator::study() const {
    if (!item_.answer.study)
        throw UsageError("expected \"study\" in the item's answer, for example \"chang_multi\"");
    return *item_.answer.study;
}

std::vector<const StudyResults *> Evaluator::recordings(const PaperTime &time) {
    std::vector<const StudyResults *> all;
    for (const std::string &in : time.in.empty() ? std::vector<std::string>{"run"} : time.in) {
        const std::size_t slash = in.find('/');
        const StudyResults *its = in == "run"        ? context_.measured(study())
                                  : in == "settings" ? context_.measured_settings(study())
                                  : slash == std::string::npos
                                      ? context_.measured(in)
                                      : context_.measured_settings(in.substr(0, slash));
        if (its != nullptr)
            all.push_back(its);
    }
    return all;
}

namespace {

/// The knobs of a setting as "knob.tile_k".
PaperFacts knobs_of(const std::string &setting) {
    PaperFacts knobs;
    for (const std::string &knob : split(knobs_text(setting), ','))
        if (const std::size_t equals = knob.find('='); equals != std::string::npos) {
            const std::string name = knob.substr(0, equals);
            knobs["knob." + name] = of_count(knob_value(setting, name));
        }
    return knobs;
}

FoundTime found_row(const CaseRow &row) {
    FoundTime found{row.cold_s, row.predicted_s, {}};
    found.more["name"] = found.more["setting"] = row.name;
    found.more["kernel"] = row.group;
    return found;
}

} // namespace

FoundTime Evaluator::measured(const PaperTime &time, const PaperScope &scope) {
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
        FoundTime found = found_row(*best);
        if (i == 0 && setting.find(':') != std::string::npos)
            found.more["setting"] = setting;
        if (i > 0)
            found.more["other"] = 1.0;
        return found;
    }
    return {};
}

FoundTime Evaluator::forecast(const PaperTime &time, const PaperScope &scope) {
    const ForecastGpu &gpu = gpu_of(time.gpu.value_or(AskedGpu::ours), scope);
    const std::string shape = named("shape", scope).text.value(),
                      setting = told(time.forecast ? *time.forecast : *time.chosen, scope);
    FoundTime found;
    found.more["setting"] = found.more["name"] = setting;
    if (time.chosen) {
        const auto &first = gpu.chosen(setting, shape);
        if (!first)
            return {};
        found.time = first->time;
        found.more["name"] = first->strategy;
        return found;
    }
    const std::string key = gpu.profile.id + " " + setting + " " + shape;
    if (const auto known = forecasts_.find(key); known != forecasts_.end())
        return known->second;
    const Case made = gpu.forecast(setting, shape);
    if (made.reason)
        found.more["why"] = *made.reason;
    if (made.prediction) {
        if (made.status == Status::ok) {
            found.time = made.prediction->time_s;
            found.more["low"] = made.prediction->time_low_s;
            found.more["high"] = made.prediction->time_high_s;
        }
        const auto &low = made.prediction->time_low_s, &high = made.prediction->time_high_s;
        if (made.status == Status::ok && low && high)
            found.more["range"] = microseconds(*low) + " to " + microseconds(*high);
        if (made.prediction->plan) {
            const Partition &launch = main_launch(*made.prediction->plan);
            found.more["threads"] = of_count(launch.threads);
            found.more["ctas"] = of_count(launch.ctas);
            found.more["ctas_per_sm"] = of_count(launch.ctas_per_sm);
            found.more["pieces"] = of_count(launch.pieces);
        }
    }
    return forecasts_.emplace(key, found).first->second;
}

FoundTime Evaluator::time(const std::string &name, const PaperScope &scope) {
    const auto its = method_.times.find(name);
    if (its == method_.times.end()) {
        std::vector<std::string> known;
        for (const auto &[other, its_time] : method_.times)
            known.push_back(other);
        throw UsageError("expected one of \"times\", found '" + shortened(name) + "'" +
                         did_you_mean(name, known));
    }
    const PaperTime &time = its->second;
    if (!time.measured.empty())
        return measured(time, scope);
    if (!so(time.where, scope))
        return {};
    if (time.forecast || time.chosen)
        return forecast(time, scope);
    if (!time.fastest.empty()) {
        FoundTime best;
        for (const std::string &one : time.fastest)
            if (FoundTime found = this->time(one, scope);
                found.time && (!best.time || *found.time < *best.time))
                best = std::move(found);
        return best;
    }
    const std::vector<const StudyResults *> recorded = recordings(time);
    if (recorded.empty())
        return {};
    const StudyResults *results = recorded.front();
    const PaperValue shape = named("shape", scope);
    if (time.baseline) {
        for (const CaseRow &row : results->statistics.cases)
            if (row.shape == shape.text && row.baseline && row.name == *time.baseline)
                return found_row(row);
        return {};
    }
    for (const ShapeRow &row : results->statistics.shapes)
        if (row.shape == shape.text)
            if (const auto &id = *time.best == RecordedBest::ours    ? row.ours
                                 : *time.best == RecordedBest::cudnn ? row.cudnn
                                                                     : row.papers)
                return found_row(results->row(*id));
    return {};
}

PaperValue Evaluator::of_time(const FoundTime &found, const std::string &field) {
    if (field.empty())
        return found.time;
    if (field == "forecast")
        return found.forecast;
    if (field == "knobs") {
        const auto name = found.more.find("name");
        return name == found.more.end() ? PaperValue() : PaperValue(knobs_text(*name->second.text));
    }
    const auto its = found.more.find(field);
    return its == found.more.end() ? PaperValue() : its->second;
}

} // namespace convcast
