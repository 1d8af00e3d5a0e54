#include "microbench/analysis.hpp"

#include "model/errors.hpp"

#include <boost/math/statistics/linear_regression.hpp>
#include <boost/math/tools/minima.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace convcast {
namespace {

double nearest_rank(const std::vector<double> &sorted, double p) {
    const double rank = std::ceil(p * static_cast<double>(sorted.size()));
    return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

double median(std::vector<double> values) {
    return spread_of(std::move(values)).p50;
}

std::vector<const ProbeSamples *> samples_of(const RawSamples &raw, std::string_view probe) {
    std::vector<const ProbeSamples *> found;
    for (const ProbeSamples &samples : raw.samples)
        if (samples.probe == probe)
            found.push_back(&samples);
    return found;
}

/// Why a set of samples cannot be used; empty if it can.
std::string why_unusable(const ProbeSamples &samples, const char *unit) {
    if (samples.unit != unit)
        return fmt::format("its samples are in \"{}\", expected \"{}\"", samples.unit, unit);
    if (samples.values.empty())
        return "it gave no samples";
    const auto bad = std::count_if(samples.values.begin(), samples.values.end(),
                                   [](double v) { return !(v > 0.0 && std::isfinite(v)); });
    return bad == 0 ? "" : fmt::format("{} of its {} samples are not above zero", bad, samples.values.size());
}

std::string why_no_samples(const RawSamples &raw, const std::string &probe) {
    const auto failure = raw.failed.find(probe);
    return failure == raw.failed.end() ? "probe " + probe + " was not run"
                                       : "probe " + probe + " failed: " + failure->second;
}

std::string knobs_text(const ProbeSamples &samples) {
    std::vector<std::string> words;
    for (const auto &[knob, value] : samples.knobs)
        words.push_back(fmt::format("{}={}", knob, value));
    return words.empty() ? samples.probe : samples.probe + " (" + join(words) + ")";
}

class Analysis {
  public:
    Analysis(const RawSamples &raw, const std::string &id) : raw_(raw) {
        profile_.id = id;
        profile_.name = raw.name;
        profile_.compute_capability = raw.compute_capability;
        profile_.limits = raw.limits;
        profile_.conditions = raw.conditions;
    }

    GpuProfile run() {
        const std::greater<> highest;
        const std::less<> lowest;
        give("sm_clock", profile_.sm_clock, highest);
        give("ffma_rate", profile_.ffma_rate, highest);
        give("dram_latency", profile_.dram_latency, lowest);
        give("l2_latency", profile_.l2_latency, lowest);
        give("dram_read_bandwidth", profile_.dram_read_bandwidth, highest);
        give("dram_write_bandwidth", profile_.dram_write_bandwidth, highest);
        give("l2_read_bandwidth", profile_.l2_read_bandwidth, highest);
        give("shared_bandwidth", profile_.shared_bandwidth, highest);
        give("barrier_latency", profile_.barrier_latency, lowest);
        give("launch_floor", profile_.launch_floor, lowest);
        give("launch_gap", profile_.launch_gap, lowest);
        give_outer_rate();
        give_curve();
        give_knee();
        give_banks();
        note_configurations();
        note_populations();
        note_throttling();
        for (const CrossCheck &check : cross_checks(raw_, profile_))
            profile_.notes.push_back((check.passed ? "check passed: " : "check failed: ") + check.text);
        return std::move(profile_);
    }

  private:
    /// The configuration with the best median becomes the value; the field is named like the probe.
    template <class Q, class Better>
    void give(const std::string &probe, std::optional<Param<Q>> &field, const Better &better) {
        std::string why = why_no_samples(raw_, probe);
        for (const ProbeSamples *samples : samples_of(raw_, probe)) {
            if (const std::string unusable = why_unusable(*samples, UnitOf<Q>::text); !unusable.empty()) {
                why = "probe " + probe + ": " + unusable;
                continue;
            }
            const Spread spread = spread_of(samples->values);
            if (!field || better(spread.p50, field->value.value)) {
                field = Param<Q>{Q(spread.p50), Source::measured, knobs_text(*samples), spread};
                used_[probe] = samples;
            }
        }
        if (!field)
            profile_.missing[probe] = why;
    }

    /// Beside the best pattern, the one of convolutions: its samples are those with three registers an FFMA.
    void give_outer_rate() {
        std::string why = "probe ffma_rate has no samples with registers=3";
        for (const ProbeSamples *samples : samples_of(raw_, "ffma_rate")) {
            const auto registers = samples->knobs.find("registers");
            if (registers == samples->knobs.end() || registers->second != 3.0)
                continue;
            if (const std::string unusable = why_unusable(*samples, UnitOf<FmasPerCycle>::text);
                !unusable.empty()) {
                why = "probe ffma_rate: " + unusable;
                continue;
            }
            const Spread spread = spread_of(samples->values);
            profile_.ffma_outer_rate =
                Param<FmasPerCycle>{FmasPerCycle(spread.p50), Source::measured, knobs_text(*samples), spread};
        }
        if (!profile_.ffma_outer_rate)
            profile_.missing["ffma_outer_rate"] = why;
    }

    void give_curve() {
        const std::string probe = "dram_read_curve";
        std::map<double, double> points; // by bytes in flight; the better of two ways to have as many
        std::string why = why_no_samples(raw_, probe);
        for (const ProbeSamples *samples : samples_of(raw_, probe)) {
            const auto flight = samples->knobs.find("bytes_in_flight");
            std::string unusable = why_unusable(*samples, UnitOf<Bandwidth>::text);
            if (flight == samples->knobs.end() || !(flight->second > 0.0))
                unusable = "a point lacks bytes_in_flight";
            if (!unusable.empty()) {
                why = "probe " + probe + ": " + unusable;
                continue;
            }
            double &bandwidth = points[flight->second];
            bandwidth = std::max(bandwidth, median(samples->values));
        }
        if (points.empty()) {
            profile_.missing[probe] = why;
            return;
        }
        FlightCurve curve;
        for (const auto &[bytes, bandwidth] : points) {
            curve.bytes_in_flight.push_back(bytes);
            curve.bandwidth.push_back(bandwidth);
        }
        profile_.dram_read_curve = std::move(curve);
    }

    /// In seconds at the clock of each sample itself, since DRAM does not follow the SM clock.
    Seconds dram_latency_seconds() const {
        const ProbeSamples &samples = *used_.at("dram_latency");
        std::vector<double> seconds;
        for (std::size_t i = 0; i < samples.values.size(); ++i)
            if (i < samples.sm_clock_hz.size() && samples.sm_clock_hz[i] > 0.0)
                seconds.push_back(samples.values[i] / samples.sm_clock_hz[i]);
        return Seconds(seconds.empty() ? 0.0 : median(std::move(seconds)));
    }

    void give_knee() {
        std::vector<std::string> lacking;
        for (const char *field : {"dram_read_curve", "dram_latency", "dram_read_bandwidth"})
            if (profile_.missing.contains(field))
                lacking.emplace_back(field);
        if (!lacking.empty()) {
            profile_.missing["knee_exponent"] = "needs " + join(lacking);
            return;
        }
        const FlightCurve &curve = *profile_.dram_read_curve;
        const Seconds latency = dram_latency_seconds();
        const Bandwidth bandwidth = profile_.dram_read_bandwidth->value;
        if (!(latency.value > 0.0)) {
            profile_.missing["knee_exponent"] = "the samples of dram_latency have no SM clock";
            return;
        }
        const std::optional<double> p = fit_knee_exponent(curve, latency, bandwidth);
        if (!p) {
            profile_.missing["knee_exponent"] =
                fmt::format("no exponent between 0.5 and 20 fits the {} points of dram_read_curve",
                            curve.bandwidth.size());
            return;
        }
        std::vector<double> without_one; // how much one point matters
        for (std::size_t i = 0; i < curve.bandwidth.size(); ++i) {
            FlightCurve rest = curve;
            rest.bytes_in_flight.erase(rest.bytes_in_flight.begin() + static_cast<std::ptrdiff_t>(i));
            rest.bandwidth.erase(rest.bandwidth.begin() + static_cast<std::ptrdiff_t>(i));
            if (const std::optional<double> other = fit_knee_exponent(rest, latency, bandwidth))
                without_one.push_back(*other);
        }
        Param<Plain> &knee = profile_.knee_exponent.emplace();
        knee = {Plain(*p),
                Source::measured,
                "dram_read_curve, L0 of dram_latency, BW of dram_read_bandwidth",
                {}};
        if (!without_one.empty())
            knee.spread = spread_of(std::move(without_one));

        double worst = 0.0;
        for (std::size_t i = 0; i < curve.bandwidth.size(); ++i) {
            const double flight = curve.bytes_in_flight[i];
            const double predicted =
                std::pow(std::pow(latency.value, *p) + std::pow(flight / bandwidth.value, *p), 1.0 / *p);
            worst = std::max(worst, std::abs(predicted * curve.bandwidth[i] / flight - 1.0));
        }
        profile_.notes.push_back(
            fmt::format("eq. M1 with L0 = {:.1f} ns, BW = {:.1f} GB/s, p = {:.2f} is within "
                        "{:.1f} % of every point of dram_read_curve",
                        latency.value * 1e9, bandwidth.value / 1e9, *p, worst * 100.0));
    }

    void give_banks() {
        std::vector<int> strides;
        std::vector<double> cycles;
        std::string why = why_no_samples(raw_, "banks");
        for (const ProbeSamples *samples : samples_of(raw_, "banks")) {
            const auto stride = samples->knobs.find("stride_words");
            std::string unusable = why_unusable(*samples, UnitOf<Cycles>::text);
            if (stride == samples->knobs.end() || !(stride->second >= 1.0 && stride->second <= 1024.0))
                unusable = "a sample lacks stride_words";
            if (!unusable.empty()) {
                why = "probe banks: " + unusable;
                continue;
            }
            strides.push_back(static_cast<int>(stride->second));
            cycles.push_back(median(samples->values));
        }
        const std::optional<Banks> banks = fit_banks(strides, cycles);
        if (!banks) {
            if (!strides.empty()) {
                std::vector<std::string> pairs;
                for (std::size_t i = 0; i < strides.size(); ++i)
                    pairs.push_back(fmt::format("{}: {:.2f}", strides[i], cycles[i]));
                why = "probe banks: no bank layout explains the cycles by stride (" + join(pairs) + ")";
            }
            profile_.missing["bank_width"] = why;
            profile_.missing["bank_count"] = why;
            return;
        }
        const std::string by = fmt::format("banks (R^2 = {:.4f})", banks->r_squared);
        profile_.bank_width = Param<Bytes>{Bytes(banks->width_bytes), Source::measured, by, {}};
        profile_.bank_count = Param<Plain>{Plain(banks->count), Source::measured, by, {}};
    }

    /// What the configurations that were not chosen showed. The points of a sweep are no alternatives.
    void note_configurations() {
        for (const auto &[probe, used] : used_)
            for (const ProbeSamples *samples : samples_of(raw_, probe))
                if (samples != used && why_unusable(*samples, used->unit.c_str()).empty())
                    profile_.notes.push_back(fmt::format(
                        "{}: {:.5g} {}, {:.1f} % of the best", knobs_text(*samples), median(samples->values),
                        samples->unit, 100.0 * median(samples->values) / median(used->values)));
    }

    void note_populations() {
        for (const auto &[probe, samples] : used_)
            if (const auto groups = two_populations(samples->values))
                profile_.notes.push_back(
                    fmt::format("{}: two populations, around {:.5g} and {:.5g} {}; the value is "
                                "one of the samples, not their mean",
                                probe, groups->first, groups->second, samples->unit));
    }

    void note_throttling() {
        const double reference = profile_.sm_clock ? profile_.sm_clock->value.value : raw_.max_sm_clock_hz;
        for (const ProbeSamples &samples : raw_.samples) {
            const auto slow = std::count_if(samples.sm_clock_hz.begin(), samples.sm_clock_hz.end(),
                                            [&](double hz) { return hz < throttled_below * reference; });
            if (slow > 0)
                profile_.notes.push_back(
                    fmt::format("{}: {} of {} samples ran below {:.0f} % of {:.0f} MHz, the SM clock",
                                knobs_text(samples), slow, samples.sm_clock_hz.size(),
                                100.0 * throttled_below, reference / 1e6));
        }
        if (profile_.sm_clock && raw_.max_sm_clock_hz > 0.0 &&
            profile_.sm_clock->value.value < throttled_below * raw_.max_sm_clock_hz)
            profile_.notes.push_back(fmt::format("sm_clock: throttled to {:.0f} of at most {:.0f} MHz",
                                                 profile_.sm_clock->value.value / 1e6,
                                                 raw_.max_sm_clock_hz / 1e6));
    }

    const RawSamples &raw_;
    GpuProfile profile_;
    std::map<std::string, const ProbeSamples *> used_; ///< probe -> the configuration behind the value
};

} // namespace

Spread spread_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {nearest_rank(values, 0.05), nearest_rank(values, 0.5), nearest_rank(values, 0.95),
            static_cast<std::int64_t>(values.size())};
}

