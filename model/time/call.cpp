#include "model/time/call.hpp"

#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/machine/architecture.hpp"
#include "model/machine/machine.hpp"
#include "model/time/formula.hpp"
#include "model/time/launch_terms.hpp"
#include "model/time/other_models.hpp"
#include "model/time/spread.hpp"
#include "model/work/tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using namespace launch_terms;

/// I2: the time if nothing overlapped: the tree's value with a sum for every maximum, norm and queue. It is
/// the upper end of the range where there is no calibration.
Seconds without_overlap(const Term &term) {
    if (term.kind == TermKind::leaf)
        return term.value_s;
    std::vector<Seconds> values;
    for (const Term &child : term.children)
        values.push_back(without_overlap(child));
    const bool overlaps_nothing =
        term.kind == TermKind::pipeline || term.kind == TermKind::schedule || term.kind == TermKind::scaled;
    return Seconds(combine(overlaps_nothing ? term.kind : TermKind::sum, term.count.value_or(0.0), values));
}

/// The machine as a call finds it whose tensors and code are held so.
Machine with_held(Machine m, HeldByL2 held) {
    m.input_in_l2 = held.input, m.filters_in_l2 = held.filters, m.output_to_dram = held.output_lost;
    m.new_code = held.new_code;
    return m;
}

/// The forecast, raised by a leaf to the speed of light if it is below: a step's bytes may be counted low.
template <Yield T> T bounded(T term, const T &bound) {
    const Seconds short_of_it = value_of(bound) - value_of(term);
    if (short_of_it.value > 0.0)
        return evaluated(sum<T>(
            "time", list_of<T>(std::move(term), leaf<T>("speed of light", short_of_it,
                                                        "the bound of tier 0 exceeds the pipeline's sum"))));
    return term;
}

/// The share of an input's rows that some tap reads, at most 1. A stride longer than the filter leaves rows
/// out, and so does one that has a divisor in common with the dilation: all taps then fall on its multiples.
double touched_rows(const ConvShape &s) {
    const std::int64_t on_multiples = ceil_div(s.h, std::gcd(s.stride_h, s.dilation_h));
    return static_cast<double>(std::min({s.h, s.p() * s.r, s.r > 1 ? on_multiples : s.h})) /
           static_cast<double>(s.h);
}

/// S1: the speed of light, given `arithmetic`, the time in which an SM does its part of the products. DRAM
/// delivers what L2 lacks; L2 takes in what DRAM delivers and what SMs store (F3), and may keep as much of
/// what is stored as it has bytes.
template <Yield T> T bound_of(const ConvShape &shape, const Machine &m, T arithmetic) {
    const double reads = touched_rows(shape) * static_cast<double>(shape.input_bytes()) +
                         static_cast<double>(shape.filter_bytes()),
                 writes = static_cast<double>(shape.output_bytes());
    const double held = held_by_l2(shape, m), latency = mean_latency(cold_start(m), m);
    List<T> waits =
        list_of<T>(leaf<T>("load latency", s(latency), "{:.0f} ns", latency * 1e9),
                   bandwidth_leaf<T>("DRAM reads", held > 0.0 ? (1.0 - held) * reads : reads, m.read_bw));
    if (held > 0.0)
        waits.push_back(bandwidth_leaf<T>("L2 reads", held * reads, m.l2_bw));
    return evaluated(sum<T>(
        "speed of light",
        list_of<T>(
            leaf<T>("launch", s(m.launch_s), "{:.2f} us", m.launch_s * 1e6),
            max_of<T>("overlap",
                      list_of<T>(
                          std::move(arithmetic), pnorm<T>("compulsory reads", m.knee, std::move(waits)),
                          bandwidth_leaf<T>("writes", writes, std::max(m.write_bw, m.l2_write_bw)),
                          bandwidth_leaf<T>("writes to DRAM", std::max(0.0, writes - m.l2_bytes), m.write_bw),
                          bandwidth_leaf<T>("reads and writes", (1.0 - held) * reads + writes,
                                            std::max(into_l2_bandwidth(m), m.write_bw)))))));
}

