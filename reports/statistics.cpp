#include "reports/statistics.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/statistics.hpp"
#include "model/base/text.hpp"
#include "model/strategies/list.hpp"
#include "model/time/term.hpp"
#include "reports/explained.hpp"
#include "reports/lists.hpp"
#include "reports/ratios.hpp"
#include "reports/report_figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The time if it is finite and above 0, as a ratio needs: a broken document may carry others.
std::optional<Seconds> usable(std::optional<Seconds> time) {
    return time && std::isfinite(time->value) && time->value > 0.0 ? time : std::nullopt;
}

/// The study that a case names, else the first of `studies` that lists its shape; absent where none does.
std::optional<std::string> study_of(const Case &c, std::span<const Study> studies) {
    if (c.study)
        return c.study;
    const Study *study = first_where(studies, [&](const Study &its) {
        return std::ranges::find(its.shapes, c.shape) != its.shapes.end();
    });
    return study != nullptr ? std::optional(study->id) : std::nullopt;
}

/// The rates that the cold measurement reached, per byte by what its counters say. The number of FMAs and the
/// peak are those behind the forecast's rates in `row`, because the text of a document's shape may be broken.
/// Absent where the row has no such rates.
std::optional<Rates> measured_rates_of(const Measurement &cold, Seconds cold_s, const CaseRow &row) {
    if (!row.rates || !row.rates->flop_per_s || !row.predicted_s)
        return std::nullopt;
    const double slower = cold_s / *row.predicted_s,
                 fmas = *row.rates->flop_per_s * row.predicted_s->value / 2.0; // one FMA is two operations
    Rates rates;
    rates.flop_per_s = *row.rates->flop_per_s / slower;
    if (row.rates->peak_share)
        rates.peak_share = *row.rates->peak_share / slower;
    const auto per_byte = [&](std::optional<double> read, std::optional<double> written) {
        const double bytes = read.value_or(0.0) + written.value_or(0.0);
        return bytes > 0.0 ? std::optional(fmas / bytes) : std::nullopt;
    };
    if (cold.work) {
        rates.fmas_per_l2_byte = per_byte(cold.work->l2_read_bytes, cold.work->l2_write_bytes);
        rates.fmas_per_dram_byte = per_byte(cold.work->dram_read_bytes, cold.work->dram_write_bytes);
    }
    return rates;
}

const Study *study_named(const std::string &id, std::span<const Study> studies) {
    return first_with(studies, &Study::id, id);
}

/// How often a study's network has a shape; 1 where the study does not say.
std::int64_t count_in(const Study *study, const std::string &shape) {
    for (std::size_t i = 0; study && i < std::min(study->counts.size(), study->shapes.size()); ++i)
        if (study->shapes[i] == shape)
            return study->counts[i];
    return 1;
}

