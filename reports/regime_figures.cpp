#include "reports/regime_figures.hpp"

#include "reports/report_figures.hpp"

#include "model/shape/conv_shape.hpp"
#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>
namespace convcast {
namespace {

constexpr double percent = 100.0;

std::string regime_name(Regime regime) {
    std::string name = boost::describe::enum_to_string(regime, "?");
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

} // namespace

Figure regime_confusion(const ReportStatistics &statistics) {
    Figure figure{"regimes", "Regimes: what was said of what was measured", "", {}, {}};
    figure.caption =
        "Of the cases that the counters put into a regime, the share that an opinion put into each: a row "
        "in one colour, its own, is right. The number of cases is in the row's name.";
    figure.x = {"share of the cases, %", Scale::linear, 0.0, percent, {}};
    figure.y.scale = Scale::category;
    std::map<Regime, Series> said;
    for (const RegimeStatistics &opinion : statistics.regimes.opinions) {
        if (opinion.group != "all")
            continue;
        for (std::size_t i = 0; i + 2 < opinion.counts.size();
             i += 3) { // the forecasts of one measured regime
            double total = 0.0, from = 0.0;
            for (std::size_t j = i; j < i + 3; ++j)
                total += static_cast<double>(opinion.counts[j].n);
            if (total == 0.0)
                continue;
            const std::string measured = regime_name(opinion.counts[i].measured);
            const auto row = static_cast<double>(figure.y.categories.size());
            figure.y.categories.push_back(fmt::format("{}: {} ({:.0f})", opinion.opinion, measured, total));
            for (std::size_t j = i; j < i + 3; ++j) {
                const RegimeCount &count = opinion.counts[j];
                Series &series =
                    said.try_emplace(count.forecast,
                                     Series{"said " + regime_name(count.forecast), said.size(), Drawn::bars})
                        .first->second;
                const double to = from + percent * static_cast<double>(count.n) / total;
                if (count.n > 0)
                    series.points.push_back(
                        {to,
                         row,
                         fmt::format("{}: {} measured as {} said to be {}", opinion.opinion, count.n,
                                     measured, regime_name(count.forecast)),
                         {},
                         from});
                from = to;
            }
        }
    }
    for (auto &[regime, series] : said)
        figure.series.push_back(std::move(series));
    figure.no_data = "no case has both a forecast and counters";
    return figure;
}

Figure stall_reasons(const ReportStatistics &statistics) {
    Figure figure{"stalls", "What warps wait for in each regime", "", {}, {}};
    figure.caption =
        "Mean share of a reason in the warps that could not issue, over the cases that the counters put "
        "into a regime; the names are the counters'.";
    figure.x = {"share of the waiting warps, %", Scale::linear, 0.0, {}, {}};
    figure.y.scale = Scale::category;
    constexpr double worth_a_bar = 0.03;
    std::map<Regime, Series> series;
    for (const StallStatistics &stall : statistics.regimes.stalls) {
        if (stall.share < worth_a_bar)
            continue;
        Series &s =
            series
                .try_emplace(stall.measured, Series{regime_name(stall.measured), series.size(), Drawn::bars})
                .first->second;
        s.points.push_back({percent * stall.share,
                            static_cast<double>(figure.y.categories.size()),
                            fmt::format("{}: {} {:.1f} % ({} cases)", regime_name(stall.measured),
                                        stall.reason, percent * stall.share, stall.n),
                            {},
                            0.0});
        figure.y.categories.push_back(regime_name(stall.measured) + ": " + stall.reason);
    }
    for (auto &[regime, s] : series)
        figure.series.push_back(std::move(s));
    figure.no_data = "no case has counters of stalls";
    return figure;
}

namespace {

/// The number that a case has in a sweep: the map's height, or a knob of its setting. Absent where the case
/// is not of the sweep.
std::optional<double> swept_value(const CaseRow &row, const StudySweep &sweep) {
    if (row.baseline || std::find(sweep.shapes.begin(), sweep.shapes.end(), row.shape) == sweep.shapes.end())
        return std::nullopt;
    const auto parts_of = [](const std::string &text) { // "name:a=1,b=2": name, a=1, b=2
        std::vector<std::string> parts(1);
        for (const char c : text)
            if (c == ':' || c == ',')
                parts.emplace_back();
            else
                parts.back() += c;
        return parts;
    };
    const std::vector<std::string> has = parts_of(row.name);
    const bool asked =
        std::any_of(sweep.strategies.begin(), sweep.strategies.end(), [&](const std::string &text) {
            const std::vector<std::string> wanted = parts_of(text);
            return std::all_of(wanted.begin(), wanted.end(), [&](const std::string &part) {
                return std::find(has.begin(), has.end(), part) != has.end();
            });
        });
    if (!asked)
        return std::nullopt;
    if (sweep.swept == "h")
        return static_cast<double>(ConvShape::parse(row.shape).h);
    for (const std::string &part : has) {
        int value = 0;
        const std::size_t at = sweep.swept.size() + 1;
        if (part.starts_with(sweep.swept + "=") &&
            std::from_chars(part.data() + at, part.data() + part.size(), value).ec == std::errc{})
            return static_cast<double>(value);
    }
    return std::nullopt;
}

/// Where a ratio passes 1 between two values of the swept number, on logarithmic axes.
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
    Figure figure{"sweep_" + file_name(sweep.id), "Across the boundaries: " + sweep.title, "", {}, {}};
    figure.x = {sweep.swept == "h" ? "height and width of the map" : sweep.swept, Scale::binary, {}, {}, {}};
    figure.y = {"time per FMA, ps", Scale::logarithmic, {}, {}, {}};
    std::map<Regime, Series> measured;
    Series forecast{"forecast", 3, Drawn::lines};
    std::vector<std::pair<double, double>> n_fma, v_s;
    constexpr double pico = 1e12;
    std::vector<std::pair<double, const CaseRow *>> rows;
    for (const CaseRow &row : statistics.cases)
        if (const std::optional<double> x = swept_value(row, sweep); x && *x > 0.0)
            rows.emplace_back(*x, &row);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    for (const auto &[x, row] : rows) {
        const double fmas = ConvShape::parse(row->shape).fmas().value;
        if (row->round_over_n_fma.value_or(0.0) > 0.0)
            n_fma.emplace_back(x, *row->round_over_n_fma);
        if (row->round_over_v_s.value_or(0.0) > 0.0)
            v_s.emplace_back(x, *row->round_over_v_s);
        if (row->predicted_s)
            forecast.points.push_back({x, row->predicted_s->value / fmas * pico, describe(*row), row->id});
        if (!row->cold_s || !row->measured)
            continue;
        Series &series = measured
                             .try_emplace(*row->measured, Series{"measured, " + regime_name(*row->measured),
                                                                 static_cast<std::size_t>(*row->measured)})
                             .first->second;
        series.points.push_back({x, row->cold_s->value / fmas * pico, describe(*row), row->id});
    }
    for (const double x : crossings(n_fma))
        figure.references.push_back({Guide::vertical, x, fmt::format("N_FMA: a round has it at {:.3g}", x)});
    for (const double x : crossings(v_s))
        figure.references.push_back({Guide::vertical, x, fmt::format("V_s: a round moves it at {:.3g}", x)});
    figure.caption =
        "Cold L2. The lines are the paper's rule: where the FMAs of a round pass N_FMA, and its bytes V_s; "
        "the marks are what the counters say.";
    if (figure.references.empty())
        figure.caption += " This sweep passes neither.";
    for (auto &[regime, series] : measured)
        figure.series.push_back(std::move(series));
    if (!forecast.points.empty())
        figure.series.push_back(std::move(forecast));
    figure.no_data = "no case of this sweep is in the run";
    return figure;
}

} // namespace convcast
