#include "model/forecast.hpp"

#include "model/architecture.hpp"
#include "model/baselines_of_forecast.hpp"
#include "model/errors.hpp"
#include "model/formula.hpp"
#include "model/launch_terms.hpp"
#include "model/machine.hpp"
#include "model/papers.hpp"
#include "model/parallel.hpp"
#include "model/regimes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

using namespace launch_terms;

Work total_work(const Plan &plan) {
    Work total;
    const auto add = [&](std::optional<double> Work::*field) {
        for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
            for (const Partition &part : *launches)
                if (part.work.*field)
                    total.*field = (total.*field).value_or(0.0) + *(part.work.*field);
    };
    for (const auto field : {&Work::fmas, &Work::tensor_fmas, &Work::instructions, &Work::shared_wavefronts,
                             &Work::shared_conflicts, &Work::l2_read_bytes, &Work::l2_write_bytes,
                             &Work::dram_read_bytes, &Work::dram_write_bytes})
        add(field);
    bool repeats = false;
    double by_address = 0.0;
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (const Partition &part : *launches) {
            repeats = repeats || part.work.shared_wavefronts_by_address;
            by_address += forecast_of(part.work, &Work::shared_wavefronts_by_address).value_or(0.0);
        }
    if (repeats)
        total.shared_wavefronts_by_address = by_address;
    return total;
}

/// The tree with nothing overlapped: the upper end of the range where no calibration is there.
Seconds without_overlap(const Term &term) {
    if (term.kind == TermKind::leaf)
        return term.value_s;
    std::vector<double> values;
    double total = 0.0;
    for (const Term &child : term.children) {
        values.push_back(without_overlap(child).value);
        total += values.back();
    }
    const double count = term.count.value_or(0.0);
    if (term.kind == TermKind::pipeline)
        return Seconds(values.at(0) + std::max(0.0, count - 1.0) * values.at(1) + values.at(2));
    if (term.kind == TermKind::schedule)
        return Seconds(count * values.at(0) + values.at(1));
    return Seconds(total);
}

/// No forecast is below the speed of light, also where a step's bytes were counted low.
template <Yield T> T bounded(T term, const T &bound) {
    const Seconds short_of_it = value_of(bound) - value_of(term);
    if (short_of_it.value > 0.0)
        return evaluated(
            sum<T>("time", {std::move(term), leaf<T>("speed of light", short_of_it,
                                                     "the bound of tier 0 exceeds the pipeline's sum")}));
    return term;
}

/// What a wave-quantised roofline makes of a plan (NeuSight's tile model without its learned utilisation):
/// the CTAs run in whole waves, each wave at the peak of its FMAs or of its bytes, whichever takes longer.
Seconds wave_roofline(const Plan &plan, const Machine &m) {
    double total = 0.0;
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (const Partition &part : *launches) {
            const double steps = static_cast<double>(part.steps);
            const double chip = static_cast<double>(part.ctas_per_sm) * m.sm_count;
            const double fmas = steps * part.step.fmas + part.drain.fmas;
            const double bytes = steps * (part.step.load_bytes + part.step.store_bytes) +
                                 part.drain.load_bytes + part.drain.store_bytes;
            const double compute = static_cast<double>(part.ctas_per_sm) * fmas / m.ffma_rate / m.clock;
            total += m.launch_s + static_cast<double>(part.waves) * std::max(compute, chip * bytes / m.l2_bw);
        }
    return Seconds(total);
}

} // namespace