/// The row of a case, which is the one with the number `id` in Run::cases. Measured times only of an ok case.
CaseRow row_of(const Case &c, std::int64_t id, std::span<const Study> studies) {
    CaseRow row;
    row.id = id;
    row.study = study_of(c, studies);
    row.shape = c.shape;
    row.baseline = !c.strategy;
    row.name = c.strategy ? *c.strategy : c.baseline.value_or("unnamed");
    row.group = row.baseline ? row.name : row.name.substr(0, row.name.find(':'));
    row.status = c.status;
    row.reason = c.reason;
    row.layer = c.name;
    row.calls = c.count.value_or(count_in(study_named(row.study.value_or(""), studies), c.shape));
    row.detail = c.detail;
    if (c.prediction) {
        const Prediction &prediction = *c.prediction;
        row.predicted_s = usable(prediction.time_s);
        row.tier0_s = usable(prediction.times.tier0_s);
        row.roofline_s = usable(prediction.times.roofline_s);
        row.mwp_cwp_s = usable(prediction.times.mwp_cwp_s);
        row.limiter = prediction.limiter;
        row.rates = prediction.rates;
        if (!row.reason && !row.predicted_s)
            row.reason = prediction.reason.value_or("no forecast");
        if (prediction.regimes) {
            row.paper = prediction.regimes->paper;
            row.physical = prediction.regimes->physical;
            row.tier2 = prediction.regimes->tier2;
            row.over_latency = prediction.regimes->over_latency;
        }
        if (const std::optional<Rules> &rules = prediction.rules; rules && rules->n_fma && rules->v_s_bytes) {
            if (rules->round_fmas)
                row.round_over_n_fma = *rules->round_fmas / static_cast<double>(*rules->n_fma);
            if (rules->round_bytes)
                row.round_over_v_s = *rules->round_bytes / static_cast<double>(*rules->v_s_bytes);
        }
        if (prediction.term)
            for (const Bar &bar : waterfall(*prediction.term))
                row.waterfall.push_back({bar.name, bar.added_s});
    }
    const Measurement *cold = c.measured(L2State::cold);
    const Measurement *warm = c.measured(L2State::warm);
    if (const Measurement *any = cold != nullptr ? cold : warm)
        row.relative_l2_error = any->relative_l2_error;
    if (c.status != Status::ok)
        return row;
    if (warm != nullptr)
        row.warm_s = usable(warm->time_s);
    if (cold != nullptr) {
        row.cold_s = usable(cold->time_s);
        row.measured = cold->regime;
        std::vector<double> samples;
        for (const Seconds sample : cold->samples_s)
            samples.push_back(sample.value);
        if (!samples.empty()) {
            row.cold_low_s = Seconds(percentile(samples, 0.05));
            row.cold_high_s = Seconds(percentile(samples, 0.95));
        }
    }
    if (row.predicted_s && row.cold_s)
        row.error = *row.predicted_s / *row.cold_s - 1.0;
    if (row.cold_s && !row.baseline)
        row.measured_rates = measured_rates_of(*cold, *row.cold_s, row);
    return row;
}

/// How far the times `predicted` of our cases are off: of the strategy `group`, or of all where it is absent.
/// `name` is what the statistics call them.
ErrorStatistics errors_of(const std::string &name, const std::optional<std::string> &group,
                          const std::vector<CaseRow> &rows, std::optional<Seconds> CaseRow::*predicted) {
    ErrorStatistics out;
    out.group = name;
    RatioErrors errors;
    for (const CaseRow &row : rows) {
        if (row.baseline || !row.cold_s || (group && row.group != *group))
            continue;
        if (!(row.*predicted)) {
            ++out.no_forecast;
            continue;
        }
        errors.add(*(row.*predicted) / *row.cold_s);
        if (!out.max || errors.last() > *out.max) {
            out.max = errors.last();
            out.worst_case = row.id;
        }
    }
    out.n = errors.n();
    if (out.n == 0)
        return out;
    out.bias = errors.bias();
    out.mean = errors.mean();
    out.symmetric = errors.symmetric();
    out.p90 = errors.at(0.9);
    out.within_10_percent = errors.within(0.1);
    out.median = errors.median();
    return out;
}

/// The strategies without their knobs, in the order in which they first appear.
std::vector<std::string> groups_of(const std::vector<CaseRow> &rows) {
    std::vector<std::string> groups;
    for (const CaseRow &row : rows)
        if (!row.baseline)
            add_once(groups, row.group);
    return groups;
}

/// cuDNN with TF32, which is less accurate than FP32: nothing in FP32 is compared with it.
constexpr const char *tensor_core_baseline = "cudnn:tf32";

/// cuDNN's plan for tensors that lie in NHWC and KRSC before the call: its time holds no change of layout.
constexpr const char *other_layout_baseline = "cudnn:graph_nhwc";

/// Whether we are compared with this baseline, which is not TF32: cuDNN in FP32, in either layout.
bool is_compared(const std::string &baseline) {
    return baseline.starts_with("cudnn:") && baseline != "cudnn:half"; // "half" may use tensor cores
}