/// S1 for the algorithm of a plan. Tensor cores do three products of parts for each product; an algorithm
/// that transforms has multiply-adds of its own.
template <Yield T> T bound_of(const Plan &plan, const ConvShape &shape, const Machine &m) {
    const double products = shape.fmas().value / m.sm_count;
    return bound_of<T>(
        shape, m,
        uses_tensor_cores(plan)
            ? tensor_leaf<T>(products_of_parts * products, m)
            : fma_leaf<T>(plan.transformed_fmas.value_or(shape.fmas().value) / m.sm_count, m.ffma_rate, m));
}

/// F1: our forecast of a call of `plan`: its launches one after another, the prepared ones first.
template <Yield T> T plan_term(const Plan &plan, const ConvShape &shape, const Machine &m) {
    List<T> parts = list_of<T>(leaf<T>("launch", s(m.start_s), "{:.2f} us", m.start_s * 1e6));
    // All launches but the first cost a gap, unless they start early: then the launch before hides it.
    std::int64_t further = -1;
    each_launch(plan, [&](const Partition &part) { further += part.early.value_or(false) ? 0 : 1; });
    if (further > 0)
        parts.push_back(leaf<T>("further launches", s(static_cast<double>(further) * m.gap_s),
                                "{} * {:.2f} us", further, m.gap_s * 1e6));
    std::optional<T> last; // not yet among the parts, as the next launch may run beside it
    each_launch(plan, [&](const Partition &part) {
        T its = partition_term<T>(part, shape, m);
        // A launch that needs nothing of the one before starts a gap later and runs beside it (F20).
        if (last && part.beside.value_or(false) && m.has(Equation::F20)) {
            T start =
                leaf<T>("early start", s(m.gap_s), "{:.2f} us after the launch beside it", m.gap_s * 1e6);
            its = sum<T>(part.kernel, list_of<T>(std::move(start), std::move(its)));
            its = max_of<T>("side by side", list_of<T>(std::move(*last), std::move(its)));
        } else if (last) {
            parts.push_back(std::move(*last));
        }
        last = std::move(its);
    });
    if (last)
        parts.push_back(std::move(*last));
    T time = evaluated(sum<T>("time", std::move(parts)));
    return m.scale == 1.0 ? std::move(time) : scaled<T>("time", m.scale, std::move(time)); // F34
}

/// I1, I4: the lower and upper end of a 90 % interval, each divided by the forecast. Three causes widen it:
/// how measured times lie around their forecasts, for a call of this `spread` (I4; 1: a typical call); how
/// far the samples of each measured number of the profile reach; and, without a fitted spread, how far fits
/// to resampled shapes lie apart. The causes count as independent, so the squares of the logarithms add,
/// upward and downward by themselves. `time` is the forecast on the machine `m`, in seconds.
std::pair<double, double> interval_of(const Plan &plan, const ConvShape &shape, const Machine &m,
                                      const GpuProfile &profile, const Calibration &calibration,
                                      double spread, double time) {
    const auto log_change = [&](const Machine &other) {
        return std::log(plan_term<Seconds>(plan, shape, other).value / time);
    };
    double below = 0.0, above = 0.0; // sums of squares
    const auto widen = [&](double log_ratio) { (log_ratio < 0.0 ? below : above) += log_ratio * log_ratio; };
    widen(spread * std::min(0.0, std::log(calibration.ratio_p05)));
    widen(spread * std::max(0.0, std::log(calibration.ratio_p95)));
    for (const Measured &measured : measured_numbers(profile))
        for (const double ratio : {measured.low, measured.high}) {
            Machine other = m;
            other.*measured.number *= ratio;
            if (other.*measured.number != m.*measured.number)
                widen(log_change(other));
        }
    std::vector<double> refitted;
    for (const FittedNumbers &numbers : calibration.resampled) {
        if (calibration.spread) // was fitted to layers that were left out, so it contains this cause
            break;
        Machine other = m;
        other.fitted = numbers;
        refitted.push_back(log_change(other));
    }
    if (!refitted.empty()) { // the lowest and highest of ten fits stand for their 5th and 95th percentile
        const auto [low, high] = std::minmax_element(refitted.begin(), refitted.end());
        widen(std::min(0.0, *low));
        widen(std::max(0.0, *high));
    }
    return {std::exp(-std::sqrt(below)), std::exp(std::sqrt(above))};
}

} // namespace

