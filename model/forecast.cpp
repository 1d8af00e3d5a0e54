#include "model/forecast.hpp"

#include "model/errors.hpp"
#include "model/papers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace convcast {
namespace {

/// A hard knee overestimates what moderate bytes in flight reach; p = 2 is near what was fitted on Hopper
/// reads and is used where the profile has no fit of its own (docs/model.md, M1).
constexpr double assumed_knee_exponent = 2.0;

/// Clocks from an FFMA to one that needs its result, where the profile has none of its own: published for
/// Hopper (arXiv 2507.10789).
constexpr double assumed_ffma_latency = 4.0;

/// The numbers of a profile that tier 2 uses, unwrapped.
struct Machine {
    double clock, latency_s, read_bw, write_bw, l2_bw, l2_latency_s, ffma_rate, outer_rate, shared_bw,
        launch_s, gap_s, barrier_s, knee, issue_rate, cta_s, ffma_latency;
    int sm_count;
    double tensor_rate; ///< 0: not known; plans that need it have no time then
};

Machine machine_of(const GpuProfile &p) {
    Machine m{};
    m.clock = p.sm_clock->value.value;
    m.latency_s = p.dram_latency->value.value / m.clock;
    m.read_bw = p.dram_read_bandwidth->value.value;
    m.write_bw = p.dram_write_bandwidth ? p.dram_write_bandwidth->value.value : m.read_bw;
    m.l2_bw = p.l2_read_bandwidth ? p.l2_read_bandwidth->value.value : 2.0 * m.read_bw;
    m.l2_latency_s = p.l2_latency ? p.l2_latency->value.value / m.clock : m.latency_s / 2.0;
    m.ffma_rate = p.ffma_rate->value.value;
    m.outer_rate = p.ffma_outer_rate ? p.ffma_outer_rate->value.value : m.ffma_rate;
    m.shared_bw = p.shared_bandwidth->value.value;
    m.launch_s = p.launch_floor->value.value;
    m.gap_s = p.launch_gap ? p.launch_gap->value.value : m.launch_s;
    m.barrier_s = p.barrier_latency ? p.barrier_latency->value.value / m.clock : 0.0;
    m.knee = p.knee_exponent ? p.knee_exponent->value.value : assumed_knee_exponent;
    m.issue_rate = p.limits.schedulers_per_sm;
    m.sm_count = p.limits.sm_count;
    m.ffma_latency = p.ffma_latency ? p.ffma_latency->value.value : assumed_ffma_latency;
    m.cta_s = p.cta_launch_time ? p.cta_launch_time->value.value : 0.0;
    m.tensor_rate = p.tf32_mma_rate ? p.tf32_mma_rate->value.value : 0.0;
    return m;
}

Seconds s(double value) {
    return Seconds(value);
}

Term fma_leaf(double fmas, double rate, const Machine &m) {
    return leaf("FMA", s(fmas / rate / m.clock),
                fmt::format("{:.0f} fma / {:.1f} fma/clk / {:.0f} MHz", fmas, rate, m.clock / 1e6));
}

constexpr const char *tensor_name = "tensor cores";

Term tensor_leaf(double fmas, const Machine &m) {
    return leaf(tensor_name, s(fmas / m.tensor_rate / m.clock),
                fmt::format("{:.0f} fma / {:.1f} fma/clk / {:.0f} MHz", fmas, m.tensor_rate, m.clock / 1e6));
}

Term issue_leaf(double instructions, const Machine &m) {
    return leaf("other issue", s(instructions / m.issue_rate / m.clock),
                fmt::format("{:.0f} warp instructions / {:.0f} per clk / {:.0f} MHz", instructions,
                            m.issue_rate, m.clock / 1e6));
}

constexpr const char *core_name = "issue slots and shared memory";

/// How well two resources overlap that each of `warps` warps of a scheduler uses in turn (F5): a closed queue
/// of two stations takes (warps + 1) / warps of the time of the longer where both take as long. As a p-norm:
/// one warp adds the times, many hide the shorter.
double overlap_exponent(double warps) {
    return std::log(2.0) / std::log1p(1.0 / std::max(1.0, warps));
}

/// What the cores of an SM need for the work of `ctas` CTAs. With 128 lanes an SM, an FFMA takes an issue
/// slot of its scheduler like any other instruction, so their times add (F3); shared memory works beside
/// them as far as there are warps to use both. A warp alone cannot issue faster than its chains of dependent
/// instructions allow.
std::vector<Term> core_terms(const Partition &part, const StepWork &work, double ctas, const Machine &m) {
    const double ffmas = work.fmas / 32.0;
    const double others = std::max(0.0, work.instructions - ffmas);
    const double busy = static_cast<double>(std::max<std::int64_t>(1, part.busy_warps));
    const double sums = static_cast<double>(std::max<std::int64_t>(1, part.independent_sums));
    // FFMAs wait for each other only within a sum; the rest is addresses, loads and their uses, one after
    // another.
    const double chain = (ffmas * std::max(1.0, m.ffma_latency / sums) + others * m.ffma_latency) / busy;
    constexpr double wavefront_bytes = 128.0;
    std::vector<Term> resources = {
        sum("issue slots", {fma_leaf(ctas * work.fmas, m.outer_rate, m), issue_leaf(ctas * others, m)}),
        leaf("shared memory", s(ctas * work.shared_wavefronts * wavefront_bytes / m.shared_bw / m.clock),
             fmt::format("{:.0f} wavefronts * 128 B / {:.1f} B/clk / {:.0f} MHz",
                         ctas * work.shared_wavefronts, m.shared_bw, m.clock / 1e6))};
    std::vector<Term> terms = {
        pnorm(core_name, overlap_exponent(ctas * busy / m.issue_rate), std::move(resources)),
        leaf("dependent instructions", s(chain / m.clock),
             fmt::format("{:.0f} clk of one warp / {:.0f} MHz", chain, m.clock / 1e6))};
    if (work.tensor_fmas) // beside the warps, which only start it
        terms.push_back(tensor_leaf(ctas * *work.tensor_fmas, m));
    return terms;
}

Term bandwidth_leaf(const char *name, double bytes, double bandwidth) {
    return leaf(name, s(bytes / bandwidth), fmt::format("{:.0f} B / {:.1f} GB/s", bytes, bandwidth / 1e9));
}

/// A round on the whole chip: every one of `ctas` CTAs of an SM on `sms` SMs takes one step.
struct Round {
    double ctas; ///< resident on the busiest SM
    double sms;  ///< that have work
    bool first;  ///< of a launch: L2 has nothing of it yet
};

/// How a launch's bytes meet the memory system, beside what a step counts.
struct Traffic {
    double dram_share;   ///< of its reads that L2 does not have
    double store_factor; ///< bytes of the sectors written per byte of output: rows that are not aligned share
                         ///< sectors
};

Traffic traffic_of(const Partition &part, const ConvShape &shape) {
    const double reads = part.work.l2_read_bytes.value_or(0.0);
    const double dram = part.work.dram_read_bytes.value_or(reads);
    if (part.filter_count == 0) // prepares filters: whole sectors
        return {reads > 0.0 ? std::min(1.0, dram / reads) : 0.0, 1.0};
    const double output = static_cast<double>(shape.output_bytes()) * static_cast<double>(part.filter_count) /
                          static_cast<double>(shape.k);
    return {reads > 0.0 ? std::min(1.0, dram / reads) : 0.0,
            std::max(1.0, part.work.l2_write_bytes.value_or(output) / output)};
}

Term wave_term(const Partition &part, const Machine &m, Round round, const Traffic &traffic) {
    const double dram_share = traffic.dram_share;
    const double chip = round.ctas * round.sms;
    // In the first round all CTAs ask for new data at once: whoever is first fetches them from DRAM, and all
    // wait for that.
    const double latency =
        round.first ? m.latency_s : dram_share * m.latency_s + (1.0 - dram_share) * m.l2_latency_s;
    const double loads = chip * part.step.load_bytes;
    const double stores = chip * part.step.store_bytes * traffic.store_factor;
    // Without a pipeline the other warps' arithmetic covers a step's loads: one step is under way.
    const double depth = static_cast<double>(part.stages == 1 && part.steps > 1 ? 1 : part.stages - 1);

    std::vector<Term> core = core_terms(part, part.step, round.ctas, m);
    std::vector<Term> memory = {bandwidth_leaf("L2 reads", loads, m.l2_bw),
                                bandwidth_leaf("DRAM reads", loads * dram_share, m.read_bw),
                                bandwidth_leaf("writes", stores, m.write_bw)};
    // The loads of a step are under way for `depth` steps; a step cannot be shorter than its share of the
    // latency.
    if (depth > 0.0)
        memory.push_back(leaf("load latency", s(latency / depth),
                              fmt::format("{:.0f} ns / {:.0f} steps under way", latency * 1e9, depth)));
    std::vector<Term> both = core;
    both.insert(both.end(), memory.begin(), memory.end());
    Term step =
        sum("step", {max_of("overlap", std::move(both)),
                     leaf("barrier", s(m.barrier_s / round.ctas),
                          fmt::format("{:.0f} ns / {:.0f} CTAs an SM", m.barrier_s * 1e9, round.ctas))});
    const double first_loads = loads + chip * part.drain.load_bytes;
    // The launch floor is that of a CTA on each SM; further ones start one after another.
    const double further = std::max(0.0, chip - m.sm_count);
    Term fill = sum(
        "fill",
        {pnorm("first loads", m.knee,
               {leaf("load latency", s(latency), fmt::format("{:.0f} ns to the first data", latency * 1e9)),
                bandwidth_leaf("DRAM reads", first_loads * dram_share, m.read_bw),
                bandwidth_leaf("L2 reads", first_loads, m.l2_bw)}),
         leaf("CTA starts", s(further * m.cta_s),
              fmt::format("{:.0f} further CTAs * {:.2f} ns", further, m.cta_s * 1e9))});
    core.push_back(bandwidth_leaf("writes", stores, m.write_bw));
    std::vector<Term> ends = core_terms(part, part.drain, round.ctas, m);
    ends.push_back(
        bandwidth_leaf("writes", chip * part.drain.store_bytes * traffic.store_factor, m.write_bw));
    Term drain =
        sum("drain", {max_of("last step", std::move(core)), max_of("start and store", std::move(ends)),
                      leaf("store latency", s(m.l2_latency_s),
                           fmt::format("{:.0f} ns until L2 has the last store", m.l2_latency_s * 1e9))});
    return pipeline("CTA pipeline", static_cast<double>(part.steps), std::move(fill), std::move(step),
                    std::move(drain));
}

Term partition_term(const Partition &part, const ConvShape &shape, const Machine &m) {
    const Traffic traffic = traffic_of(part, shape);
    const std::int64_t slots = part.ctas_per_sm * m.sm_count;
    const std::int64_t full = part.ctas / slots, rest = part.ctas % slots;
    const Round full_round{static_cast<double>(part.ctas_per_sm), static_cast<double>(m.sm_count),
                           full + (rest > 0) == 1};
    Term tail = leaf("tail", s(0.0), "no partial wave");
    if (rest > 0) {
        const Round last{static_cast<double>(papers::ceil_div(rest, m.sm_count)),
                         static_cast<double>(std::min<std::int64_t>(rest, m.sm_count)), full == 0};
        tail = wave_term(part, m, last, traffic);
    }
    Term wave = full > 0 ? wave_term(part, m, full_round, traffic) : leaf("wave", s(0.0), "no full wave");
    Term scheduled = schedule(part.kernel, static_cast<double>(full), std::move(wave), std::move(tail));
    if (part.constant_bytes == 0)
        return scheduled;
    return sum(part.kernel + " with its filters",
               {leaf("filters to constant memory", s(m.launch_s + m.gap_s),
                     fmt::format("one copy of {} B: launch floor and gap", part.constant_bytes)),
                std::move(scheduled)});
}

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
    return total;
}