bool on_tensor_cores(const CaseRow &row) {
    return row.baseline ? row.name == tensor_core_baseline : uses_tensor_cores(row.group);
}

/// cuDNN's numerical notes on the plan that was picked from its graph interface ("none", "WINOGRAD", ...):
/// CaseRow::detail has them between "; notes " and the next ";". Absent where it has none.
std::optional<std::string> plan_notes(const CaseRow &row) {
    constexpr std::string_view before = "; notes ";
    const std::string detail = row.detail.value_or("");
    const std::size_t at = detail.find(before);
    if (at == std::string::npos)
        return std::nullopt;
    const std::size_t begin = at + before.size();
    return detail.substr(begin, detail.find(';', begin) - begin);
}

/// Whether there are notes and they do not name `note`: without notes a plan may be anything.
bool lacks(const std::optional<std::string> &notes, std::string_view note) {
    return notes && notes->find(note) == std::string::npos;
}

/// Whether a case of cuDNN gives the same bits every time. Its named forward algorithms all do; a plan of the
/// graph interface does if it was picked for that, or by its notes.
bool is_deterministic(const CaseRow &row) {
    return !row.name.starts_with("cudnn:graph") || row.name == "cudnn:graph_deterministic" ||
           lacks(plan_notes(row), "NONDETERMINISTIC");
}

/// Whether a case of cuDNN does the multiply-adds of the direct convolution, without Winograd and FFT.
bool is_direct(const CaseRow &row) {
    if (row.name.starts_with("cudnn:graph"))
        return row.name == "cudnn:graph_direct" ||
               (lacks(plan_notes(row), "WINOGRAD") && lacks(plan_notes(row), "FFT"));
    return row.name.find("winograd") == std::string::npos && row.name.find("fft") == std::string::npos;
}

/// Makes `row` the best one, by its id, if there is none yet or its cold time, which it has, is shorter.
void keep_fastest(std::optional<std::int64_t> &best, const CaseRow &row, const std::vector<CaseRow> &rows) {
    if (!best || row.cold_s->value < rows[static_cast<std::size_t>(*best)].cold_s->value)
        best = row.id;
}

/// Whether a case is of the kernel that its study's paper proposes for the shape. Where the paper has
/// several, it is the one that the paper's rule takes: Rules::method counts them from 1.
bool is_papers_own(const CaseRow &row, const Case &item, std::span<const Study> studies) {
    const Study *study = study_named(row.study.value_or(""), studies);
    if (study == nullptr)
        return false;
    const std::vector<std::string> &own = study->paper_kernels;
    const auto found = std::ranges::find(own, row.group);
    if (found == own.end() || own.size() == 1)
        return found != own.end();
    return item.prediction && item.prediction->rules &&
           item.prediction->rules->method == found - own.begin() + 1;
}

/// A choice of cuDNN's algorithms that our fastest is compared with.
struct Rival {
    const char *name; ///< SpeedupStatistics::against
    std::optional<std::int64_t> ShapeRow::*fastest;
    std::optional<double> ShapeRow::*speedup;
};
constexpr Rival rivals[] = {
    {"cudnn", &ShapeRow::cudnn, &ShapeRow::speedup},
    {"cudnn, NHWC too", &ShapeRow::cudnn_any_layout, &ShapeRow::speedup_any_layout},
    {"cudnn, deterministic", &ShapeRow::cudnn_deterministic, &ShapeRow::speedup_deterministic},
    {"cudnn without Winograd and FFT", &ShapeRow::cudnn_direct, &ShapeRow::speedup_direct},
};

