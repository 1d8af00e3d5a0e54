#include "reports/profile_page.hpp"

#include "model/base/described.hpp"
#include "model/base/readable.hpp"
#include "reports/explained.hpp"
#include "reports/figure_layout.hpp"
#include "reports/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// What docs/report.md says of a curve.
struct CurveText {
    std::string name, group, title, caption;
    Drawn drawn = Drawn::lines;
};

/// In the order of the page.
const std::vector<CurveText> &curve_texts() {
    static const std::vector<CurveText> texts = [] {
        std::vector<CurveText> all;
        for (const std::vector<std::string> &row : explained("Curves of a profile"))
            all.push_back({row.at(0), row.at(1), row.at(2), row.at(3),
                           row.at(4) == "points" ? Drawn::points : Drawn::lines});
        return all;
    }();
    return texts;
}

constexpr const char *other_curves = "More"; ///< the group of the curves that have no text

const CurveText *text_of(const std::string &name) {
    return first_with(curve_texts(), &CurveText::name, name);
}

std::string curve_id(const std::string &name) {
    return name.empty() ? "curve" : file_name(name);
}

/// The label of an axis: "time, µs", or the name alone of a number without a unit.
std::string labelled(const std::string &name, const std::string &unit) {
    return unit.empty() || unit == "1" ? name : name + ", " + unit;
}

/// Whether an axis with ticks at powers of two suits the curve: at least half of its x are powers of two.
bool wants_powers_of_two(const Curve &curve) {
    std::size_t powers = 0, all = 0;
    for (const CurveSeries &series : curve.series)
        for (const double x : series.x) {
            ++all;
            powers += x > 0.0 && std::abs(std::log2(x) - std::round(std::log2(x))) < 1e-9 ? 1 : 0;
        }
    return 2 * powers >= all;
}

/// The least and the largest finite value; infinity if there is none, and the largest is at least 0.
std::pair<double, double> ends_of(const Curve &curve, const std::vector<double> CurveSeries::*values) {
    double least = std::numeric_limits<double>::infinity(), most = 0.0;
    for (const CurveSeries &series : curve.series)
        for (const double value : series.*values)
            if (std::isfinite(value)) {
                least = std::min(least, value);
                most = std::max(most, value);
            }
    return {least, most};
}

/// Lets the axis go from 0 to a round number 4 % or more above `most`: a mark there is off the frame.
void from_zero(Axis &axis, double most) {
    if (!(most > 0.0))
        return;
    const double wanted = 1.04 * most, step = round_number(wanted / 5.0, false);
    axis.low = 0.0;
    axis.high = std::ceil(wanted / step) * step;
}

/// Adds a vertical line at a number of bytes.
void mark(Figure &figure, double at, const std::string &label) {
    figure.references.push_back({Guide::vertical, at, label + ": " + readable(at, "B")});
}

/// The name of a series in words: profiles only number the directions of copies.
std::string series_name(const CurveSeries &series) {
    return series.name == "direction 1"   ? "host to device"
           : series.name == "direction 2" ? "device to host"
           : series.name == "direction 3" ? "both ways"
                                          : series.name;
}

template <class Q> void mark(Figure &figure, const std::optional<Param<Q>> &param, const std::string &label) {
    if (param)
        mark(figure, param->value.value, label);
}

} // namespace

Figure flight_figure(const std::string &name, const FlightCurve &curve) {
    const CurveText *text = text_of(name);
    Figure figure{curve_id(name), text != nullptr ? text->title : name};
    figure.part = text != nullptr ? text->group : other_curves;
    const double most = curve.bandwidth.empty() ? 1.0 : std::ranges::max(curve.bandwidth);
    const ReadableUnit unit = readable_unit(most, "B/s");
    figure.x = {"bytes in flight, whole GPU", Scale::binary, {}, {}, {}, true};
    figure.y = {"bandwidth, " + unit.text, Scale::linear};
    from_zero(figure.y, std::max(most, curve.fit ? curve.fit->bandwidth : 0.0) / unit.size);
    figure.no_data = "the curve has no points";
    Series points{"measured", 0};
    for (std::size_t i = 0; i < curve.bytes_in_flight.size(); ++i) {
        const double v = curve.bytes_in_flight[i], bandwidth = curve.bandwidth[i];
        points.add(v, bandwidth / unit.size, readable(v, "B") + " in flight: " + readable(bandwidth, "B/s"));
    }
    if (!curve.fit || curve.bytes_in_flight.empty()) {
        figure.caption = "Eq. M1 does not describe these points, so there is no fit.";
        figure.series = {std::move(points)};
        return figure;
    }
    const FlightFit &fit = *curve.fit;
    mark(figure, fit.paper_bytes, "V_s = L0 · BW");
    mark(figure, fit.bytes_for_90, "90 % of BW");
    mark(figure, fit.bytes_for_95, "95 % of BW");
    figure.caption =
        remark("flight_fit", with_micro(readable(fit.latency_s, "s")), readable(fit.bandwidth, "B/s"),
               fit.exponent, 100.0 * fit.worst_error, readable(fit.paper_bytes, "B"),
               readable(fit.bytes_for_90, "B"), readable(fit.bytes_for_95, "B"));
    Series line{"fit of M1", 1, Drawn::curve};
    const auto [first, last] = std::ranges::minmax(curve.bytes_in_flight);
    const double low = std::min(first, fit.paper_bytes), high = std::max(last, fit.bytes_for_95);
    constexpr int steps = 80;
    if (low > 0.0 && high > low && fit.latency_s > 0.0 && fit.bandwidth > 0.0 && fit.exponent > 0.0)
        for (int i = 0; i <= steps; ++i) {
            const double v = low * std::pow(high / low, static_cast<double>(i) / steps);
            // M1, with the larger of the two times taken out of the sum: v / time neither over- nor
            // underflows
            const double a = fit.latency_s, b = v / fit.bandwidth, longer = std::max(a, b);
            const double time =
                longer * std::pow(1.0 + std::pow(std::min(a, b) / longer, fit.exponent), 1.0 / fit.exponent);
            line.add(v, v / time / unit.size, "fit");
        }
    figure.series = {std::move(line), std::move(points)};
    return figure;
}