std::string missing_for_forecast(const GpuProfile &p) {
    std::vector<std::string> missing;
    const auto need = [&](const char *name, bool known) {
        if (!known) {
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

std::optional<Term> speed_of_light(const ConvShape &shape, const GpuProfile &p, std::optional<double> fmas,
                                   HeldByL2 held) {
    if (!missing_for_forecast(p).empty())
        return std::nullopt;
    const Machine m = with_held(machine_of(p, shape.dtype, {}), held);
    return bound_of<Term>(shape, m,
                          fma_leaf<Term>(fmas.value_or(shape.fmas().value) / m.sm_count, m.ffma_rate, m));
}

std::optional<Term> forecast_term(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                  const Calibration &calibration) {
    if (!missing_for_forecast(gpu.profile, plan).empty())
        return std::nullopt;
    return plan_term<Term>(plan, shape, machine_of(gpu, shape.dtype, calibration));
}

std::optional<CallTimes> call_times(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                    const Calibration &calibration) {
    if (!missing_for_forecast(gpu.profile, plan).empty())
        return std::nullopt;
    const Machine m = machine_of(gpu, shape.dtype, calibration);
    CallTimes times{.launch_s = s(m.start_s), .gap_s = s(m.gap_s), .stays = {}};
    each_launch(plan, [&](const Partition &part) {
        const Machine its = running(part, m);
        const Traffic traffic = traffic_of(part, shape, its);
        CtaStay &stay = times.stays.emplace_back();
        stay.sms = usable_sms(part, m);
        const auto sms = static_cast<double>(std::min(part.ctas - part.idle_ctas, stay.sms));
        stay.idle = s(m.l2_latency_s); // it looks at its arguments and leaves
        stay.before_s = part.constant_bytes > 0 ? s(m.launch_s + m.gap_s) : s(0.0);
        for (std::int64_t ctas = 1; ctas <= part.ctas_per_sm; ++ctas) {
            const Round round{.ctas = static_cast<double>(ctas), .sms = sms, .first = true};
            stay.first.push_back(wave_term<Seconds>(part, its, round, traffic));
            stay.later.push_back(further_wave_term<Seconds>(part, its, round, traffic));
        }
    });
    return times;
}

std::optional<Seconds> forecast_time(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                     const Calibration &calibration) {
    if (!missing_for_forecast(gpu.profile, plan).empty())
        return std::nullopt;
    return plan_term<Seconds>(plan, shape, machine_of(gpu, shape.dtype, calibration));
}

std::vector<std::string> assumed_numbers(const Plan &plan, const Gpu &gpu) {
    const GpuProfile &profile = gpu.profile;
    const Architecture &arch = gpu.architecture;
    const Partition &main = main_launch(plan);
    std::vector<std::string> assumed;
    if (!profile.knee_exponent)
        assumed.push_back(fmt::format("knee exponent {}: the profile has none", arch.knee_exponent->value));
    if (!profile.ffma_outer_rate)
        assumed.push_back("FFMAs of three registers at full rate: the profile has no outer rate");
    if (!profile.l2_read_bandwidth)
        assumed.push_back(
            fmt::format("L2 bandwidth {} times DRAM's: the profile has none", assumed_l2_bandwidth_ratio));
    if (!profile.l2_latency)
        assumed.push_back(
            fmt::format("L2 latency {} of DRAM's: the profile has none", assumed_l2_latency_ratio));
    if (main.sector_share.value_or(1.0) < 1.0 && !profile.l1_latency)
        assumed.push_back("L1 answers as fast as shared memory: the profile has no latency of it");
    if (!profile.barrier_latency)
        assumed.push_back("barriers free: the profile has no barrier latency");
    const auto of_clusters = [&](const char *what, const char *unit, const ArchitectureNumber &number) {
        assumed.push_back(fmt::format("{} in a cluster {} {} ({}): the profile has none", what, number.value,
                                      unit, number.source));
    };
    if (main.cluster.value_or(1) > 1 && !profile.cluster_latency)
        of_clusters("latency", "clk", *arch.cluster_latency);
    if (main.cluster.value_or(1) > 1 && !profile.cluster_bandwidth)
        of_clusters("bandwidth", "B/clk", *arch.cluster_bandwidth);
    if (main.partial_write_bytes.value_or(0.0) > 0.0 && !profile.partial_sector_store_time)
        assumed.push_back(fmt::format("a sector written in part takes {} times as long as a whole one: the "
                                      "profile has no time of one",
                                      arch.partial_sector->value));
    return assumed;
}

std::optional<CallForecast> forecast_call(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                          const std::optional<Calibration> &fitted) {
    if (!missing_for_forecast(gpu.profile, plan).empty())
        return std::nullopt;
    const Machine assumed = machine_of(gpu, shape.dtype, {});
    const Machine best = fitted ? machine_of(gpu, shape.dtype, *fitted) : assumed;
    const Term bound = bound_of<Term>(plan, shape, assumed);
    CallForecast out;
    out.bound_s = bound.value_s;
    out.roofline_s = wave_roofline_time(plan, assumed);
    out.mwp_cwp_s = mwp_cwp_time(plan, gpu.profile);
    out.unfitted_s = bounded(plan_term<Seconds>(plan, shape, assumed), bound.value_s);
    Term term = plan_term<Term>(plan, shape, best);
    const double time = term.value_s.value; // that of plan_term<Seconds>, to the last bit
    out.term = bounded(std::move(term), bound);
    if (fitted) {
        out.fitted_s = out.term.value_s;
        const double spread =
            fitted->spread
                ? spread_of(*fitted->spread, {shape, main_launch(plan).kernel, out.term.value_s, out.bound_s})
                : 1.0;
        const auto [low, high] = interval_of(plan, shape, best, gpu.profile, *fitted, spread, time);
        out.low_s = std::max(out.bound_s, out.term.value_s * low);
        out.high_s = std::max(out.low_s, out.term.value_s * high);
    } else {
        out.low_s = out.bound_s;
        out.high_s = without_overlap(out.term);
    }
    return out;
}

HeldByL2 held_for_repeats(const Plan &plan, const ConvShape &shape, const Gpu &gpu) {
    const auto bytes = static_cast<double>(shape.input_bytes() + shape.filter_bytes() + shape.output_bytes() +
                                           plan.workspace_bytes);
    const double kept = 1.0 - lost_from_l2(bytes, gpu);
    return {kept, kept};
}

std::optional<Seconds> forecast_call_time(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                          const std::optional<Calibration> &fitted, HeldByL2 held) {
    if (!missing_for_forecast(gpu.profile, plan).empty())
        return std::nullopt;
    const Machine assumed = with_held(machine_of(gpu, shape.dtype, {}), held);
    const Machine m = fitted ? with_held(machine_of(gpu, shape.dtype, *fitted), held) : assumed;
    return bounded(plan_term<Seconds>(plan, shape, m), bound_of<Seconds>(plan, shape, assumed));
}

} // namespace convcast
