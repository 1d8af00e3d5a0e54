#include "reports/report_figures.hpp"

#include "model/regime/words.hpp"
#include "reports/explained.hpp"
#include "reports/figure_layout.hpp"
#include "reports/html.hpp"
#include "reports/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr double mega = 1e-6; ///< MB per B
constexpr double percent = 100.0;

/// Puts the points of our own cases into a series for each regime: the one that the counters say, else the
/// forecast one. `make_point` gives the point of a row, or none; `strategy` "" stands for all strategies.
template <class MakePoint>
std::vector<Series> by_regime(const ReportStatistics &statistics, const std::string &strategy,
                              MakePoint make_point) {
    SeriesBy<std::size_t> regimes;
    for (const CaseRow &row : statistics.cases) {
        if (row.baseline || (!strategy.empty() && row.group != strategy))
            continue;
        const std::optional<Point> point = make_point(row);
        if (!point)
            continue;
        const std::optional<Regime> regime = row.measured ? row.measured : row.tier2;
        constexpr std::size_t unknown = 3; // the first style behind those of the regimes
        const std::size_t style = regime ? static_cast<std::size_t>(*regime) : unknown;
        regimes.of(style, {regime ? words_of(*regime) : "regime unknown", style}).points.push_back(*point);
    }
    std::vector<Series> out = regimes.take();
    // Later series cover earlier ones: the one with the fewest marks is drawn last.
    std::ranges::stable_sort(out, std::greater(), [](const Series &series) { return series.points.size(); });
    return out;
}

/// Makes points for by_regime of cases with both times: x is the cold time, µs, y is `y_of(row)`.
template <class YOf> auto at_measured_time(YOf y_of) {
    return [y_of](const CaseRow &row) -> std::optional<Point> {
        if (!row.error) // present where both times are
            return std::nullopt;
        return Point{row.cold_s->value * us_per_s, y_of(row), describe(row), row.id};
    };
}

/// Gives both logarithmic axes the same range around all points, so that y = x is the plot's diagonal. The
/// ends are 1, 2 or 5 times a power of ten.
void square_axes(Figure &figure) {
    double low = 0.0, high = 0.0;
    for (const Series &series : figure.series)
        for (const Point &point : series.points)
            if (const double least = std::min(point.x, point.y); least > 0.0) { // 0 is on no logarithmic axis
                low = low > 0.0 ? std::min(low, least) : least;
                high = std::max({high, point.x, point.y});
            }
    if (high <= 0.0)
        return;
    low = round_number(low, false);
    high = round_number(high, true);
    figure.x.low = figure.y.low = low;
    figure.x.high = figure.y.high = high > low ? high : 10.0 * low;
}

/// Where an axis of errors ends, in %: 25, 50 or 100, so that nine cases in ten fill at most two thirds of
/// it. Points beyond are drawn at the edge, so that one bad forecast does not squeeze all others.
double error_limit(const ReportStatistics &statistics) {
    if (const ErrorStatistics *all = statistics.errors_of("all"))
        for (const double limit : {25.0, 50.0})
            if (1.5 * percent * *all->p90 <= limit)
                return limit;
    return 100.0;
}

/// The end of a caption: " 12 cases."
std::string cases_text(std::size_t n) {
    return " " + count(std::int64_t(n), "case", "cases") + ".";
}

/// Counts the points that logarithmic axes cannot show, x counted and y forecast, for the end of a caption:
/// " Not drawn: 12 forecast as 0, 3 counted as 0, 20 that are 0 in both." "" if there are none.
std::string zeros_text(const Figure &figure) {
    std::size_t forecast = 0, counted = 0, both = 0;
    for (const Series &series : figure.series)
        for (const Point &point : series.points) {
            both += point.x == 0.0 && point.y == 0.0 ? 1 : 0;
            forecast += point.x != 0.0 && point.y == 0.0 ? 1 : 0;
            counted += point.x == 0.0 && point.y != 0.0 ? 1 : 0;
        }
    std::string text;
    for (const auto &[n, what] :
         {std::pair{forecast, "forecast as 0"}, {counted, "counted as 0"}, {both, "that are 0 in both"}})
        if (n > 0)
            text += fmt::format("{} {} {}", text.empty() ? " Not drawn:" : ",", n, what);
    return text.empty() ? text : text + ".";
}

/// The median error of a model, %: where its curve of error_cdf, which has points, passes 50 %.
double middle_error(const Series &curve) {
    return curve.points[(curve.points.size() - 1) / 2].x;
}

