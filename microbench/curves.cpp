#include "microbench/curves.hpp"

#include "microbench/derived.hpp"
#include "microbench/probe.hpp"
#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Appends a point to the series, unless a profile may not have it: its x must be above the last one's, and
/// its numbers within CurveSeries::range_of.
void append(CurveSeries &series, double x, double y, double low, double high) {
    const auto fits = [](const char *field, double value) {
        const Range range = CurveSeries::range_of(field);
        return value >= range.low && value <= range.high;
    };
    if (!fits("x", x) || !fits("low", low) || !fits("high", high) || !(low <= y && y <= high) ||
        (!series.x.empty() && x <= series.x.back()))
        return;
    series.x.push_back(x);
    series.y.push_back(y);
    series.low.push_back(low);
    series.high.push_back(high);
}

void append(CurveSeries &series, double x, const Spread &spread) {
    append(series, x, spread.p50, spread.p05, spread.p95);
}

/// The curve of a probe, as `kind` describes it, from its best configurations at each x.
Curve curve_of(const RawSamples &raw, std::string_view probe, const ProbeCurve &kind) {
    // By the value of line_knob, absent for the configurations without the knob; then by x.
    std::map<std::optional<double>, std::map<double, Configuration>> lines;
    for (const Configuration &configuration : select(raw, probe, kind.y.unit).found) {
        double x = 1.0;
        for (const std::string_view name : kind.x_knobs)
            x *= knob(*configuration.samples, name).value_or(std::nan(""));
        if (!(drawable(x) && (kind.x.logarithmic ? x > 0.0 : x >= 0.0)))
            continue;
        const std::optional<double> line =
            kind.line_knob.empty() ? std::nullopt : knob(*configuration.samples, kind.line_knob);
        keep_better(lines[line], x, configuration, kind.better);
    }
    Curve curve{kind.x.name,        kind.x.unit,        kind.y.name, kind.y.unit,
                kind.x.logarithmic, kind.y.logarithmic, {}};
    for (const auto &[line, points] : lines) {
        CurveSeries &series = curve.series.emplace_back();
        series.name = line ? fmt::format(fmt::runtime(kind.line_label), *line) : std::string(probe);
        for (const auto &[x, configuration] : points)
            append(series, x, configuration.spread);
    }
    return curve;
}

/// Bytes moved for each useful byte over the knob `x`: by counters, and beside them by time, as the time of a
/// useful byte over that of the fastest point.
Curve granularity(const RawSamples &raw, const char *probe, const char *x, const char *x_name) {
    Curve curve{.x_name = x_name,
                .x_unit = "B",
                .y_name = "moved for each useful byte",
                .y_unit = "1",
                .x_logarithmic = true,
                .y_logarithmic = true,
                .series = {}};
    const std::vector<Configuration> timed = select(raw, probe, "B/s", {{"level", 0.0}}).found;
    const double best = timed.empty() ? 0.0 : best_of(timed, Better::highest).spread.p50;
    for (const auto &[level, what] : {std::pair{0.0, "by time, against the fastest"},
                                      {1.0, "between DRAM and L2, by counter"},
                                      {2.0, "between L2 and SMs, by counter"}})
        for (const auto &[aligned, where] : {std::pair{1.0, ""}, {0.0, ", not aligned"}}) {
            // Strides have no knob "aligned", and are drawn as the aligned segments are.
            const std::vector<SweepPoint> points =
                sweep(raw, probe, level == 0.0 ? "B/s" : "1", x,
                      level == 0.0 ? Better::highest : Better::lowest,
                      {{"level", level}, {"aligned", aligned, aligned == 1.0}})
                    .points;
            if (points.empty())
                continue;
            CurveSeries &series = curve.series.emplace_back();
            series.name = std::string(what) + where;
            for (const SweepPoint &point : points) {
                const Spread &spread = point.configuration.spread;
                if (level == 0.0)
                    append(series, point.x, best / spread.p50, best / spread.p95, best / spread.p05);
                else
                    append(series, point.x, spread);
            }
        }
    return curve;
}

} // namespace

/// Clocks of an iteration of each mix, beside the longer of its parts alone and the sum of both.
Curve draw_beside_shared(const RawSamples &raw) {
    Curve curve{"FFMAs per shared load",
                "1",
                "time of an iteration",
                "clk",
                /*x_logarithmic=*/true,
                /*y_logarithmic=*/true,
                {{"together", {}, {}, {}, {}}, {"longer alone", {}, {}, {}, {}}, {"sum", {}, {}, {}, {}}}};
    for (const Mix &mix : mixes_of(raw)) {
        const double x = mix.ffmas / mix.loads;
        const Spread &ffmas = mix.ffmas_alone.spread, &loads = mix.loads_alone.spread;
        append(curve.series[0], x, mix.together.spread);
        append(curve.series[1], x, ffmas.p50 >= loads.p50 ? ffmas : loads);
        append(curve.series[2], x, ffmas.p50 + loads.p50, ffmas.p05 + loads.p05, ffmas.p95 + loads.p95);
    }
    return curve;
}

Curve draw_strides(const RawSamples &raw) {
    return granularity(raw, "stride_granularity", "stride_bytes", "stride");
}

Curve draw_segments(const RawSamples &raw) {
    return granularity(raw, "segment_granularity", "segment_bytes", "segment");
}

std::map<std::string, Curve> curves_of(const RawSamples &raw) {
    std::map<std::string, Curve> curves;
    for (const Probe &probe : probes()) {
        if (!probe.use.curve && probe.use.draw == nullptr)
            continue;
        Curve curve = probe.use.curve ? curve_of(raw, probe.name, *probe.use.curve) : probe.use.draw(raw);
        std::set<double> places;
        for (const CurveSeries &series : curve.series)
            places.insert(series.x.begin(), series.x.end());
        if (places.size() >= (probe.use.curve ? probe.use.curve->least_points : 2))
            curves.emplace(probe.name, std::move(curve));
    }
    return curves;
}

} // namespace convcast
