#include "microbench/curves.hpp"

#include "microbench/derived.hpp"
#include "microbench/selection.hpp"
#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <array>
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

/// A knob that tells the lines of a curve apart, and how a line is called, its value for {}.
struct LineKnob {
    std::string_view knob;
    const char *label = "";
};

struct Axis {
    const char *name, *unit;
    bool logarithmic;
};

/// How a probe's samples become lines.
struct CurveKind {
    std::string_view probe;
    std::array<std::string_view, 2> x_knobs; ///< x is their product
    Axis x, y;
    Better better;
    std::array<LineKnob, 2> lines{};
};

constexpr Axis in_flight{"bytes in flight", "B", true}, bandwidth{"bandwidth", "B/s", true},
    latency{"latency", "clk", true}, lane_bytes{"bytes a lane", "B", true},
    warp_load{"time of a warp's load", "clk", true}, ffma_rate{"FFMA rate of an SM", "fma/clk", false},
    sm_bandwidth{"useful bandwidth of an SM", "B/clk", false};

constexpr std::array curve_kinds = {
    CurveKind{"ffma_by_ilp",
              {"warps"},
              {"warps", "1", true},
              ffma_rate,
              Better::highest,
              {{{"ilp", "{} independent FFMAs"}}}},
    CurveKind{"ffma_by_operands",
              {"rows", "columns"},
              {"products of an outer product", "1", true},
              ffma_rate,
              Better::highest},
    CurveKind{"l2_latency", {"sm"}, {"SM", "1", false}, {"latency", "clk", false}, Better::lowest},
    CurveKind{"latency_by_footprint", {"footprint_bytes"}, {"footprint", "B", true}, latency, Better::lowest},
    CurveKind{"tlb_latency", {"region_bytes"}, {"region", "B", true}, latency, Better::lowest},
    CurveKind{"constant_latency", {"footprint_bytes"}, {"footprint", "B", true}, latency, Better::lowest},
    CurveKind{"dram_read_curve", {"bytes_in_flight"}, in_flight, bandwidth, Better::highest},
    CurveKind{"dram_write_curve", {"bytes_in_flight"}, in_flight, bandwidth, Better::highest},
    CurveKind{"dram_copy_curve", {"bytes_in_flight"}, in_flight, bandwidth, Better::highest},
    CurveKind{"l2_read_curve", {"bytes_in_flight"}, in_flight, bandwidth, Better::highest},
    CurveKind{"l2_write_curve", {"bytes_in_flight"}, in_flight, bandwidth, Better::highest},
    CurveKind{"store_sectors",
              {"lanes"},
              {"lanes that store side by side", "1", true},
              {"time of an SM's sector", "clk", false},
              Better::lowest},
    CurveKind{"l1_bandwidth", {"bytes_per_lane"}, lane_bytes, sm_bandwidth, Better::highest},
    CurveKind{"shared_bandwidth", {"bytes_per_lane"}, lane_bytes, sm_bandwidth, Better::highest},
    CurveKind{"shared_broadcast",
              {"lanes_per_address"},
              {"lanes that share an address", "1", true},
              warp_load,
              Better::lowest,
              {{{"bytes_per_lane", "{} B a lane"}}}},
    CurveKind{"banks", {"stride_words"}, {"stride", "words", true}, warp_load, Better::lowest},
    CurveKind{"conflicts",
              {"degree"},
              {"lanes that meet in a bank", "1", false},
              {"time of a warp's load", "clk", false},
              Better::lowest},
    CurveKind{"element_width",
              {"elements"},
              {"elements a lane loads at once", "1", true},
              sm_bandwidth,
              Better::highest,
              {{{"element_bytes", "elements of {} B"}}}},
    CurveKind{"barrier_latency",
              {"warps"},
              {"warps of a CTA", "1", true},
              {"time of a barrier", "clk", false},
              Better::lowest,
              {{{"ctas_per_sm", "{} CTAs an SM"}}}},
    CurveKind{"cluster_bandwidth",
              {"cluster"},
              {"CTAs of a cluster", "1", true},
              sm_bandwidth,
              Better::highest,
              {{{"bytes_per_lane", "{} B a lane"}}}},
    CurveKind{"cluster_barrier",
              {"cluster"},
              {"CTAs of a cluster", "1", true},
              {"time of a barrier", "clk", false},
              Better::lowest},
    CurveKind{"atomic_rate",
              {"addresses"},
              {"addresses", "1", true},
              {"time of an add", "s", true},
              Better::lowest},
    CurveKind{"float_adds", {"lines"}, {"lines", "1", true}, {"time of an add", "s", true}, Better::lowest},
    CurveKind{"launch_by_grid",
              {"ctas"},
              {"CTAs", "1", true},
              {"time of an empty kernel", "s", true},
              Better::lowest},
    CurveKind{"graph_meets",
              {"streams"},
              {"streams", "1", true},
              {"time of a kernel on each and a meeting", "s", true},
              Better::lowest},
    CurveKind{"stream_meets",
              {"streams"},
              {"streams", "1", true},
              {"time of a kernel on each and a meeting", "s", true},
              Better::lowest},
    CurveKind{"peer_meets",
              {"gpus"},
              {"GPUs", "1", false},
              {"time of a kernel on each and an exchange", "s", false},
              Better::lowest},
    CurveKind{"host_copy",
              {"bytes"},
              {"bytes of a copy", "B", true},
              bandwidth,
              Better::highest,
              {{{"direction", "direction {}"}}}},
};