/// Our speed-up over cuDNN, a row for each shape of `study`, with the averages that the study's paper
/// published as lines. The study with the id "" stands for the shapes that belong to none.
Figure speedup_over_cudnn(const ReportStatistics &statistics, const Study &study) {
    Figure figure = explained_figure("speedup");
    figure.id += "_" + (study.id.empty() ? "other_shapes" : file_name(study.id));
    figure.title += ": " + (study.title.empty() ? "other shapes" : study.title);
    figure.references = {{Guide::vertical, 1.0, "as fast as cuDNN"}};
    for (const PublishedGain &gain : study.published)
        if (gain.average && *gain.average > 0.0 && gain.baseline.starts_with("cuDNN"))
            figure.references.push_back({Guide::vertical, *gain.average,
                                         fmt::format("published average {} ({}, {})", times(*gain.average),
                                                     gain.gpu, gain.baseline)});
    Series all{.name = "over its fastest algorithm", .style = 0},
        direct{.name = "over its fastest without Winograd and FFT", .style = 1, .hollow = true},
        papers{.name = "the paper's kernel, as run, over its fastest algorithm", .style = 2};
    const auto add = [](Series &series, const ShapeRow &shape, double row, std::optional<double> speedup,
                        const std::string &over, std::optional<std::int64_t> id) {
        if (speedup)
            series.add(*speedup, row, shape.shape + ": " + times(*speedup) + over, id);
    };
    for (const ShapeRow &shape : statistics.shapes) {
        if (shape.study.value_or("") != study.id)
            continue;
        const double row = figure.add_row(shape.shape);
        add(all, shape, row, shape.speedup, " over the fastest", shape.ours);
        if (shape.papers)
            add(papers, shape, row, shape.speedup_papers,
                ", " + statistics.row(*shape.papers).group + " as run over the fastest", shape.papers);
        add(direct, shape, row, shape.speedup_direct, " over the fastest without Winograd and FFT",
            shape.ours);
    }
    figure.caption += fmt::format(" {} of {} shapes.", all.points.size(), figure.y.categories.size());
    if (!all.points.empty())
        figure.title = fmt::format(
            "{}: faster than cuDNN on {} of {} shapes", study.title.empty() ? "Other shapes" : study.title,
            std::ranges::count_if(all.points, [](const Point &p) { return p.x > 1.0; }), all.points.size());
    // The hollow mark goes below, so that both show where they coincide.
    figure.series = {std::move(direct), std::move(all)};
    figure.add_drawn({std::move(papers)});
    return figure;
}

/// Forecast against counted MB, a mark a case: reads filled, writes hollow; `level` is "l2" or "dram".
Figure work_bytes(const ReportStatistics &statistics, const std::string &level) {
    const std::string name = level == "l2" ? "L2" : "DRAM";
    Figure figure = explained_figure("work_" + level);
    figure.references = {{Guide::diagonal, 1.0, "predicted = counted"}};
    figure.square = true;
    bool has_title = false; // which is about the reads, or about the writes where no read can be compared
    for (const bool write : {false, true}) {
        const char *which = write ? "write" : "read";
        Series series{.name = fmt::format("{}s", which),
                      .style = write ? std::size_t{1} : std::size_t{0},
                      .hollow = write};
        std::vector<double> off; // |forecast / counted - 1|
        for (const WorkRow &work : statistics.work) {
            if (work.quantity != fmt::format("{}_{}_bytes", level, which))
                continue;
            const CaseRow &row = statistics.row(work.id);
            series.add(work.counted * mega, work.predicted * mega,
                       fmt::format("{} {}, {}: predicted {:.3g} MB, counted {:.3g} MB", row.shape, row.name,
                                   series.name, work.predicted * mega, work.counted * mega),
                       row.id);
            if (work.counted > 0.0)
                off.push_back(std::abs(work.predicted / work.counted - 1.0));
        }
        if (!off.empty() && !has_title)
            figure.title = fmt::format("{} {}: half of the forecasts within {:.1f} % of the counters", name,
                                       series.name, percent * percentile(off, 0.5));
        has_title = has_title || !off.empty();
        figure.add_drawn({std::move(series)});
    }
    figure.tallies_zeros = true;
    figure.caption += fmt::format(" {} pairs.", figure.point_count()) + zeros_text(figure);
    square_axes(figure);
    return figure;
}

