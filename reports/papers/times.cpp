// Times that a paper's answers compare (PaperTime): recorded, forecast, chosen.
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"
#include "reports/papers/evaluator.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// The key in a time's facts that holds the time itself, in seconds: an expression that names a time without
/// a field, "own" and not "own.name", asks for the field "" (Evaluator::value_of_name).
constexpr const char *the_time_itself = "";

/// The knobs of a setting by their names, with "knob." before each: "knob.tile_k" is 64.
PaperFacts knobs_of(const std::string &setting) {
    PaperFacts knobs;
    for (const std::string &knob : split(knobs_text(setting), ','))
        if (const std::size_t equals = knob.find('='); equals != std::string::npos) {
            const std::string name = knob.substr(0, equals);
            knobs["knob." + name] = knob_value(setting, name);
        }
    return knobs;
}

/// Adds what the counters say of a case, by names such as "counted.l2_read_bytes": the fields of Work, and
/// the counters below, of which occupancy is in per cent, of the SMs that had work. A value that was not
/// counted is missing, but its name is added; with nullptr all values are.
void add_counted(PaperFacts &to, const Measurement *measured) {
    add_facts<Work>(to, measured != nullptr && measured->work ? &*measured->work : nullptr, "counted.");
    for (const auto &[name, counter] :
         {std::pair{"counted.shared_load_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
          std::pair{"counted.occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
          std::pair{"counted.shared_load_conflicts",
                    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"}}) {
        to[name]; // missing until it is found
        if (measured != nullptr && measured->counters)
            if (const auto found = measured->counters->find(counter); found != measured->counters->end())
                to[name] = found->second;
    }
}

/// What is known of a recorded case: its time with a cold L2, its forecast, its names, and what was counted
/// in that call. `row` is one of the rows of `results`.
PaperFacts facts_of_case(const CaseRow &row, const StudyResults &results) {
    PaperFacts facts = {
        {the_time_itself, row.cold_s},   {"forecast", row.predicted_s}, {"name", row.name},
        {"knobs", knobs_text(row.name)}, {"setting", row.name},         {"kernel", row.group}};
    for (const Measurement &measured : results.run.cases[static_cast<std::size_t>(row.id)].measurements)
        if (measured.work && measured.l2 == L2State::cold)
            add_counted(facts, &measured);
    return facts;
}

} // namespace

/// A time of a recorded case, with facts_of_case. "setting" is then what the method asked for where that
/// names knobs, and "other" is true where another than the first of `measured` stands in for it.
PaperFacts Evaluator::recorded(const PaperTime &time, const PaperScope &scope) {
    const PaperValue shape = value_of_name("shape", scope);
    std::vector<const StudyResults *> recordings;
    for (const std::string &in : time.in.empty() ? std::vector<std::string>{"run"} : time.in)
        if (const StudyResults *results = context_.measured(in == "run"        ? study()
                                                            : in == "settings" ? study() + "/settings"
                                                                               : in))
            recordings.push_back(results);
    if (time.best) {
        for (const StudyResults *results : recordings)
            for (const ShapeRow &row : results->statistics.shapes)
                if (const auto &id = *time.best == RecordedBest::ours    ? row.ours
                                     : *time.best == RecordedBest::cudnn ? row.cudnn
                                                                         : row.papers;
                    id && row.shape == shape.text && holds(time.where, scope))
                    return facts_of_case(results->statistics.cases[static_cast<std::size_t>(*id)], *results);
        return {};
    }
    std::vector<std::string> settings, except;
    for (const std::string &one : time.baseline ? std::vector{*time.baseline} : time.measured)
        settings.push_back(fill_in(one, scope));
    for (const std::string &one : time.except)
        except.push_back(fill_in(one, scope));
    for (const std::string &setting : settings) {
        const auto is_asked = [&](const CaseRow &row) {
            return row.baseline == time.baseline.has_value() &&
                   (row.baseline ? row.name == setting : has_setting(row.name, setting)) &&
                   std::ranges::none_of(except,
                                        [&](const auto &other) { return has_setting(row.name, other); });
        };
        PaperFacts best; // the case with the least time, or with the least of time.least
        double least = 0.0;
        for (const StudyResults *results : recordings)
            for (const CaseRow &row : results->statistics.cases) {
                if (row.shape != shape.text || !row.cold_s || !is_asked(row))
                    continue;
                const PaperRow knobs{knobs_of(row.name)};
                const PaperScope with_knobs{&knobs, &scope};
                if (!holds(time.where, with_knobs))
                    continue;
                const double by =
                    time.least ? value(*time.least, with_knobs).number.value_or(0.0) : row.cold_s->value;
                if (best.empty() || by < least)
                    best = facts_of_case(row, *results), least = by;
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

/// A time that is forecast. Of what `convcast choose` ranks first (time.chosen): the time, "name" and "knobs"
/// of that setting, and the "setting" that was asked for; nothing where no setting has a time. Of a given
/// setting (time.forecast): the same names always, the time with "low", "high" and "range" (a text in µs,
/// "4.87 to 7.76") where it has one, "limiter", "why" the setting cannot run, and the fields of its plan's
/// main launch: "threads".
PaperFacts Evaluator::forecast(const PaperTime &time, const PaperScope &scope) {
    const ForecastGpu &asked = gpu_of(time.gpu.value_or(AskedGpu::ours), scope),
                      &gpu = time.with ? context_.with_number(asked, *time.with) : asked;
    // "shape" is a text in every row that has it: row_of_shape, or a column that PaperList::check parsed.
    const std::string shape = value_of_name("shape", scope).text.value(),
                      setting = fill_in(time.forecast ? *time.forecast : *time.chosen, scope);
    if (time.chosen) {
        const auto &first = gpu.chosen(setting, shape);
        if (!first)
            return {};
        return {{the_time_itself, first->time},
                {"name", first->strategy},
                {"knobs", knobs_text(first->strategy)},
                {"setting", setting}};
    }
    const std::string gpu_key = gpu.profile.id + (time.with ? " " + *time.with : "");
    return made_once(forecasts_, gpu_key + " " + setting + " " + shape, [&] {
        const Case answer = gpu.forecast(setting, shape);
        PaperFacts facts = {{"name", setting}, {"knobs", knobs_text(setting)}, {"setting", setting}};
        if (answer.reason)
            facts["why"] = *answer.reason;
        if (answer.prediction)
            facts["limiter"] = answer.prediction->limiter;
        if (answer.prediction && answer.status == Status::ok) {
            facts[the_time_itself] = answer.prediction->time_s;
            const auto &low = answer.prediction->time_low_s, &high = answer.prediction->time_high_s;
            facts["low"] = low, facts["high"] = high;
            if (low && high)
                facts["range"] = microseconds(*low) + " to " + microseconds(*high);
        }
        if (answer.prediction && answer.prediction->plan)
            add_facts(facts, &main_launch(*answer.prediction->plan));
        return facts;
    });
}

PaperFacts Evaluator::time(const std::string &name, const PaperScope &scope) {
    const auto its = names_.times.find(name);
    if (its == names_.times.end())
        throw UsageError("expected one of \"times\", found '" + shortened(name) + "'" +
                         did_you_mean(name, names_in(names_.times)));
    const PaperTime &time = its->second;
    if (!time.measured.empty() || time.baseline || time.best)
        return recorded(time, scope); // which asks `where` of each case, with its knobs
    if (!holds(time.where, scope))
        return {};
    if (time.forecast || time.chosen)
        return forecast(time, scope);
    PaperFacts best;
    for (const std::string &one : time.fastest)
        if (PaperFacts facts = this->time(one, scope);
            facts[the_time_itself].number &&
            (best.empty() || *facts[the_time_itself].number < *best[the_time_itself].number))
            best = std::move(facts);
    return best;
}

std::vector<std::string> Evaluator::fields_of_times() {
    PaperFacts facts;
    add_counted(facts, nullptr);
    add_facts<Partition>(facts, nullptr);
    for (const char *name : {"forecast", "name", "knobs", "kernel", "setting", "other", "low", "high",
                             "range", "limiter", "why"})
        facts[name]; // the name alone
    return names_in(facts);
}

} // namespace convcast