std::optional<std::pair<double, double>> two_populations(std::vector<double> values) {
    constexpr std::size_t least_values = 6;
    constexpr double least_gap = 0.05;     // of the median: smaller ones do not matter to a forecast
    constexpr double gap_over_width = 2.0; // of the wider group
    if (values.size() < least_values)
        return std::nullopt;
    std::sort(values.begin(), values.end());
    const std::size_t least = std::max<std::size_t>(2, (values.size() + 4) / 5);
    std::size_t split = least;
    for (std::size_t i = least; i + least <= values.size(); ++i)
        if (values[i] - values[i - 1] > values[split] - values[split - 1])
            split = i;
    const double gap = values[split] - values[split - 1];
    const double width = std::max(values[split - 1] - values.front(), values.back() - values[split]);
    if (gap < least_gap * std::abs(nearest_rank(values, 0.5)) || gap < gap_over_width * width)
        return std::nullopt;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(split);
    return std::pair(median({values.begin(), middle}), median({middle, values.end()}));
}

int conflict_degree(int stride_words, int width_bytes, int bank_count) {
    std::map<int, std::set<int>> rows; // by bank; lanes in the same row of a bank share one access
    for (int lane = 0; lane < 32; ++lane) {
        const int row = lane * stride_words * 4 / width_bytes;
        rows[row % bank_count].insert(row);
    }
    std::size_t degree = 0;
    for (const auto &[bank, distinct] : rows)
        degree = std::max(degree, distinct.size());
    return static_cast<int>(degree);
}