/// A row for each shape of each study, in the order of the studies, then for the run's other shapes.
std::vector<ShapeRow> shapes_of(const Run &run, const std::vector<CaseRow> &rows,
                                std::span<const Study> studies) {
    std::vector<ShapeRow> shapes;
    std::map<std::pair<std::string, std::string>, std::size_t> place; // of a study's shape in `shapes`
    for (const Study &study : studies)
        for (const std::string &shape : study.shapes) // a shape that a study lists twice has one row
            if (place.try_emplace({study.id, shape}, shapes.size()).second)
                shapes.emplace_back().study = study.id, shapes.back().shape = shape;
    for (const CaseRow &row : rows) {
        const auto [it, fresh] = place.try_emplace({row.study.value_or(""), row.shape}, shapes.size());
        if (fresh)
            shapes.emplace_back().study = row.study, shapes.back().shape = row.shape;
        ShapeRow &shape = shapes[it->second];
        if (!row.cold_s)
            continue;
        if (on_tensor_cores(row)) {
            keep_fastest(row.baseline ? shape.cudnn_tf32 : shape.ours_tensor_cores, row, rows);
        } else if (!row.baseline) {
            keep_fastest(shape.ours, row, rows);
            if (is_papers_own(row, run.cases[static_cast<std::size_t>(row.id)], studies))
                keep_fastest(shape.papers, row, rows);
        } else if (is_compared(row.name)) {
            keep_fastest(shape.cudnn_any_layout, row, rows);
            if (row.name == other_layout_baseline)
                continue;
            keep_fastest(shape.cudnn, row, rows);
            if (is_deterministic(row))
                keep_fastest(shape.cudnn_deterministic, row, rows);
            if (is_direct(row))
                keep_fastest(shape.cudnn_direct, row, rows);
        }
    }
    const auto seconds = [&](std::int64_t id) { return *rows[static_cast<std::size_t>(id)].cold_s; };
    std::map<std::pair<std::optional<std::string>, std::string>, std::vector<const CaseRow *>> timed;
    for (const CaseRow &row : rows)
        if (!row.baseline && !on_tensor_cores(row) && row.cold_s)
            timed[{row.study, row.shape}].push_back(&row);
    for (ShapeRow &shape : shapes) {
        for (const Rival &rival : rivals)
            if (shape.ours && shape.*rival.fastest)
                shape.*rival.speedup = seconds(*(shape.*rival.fastest)) / seconds(*shape.ours);
        if (shape.papers && shape.cudnn)
            shape.speedup_papers = seconds(*shape.cudnn) / seconds(*shape.papers);
        if (shape.ours && shape.ours_tensor_cores)
            shape.speedup_tensor_cores = seconds(*shape.ours) / seconds(*shape.ours_tensor_cores);
        // Which setting the forecast takes can be said only where it has a time for every measured one.
        const std::vector<const CaseRow *> &settings = timed[{shape.study, shape.shape}];
        if (settings.size() >= 2 &&
            std::ranges::all_of(settings, [](const CaseRow *row) { return row->predicted_s.has_value(); })) {
            shape.picked = (*std::ranges::min_element(settings, {}, &CaseRow::predicted_s))->id;
            shape.regret = seconds(*shape.picked) / seconds(*shape.ours);
        }
    }
    return shapes;
}

/// The statistics of one speed-up of ShapeRow over the shapes of `study`: a study's id, "other shapes" for
/// those of none, or "all". `ours` and `against` say in words what is compared.
SpeedupStatistics speedups_of(const std::string &study, const std::string &ours, const std::string &against,
                              std::optional<double> ShapeRow::*speedup, const std::vector<ShapeRow> &shapes) {
    SpeedupStatistics out;
    out.study = study;
    out.ours = ours;
    out.against = against;
    std::vector<double> ratios;
    for (const ShapeRow &shape : shapes) {
        if (study != "all" && shape.study.value_or("other shapes") != study)
            continue;
        if (!(shape.*speedup)) {
            ++out.without;
            continue;
        }
        ratios.push_back(*(shape.*speedup));
        out.wins += ratios.back() > 1.0 ? 1 : 0;
    }
    out.n = std::ssize(ratios);
    if (ratios.empty())
        return out;
    out.geomean = geometric_mean_of(ratios);
    out.min = std::ranges::min(ratios);
    out.max = std::ranges::max(ratios);
    return out;
}

