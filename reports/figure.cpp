#include "reports/figure.hpp"

#include "model/base/errors.hpp"
#include "model/base/hash.hpp"
#include "model/base/text.hpp"
#include "reports/figure_layout.hpp"
#include "reports/lists.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The range of an axis: its own ends, else round ones around `values`; 1 to 10 if there are none. Values
/// that are not finite, or not above 0 on a logarithmic axis, do not count.
AxisRange range_of(const Axis &axis, const std::vector<double> &values) {
    if (axis.scale == Scale::category)
        return {axis.scale, -0.5, std::max(1.0, static_cast<double>(axis.categories.size())) - 0.5};
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : values)
        if (std::isfinite(value) && (!is_logarithmic(axis.scale) || value > 0.0)) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
    if (low > high) {
        low = 1.0;
        high = 10.0;
    }
    if (axis.scale == Scale::binary) {
        // A power of two is often the first or last value: 3 % of the axis keeps its mark off the frame.
        const double room = high > low ? std::pow(high / low, 0.03) : 2.0;
        return {axis.scale, axis.low.value_or(low / room), axis.high.value_or(high * room)};
    }
    if (axis.scale == Scale::logarithmic) {
        low = axis.low.value_or(round_number(low, false));
        high = axis.high.value_or(round_number(high, true));
        return {axis.scale, low, high > low ? high : low * 10.0};
    }
    low = axis.low.value_or(low);
    high = axis.high.value_or(high);
    if (!(high > low))
        high = low + 1.0;
    const double step = round_number((high - low) / 5.0, false); // at least five steps from end to end
    return {axis.scale, axis.low ? low : std::floor(low / step) * step,
            axis.high ? high : std::ceil(high / step) * step};
}

/// The head of a column with the axis' label, which has the unit: "x (measured time, µs)".
std::string csv_head(const char *letter, const Axis &axis) {
    return axis.label.empty() ? letter : fmt::format("{} ({})", letter, axis.label);
}

/// A coordinate: on a category axis the category's name, else the number; empty where it is absent.
Cell csv_value(std::optional<double> value, const Axis &axis) {
    if (!value)
        return {};
    const auto place = static_cast<std::size_t>(*value >= 0.0 ? *value : 0.0);
    return axis.scale == Scale::category && place < axis.categories.size() ? axis.categories[place]
                                                                           : number(*value);
}

/// Widths of ASCII 32 to 126 in DejaVu Sans, thousandths of the font size.
constexpr std::array<int, 95> glyph_widths = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};
/// What every other character counts as: the width of ×, ±, −, ≤; most letters beyond ASCII are narrower.
constexpr int other_width = 840;

constexpr double bp_per_inch = 72.0, tex_points_per_inch = 72.27, mm_per_inch = 25.4;

} // namespace

double AxisRange::at(double value) const {
    if (is_logarithmic(scale))
        return std::log(value / low) / std::log(high / low);
    return (value - low) / (high - low);
}

double AxisRange::clamp(double value) const {
    return std::isnan(value) ? low : std::clamp(value, low, high);
}

bool is_logarithmic(Scale scale) {
    return scale == Scale::logarithmic || scale == Scale::binary;
}

double round_number(double value, bool up) {
    const double power = std::pow(10.0, std::floor(std::log10(value)));
    const std::array<double, 4> steps = {1.0, 2.0, 5.0, 10.0};
    constexpr double slack = 1e-9; // so that a round value stays in spite of rounding errors
    const auto fits = [&](double step) {
        return up ? step * power >= value * (1.0 - slack) : step * power <= value * (1.0 + slack);
    };
    if (const auto *least = first_where(steps, fits); up)
        return (least != nullptr ? *least : steps.back()) * power;
    double best = power;
    for (const double step : steps)
        if (fits(step))
            best = step * power;
    return best;
}

Ranges ranges_of(const Figure &figure) {
    std::vector<double> xs, ys;
    for_each_series(figure, [&](const Series &series) {
        for (const Point &point : series.points) {
            xs.push_back(point.x);
            if (point.from)
                xs.push_back(*point.from);
            ys.push_back(point.y);
            for (const std::optional<double> &end : {point.low, point.high})
                if (end)
                    ys.push_back(*end);
        }
    });
    for (const Reference &reference : figure.references) {
        if (reference.guide == Guide::vertical)
            xs.push_back(reference.value);
        if (reference.guide == Guide::horizontal)
            ys.push_back(reference.value);
    }
    for (const Band &band : figure.bands) {
        if (band.guide == Guide::vertical)
            xs.insert(xs.end(), {band.low, band.high});
        if (band.guide == Guide::horizontal)
            ys.insert(ys.end(), {band.low, band.high});
    }
    return {range_of(figure.x, xs), range_of(figure.y, ys)};
}

Placed place(const Point &point, const Ranges &ranges) {
    const auto side = [](const AxisRange &range, double v) { // a NaN is below
        return range.holds(v) ? 0 : v > range.high ? 1 : -1;
    };
    return {ranges.x.clamp(point.x), ranges.y.clamp(point.y), side(ranges.x, point.x),
            side(ranges.y, point.y)};
}

bool is_tallied(const Figure &figure, const Point &point) {
    return figure.tallies_zeros && (point.x == 0.0 || point.y == 0.0);
}

std::size_t beyond_count(const Figure &figure, const Ranges &ranges) {
    return count_points(figure, [&](const Series &series, const Point &point) {
        return (has_marks(series) || is_bars(series)) && // lines without marks just end at the edge
               !is_tallied(figure, point) && place(point, ranges).clamped();
    });
}