Plan with_work(Plan plan, const Work &counted) {
    const Work forecast = total_work(plan);
    const auto ratio = [&](std::optional<double> Work::*field) {
        const std::optional<double> ours = forecast_of(forecast, field), &theirs = counted.*field;
        return ours && theirs && *ours > 0.0 ? *theirs / *ours : 1.0;
    };
    // FFMAs are instructions too: what is scaled is the others.
    const double ffmas = forecast.fmas.value_or(0.0) / 32.0;
    const double others = forecast.instructions.value_or(0.0) - ffmas;
    const double other_ratio =
        others > 0.0 && counted.instructions
            ? std::max(0.0, *counted.instructions - ffmas * ratio(&Work::fmas)) / others
            : 1.0;
    // A step's wavefronts are those that its addresses ask for.
    const double loads = ratio(&Work::l2_read_bytes),
                 wavefronts = ratio(counted.shared_wavefronts_by_address ? &Work::shared_wavefronts_by_address
                                                                         : &Work::shared_wavefronts);
    for (std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (Partition &part : *launches) {
            for (StepWork *work : {&part.step, &part.drain}) {
                const double its_ffmas = work->fmas / 32.0;
                const double its_others = std::max(0.0, work->instructions - its_ffmas);
                work->fmas *= ratio(&Work::fmas);
                work->instructions = work->fmas / 32.0 + its_others * other_ratio;
                work->copying *= other_ratio;
                work->shared_wavefronts *= wavefronts;
                work->load_bytes *= loads;
            }
            for (const auto field : {&Work::l2_read_bytes, &Work::l2_write_bytes, &Work::dram_read_bytes,
                                     &Work::dram_write_bytes})
                if (part.work.*field)
                    part.work.*field = *(part.work.*field) * ratio(field);
            if (part.partial_write_bytes)
                *part.partial_write_bytes *= ratio(&Work::l2_write_bytes);
        }
    return plan;
}

std::string missing_for_forecast(const GpuProfile &p) {
    std::vector<std::string> missing;
    const auto need = [&](const char *name, bool there) {
        if (!there) {
            const auto why = p.missing.find(name);
            missing.push_back(name + (why == p.missing.end() ? "" : " (" + why->second + ")"));
        }
    };
    need("sm_clock", p.sm_clock.has_value());
    need("dram_latency", p.dram_latency.has_value());
    need("dram_read_bandwidth", p.dram_read_bandwidth.has_value());
    need("ffma_rate", p.ffma_rate.has_value());
    need("shared_bandwidth", p.shared_bandwidth.has_value());
    need("launch_floor", p.launch_floor.has_value());
    return join(missing);
}

std::string missing_for_forecast(const GpuProfile &p, const Plan &plan) {
    std::string missing = missing_for_forecast(p);
    if (uses_tensor_cores(plan) && !p.tf32_mma_rate) {
        const auto why = p.missing.find("tf32_mma_rate");
        missing += (missing.empty() ? "" : ", ") + std::string("tf32_mma_rate") +
                   (why == p.missing.end() ? "" : " (" + why->second + ")");
    }
    return missing;
}

std::string no_time(const GpuProfile &profile, const std::string &missing) {
    const std::string name = missing.substr(0, missing.find_first_of(" ,"));
    const bool floor = name == "launch_floor";
    return "no time: the profile " + profile.id + " lacks " + missing +
           (capability_of(profile) >= least_measured_capability
                ? "; `convcast measure` finds it on a GPU at hand"
                : "; `convcast measure` does not run on compute capability " + profile.compute_capability +
                      ", give it, " +
                      (floor ? "for example --assume launch_floor=5e-6"
                             : "--assume " + name + "=VALUE, in the unit of profile files"));
}

Regime regime_by_rule(double fmas, double n_fma, double bytes, double v_s_bytes) {
    if (fmas >= n_fma)
        return Regime::compute_hidden;
    return bytes >= v_s_bytes ? Regime::bulk_hidden : Regime::exposed;
}

Regime measured_regime(double fma_share, double issue_share, double dram_share, double l2_share) {
    if (std::max(fma_share, issue_share) >= busy_fma_share)
        return Regime::compute_hidden;
    return std::max(dram_share, l2_share) >= busy_memory_share ? Regime::bulk_hidden : Regime::exposed;
}

const Partition &main_launch(const Plan &plan) {
    const auto products = [](const Partition &part) {
        return part.work.fmas.value_or(0.0) + part.work.tensor_fmas.value_or(0.0);
    };
    return *std::max_element(
        plan.launches.begin(), plan.launches.end(),
        [&](const Partition &a, const Partition &b) { return products(a) < products(b); });
}

namespace {

/// S1 with the time that the products take an SM.
template <Yield T> T bound_of(const ConvShape &shape, const Machine &m, T arithmetic) {
    const double reads = static_cast<double>(shape.input_bytes() + shape.filter_bytes());
    return evaluated(sum<T>(
        "speed of light",
        {leaf<T>("launch", s(m.launch_s), "{:.2f} us", m.launch_s * 1e6),
         max_of<T>("overlap",
                   {std::move(arithmetic),
                    pnorm<T>("compulsory reads", m.knee,
                             {leaf<T>("load latency", s(m.latency_s), "{:.0f} ns", m.latency_s * 1e9),
                              bandwidth_leaf<T>("DRAM reads", reads, m.read_bw)}),
                    bandwidth_leaf<T>("writes", static_cast<double>(shape.output_bytes()), m.write_bw)})}));
}

/// Of a plan: its tensor cores multiply the parts of the factors, so often as its work says; a transforming
/// algorithm has multiply-adds of its own.
template <Yield T> T bound_of(const Plan &plan, const ConvShape &shape, const Machine &m) {
    const double products = shape.fmas().value / m.sm_count;
    return bound_of<T>(
        shape, m,
        uses_tensor_cores(plan)
            ? tensor_leaf<T>(products_of_parts * products, m)
            : fma_leaf<T>(plan.transformed_fmas.value_or(shape.fmas().value) / m.sm_count, m.ffma_rate, m));
}

/// Tier 2 of a plan.
template <Yield T> T plan_term(const Plan &plan, const ConvShape &shape, const Machine &m) {
    List<T> parts = {leaf<T>("launch", s(m.launch_s), "{:.2f} us", m.launch_s * 1e6)};
    // The start of a launch that starts early is hidden behind the one before it.
    std::int64_t further = -1;
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        further += std::count_if(launches->begin(), launches->end(),
                                 [](const Partition &part) { return !part.early.value_or(false); });
    if (further > 0)
        parts.push_back(leaf<T>("further launches", s(static_cast<double>(further) * m.gap_s),
                                "{} * {:.2f} us", further, m.gap_s * 1e6));
    std::optional<T> last;
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (const Partition &part : *launches) {
            T its = partition_term<T>(part, shape, m);
            // It starts a gap after the CTAs of the one before, which let it at once (F20).
            if (last && part.beside.value_or(false))
                its = sum<T>(part.kernel, {leaf<T>("early start", s(m.gap_s),
                                                   "{:.2f} us after the launch beside it", m.gap_s * 1e6),
                                           std::move(its)});
            if (last && part.beside.value_or(false))
                its = max_of<T>("side by side", {std::move(*last), std::move(its)});
            else if (last)
                parts.push_back(std::move(*last));
            last = std::move(its);
        }
    if (last)
        parts.push_back(std::move(*last));
    return evaluated(sum<T>("time", std::move(parts)));
}

/// A 90 % interval's ends over the forecast: how the training part's calls lie around theirs, how far the
/// samples of each measured number reach, and the fits to shapes drawn again; as logarithms, independent of
/// each other.
std::pair<double, double> interval_of(const Plan &plan, const ConvShape &shape, const Machine &m,
                                      const GpuProfile &profile, const Calibration &calibration) {
    const double time = plan_term<Seconds>(plan, shape, m).value;
    const auto moved = [&](const Machine &other) {
        return std::log(plan_term<Seconds>(plan, shape, other).value / time);
    };
    double below = 0.0, above = 0.0; // squares
    const auto widen = [&](double by) { (by < 0.0 ? below : above) += by * by; };
    widen(std::min(0.0, std::log(calibration.ratio_p05)));
    widen(std::max(0.0, std::log(calibration.ratio_p95)));
    for (const Measured &measured : measured_numbers(profile))
        for (const double ratio : {measured.low, measured.high}) {
            Machine other = m;
            other.*measured.number *= ratio;
            widen(moved(other));
        }
    std::vector<double> refitted;
    for (const FittedNumbers &again : calibration.resampled) {
        Machine other = m;
        other.fitted = again;
        refitted.push_back(moved(other));
    }
    if (!refitted.empty()) { // the lowest and highest of ten are its 5th and 95th percentile
        const auto [low, high] = std::minmax_element(refitted.begin(), refitted.end());
        widen(std::min(0.0, *low));
        widen(std::max(0.0, *high));
    }
    return {std::exp(-std::sqrt(below)), std::exp(std::sqrt(above))};
}

} // namespace

std::optional<Term> speed_of_light(const ConvShape &shape, const GpuProfile &p, std::optional<double> fmas) {
    if (!missing_for_forecast(p).empty())
        return std::nullopt;
    const Machine m = machine_of(p, shape.dtype, {});
    return bound_of<Term>(shape, m,
                          fma_leaf<Term>(fmas.value_or(shape.fmas().value) / m.sm_count, m.ffma_rate, m));
}

std::optional<Term> forecast_term(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                  const Calibration &calibration) {
    if (!missing_for_forecast(profile, plan).empty())
        return std::nullopt;
    return plan_term<Term>(plan, shape, machine_of(profile, shape.dtype, calibration));
}

std::optional<CallTimes> call_times(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                    const Calibration &calibration) {
    if (!missing_for_forecast(profile, plan).empty())
        return std::nullopt;
    const Machine m = machine_of(profile, shape.dtype, calibration);
    CallTimes times{s(m.launch_s), s(m.gap_s), {}};
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (const Partition &part : *launches) {
            const Machine its = running(part, m);
            const Traffic traffic = traffic_of(part, shape, its);
            CtaStay &stay = times.stays.emplace_back();
            stay.sms = usable_sms(part, m);
            const auto sms = static_cast<double>(std::min(part.ctas - part.idle_ctas, stay.sms));
            stay.idle = s(m.l2_latency_s); // it looks at its arguments and leaves
            stay.before_s = part.constant_bytes > 0 ? s(m.launch_s + m.gap_s) : s(0.0);
            for (std::int64_t ctas = 1; ctas <= part.ctas_per_sm; ++ctas) {
                const Round round{static_cast<double>(ctas), sms, true};
                stay.first.push_back(wave_term<Seconds>(part, its, round, traffic));
                stay.later.push_back(further_wave_term<Seconds>(part, its, round, traffic));
            }
        }
    return times;
}

std::optional<Seconds> forecast_time(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                     const Calibration &calibration) {
    if (!missing_for_forecast(profile, plan).empty())
        return std::nullopt;
    return plan_term<Seconds>(plan, shape, machine_of(profile, shape.dtype, calibration));
}

namespace {

Case refused_case(const Strategy &strategy, const ConvShape &shape, Infeasible why) {
    Case out;
    out.shape = shape.id();
    out.strategy = to_text(strategy);
    out.status = why.unsupported ? Status::unsupported : Status::infeasible;
    out.reason = std::move(why.why);
    return out;
}

/// A plan as it is forecast: with what its kernels were counted to do.
std::variant<PlannedStrategy, Infeasible> counted_plan(const Strategy &strategy, const ConvShape &shape,
                                                       const GpuProfile &profile, const Facts &facts) {
    auto planned = plan(strategy, shape, profile, facts);
    if (auto *good = std::get_if<PlannedStrategy>(&planned);
        good && shape.dtype == DataType::f32) // whose kernels were counted
        good->feasible.plan = with_facts(std::move(good->feasible.plan), facts);
    return planned;
}

/// What a prediction's time is, without the prediction.
std::optional<Seconds> predicted_time(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                      const std::optional<Calibration> &fitted) {
    if (!missing_for_forecast(profile, plan).empty())
        return std::nullopt;
    const Machine assumed = machine_of(profile, shape.dtype, {});
    const Machine m = fitted ? machine_of(profile, shape.dtype, *fitted) : assumed;
    return bounded(plan_term<Seconds>(plan, shape, m), bound_of<Seconds>(plan, shape, assumed));
}

Case predict(PlannedStrategy good, const ConvShape &shape, const GpuProfile &profile,
             const Knowledge &knowledge, const Work *given) {
    Case out;
    out.shape = shape.id();
    Feasible &feasible = good.feasible;
    out.strategy = to_text(good.strategy);
    out.status = Status::ok;

    Prediction prediction;
    prediction.assumptions = std::move(feasible.assumptions);
    prediction.work = total_work(feasible.plan);
    Regimes regimes;
    const Partition &main = main_launch(feasible.plan);
    if (feasible.rules.n_fma) {
        regimes.paper = regime_by_rule(feasible.paper_round_fmas, static_cast<double>(*feasible.rules.n_fma),
                                       feasible.paper_round_bytes * profile.limits.sm_count,
                                       static_cast<double>(*feasible.rules.v_s_bytes));
    }
    if (const std::string missing = missing_for_forecast(profile, feasible.plan); missing.empty()) {
        const Machine m = machine_of(profile, shape.dtype, {});
        // The physical rule: FMAs that one SM retires during one latency, and bytes that are really under
        // way.
        const double resident =
            static_cast<double>(std::min(main.ctas_per_sm, papers::ceil_div(main.ctas, m.sm_count)));
        const double active = static_cast<double>(std::min<std::int64_t>(main.ctas, m.sm_count));
        regimes.physical = regime_by_rule(resident * main.step.tensor_fmas.value_or(main.step.fmas),
                                          profile.dram_latency->value.value *
                                              (main.step.tensor_fmas ? m.tensor_rate : m.ffma_rate),
                                          resident * active * main.step.load_bytes *
                                              static_cast<double>(std::max<std::int64_t>(1, main.stages - 1)),
                                          m.read_bw * m.latency_s);
        if (!profile.knee_exponent)
            prediction.assumptions.push_back(fmt::format("knee exponent {}: the profile has none", m.knee));
        if (!profile.ffma_outer_rate)
            prediction.assumptions.push_back(
                "FFMAs of three registers at full rate: the profile has no outer rate");
        if (!profile.l2_read_bandwidth)
            prediction.assumptions.push_back("L2 bandwidth twice DRAM's: the profile has none");
        if (!profile.l2_latency)
            prediction.assumptions.push_back("L2 latency half of DRAM's: the profile has none");
        if (!profile.barrier_latency)
            prediction.assumptions.push_back("barriers free: the profile has no barrier latency");
        if (main.cluster.value_or(1) > 1 && !profile.cluster_latency)
            prediction.assumptions.push_back("clusters as published for an H800: the profile has none");
        if (main.partial_write_bytes.value_or(0.0) > 0.0 && !profile.partial_sector_store_time)
            prediction.assumptions.push_back(
                "a sector written in part takes two: the profile has no time of one");
        const Plan worked = given ? with_work(feasible.plan, *given) : feasible.plan;
        if (given)
            prediction.assumptions.push_back("time of the work that was counted");
        prediction.assumptions.insert(prediction.assumptions.end(), knowledge.assumptions.begin(),
                                      knowledge.assumptions.end());
        const Term bound = bound_of<Term>(feasible.plan, shape, m);
        prediction.times.tier0_s = bound.value_s;
        prediction.times.roofline_s = wave_roofline(worked, m);
        prediction.times.mwp_cwp_s = mwp_cwp_time(worked, profile);
        const std::optional<Calibration> &fitted = knowledge.calibration;
        prediction.times.tier2_s = bounded(plan_term<Seconds>(worked, shape, m), bound.value_s);
        const Machine best = fitted ? machine_of(profile, shape.dtype, *fitted) : m;
        Term term = bounded(plan_term<Term>(worked, shape, best), bound);
        if (fitted)
            prediction.times.fitted_s = term.value_s;
        prediction.time_s = term.value_s;
        const Utilisation busy = utilisation_of(worked, *prediction.work, *prediction.time_s, profile);
        regimes.tier2 = measured_regime(busy.fma, busy.issue, busy.dram, busy.l2);
        // Without a calibration the structure's own bounds.
        if (fitted) {
            const auto [low, high] = interval_of(worked, shape, best, profile, *fitted);
            prediction.time_low_s = std::max(bound.value_s, term.value_s * low);
            prediction.time_high_s = std::max(*prediction.time_low_s, term.value_s * high);
        } else {
            prediction.time_low_s = bound.value_s;
            prediction.time_high_s = without_overlap(term);
        }
        prediction.limiter = limiter(term);
        prediction.term = std::move(term);
    } else {
        prediction.reason = no_time(profile, missing);
    }
    prediction.regimes = regimes;
    feasible.rules.round_fmas = feasible.paper_round_fmas;
    feasible.rules.round_bytes = feasible.paper_round_bytes * profile.limits.sm_count;
    prediction.rules = std::move(feasible.rules);
    prediction.plan = std::move(feasible.plan);
    out.prediction = std::move(prediction);
    return out;
}

} // namespace

Case predict(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile,
             const Knowledge &knowledge, const Work *given) {
    auto planned = counted_plan(strategy, shape, profile, knowledge.facts);
    if (auto *why = std::get_if<Infeasible>(&planned))
        return refused_case(strategy, shape, std::move(*why));
    return predict(std::move(std::get<PlannedStrategy>(planned)), shape, profile, knowledge, given);
}

Case predict_baseline(const std::string &baseline, const ConvShape &shape, const GpuProfile &profile) {
    Case out;
    out.shape = shape.id();
    out.baseline = baseline;
    out.status = Status::ok;
    Prediction prediction;
    prediction.assumptions = {"speed of light only: a bound, no forecast of others' code"};
    // Of halves others may multiply on tensor cores, whose rate no probe measures.
    const std::optional<double> fmas =
        shape.dtype == DataType::f32 ? std::nullopt : std::optional<double>(0.0);
    if (const std::optional<Term> bound = speed_of_light(shape, profile, fmas))
        prediction.times.tier0_s = bound->value_s;
    prediction.reason = "others' code has a bound (tier0_s), no plan and no forecast";
    out.prediction = std::move(prediction);
    return out;
}

std::vector<Case> choose(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
                         const std::vector<std::string> &strategies, std::size_t top) {
    struct Candidate {
        std::size_t of = 0; ///< index of its strategy
        Strategy setting;
        std::optional<PlannedStrategy> planned;
        Infeasible why; ///< where nothing is planned
        std::optional<Seconds> time;
        std::string text;
    };
    const std::vector<std::string> names = strategies.empty() ? strategy_names() : strategies;
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < names.size(); ++i)
        for (const Strategy &setting : candidates(names[i])) {
            Candidate &item = all.emplace_back();
            item.of = i;
            item.setting = setting;
        }
    in_parallel(all.size(), [&](std::size_t i) {
        Candidate &item = all[i];
        auto result = counted_plan(item.setting, shape, profile, knowledge.facts);
        if (auto *why = std::get_if<Infeasible>(&result)) {
            item.why = std::move(*why);
            return;
        }
        item.planned = std::move(std::get<PlannedStrategy>(result));
        item.time = predicted_time(item.planned->feasible.plan, shape, profile, knowledge.calibration);
        item.text = to_text(item.planned->strategy);
    });

    std::vector<Candidate *> ranked;
    std::vector<Candidate *> refused(names.size()); // the first setting that was, where none was feasible
    std::vector<std::set<std::string>> seen(names.size());
    for (Candidate &item : all) {
        if (item.planned) {
            if (seen[item.of].insert(item.text).second)
                ranked.push_back(&item);
        } else if (!refused[item.of]) {
            refused[item.of] = &item;
        }
    }
    const auto place_of = [&](const Candidate *item) {
        return std::tuple(uses_tensor_cores(names[item->of]), item->time ? item->time->value : 0.0,
                          std::string_view(item->text));
    };
    std::sort(ranked.begin(), ranked.end(),
              [&](const Candidate *a, const Candidate *b) { return place_of(a) < place_of(b); });
    ranked.resize(std::min(ranked.size(), top));
    std::vector<Case> chosen(ranked.size());
    in_parallel(ranked.size(), [&](std::size_t i) {
        chosen[i] = predict(std::move(*ranked[i]->planned), shape, profile, knowledge, nullptr);
    });
    for (std::size_t i = 0; i < names.size(); ++i)
        if (seen[i].empty() && refused[i])
            chosen.push_back(refused_case(refused[i]->setting, shape, std::move(refused[i]->why)));
    return chosen;
}

} // namespace convcast
