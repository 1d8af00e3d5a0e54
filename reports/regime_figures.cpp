#include "reports/report_figures.hpp"

#include "model/paper/papers.hpp"
#include "model/regime/words.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/explained.hpp"
#include "reports/figure_layout.hpp"
#include "reports/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>
namespace convcast {
namespace {

constexpr double percent = 100.0;

/// An empty series in the colour of a regime, named `before` and the regime's words.
Series of_regime(Regime regime, const std::string &before, Drawn drawn = Drawn::points) {
    return {before + words_of(regime), static_cast<std::size_t>(regime), drawn};
}

} // namespace

Figure regime_confusion(const ReportStatistics &statistics) {
    Figure figure = explained_figure("regimes");
    const RegimeStatistics *forecast = over_all(statistics.regimes, "forecast");
    if (forecast != nullptr)
        figure.title = fmt::format("The forecast names the measured regime of {} of {} cases",
                                   forecast->agree, forecast->n);
    if (forecast != nullptr)
        figure.caption += " Of the forecast: " + worth_of(*forecast) + ".";
    SeriesBy<Regime> said;
    for (const RegimeStatistics &opinion : statistics.regimes.opinions) {
        if (opinion.group != "all")
            continue;
        constexpr std::size_t regimes =
            3; // the counts of one measured regime follow each other, one a forecast
        for (std::size_t i = 0; i + regimes <= opinion.counts.size(); i += regimes) {
            double total = 0.0, from = 0.0;
            for (std::size_t j = i; j < i + regimes; ++j)
                total += static_cast<double>(opinion.counts[j].n);
            if (total == 0.0)
                continue;
            const std::string measured = words_of(opinion.counts[i].measured);
            const double row =
                figure.add_row(fmt::format("{}: {} ({:.0f})", words_of_opinion(opinion), measured, total));
            for (std::size_t j = i; j < i + regimes; ++j) {
                const RegimeCount &count = opinion.counts[j];
                const double to = from + percent * static_cast<double>(count.n) / total;
                Series &series = said.of(count.forecast, of_regime(count.forecast, "said ", Drawn::bars));
                if (count.n > 0)
                    series.add_bar(from, to, row,
                                   fmt::format("{}: {} measured as {} said to be {}",
                                               words_of_opinion(opinion), count.n, measured,
                                               words_of(count.forecast)));
                from = to;
            }
        }
    }
    figure.series = said.take();
    return figure;
}

namespace {

/// Where a case lies in the plane of regimes, x and y: its bytes and its FMAs, each over the amount that
/// hides the latency. Absent where the case lacks a number.
using InPlane = std::optional<std::pair<double, double>> (*)(const CaseRow &);

/// By one round as the paper counts it.
std::optional<std::pair<double, double>> round_of(const CaseRow &row) {
    if (!row.round_over_v_s || !row.round_over_n_fma)
        return std::nullopt;
    return std::pair(*row.round_over_v_s, *row.round_over_n_fma);
}

/// By what all resident CTAs do.
std::optional<std::pair<double, double>> resident_of(const CaseRow &row) {
    if (!row.over_latency)
        return std::nullopt;
    return std::pair(row.over_latency->bytes, row.over_latency->fmas);
}

/// A plot of the cases with a measured regime, in its colour. 0 has no place on logarithmic axes.
Panel plane_panel(const char *title, InPlane place, const ReportStatistics &statistics) {
    SeriesBy<Regime> series;
    for (const CaseRow &row : statistics.cases)
        if (const auto at = place(row); at && row.measured && at->first > 0.0 && at->second > 0.0)
            series.of(*row.measured, of_regime(*row.measured, "measured, "))
                .add(at->first, at->second, describe(row), row.id);
    return {title, series.take()};
}

} // namespace

std::optional<Figure> regime_plane(const ReportStatistics &statistics) {
    Figure figure = explained_figure("regime_plane");
    for (Panel panel : {plane_panel("by the paper: one round", round_of, statistics),
                        plane_panel("by physics: all resident", resident_of, statistics)})
        if (!panel.series.empty())
            figure.panels.push_back(std::move(panel));
    if (figure.panels.empty())
        return std::nullopt;
    figure.references = {{Guide::vertical, 1.0, "enough bytes"}, {Guide::horizontal, 1.0, "enough FMAs"}};
    return figure;
}

Figure stall_reasons(const ReportStatistics &statistics) {
    Figure figure = explained_figure("stalls");
    constexpr double worth_a_bar = 0.03; // chosen: less is thinner than its label
    SeriesBy<Regime> waiting;
    for (const StallStatistics &stall : statistics.regimes.stalls) {
        if (stall.share < worth_a_bar)
            continue;
        const std::string regime = words_of(stall.measured);
        waiting.of(stall.measured, of_regime(stall.measured, "", Drawn::bars))
            .add_bar(0.0, percent * stall.share, figure.add_row(regime + ": " + stall.reason),
                     fmt::format("{}: {} {:.1f} % ({} cases)", regime, stall.reason, percent * stall.share,
                                 stall.n));
    }
    figure.series = waiting.take();
    return figure;
}

namespace {

/// The number that a sweep varies, map height or knob, of a case; absent for a case of no sweep.
std::optional<double> swept_value(const CaseRow &row, const StudySweep &sweep) {
    if (row.baseline || std::ranges::find(sweep.shapes, row.shape) == sweep.shapes.end() ||
        std::ranges::none_of(sweep.strategies,
                             [&](const std::string &setting) { return has_setting(row.name, setting); }))
        return std::nullopt;
    return static_cast<double>(sweep.swept == "h" ? ConvShape::parse(row.shape).h
                                                  : knob_value(row.name, sweep.swept));
}

/// The x at which y passes 1, by straight lines between neighbouring points on logarithmic axes. `points` are
/// (x, y), both above 0, ascending in x.
std::vector<double> crossings(const std::vector<std::pair<double, double>> &points) {
    std::vector<double> out;
    for (std::size_t i = 1; i < points.size(); ++i) {
        const auto [x0, y0] = points[i - 1];
        const auto [x1, y1] = points[i];
        if ((y0 < 1.0) != (y1 < 1.0))
            out.push_back(x0 * std::pow(x1 / x0, std::log(y0) / std::log(y0 / y1)));
    }
    return out;
}

} // namespace

Figure boundary_sweep(const ReportStatistics &statistics, const StudySweep &sweep) {
    Figure figure = explained_figure("sweep");
    figure.id += "_" + file_name(sweep.id);
    figure.title += ": " + sweep.title;
    if (sweep.swept != "h")
        figure.x.label = sweep.swept;
    SeriesBy<Regime> measured;
    Series forecast{"forecast", styles::forecast, Drawn::lines};
    std::vector<std::pair<double, double>> n_fma, v_s; // a round's FMAs over N_FMA, its bytes over V_s
    constexpr double ps_per_s = 1e12;
    std::multimap<double, const CaseRow *> rows; // by the swept number
    for (const CaseRow &row : statistics.cases)
        if (const std::optional<double> x = swept_value(row, sweep); x && *x > 0.0)
            rows.emplace(*x, &row);
    for (const auto &[x, row] : rows) {
        const double fmas = ConvShape::parse(row->shape).fmas().value;
        if (row->round_over_n_fma.value_or(0.0) > 0.0)
            n_fma.emplace_back(x, *row->round_over_n_fma);
        if (row->round_over_v_s.value_or(0.0) > 0.0)
            v_s.emplace_back(x, *row->round_over_v_s);
        if (row->predicted_s)
            forecast.add(x, row->predicted_s->value / fmas * ps_per_s, describe(*row), row->id);
        if (row->cold_s && row->measured)
            measured.of(*row->measured, of_regime(*row->measured, "measured, "))
                .add(x, row->cold_s->value / fmas * ps_per_s, describe(*row), row->id);
    }
    for (const double x : crossings(n_fma))
        figure.references.push_back({Guide::vertical, x, fmt::format("N_FMA: a round has it at {:.3g}", x)});
    for (const double x : crossings(v_s))
        figure.references.push_back({Guide::vertical, x, fmt::format("V_s: a round moves it at {:.3g}", x)});
    if (figure.references.empty())
        figure.caption += " This sweep passes neither.";
    figure.series = measured.take();
    figure.add_drawn({std::move(forecast)});
    return figure;
}

namespace {

/// A point of a map of regimes, and the case that stands for it.
struct MapPoint {
    double size = 0.0;    ///< of the square map, pixels
    double filters = 0.0; ///< their number
    const CaseRow *row = nullptr;
};

/// The points of the cases by `strategy` with one image, one channel, a square map and filters of r x r: of
/// the cases at a point the fastest measured one, else the one that is forecast fastest.
std::vector<MapPoint> points_of(const ReportStatistics &statistics, const std::string &strategy, int r) {
    std::map<std::pair<double, double>, const CaseRow *> best;
    const auto time = [](const CaseRow &row) { // any measured time comes before any forecast
        const std::optional<Seconds> &its = row.cold_s ? row.cold_s : row.predicted_s;
        return std::pair(row.cold_s ? 0 : 1, its ? its->value : std::numeric_limits<double>::infinity());
    };
    for (const CaseRow &row : statistics.cases) {
        if (row.baseline || row.group != strategy || !row.tier2)
            continue;
        const ConvShape shape = ConvShape::parse(row.shape);
        if (shape.c != 1 || shape.r != r || shape.s != r || shape.h != shape.w || shape.n != 1)
            continue;
        const CaseRow *&fastest = best[{static_cast<double>(shape.w), static_cast<double>(shape.k)}];
        if (fastest == nullptr || time(row) < time(*fastest))
            fastest = &row;
    }
    std::vector<MapPoint> points;
    for (const auto &[place, row] : best)
        points.push_back({place.first, place.second, row});
    return points;
}

/// A boundary of the papers' rule: N_FMA in FMAs of one SM, V_s in bytes of all SMs.
enum class Boundary { n_fma, v_s };

/// What a line in a map is the boundary of: filters of r x r by filter_split, or by map_split.
struct BoundaryOf {
    const PaperBounds &paper;
    bool map_split;
    int r;
    Boundary boundary;
};

/// The fewest filters, up to `most`, with which a square map of `size` pixels reaches the boundary if the
/// work is one piece: its FMAs on an SM (the papers' Th) reach N_FMA, or its bytes on all SMs (their D) reach
/// V_s. Absent where `most` filters are too few.
std::optional<double> least_filters(const BoundaryOf &of, int size, int most) {
    const PaperBounds &paper = of.paper;
    const auto reaches = [&](int filters) {
        ConvShape shape;
        shape.h = shape.w = size;
        shape.k = filters;
        shape.r = shape.s = of.r;
        if (of.boundary == Boundary::n_fma)
            return (of.map_split ? papers::th2_fmas(shape, paper.sms, 1)
                                 : papers::th1_fmas(shape, paper.sms, 1)) >= paper.n_fma;
        return paper.sms * (of.map_split ? papers::d2_bytes(shape, paper.sms, 1)
                                         : papers::d1_bytes(shape, paper.sms, 1)) >=
               paper.v_s_bytes;
    };
    if (!reaches(most))
        return std::nullopt;
    int low = 1, high = most; // FMAs and bytes both grow with the filters, so halving finds the fewest
    while (low < high) {
        const int middle = low + (high - low) / 2;
        (reaches(middle) ? high : low) = reaches(middle) ? middle : middle + 1;
    }
    return low;
}

/// The boundary as a curve over the sizes of maps (x) in the frame of a plot: a series for each stretch that
/// lies between the frame's lower and upper end. Where any number of filters is enough, the curve would run
/// along the lower end, so it is left out.
std::vector<Series> boundary_lines(const BoundaryOf &of, const Axis &x, const Axis &y) {
    const double low = *x.low, high = *x.high, least = *y.low, most = *y.high;
    const bool fmas = of.boundary == Boundary::n_fma;
    const Series empty{fmas ? "N_FMA in one piece" : "V_s in one piece",
                       fmas ? std::size_t{4} : std::size_t{5}, Drawn::curve};
    std::vector<Series> lines = {empty};
    constexpr double steps = 120.0; // points of a curve: enough to look smooth
    bool outside = true;            // whether the point before lay outside of the frame
    for (double i = 0.0; i <= steps; ++i) {
        const double size = std::round(low * std::pow(high / low, i / steps));
        const std::optional<double> filters =
            least_filters(of, static_cast<int>(size), static_cast<int>(std::ceil(most)));
        if (size < of.r || !filters)
            continue;
        const std::vector<Point> &points = lines.back().points;
        if (!points.empty() && points.back().x == size)
            continue;
        const bool inside = *filters > least && *filters <= most;
        if (inside || !outside) // the first point outside leads the curve to the frame
            lines.back().add(
                size, std::clamp(*filters, least, most),
                fmt::format("{} from {:.0f} filters on a map of {:.0f}", empty.name, *filters, size));
        if (!inside && !outside)
            lines.push_back(empty);
        outside = !inside;
    }
    std::erase_if(lines, [](const Series &line) { return line.points.size() < 2; });
    return lines;
}

/// Whose opinion on the regime a plot of a map shows.
struct Opinion {
    const char *name;
    std::optional<Regime> CaseRow::*regime;
};

/// The plot of one opinion: a mark at each point in the colour of the regime, hollow for exposed.
Panel opinion_panel(const Opinion &opinion, const std::vector<MapPoint> &points) {
    SeriesBy<Regime> series;
    for (const MapPoint &point : points)
        if (const std::optional<Regime> &regime = point.row->*opinion.regime) {
            Series empty = of_regime(*regime, "");
            empty.hollow = *regime == Regime::exposed;
            series.of(*regime, empty)
                .add(point.size, point.filters,
                     std::string(opinion.name) + ": " + words_of(*regime) + ", " + describe(*point.row),
                     point.row->id);
        }
    return {opinion.name, series.take()};
}

/// The map of `strategy`, filter_split or map_split, with filters of r x r; absent where the run has too few
/// such shapes. The statistics have PaperBounds.
std::optional<Figure> regime_map(const ReportStatistics &statistics, const std::string &strategy, int r) {
    const std::vector<MapPoint> points = points_of(statistics, strategy, r);
    constexpr std::size_t fewest = 5; // chosen: fewer points say nothing of a plane
    if (points.size() < fewest)
        return std::nullopt;
    Figure figure = explained_figure("regime_map");
    figure.id += fmt::format("_{}_{}x{}", strategy, r, r);
    figure.title += fmt::format(" of {} with filters of {} x {}", strategy, r, r);
    double low = std::ranges::min(points, {}, &MapPoint::size).size,
           high = std::ranges::max(points, {}, &MapPoint::size).size,
           least = std::ranges::min(points, {}, &MapPoint::filters).filters,
           most = std::ranges::max(points, {}, &MapPoint::filters).filters;
    constexpr double room = 1.6; // around the dots, so that a line beside them is seen
    low /= room, high *= room, least = std::max(1.0, least / (room * room)), most *= room;
    figure.x.low = low, figure.x.high = high, figure.y.low = least, figure.y.high = most;
    for (const Opinion &opinion :
         {Opinion{"paper's rule", &CaseRow::paper}, Opinion{"physical rule", &CaseRow::physical},
          Opinion{"forecast", &CaseRow::tier2}, Opinion{"measured", &CaseRow::measured}})
        if (Panel panel = opinion_panel(opinion, points); !panel.series.empty())
            figure.panels.push_back(std::move(panel));
    for (const Boundary boundary : {Boundary::n_fma, Boundary::v_s})
        append(figure.series,
               boundary_lines({*statistics.paper, strategy == "map_split", r, boundary}, figure.x, figure.y));
    figure.caption += fmt::format(" N_FMA is {} FMAs an SM, V_s {} bytes on {} SMs.", statistics.paper->n_fma,
                                  statistics.paper->v_s_bytes, statistics.paper->sms);
    return figure;
}

} // namespace

std::vector<Figure> regime_maps(const ReportStatistics &statistics) {
    std::vector<Figure> maps;
    if (!statistics.paper)
        return maps;
    for (const char *strategy : {"filter_split", "map_split"})
        for (const int r : {1, 3, 5}) // the edges of filters that Chang measured
            if (std::optional<Figure> map = regime_map(statistics, strategy, r))
                maps.push_back(std::move(*map));
    return maps;
}

} // namespace convcast