std::optional<Banks> fit_banks(const std::vector<int> &stride_words, const std::vector<double> &cycles) {
    constexpr double good = 0.98;
    constexpr double clearly_better = 0.005; // between the best and the second
    std::optional<Banks> best;
    double second = 0.0;
    if (stride_words.size() < 4 || stride_words.size() != cycles.size())
        return std::nullopt;
    // In logarithms, where one way more counts most between one way and two: there the layouts differ.
    std::vector<double> log_cycles;
    for (const double value : cycles)
        log_cycles.push_back(std::log(value));
    for (const int width : {4, 8}) // no NVIDIA GPU had others
        for (const int count : {16, 32, 64}) {
            std::vector<double> log_degrees;
            for (const int stride : stride_words)
                log_degrees.push_back(std::log(conflict_degree(stride, width, count)));
            if (std::all_of(log_degrees.begin(), log_degrees.end(),
                            [&](double d) { return d == log_degrees[0]; }))
                continue; // a line needs two places
            const auto [intercept, slope, r_squared] =
                boost::math::statistics::simple_ordinary_least_squares_with_R_squared(log_degrees,
                                                                                      log_cycles);
            if (!(slope > 0.8 && slope < 1.2)) // twice the ways, twice the time
                continue;
            if (!best || r_squared > best->r_squared) {
                second = best ? best->r_squared : 0.0;
                best = Banks{width, count, r_squared};
            } else {
                second = std::max(second, r_squared);
            }
        }
    if (!best || best->r_squared < good || best->r_squared - second < clearly_better)
        return std::nullopt;
    return best;
}