/// The time of all layers of a network, each by the case of its shape that `which` names; absent where a
/// shape has no such case. Every shape of the study has its count.
std::optional<Seconds> network_sum(const Study &study, std::optional<std::int64_t> ShapeRow::*which,
                                   const std::vector<ShapeRow> &shapes, const std::vector<CaseRow> &rows) {
    Seconds sum(0.0);
    for (std::size_t i = 0; i < study.shapes.size(); ++i) {
        const ShapeRow *row = first_where(shapes, [&](const ShapeRow &shape) {
            return shape.study == study.id && shape.shape == study.shapes[i];
        });
        if (row == nullptr || !(row->*which))
            return std::nullopt;
        sum += *rows[static_cast<std::size_t>(*(row->*which))].cold_s * static_cast<double>(study.counts[i]);
    }
    return sum;
}

std::vector<NetworkStatistics> networks_of(std::span<const Study> studies,
                                           const std::vector<ShapeRow> &shapes,
                                           const std::vector<CaseRow> &rows) {
    std::vector<NetworkStatistics> networks;
    for (const Study &study : studies) {
        if (study.counts.empty()) // only a study of a network counts its layers
            continue;
        NetworkStatistics &out = networks.emplace_back();
        out.study = study.id;
        out.layers = std::accumulate(study.counts.begin(), study.counts.end(), std::int64_t{0});
        out.shapes = std::ssize(study.shapes);
        out.without = std::count_if(shapes.begin(), shapes.end(), [&](const ShapeRow &shape) {
            return shape.study == study.id && !shape.ours;
        });
        for (const auto &[sum, of] :
             {std::pair(&NetworkStatistics::ours_s, &ShapeRow::ours),
              {&NetworkStatistics::cudnn_s, &ShapeRow::cudnn},
              {&NetworkStatistics::cudnn_deterministic_s, &ShapeRow::cudnn_deterministic},
              {&NetworkStatistics::cudnn_direct_s, &ShapeRow::cudnn_direct},
              {&NetworkStatistics::cudnn_any_layout_s, &ShapeRow::cudnn_any_layout},
              {&NetworkStatistics::cudnn_tf32_s, &ShapeRow::cudnn_tf32},
              {&NetworkStatistics::ours_tensor_cores_s, &ShapeRow::ours_tensor_cores}})
            out.*sum = network_sum(study, of, shapes, rows);
        if (out.ours_s && out.cudnn_s)
            out.speedup = *out.cudnn_s / *out.ours_s;
    }
    return networks;
}

/// Every quantity of Work that an ok case has both forecast and counted in its cold measurement.
std::vector<WorkRow> work_rows(const Run &run) {
    std::vector<WorkRow> rows;
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
        const Case &c = run.cases[i];
        const Measurement *cold = c.measured(L2State::cold);
        if (c.status != Status::ok || !c.prediction || !c.prediction->work || cold == nullptr || !cold->work)
            continue;
        using Members = boost::describe::describe_members<Work, boost::describe::mod_public>;
        boost::mp11::mp_for_each<Members>([&](auto member) {
            const std::optional<double> predicted = forecast_of(*c.prediction->work, member.pointer);
            const std::optional<double> &counted = (*cold->work).*member.pointer;
            if (predicted && counted)
                rows.push_back({static_cast<std::int64_t>(i), member.name, *predicted, *counted});
        });
    }
    return rows;
}