/// The regime that tier 2 sees in the launch's steady state: what the longest leaf of a step is.
Regime tier2_regime(const Partition &part, const ConvShape &shape, const Machine &m) {
    const Round round{
        static_cast<double>(std::min(part.ctas_per_sm, papers::ceil_div(part.ctas, m.sm_count))),
        static_cast<double>(std::min<std::int64_t>(part.ctas, m.sm_count)),
        part.ctas <= part.ctas_per_sm * m.sm_count};
    Term wave = wave_term(part, m, round, traffic_of(part, shape));
    const double total = evaluate(wave).value;
    const Term &step = wave.children.at(1).children.at(0);
    const auto deciding =
        std::max_element(step.children.begin(), step.children.end(),
                         [](const Term &a, const Term &b) { return a.value_s < b.value_s; });
    const double steady =
        std::max(0.0, static_cast<double>(part.steps) - 1.0) * wave.children.at(1).value_s.value +
        wave.children.at(2).value_s.value;
    if (steady < total / 2.0 || deciding->name == "load latency" ||
        deciding->name == "dependent instructions")
        return Regime::exposed; // the fill, or waiting for loads or results, takes most of the time
    return deciding->name == core_name || deciding->name == tensor_name ? Regime::compute_hidden
                                                                        : Regime::bulk_hidden;
}