std::optional<double> fit_knee_exponent(const FlightCurve &curve, Seconds latency, Bandwidth bandwidth) {
    constexpr double lowest = 0.5, highest = 20.0;
    if (curve.bandwidth.size() < 4)
        return std::nullopt;
    // Over log p, where equal steps matter equally. log(T) is kept from overflowing by taking out the larger
    // term.
    const auto squared_error = [&](double log_p) {
        const double p = std::exp(log_p);
        double sum = 0.0;
        for (std::size_t i = 0; i < curve.bandwidth.size(); ++i) {
            const double transfer = curve.bytes_in_flight[i] / bandwidth.value;
            const double larger = std::max(latency.value, transfer),
                         smaller = std::min(latency.value, transfer);
            const double predicted = std::log(larger) + std::log1p(std::pow(smaller / larger, p)) / p;
            const double seen = std::log(curve.bytes_in_flight[i] / curve.bandwidth[i]);
            sum += (predicted - seen) * (predicted - seen);
        }
        return sum;
    };
    constexpr int bits = 24;
    const double p = std::exp(
        boost::math::tools::brent_find_minima(squared_error, std::log(lowest), std::log(highest), bits)
            .first);
    if (!(p > lowest * 1.01 && p < highest / 1.01))
        return std::nullopt;
    return p;
}