/// How far forecasts of work are off, by strategy and quantity. `rows` are the run's cases.
std::vector<WorkStatistics> work_errors_of(const std::vector<WorkRow> &work,
                                           const std::vector<CaseRow> &rows) {
    std::map<std::string, std::vector<WorkStatistics>> of_group; // in the order in which they first come
    std::map<std::pair<std::string, std::string>, std::vector<double>> ratios;
    for (const WorkRow &w : work) {
        const std::string &group = rows[static_cast<std::size_t>(w.id)].group;
        WorkStatistics *known = first_with(of_group[group], &WorkStatistics::quantity, w.quantity);
        WorkStatistics &its = known != nullptr ? *known : of_group[group].emplace_back();
        its.group = group, its.quantity = w.quantity;
        // Two zeros agree; one zero gives no ratio.
        const double ratio = w.predicted == 0.0 && w.counted == 0.0 ? 1.0 : w.predicted / w.counted;
        if (!std::isfinite(ratio) || ratio <= 0.0) {
            ++its.zero;
            continue;
        }
        ratios[{group, w.quantity}].push_back(ratio);
        if (w.counted != 0.0 &&
            (!its.worst_ratio || std::abs(std::log(ratio)) > std::abs(std::log(*its.worst_ratio)))) {
            its.worst_ratio = ratio;
            its.worst_case = w.id;
        }
    }
    std::vector<WorkStatistics> out;
    for (const std::string &group : groups_of(rows))
        for (WorkStatistics &its : of_group[group]) {
            const std::vector<double> &all = ratios[{group, its.quantity}];
            its.n = std::ssize(all);
            if (its.n > 0)
                its.ratio_geomean = geometric_mean_of(all);
            out.push_back(std::move(its));
        }
    return out;
}

/// How many cases became what, and why: ours first, then the baselines, each by name.
std::vector<StatusCount> statuses_of(const std::vector<CaseRow> &rows) {
    std::map<std::tuple<bool, std::string, Status, std::string>, std::int64_t> counts; // in this order
    for (const CaseRow &row : rows)
        ++counts[{row.baseline, row.group, row.status,
                  row.status == Status::ok ? "" : row.reason.value_or("")}];
    std::vector<StatusCount> out;
    for (const auto &[key, n] : counts)
        out.push_back({std::get<1>(key), std::get<2>(key), std::get<3>(key), n});
    return out;
}

/// The boundaries of the papers' rule by the first forecast that has them. It does not have the number of
/// SMs: that follows from V_s, which is 4 bytes for every thread of the GPU (T6).
std::optional<PaperBounds> bounds_of(const Run &run) {
    for (const Case &item : run.cases)
        if (item.prediction && item.prediction->rules) {
            const Rules &rules = *item.prediction->rules;
            constexpr std::int64_t bytes_per_thread = 4;
            if (rules.n_fma && rules.v_s_bytes && rules.threads_per_sm && *rules.threads_per_sm > 0)
                return PaperBounds{*rules.n_fma, *rules.v_s_bytes,
                                   *rules.v_s_bytes / (bytes_per_thread * *rules.threads_per_sm)};
        }
    return std::nullopt;
}

} // namespace

std::string knobs_text(const std::string &strategy) {
    const std::size_t colon = strategy.find(':');
    return colon == std::string::npos ? strategy : strategy.substr(colon + 1);
}

std::int64_t knob_value(const std::string &strategy, const std::string &knob) {
    const std::string knobs = "," + knobs_text(strategy);
    const std::size_t at = knobs.find("," + knob + "=");
    return at == std::string::npos ? 0 : std::atoll(knobs.c_str() + at + knob.size() + 2);
}

bool has_setting(const std::string &strategy, const std::string &setting) {
    const auto kernel_of = [](const std::string &text) { return text.substr(0, text.find(':')); };
    if (kernel_of(strategy) != kernel_of(setting))
        return false;
    if (setting.find(':') == std::string::npos)
        return true;
    const std::vector<std::string> has = split(knobs_text(strategy), ',');
    return std::ranges::all_of(split(knobs_text(setting), ','), [&](const std::string &knob) {
        return std::ranges::find(has, knob) != has.end();
    });
}

const ErrorStatistics *ReportStatistics::errors_of(const std::string &group) const {
    return first_where(errors, [&](const ErrorStatistics &its) { return its.group == group && its.n > 0; });
}