/// Relative half-widths of the inputs' own spread do not say how wrong the model's structure is; until
/// residuals of recorded runs give an interval, the range is from the speed of light to the tree with nothing
/// overlapped.
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

} // namespace

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

namespace {

/// S1 with the time that the products take an SM.
Term bound_of(const ConvShape &shape, const Machine &m, Term arithmetic) {
    const double reads = static_cast<double>(shape.input_bytes() + shape.filter_bytes());
    Term term =
        sum("speed of light",
            {leaf("launch", s(m.launch_s), fmt::format("{:.2f} us", m.launch_s * 1e6)),
             max_of("overlap",
                    {std::move(arithmetic),
                     pnorm("compulsory reads", m.knee,
                           {leaf("load latency", s(m.latency_s), fmt::format("{:.0f} ns", m.latency_s * 1e9)),
                            bandwidth_leaf("DRAM reads", reads, m.read_bw)}),
                     bandwidth_leaf("writes", static_cast<double>(shape.output_bytes()), m.write_bw)})});
    evaluate(term);
    return term;
}

/// Of a plan: its tensor cores multiply the parts of the factors, so often as its work says.
Term bound_of(const Plan &plan, const ConvShape &shape, const Machine &m) {
    const double products = shape.fmas().value / m.sm_count;
    return bound_of(shape, m,
                    uses_tensor_cores(plan) ? tensor_leaf(products_of_parts * products, m)
                                            : fma_leaf(products, m.ffma_rate, m));
}

} // namespace