/// The next point; left out where it is none that a profile may have: behind the last one along x, and
/// drawable.
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

Curve curve_of(const RawSamples &raw, const CurveKind &kind) {
    std::map<std::vector<double>, std::map<double, Configuration>> lines;
    for (const Configuration &configuration : select(raw, kind.probe, kind.y.unit).found) {
        double x = 1.0;
        for (const std::string_view name : kind.x_knobs)
            if (!name.empty())
                x *= knob(*configuration.samples, name).value_or(std::nan(""));
        if (!(drawable(x) && (kind.x.logarithmic ? x > 0.0 : x >= 0.0)))
            continue;
        std::vector<double> line; // configurations that lack a knob of the lines are together in one
        for (const LineKnob &by : kind.lines)
            if (const std::optional<double> value =
                    by.knob.empty() ? std::nullopt : knob(*configuration.samples, by.knob))
                line.push_back(*value);
        const auto [at, first] = lines[line].try_emplace(x, configuration);
        if (!first)
            at->second = best_of({at->second, configuration}, kind.better);
    }
    Curve curve{kind.x.name,        kind.x.unit,        kind.y.name, kind.y.unit,
                kind.x.logarithmic, kind.y.logarithmic, {}};
    for (const auto &[line, points] : lines) {
        std::vector<std::string> words;
        for (std::size_t i = 0; i < line.size(); ++i)
            words.push_back(fmt::format(fmt::runtime(kind.lines[i].label), line[i]));
        CurveSeries &series = curve.series.emplace_back();
        series.name = words.empty() ? std::string(kind.probe) : join(words);
        for (const auto &[x, configuration] : points)
            append(series, x, configuration.spread);
    }
    return curve;
}

Curve beside_shared(const RawSamples &raw) {
    Curve curve{"FFMAs per shared load",
                "1",
                "time of an iteration",
                "clk",
                true,
                true,
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

/// What moves for each useful byte. The time of a useful byte, against the fastest point's, is such a number
/// too, and so lies beside the counters.
Curve granularity(const RawSamples &raw, const char *probe, const char *x, const char *x_name) {
    Curve curve{x_name, "B", "moved for each useful byte", "1", true, true, {}};
    const std::vector<Configuration> timed = select(raw, probe, "B/s", {{"level", 0.0}}).found;
    const double best = timed.empty() ? 0.0 : best_of(timed, Better::highest).spread.p50;
    for (const auto &[level, what] : {std::pair{0.0, "by time, against the fastest"},
                                      {1.0, "between DRAM and L2, by counter"},
                                      {2.0, "between L2 and SMs, by counter"}})
        for (const auto &[aligned, where] : {std::pair{1.0, ""}, {0.0, ", not aligned"}}) {
            // Strides have no knob "aligned"; they are where the aligned segments are.
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

std::map<std::string, Curve> curves_of(const RawSamples &raw) {
    std::map<std::string, Curve> curves;
    for (const CurveKind &kind : curve_kinds)
        curves.emplace(kind.probe, curve_of(raw, kind));
    curves.emplace("ffma_beside_shared", beside_shared(raw));
    curves.emplace("stride_granularity", granularity(raw, "stride_granularity", "stride_bytes", "stride"));
    curves.emplace("segment_granularity",
                   granularity(raw, "segment_granularity", "segment_bytes", "segment"));
    std::erase_if(curves, [](const auto &entry) {
        std::set<double> places;
        for (const CurveSeries &series : entry.second.series)
            places.insert(series.x.begin(), series.x.end());
        // A host of two GPUs has one point of what GPUs do together; other probes with one point did not
        // sweep.
        return places.size() < (entry.first == "peer_meets" ? 1 : 2);
    });
    return curves;
}

} // namespace convcast