std::vector<const ErrorStatistics *> ReportStatistics::by_error() const {
    std::vector<const ErrorStatistics *> rows;
    for (const ErrorStatistics &its : errors)
        if (!its.group.starts_with("all") && its.n > 0)
            rows.push_back(&its);
    std::ranges::stable_sort(rows, std::greater(), [](const ErrorStatistics *row) { return *row->median; });
    return rows;
}

const SpeedupStatistics *ReportStatistics::overall(const std::string &against) const {
    const SpeedupStatistics *found = nullptr; // "all" exists only where there are several studies
    for (const SpeedupStatistics &its : speedups)
        if (its.against == against && its.ours == "our fastest" && (found == nullptr || its.study == "all"))
            found = &its;
    return found != nullptr && found->n > 0 ? found : nullptr;
}

ReportStatistics summarize(const Run &run, std::span<const Study> studies,
                           std::span<const JudgedCall> judged) {
    ReportStatistics out;
    out.error = remark("error_of_a_forecast");
    out.percentile = remark("percentile");
    out.cases.reserve(run.cases.size());
    for (std::size_t i = 0; i < run.cases.size(); ++i)
        out.cases.push_back(row_of(run.cases[i], static_cast<std::int64_t>(i), studies));
    out.shapes = shapes_of(run, out.cases, studies);
    std::map<std::pair<std::string, std::string>, Seconds> cudnn; // the fastest on NCHW of a study's shape
    for (const ShapeRow &shape : out.shapes)
        if (shape.cudnn)
            cudnn[{shape.study.value_or(""), shape.shape}] =
                *out.cases[static_cast<std::size_t>(*shape.cudnn)].cold_s;
    for (CaseRow &row : out.cases)
        if (const auto best = cudnn.find({row.study.value_or(""), row.shape});
            row.cold_s && best != cudnn.end() && !on_tensor_cores(row))
            row.speedup = best->second / *row.cold_s;

    for (const std::string &group : groups_of(out.cases))
        out.errors.push_back(errors_of(group, group, out.cases, &CaseRow::predicted_s));
    out.errors.push_back(errors_of("all", std::nullopt, out.cases, &CaseRow::predicted_s));
    out.errors.push_back(errors_of("all, speed of light", std::nullopt, out.cases, &CaseRow::tier0_s));

    std::vector<std::string> names;
    for (const ShapeRow &shape : out.shapes)
        add_once(names, shape.study.value_or("other shapes"));
    if (names.size() > 1)
        names.emplace_back("all");
    for (const std::string &name : names) {
        for (const Rival &rival : rivals) // with a line also where no shape was compared
            out.speedups.push_back(speedups_of(name, "our fastest", rival.name, rival.speedup, out.shapes));
        const auto add_compared = [&](const std::string &ours, const char *against,
                                      std::optional<double> ShapeRow::*speedup) {
            SpeedupStatistics its = speedups_of(name, ours, against, speedup, out.shapes);
            if (its.n > 0)
                out.speedups.push_back(std::move(its));
        };
        if (const Study *study = study_named(name, studies);
            study != nullptr && !study->paper_kernels.empty())
            // In the settings of the run, which are not the paper's own unless the run was given those.
            add_compared(join(study->paper_kernels, "/") + ", as run", "cudnn", &ShapeRow::speedup_papers);
        add_compared("ours on tensor cores", "ours without tensor cores", &ShapeRow::speedup_tensor_cores);
    }
    out.networks = networks_of(studies, out.shapes, out.cases);
    out.accuracy = accuracy_of(run, judged);
    out.timelines = timeline_rows(run);
    out.work = work_rows(run);
    out.work_errors = work_errors_of(out.work, out.cases);
    out.regimes = regimes_of(run);
    out.paper = bounds_of(run);
    out.statuses = statuses_of(out.cases);
    return out;
}

template const described::Type &described::type_of<ReportStatistics>();

} // namespace convcast