std::vector<CrossCheck> cross_checks(const RawSamples &raw, const GpuProfile &profile) {
    constexpr double slack = 1.02; // of the clocks that the driver tells
    std::vector<CrossCheck> checks;
    const auto at_most = [&](const std::string &what, double value, double limit, const std::string &unit,
                             const std::string &because) {
        checks.push_back({value <= slack * limit, fmt::format("{} {:.5g} {} is to be at most {:.5g} {}, {}",
                                                              what, value, unit, limit, unit, because)});
    };

    const double pin_rate = 2.0 * raw.memory_clock_hz * raw.memory_bus_bits / 8.0;
    if (pin_rate > 0.0) {
        const std::string because = "2 * memory clock * bus width";
        if (profile.dram_read_bandwidth)
            at_most("dram_read_bandwidth", profile.dram_read_bandwidth->value.value, pin_rate, "B/s",
                    because);
        if (profile.dram_write_bandwidth)
            at_most("dram_write_bandwidth", profile.dram_write_bandwidth->value.value, pin_rate, "B/s",
                    because);
        if (profile.dram_read_curve)
            at_most("the highest point of dram_read_curve",
                    *std::max_element(profile.dram_read_curve->bandwidth.begin(),
                                      profile.dram_read_curve->bandwidth.end()),
                    pin_rate, "B/s", because);
    }
    if (profile.ffma_rate)
        at_most("ffma_rate", profile.ffma_rate->value.value, raw.limits.cores_per_sm, "fma/clk",
                "one a clock for each FP32 lane");
    if (profile.sm_clock && raw.max_sm_clock_hz > 0.0)
        at_most("sm_clock", profile.sm_clock->value.value, raw.max_sm_clock_hz, "Hz", "the highest SM clock");
    if (profile.l2_latency && profile.dram_latency)
        at_most("l2_latency", profile.l2_latency->value.value, profile.dram_latency->value.value / slack,
                "clk", "dram_latency");
    if (profile.l2_read_bandwidth && profile.dram_read_bandwidth)
        at_most("dram_read_bandwidth", profile.dram_read_bandwidth->value.value,
                profile.l2_read_bandwidth->value.value / slack, "B/s", "l2_read_bandwidth");
    if (profile.bank_width && profile.bank_count) {
        const double width = profile.bank_width->value.value, count = profile.bank_count->value.value;
        // Kepler alone had 8-byte banks (CUDA C++ Programming Guide, "Shared Memory" of compute
        // capability 3.x).
        const double expected = raw.compute_capability.starts_with("3.") ? 8.0 : 4.0;
        checks.push_back({width == expected && count == 32.0,
                          fmt::format("banks: {} x {} B found by conflicts, 32 x {} B documented for compute "
                                      "capability {}",
                                      count, width, expected, raw.compute_capability)});
        if (profile.shared_bandwidth)
            at_most("shared_bandwidth", profile.shared_bandwidth->value.value, width * count, "B/clk",
                    "all banks in every clock");
    }
    return checks;
}

GpuProfile analyze(const RawSamples &raw, const std::string &id) {
    return Analysis(raw, id).run();
}

} // namespace convcast