std::optional<Term> speed_of_light(const ConvShape &shape, const GpuProfile &p) {
    if (!missing_for_forecast(p).empty())
        return std::nullopt;
    const Machine m = machine_of(p);
    return bound_of(shape, m, fma_leaf(shape.fmas().value / m.sm_count, m.ffma_rate, m));
}

std::optional<Term> forecast_term(const Plan &plan, const ConvShape &shape, const GpuProfile &profile) {
    if (!missing_for_forecast(profile, plan).empty())
        return std::nullopt;
    const Machine m = machine_of(profile);
    std::vector<Term> parts = {leaf("launch", s(m.launch_s), fmt::format("{:.2f} us", m.launch_s * 1e6))};
    const std::size_t further = plan.prepare.size() + plan.launches.size() - 1;
    if (further > 0)
        parts.push_back(leaf("further launches", s(static_cast<double>(further) * m.gap_s),
                             fmt::format("{} * {:.2f} us", further, m.gap_s * 1e6)));
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (const Partition &part : *launches)
            parts.push_back(partition_term(part, shape, m));
    Term term = sum("time", std::move(parts));
    evaluate(term);
    return term;
}

Case predict(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile) {
    Case out;
    out.shape = shape.id();
    auto planned = plan(strategy, shape, profile);
    if (const auto *why = std::get_if<Infeasible>(&planned)) {
        out.strategy = to_text(strategy);
        out.status = why->unsupported ? Status::unsupported : Status::infeasible;
        out.reason = why->why;
        return out;
    }
    PlannedStrategy &good = std::get<PlannedStrategy>(planned);
    Feasible &feasible = good.feasible;
    out.strategy = to_text(good.strategy);
    out.status = Status::ok;

    Prediction prediction;
    prediction.assumptions = std::move(feasible.assumptions);
    prediction.work = total_work(feasible.plan);
    Regimes regimes;
    const Partition &first = feasible.plan.launches.front();
    if (feasible.rules.n_fma) {
        regimes.paper = regime_by_rule(feasible.paper_round_fmas, static_cast<double>(*feasible.rules.n_fma),
                                       feasible.paper_round_bytes * profile.limits.sm_count,
                                       static_cast<double>(*feasible.rules.v_s_bytes));
    }
    if (const std::string missing = missing_for_forecast(profile, feasible.plan); missing.empty()) {
        const Machine m = machine_of(profile);
        // The physical rule: FMAs that one SM retires during one latency, and bytes that are really under
        // way.
        const double resident =
            static_cast<double>(std::min(first.ctas_per_sm, papers::ceil_div(first.ctas, m.sm_count)));
        const double active = static_cast<double>(std::min<std::int64_t>(first.ctas, m.sm_count));
        regimes.physical = regime_by_rule(
            resident * first.step.tensor_fmas.value_or(first.step.fmas),
            profile.dram_latency->value.value * (first.step.tensor_fmas ? m.tensor_rate : m.ffma_rate),
            resident * active * first.step.load_bytes *
                static_cast<double>(std::max<std::int64_t>(1, first.stages - 1)),
            m.read_bw * m.latency_s);
        regimes.tier2 = tier2_regime(first, shape, m);
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
        Term term = *forecast_term(feasible.plan, shape, profile);
        const Term bound = bound_of(feasible.plan, shape, m);
        prediction.times.tier0_s = bound.value_s;
        // No forecast is below the speed of light, also where a step's bytes were counted low.
        prediction.times.tier2_s = std::max(term.value_s, bound.value_s);
        prediction.time_s = prediction.times.tier2_s;
        if (term.value_s < bound.value_s) {
            term = sum("time", {std::move(term), leaf("speed of light", bound.value_s - term.value_s,
                                                      "the bound of tier 0 exceeds the pipeline's sum")});
            evaluate(term);
        }
        prediction.time_low_s = bound.value_s;
        prediction.time_high_s = without_overlap(term);
        prediction.limiter = limiter(term);
        prediction.term = std::move(term);
    } else {
        prediction.reason =
            "no time: the profile " + profile.id + " lacks " + missing +
            (missing.find('(') == std::string::npos ? "; `convcast measure` finds it on a GPU at hand" : "");
    }
    prediction.regimes = regimes;
    prediction.rules = std::move(feasible.rules);
    prediction.plan = std::move(feasible.plan);
    out.prediction = std::move(prediction);
    return out;
}