Figure curve_figure(const std::string &name, const Curve &curve, const GpuProfile &profile) {
    const CurveText *text = text_of(name);
    Figure figure{curve_id(name),
                  text != nullptr ? text->title : name + ": " + curve.y_name + " against " + curve.x_name,
                  (text != nullptr && !text->caption.empty() ? text->caption + " " : "") +
                      "Bars: 5th to 95th percentile."};
    figure.part = text != nullptr ? text->group : other_curves;
    figure.no_data = "the curve has no points";
    const bool bytes = curve.x_unit == "B";
    const bool x_logarithmic = curve.x_logarithmic && ends_of(curve, &CurveSeries::x).first > 0.0;
    ReadableUnit x_unit{1.0, curve.x_unit};
    if (x_logarithmic && (bytes || wants_powers_of_two(curve)))
        figure.x = {
            bytes ? curve.x_name : labelled(curve.x_name, curve.x_unit), Scale::binary, {}, {}, {}, bytes};
    else {
        x_unit = readable_unit(ends_of(curve, &CurveSeries::x).second, curve.x_unit);
        figure.x = {labelled(curve.x_name, with_micro(x_unit.text)),
                    x_logarithmic ? Scale::logarithmic : Scale::linear};
    }
    const double least = ends_of(curve, &CurveSeries::low).first,
                 most = ends_of(curve, &CurveSeries::high).second;
    const ReadableUnit y_unit = readable_unit(most, curve.y_unit);
    const bool y_logarithmic = curve.y_logarithmic && least > 0.0;
    figure.y = {labelled(curve.y_name, with_micro(y_unit.text)),
                y_logarithmic ? Scale::logarithmic : Scale::linear};
    const Drawn drawn = text != nullptr ? text->drawn : Drawn::lines;
    // Lines are read by their height; a cloud of points by its shape, which may be all in the top.
    if (!y_logarithmic && least >= 0.0 && drawn == Drawn::lines)
        from_zero(figure.y, most / y_unit.size);
    for (std::size_t i = 0; i < curve.series.size(); ++i) {
        const CurveSeries &from = curve.series[i];
        // A second round of the styles is hollow.
        const std::string its = series_name(from);
        Series series{curve.series.size() > 1 ? its : "", i % style_count, drawn, i / style_count % 2 == 1};
        for (std::size_t k = 0; k < from.x.size(); ++k) {
            if (!std::isfinite(from.x[k]) || !std::isfinite(from.y[k]))
                continue;
            Point point{from.x[k] / x_unit.size, from.y[k] / y_unit.size,
                        (its.empty() ? "" : its + ": ") + curve.x_name + " " +
                            with_micro(readable(from.x[k], curve.x_unit)) + ", " + curve.y_name + " " +
                            with_micro(readable(from.y[k], curve.y_unit))};
            if (std::isfinite(from.low[k]) && std::isfinite(from.high[k])) {
                point.low = from.low[k] / y_unit.size;
                point.high = from.high[k] / y_unit.size;
            }
            series.points.push_back(std::move(point));
        }
        figure.series.push_back(std::move(series));
    }
    if (name == "latency_by_footprint" && bytes) {
        mark(figure, profile.limits.shared_bytes_per_sm, "shared memory of an SM, by the driver");
        mark(figure, static_cast<double>(profile.limits.l2_bytes), "L2, by the driver");
        mark(figure, profile.l1_seen_bytes, "L1, as seen");
        mark(figure, profile.l2_seen_bytes, "L2, as seen");
    }
    if (name == "constant_latency" && bytes)
        mark(figure, profile.constant_l1_seen_bytes, "first constant cache, as seen");
    if (name == "l2_latency" && profile.l2_latency)
        figure.references.push_back({Guide::horizontal, profile.l2_latency->value.value / y_unit.size,
                                     "median: " + readable(profile.l2_latency->value.value, "clk")});
    return figure;
}

std::vector<Figure> profile_figures(const GpuProfile &profile) {
    std::vector<Figure> figures;
    std::set<std::string> drawn;
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        const auto &curve = profile.*member.pointer;
        if constexpr (std::is_same_v<std::decay_t<decltype(curve)>, std::optional<FlightCurve>>)
            if (curve && drawn.insert(member.name).second)
                figures.push_back(flight_figure(member.name, *curve));
    });
    const auto add = [&](const auto &curve) { // flight curves are among these too
        if (drawn.insert(curve.first).second)
            figures.push_back(curve_figure(curve.first, curve.second, profile));
    };
    for (const CurveText &text : curve_texts())
        if (const auto found = profile.curves.find(text.name); found != profile.curves.end())
            add(*found);
    std::ranges::for_each(profile.curves, add);
    for (std::size_t i = 0; i < figures.size(); ++i) // two names may make one name of a file
        while (std::any_of(figures.begin(), figures.begin() + static_cast<std::ptrdiff_t>(i),
                           [&](const Figure &earlier) { return earlier.id == figures[i].id; }))
            figures[i].id += "_";
    return figures;
}

} // namespace convcast
