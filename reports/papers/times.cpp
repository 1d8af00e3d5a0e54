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

/// What the counters say of a case, as "counted.l2_read_bytes": the fields of Work, of shared memory the
/// loads alone, and the occupancy of the SMs that had work, in per cent. Only the names where nothing was
/// counted (nullptr).
void add_counted(PaperFacts &to, const Measurement *measured) {
    add_facts<Work>(to, measured != nullptr && measured->work ? &*measured->work : nullptr, "counted.");
    for (const auto &[name, counter] :
         {std::pair{"counted.shared_load_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
          std::pair{"counted.occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
          std::pair{"counted.shared_load_conflicts",
                    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"}}) {
        to[name];
        if (measured != nullptr && measured->counters)
            if (const auto found = measured->counters->find(counter); found != measured->counters->end())
                to[name] = found->second;
    }
}

PaperFacts found_row(const CaseRow &row, const StudyResults &results) {
    PaperFacts found = {{"", row.cold_s},      {"forecast", row.predicted_s},
                        {"name", row.name},    {"knobs", knobs_text(row.name)},
                        {"setting", row.name}, {"kernel", row.group}};
    for (const Measurement &measured : results.run.cases[static_cast<std::size_t>(row.id)].measurements)
        if (measured.work && measured.l2 == L2State::cold)
            add_counted(found, &measured);
    return found;
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
        const StudyResults *of = nullptr;
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
                    best = &row, of = results, least = by;
            }
        if (best == nullptr)
            continue;
        PaperFacts found = found_row(*best, *of);
        if (i == 0 && setting.find(':') != std::string::npos)
            found["setting"] = setting;
        if (i > 0)
            found["other"] = true;
        return found;
    }
    return {};
}

PaperFacts Evaluator::forecast(const PaperTime &time, const PaperScope &scope) {
    const ForecastGpu &whole = gpu_of(time.gpu.value_or(AskedGpu::ours), scope),
                      &gpu = time.with ? context_.supposed(whole, *time.with) : whole;
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
    const std::string on = gpu.profile.id + (time.with ? " " + *time.with : "");
    return made_once(forecasts_, on + " " + setting + " " + shape, [&] {
        const Case made = gpu.forecast(setting, shape);
        PaperFacts found = {{"name", setting}, {"knobs", knobs_text(setting)}, {"setting", setting}};
        if (made.reason)
            found["why"] = *made.reason;
        if (made.prediction)
            found["limiter"] = made.prediction->limiter;
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
    const StudyResults &all = *recorded.front();
    const ReportStatistics &results = all.statistics;
    const PaperValue shape = named("shape", scope);
    if (time.baseline) {
        for (const CaseRow &row : results.cases)
            if (row.shape == shape.text && row.baseline && row.name == *time.baseline)
                return found_row(row, all);
        return {};
    }
    for (const ShapeRow &row : results.shapes)
        if (row.shape == shape.text)
            if (const auto &id = *time.best == RecordedBest::ours    ? row.ours
                                 : *time.best == RecordedBest::cudnn ? row.cudnn
                                                                     : row.papers)
                return found_row(results.cases[static_cast<std::size_t>(*id)], all);
    return {};
}

std::vector<std::string> Evaluator::fields_of_times() {
    PaperFacts facts;
    add_counted(facts, nullptr);
    for (const char *name : {"forecast", "name", "knobs", "kernel", "setting", "other", "low", "high",
                             "range", "threads", "ctas", "ctas_per_sm", "pieces", "limiter", "why"})
        facts[name];
    return names_in(facts);
}

PaperValue Evaluator::of_time(const std::string &name, const std::string &field, const PaperScope &scope) {
    const PaperFacts found = time(name, scope);
    const auto its = found.find(field);
    return its == found.end() ? PaperValue() : its->second;
}

} // namespace convcast