std::string beyond_text(std::size_t count) {
    return fmt::format("{} point{} beyond the axis", count, count == 1 ? "" : "s");
}

std::string coordinate(double value) {
    std::string text = fmt::format("{:.2f}", value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
        text.pop_back();
    return text == "-0" ? "0" : text;
}

std::string number(double value) {
    return fmt::format("{:.9g}", value);
}

std::size_t character_length(std::string_view text) {
    return std::max<std::size_t>(1, character_bytes(text));
}

std::size_t Figure::point_count() const {
    std::size_t count = 0;
    for_each_series(*this, [&](const Series &s) { count += s.points.size(); });
    return count;
}

double text_width(std::string_view utf8, double size) {
    int thousandths = 0;
    for (; !utf8.empty(); utf8.remove_prefix(character_length(utf8))) {
        const auto c = static_cast<unsigned char>(utf8.front());
        thousandths += c >= 32 && c < 127 ? glyph_widths[c - 32u] : other_width;
    }
    return thousandths * size / 1000.0;
}

std::string escape_xml(std::string_view text) {
    constexpr std::array<std::pair<char, const char *>, 5> entities = {
        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}}};
    std::string out;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const char c = text.front();
        const auto code = static_cast<unsigned char>(c);
        const auto *known = first_with(entities, &std::pair<char, const char *>::first, c);
        if (known != nullptr)
            out += known->second;
        else if (length == 1 && ((code < 0x20 && c != '\n' && c != '\t') || code >= 0x7F))
            out += "\xEF\xBF\xBD";
        else
            out += text.substr(0, length);
        text.remove_prefix(length);
    }
    return out;
}

std::string file_name(std::string_view text) {
    constexpr std::size_t longest =
        100; // a file's name has 255 bytes at most, and others stand around this one
    std::string name(text);
    for (char &c : name)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'))
            c = '_';
    return name.size() <= longest ? name : name.substr(0, longest) + "_" + content_hash({std::string(text)});
}

std::string to_csv(const Figure &figure, std::span<const CaseColumns> cases) {
    const bool spread =
        count_points(figure, [](const Series &, const Point &p) { return p.low && p.high; }) > 0;
    const bool bars =
        count_points(figure, [](const Series &, const Point &p) { return p.from.has_value(); }) > 0;
    std::string out;
    // Adds a line, the header or a point's: cells of columns that this figure does not have are left out.
    const auto add = [&](const Cell &panel, const Cell &series, const CaseColumns &its, const Cell &id,
                         const Cell &x, const Cell &y, const Cell &from, const Cell &low, const Cell &high,
                         const Cell &label) {
        std::vector<Cell> cells;
        if (!figure.panels.empty())
            cells.push_back(panel);
        cells.push_back(series);
        if (!cases.empty())
            append(cells, {its.study, its.shape, its.strategy, its.knobs, its.regime, its.measured_regime});
        append(cells, {id, x, y});
        if (bars)
            cells.push_back(from);
        if (spread)
            append(cells, {low, high});
        cells.push_back(label);
        out += csv_line(cells);
    };
    add("panel", "series", {"study", "shape", "strategy", "knobs", "regime", "measured_regime"}, "case",
        csv_head("x", figure.x), csv_head("y", figure.y), "from", "low", "high", "label");
    const auto add_all = [&](const std::string &panel, const std::vector<Series> &all) {
        for (const Series &series : all)
            for (const Point &point : series.points) {
                const auto id = static_cast<std::size_t>(point.id.value_or(-1)); // -1 is beyond all cases
                add(panel, series.name, id < cases.size() ? cases[id] : CaseColumns(), point.id,
                    csv_value(point.x, figure.x), csv_value(point.y, figure.y), csv_value(point.from, {}),
                    csv_value(point.low, {}), csv_value(point.high, {}), point.label);
            }
    };
    for (const Panel &panel : figure.panels)
        add_all(panel.title, panel.series);
    add_all("", figure.series);
    return out;
}

PaperWidth PaperWidth::column() {
    return {252.0 * bp_per_inch / tex_points_per_inch, "\\columnwidth"};
}

PaperWidth PaperWidth::page() {
    return {516.0 * bp_per_inch / tex_points_per_inch, "\\textwidth"};
}

PaperWidth PaperWidth::parse(const std::string &text) {
    if (text == "column")
        return column();
    if (text == "page")
        return page();
    constexpr std::array<std::pair<std::string_view, double>, 5> units = {
        {{"mm", bp_per_inch / mm_per_inch},
         {"cm", 10.0 * bp_per_inch / mm_per_inch},
         {"in", bp_per_inch},
         {"pt", bp_per_inch / tex_points_per_inch},
         {"bp", 1.0}}};
    const std::string expected = "; expected column, page, or a length of 40 to 400 mm such as 88mm or 252pt";
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const auto &[name, bp] : units)
        if (error == std::errc{} && unit == name) {
            constexpr double least_mm = 40.0, most_mm = 400.0;
            const double mm = value * bp * mm_per_inch / bp_per_inch;
            if (!(mm >= least_mm && mm <= most_mm))
                throw UsageError("width '" + text + "' is " + fmt::format("{:.4g}", mm) + " mm" + expected);
            return {value * bp, ""};
        }
    throw UsageError("width '" + text + "' has no length with a unit" + expected);
}

} // namespace convcast