/// The waterfall of a case's forecast, x in µs: a bar for each part, which begins where the part above it
/// ends, and below them one for the whole forecast. The measured time, if there is one, is a vertical line.
Figure waterfall_of(const CaseRow &row) {
    Figure figure = explained_figure("waterfall");
    figure.id += "_" + std::to_string(row.id);
    figure.title += ": " + row.shape + " " + row.name;
    Series parts{"part of the forecast", styles::context, Drawn::bars},
        total{"forecast", styles::forecast, Drawn::bars};
    parts.unlisted = total.unlisted = true; // the name of each row says what its bar is
    Seconds end_s(0.0);
    for (const WaterfallBar &bar : row.waterfall) {
        const Seconds begin_s = end_s;
        end_s += bar.added_s;
        parts.add_bar(begin_s.value * us_per_s, end_s.value * us_per_s, figure.add_row(bar.name),
                      bar.name + ": " + microseconds(bar.added_s) + " µs");
    }
    // Only this bar stands for the case and has its id: a part shows its own time when it is hovered.
    if (!row.waterfall.empty())
        total.add_bar(0.0, end_s.value * us_per_s, figure.add_row("forecast"),
                      "forecast: " + microseconds(end_s) + " µs", row.id);
    if (row.cold_s)
        figure.references = {{Guide::vertical, row.cold_s->value * us_per_s,
                              "measured, cold L2: " + microseconds(*row.cold_s) + " µs"}};
    figure.series = {std::move(parts), std::move(total)};
    return figure;
}

/// The case whose waterfall stands for the run: the one with the median error or, where nothing was measured,
/// the first with a waterfall; nullptr where no case has one.
const CaseRow *typical_case(const ReportStatistics &statistics) {
    std::vector<std::pair<double, std::int64_t>> errors;
    for (const CaseRow &row : statistics.cases)
        if (row.error && !row.waterfall.empty())
            errors.emplace_back(std::abs(*row.error), row.id);
    std::ranges::sort(errors);
    return errors.empty()
               ? first_where(statistics.cases, [](const CaseRow &row) { return !row.waterfall.empty(); })
               : &statistics.row(errors[(errors.size() - 1) / 2].second);
}

} // namespace

std::string describe(const CaseRow &row) {
    std::string text = row.shape + " " + row.name;
    if (row.predicted_s)
        text += ": forecast " + microseconds(*row.predicted_s) + " µs";
    if (row.cold_s)
        text += std::string(row.predicted_s ? ", " : ": ") + "measured " + microseconds(*row.cold_s) + " µs";
    if (row.error)
        text += " (" + signed_percent(*row.error) + ")";
    return text;
}

Figure predicted_vs_measured(const ReportStatistics &statistics) {
    Figure figure = explained_figure("predicted_vs_measured");
    figure.square = true;
    figure.bands = {{Guide::diagonal, 0.9, 1.1, "±10 %"}};
    figure.references = {{Guide::diagonal, 1.0, "forecast = measured"}};
    figure.series =
        by_regime(statistics, "",
                  at_measured_time([](const CaseRow &row) { return row.predicted_s->value * us_per_s; }));
    figure.caption += cases_text(figure.point_count());
    if (const ErrorStatistics *all = statistics.errors_of("all"))
        // Rounded up, so that the title is true; up to 0.05 % more is what one decimal rounds away.
        figure.title = fmt::format("9 of 10 forecasts are within {:.0f} % of the measured time",
                                   std::ceil(percent * *all->p90 - 0.05));
    square_axes(figure);
    return figure;
}

Figure relative_error(const ReportStatistics &statistics) {
    Figure figure = explained_figure("relative_error");
    figure.bands = {{Guide::horizontal, -10.0, 10.0, "±10 %"}};
    figure.references = {{Guide::horizontal, 0.0, ""}};
    const std::vector<const ErrorStatistics *> strategies = statistics.by_error();
    if (!strategies.empty()) {
        figure.title = fmt::format("{} is off most, by {:.1f} % in the median", strategies.front()->group,
                                   percent * *strategies.front()->median);
        figure.caption += " The worst strategy first.";
    }
    const auto error = at_measured_time([](const CaseRow &row) { return *row.error * percent; });
    for (const ErrorStatistics *strategy : strategies)
        figure.panels.push_back({strategy->group, by_regime(statistics, strategy->group, error)});
    figure.caption += cases_text(figure.point_count());
    const double limit = error_limit(statistics);
    figure.y.low = -limit, figure.y.high = limit;
    return figure;
}