Case predict_baseline(const std::string &baseline, const ConvShape &shape, const GpuProfile &profile) {
    Case out;
    out.shape = shape.id();
    out.baseline = baseline;
    out.status = Status::ok;
    Prediction prediction;
    prediction.assumptions = {"speed of light only: a bound, no forecast of others' code"};
    if (const std::optional<Term> bound = speed_of_light(shape, profile))
        prediction.times.tier0_s = bound->value_s;
    prediction.reason = "others' code has a bound (tier0_s), no plan and no forecast";
    out.prediction = std::move(prediction);
    return out;
}

std::vector<Case> choose(const ConvShape &shape, const GpuProfile &profile,
                         const std::vector<std::string> &strategies) {
    std::vector<Case> ranked, last;
    for (const std::string &name : strategies.empty() ? strategy_names() : strategies) {
        std::vector<std::string> seen;
        std::optional<Case> refused;
        for (const Strategy &candidate : candidates(name)) {
            Case item = predict(candidate, shape, profile);
            if (item.status != Status::ok) {
                if (!refused)
                    refused = std::move(item);
                if (refused->status == Status::unsupported)
                    break;
            } else if (std::find(seen.begin(), seen.end(), *item.strategy) == seen.end()) {
                seen.push_back(*item.strategy);
                ranked.push_back(std::move(item));
            }
        }
        if (seen.empty() && refused)
            last.push_back(std::move(*refused));
    }
    const auto place_of = [](const Case &item) {
        const std::string &text = *item.strategy;
        return std::tuple(uses_tensor_cores(text.substr(0, text.find(':'))),
                          item.prediction->time_s ? item.prediction->time_s->value : 0.0, text);
    };
    std::sort(ranked.begin(), ranked.end(),
              [&](const Case &a, const Case &b) { return place_of(a) < place_of(b); });
    std::move(last.begin(), last.end(), std::back_inserter(ranked));
    return ranked;
}

} // namespace convcast
