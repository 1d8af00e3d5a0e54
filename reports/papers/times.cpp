// Times that a paper's answers compare: recorded, forecast, chosen.
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"
#include "reports/papers/evaluator.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace convcast {
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

PaperFacts Evaluator::recorded(const PaperTime &time, const PaperScope &scope) {
    const PaperValue shape = named("shape", scope);
    std::vector<const StudyResults *> recordings;
    for (const std::string &in : time.in.empty() ? std::vector<std::string>{"run"} : time.in)
        if (const StudyResults *its = context_.measured(in == "run"        ? study()
                                                        : in == "settings" ? study() + "/settings"
                                                                           : in))
            recordings.push_back(its);
    if (time.best) {
        for (const StudyResults *results : recordings)
            for (const ShapeRow &row : results->statistics.shapes)
                if (const auto &id = *time.best == RecordedBest::ours    ? row.ours
                                     : *time.best == RecordedBest::cudnn ? row.cudnn
                                                                         : row.papers;
                    id && row.shape == shape.text && so(time.where, scope))
                    return found_row(results->statistics.cases[static_cast<std::size_t>(*id)], *results);
        return {};
    }
    std::vector<std::string> settings, except;
    for (const std::string &one : time.baseline ? std::vector{*time.baseline} : time.measured)
        settings.push_back(told(one, scope));
    for (const std::string &one : time.except)
        except.push_back(told(one, scope));
    for (const std::string &setting : settings) {
        const auto is = [&](const CaseRow &row) {
            return row.baseline == time.baseline.has_value() &&
                   (row.baseline ? row.name == setting : has_setting(row.name, setting)) &&
                   std::ranges::none_of(except,
                                        [&](const auto &other) { return has_setting(row.name, other); });
        };
        PaperFacts best;
        double least = 0.0;
        for (const StudyResults *results : recordings)
            for (const CaseRow &row : results->statistics.cases) {
                if (row.shape != shape.text || !row.cold_s || !is(row))
                    continue;
                const PaperRow knobs{knobs_of(row.name)};
                const PaperScope inner{&knobs, &scope};
                if (!so(time.where, inner))
                    continue;
                const double by =
                    time.least ? value(*time.least, inner).number.value_or(0.0) : row.cold_s->value;
                if (best.empty() || by < least)
                    best = found_row(row, *results), least = by;
            }
        const bool first = &setting == settings.data();
        if (best.empty())
            continue;
        if (first && setting.find(':') != std::string::npos)
            best["setting"] = setting;
        if (!first)
            best["other"] = true;
        return best;
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
        if (made.prediction && made.prediction->plan)
            add_facts(found, &main_launch(*made.prediction->plan));
        return found;
    });
}

PaperFacts Evaluator::time(const std::string &name, const PaperScope &scope) {
    const auto its = names_.times.find(name);
    if (its == names_.times.end())
        throw UsageError("expected one of \"times\", found '" + shortened(name) + "'" +
                         did_you_mean(name, names_in(names_.times)));
    const PaperTime &time = its->second;
    if (!time.measured.empty() || time.baseline || time.best)
        return recorded(time, scope);
    if (!so(time.where, scope))
        return {};
    if (time.forecast || time.chosen)
        return forecast(time, scope);
    PaperFacts best;
    for (const std::string &one : time.fastest)
        if (PaperFacts found = this->time(one, scope);
            found[""].number && (best.empty() || *found[""].number < *best[""].number))
            best = std::move(found);
    return best;
}

std::vector<std::string> Evaluator::fields_of_times() {
    PaperFacts facts;
    add_counted(facts, nullptr);
    add_facts<Partition>(facts, nullptr);
    for (const char *name : {"forecast", "name", "knobs", "kernel", "setting", "other", "low", "high",
                             "range", "limiter", "why"})
        facts[name];
    return names_in(facts);
}

} // namespace convcast