Figure error_cdf(const ReportStatistics &statistics) {
    Figure figure = explained_figure("error_cdf");
    struct Model {
        const char *name;
        std::optional<Seconds> CaseRow::*time;
        std::size_t style;
    };
    for (const Model &model :
         {Model{"this forecast", &CaseRow::predicted_s, styles::forecast},
          Model{"MWP-CWP", &CaseRow::mwp_cwp_s, 4}, Model{"wave-quantised roofline", &CaseRow::roofline_s, 5},
          Model{"speed of light", &CaseRow::tier0_s, styles::context}}) {
        Series series{model.name, model.style, Drawn::steps};
        for (const CaseRow &row : statistics.cases)
            if (const std::optional<Seconds> &time = row.*model.time; !row.baseline && row.cold_s && time)
                series.add(std::abs(*time / *row.cold_s - 1.0) * percent, 0.0,
                           row.shape + " " + row.name + ": " + model.name + " " +
                               signed_percent(*time / *row.cold_s - 1.0),
                           row.id);
        std::ranges::stable_sort(series.points, {}, &Point::x);
        // y: the share of the cases that have at most this error, in %
        for (std::size_t i = 0; i < series.points.size(); ++i)
            series.points[i].y =
                percent * static_cast<double>(i + 1) / static_cast<double>(series.points.size());
        figure.add_drawn({std::move(series)});
    }
    if (!figure.series.empty())
        figure.caption += cases_text(figure.series.front().points.size());
    if (figure.series.size() > 1 && figure.series.front().style == styles::forecast) {
        const Series &last = figure.series.back();
        figure.title =
            fmt::format("Half of the forecasts are within {:.1f} %, half of the {}'s within {:.0f} %",
                        middle_error(figure.series.front()), last.name, middle_error(last));
    }
    return figure;
}

std::vector<CaseColumns> case_columns(const ReportStatistics &statistics) {
    std::vector<CaseColumns> columns;
    for (const CaseRow &row : statistics.cases) {
        const auto name_of = [](const std::optional<Regime> &regime) {
            return regime ? std::string(boost::describe::enum_to_string(*regime, "?")) : "";
        };
        columns.push_back({row.study.value_or(""), row.shape, row.group, row.knobs(), name_of(row.tier2),
                           name_of(row.measured)});
    }
    return columns;
}

std::vector<Figure> report_figures(const ReportStatistics &statistics, std::span<const Study> studies) {
    std::vector<Figure> figures;
    const auto add = [&](const char *part, Figure figure) {
        figure.part = part;
        figures.push_back(std::move(figure));
    };
    add("overview", predicted_vs_measured(statistics));
    add("accuracy", relative_error(statistics));
    add("overview", error_cdf(statistics));
    const auto has_shapes = [&](const std::string &study) {
        return std::ranges::any_of(statistics.cases,
                                   [&](const CaseRow &row) { return row.study.value_or("") == study; });
    };
    // A speed-up figure also for shapes of a study that is not in `studies`, and for shapes of none (id "").
    std::vector<Study> of_speed(studies.begin(), studies.end());
    for (const ShapeRow &shape : statistics.shapes)
        if (const std::string id = shape.study.value_or("");
            first_with(of_speed, &Study::id, id) == nullptr) {
            of_speed.emplace_back().id = id;
            of_speed.back().title = id;
        }
    for (const Study &study : of_speed)
        if (has_shapes(study.id))
            add("speed", speedup_over_cudnn(statistics, study));
    for (Figure &map : regime_maps(statistics))
        add("maps", std::move(map));
    if (!statistics.regimes.opinions.empty())
        add("regimes", regime_confusion(statistics));
    if (std::optional<Figure> plane = regime_plane(statistics))
        add("regimes", std::move(*plane));
    if (!statistics.regimes.stalls.empty())
        add("regimes", stall_reasons(statistics));
    for (const Study &study : studies)
        for (const StudySweep &sweep : study.sweeps)
            if (has_shapes(study.id))
                add("regimes", boundary_sweep(statistics, sweep));
    add("work", work_bytes(statistics, "l2"));
    add("work", work_bytes(statistics, "dram"));
    if (const CaseRow *row = typical_case(statistics)) {
        Figure figure = waterfall_of(*row);
        figure.id = "waterfall";
        add("", std::move(figure));
    }
    return figures;
}

std::vector<Figure> figures_of(const Run &run, const ReportStatistics &statistics,
                               std::span<const Study> studies) {
    std::vector<Figure> figures = report_figures(statistics, studies);
    append(figures, timeline_figures(run));
    return figures;
}

} // namespace convcast
