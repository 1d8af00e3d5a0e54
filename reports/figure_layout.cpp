#include "reports/figure_layout.hpp"

#include "model/base/readable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// A tick's value with as many decimals as tell it from another one `spacing` away.
std::string tick_label(double value, double spacing) {
    const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(spacing) - 1e-9)));
    constexpr int most_decimals = 12; // chosen: nobody counts more zeros
    if (decimals > most_decimals)
        return fmt::format("{:.0e}", value);
    std::string text = fmt::format("{:.{}f}", value, decimals);
    return text.find_first_not_of("-0.") == std::string::npos ? "0" : text;
}

/// Ticks at multiples of 1, 2 or 5 times a power of ten, about `count` of them at most.
std::vector<Tick> linear_ticks(const AxisRange &range, double count) {
    const double step = round_number((range.high - range.low) / count, true);
    std::vector<Tick> ticks;
    for (double i = std::ceil(range.low / step - 1e-9); i * step <= range.high + 1e-9 * step; ++i)
        ticks.push_back({i * step, tick_label(i * step, step)});
    return ticks;
}

/// A tick at each digit of each decade, with labels in every `stride`-th decade: at 1 (`per_decade` = 1), at
/// 1 and 3 (2), at 1, 2 and 5 (3), or at every digit (9).
std::vector<Tick> logarithmic_ticks(const AxisRange &range, int per_decade, int stride) {
    std::vector<Tick> ticks;
    const int first = static_cast<int>(std::floor(std::log10(range.low) + 1e-9));
    const int last = static_cast<int>(std::ceil(std::log10(range.high) - 1e-9));
    for (int decade = first; decade <= last; ++decade)
        for (int digit = 1; digit <= 9; ++digit) {
            const double value = digit * std::pow(10.0, decade);
            if (value < range.low * (1.0 - 1e-9) || value > range.high * (1.0 + 1e-9))
                continue;
            const bool wanted = digit == 1 || (per_decade == 3 && (digit == 2 || digit == 5)) ||
                                (per_decade == 2 && digit == 3) || per_decade == 9;
            const bool labelled = wanted && (decade - first) % stride == 0;
            ticks.push_back({value, labelled ? tick_label(value, std::pow(10.0, decade)) : ""});
        }
    return ticks;
}

/// A tick at every `stride`-th power of two.
std::vector<Tick> binary_ticks(const AxisRange &range, const Axis &axis, int stride) {
    std::vector<Tick> ticks;
    const int last = static_cast<int>(std::floor(std::log2(range.high) + 1e-9));
    for (int exponent = static_cast<int>(std::ceil(std::log2(range.low) - 1e-9)); exponent <= last;
         ++exponent)
        // By the exponent, so that which powers have ticks does not depend on where the range begins.
        if (const double power = std::ldexp(1.0, exponent); exponent % stride == 0)
            ticks.push_back({power, axis.bytes    ? readable(power, "B")
                                    : power < 1e6 ? fmt::format("{:g}", power)
                                                  : fmt::format("2^{}", exponent)});
    return ticks;
}

/// As many ticks as have room: labels, `extent(label)` long on an axis of `length`, stay `gap` apart.
template <class Extent>
std::vector<Tick> ticks_of(const Axis &axis, const AxisRange &range, double length, double gap,
                           Extent extent) {
    const auto apart = [&](const std::vector<Tick> &ticks) {
        double end = -std::numeric_limits<double>::infinity();
        for (const Tick &tick : labelled(ticks)) {
            const double middle = range.at(tick.value) * length, half = extent(tick.label) / 2.0;
            if (middle - half < end + gap)
                return false;
            end = middle + half;
        }
        return true;
    };
    const auto labels = [](const std::vector<Tick> &ticks) { return std::ranges::distance(labelled(ticks)); };
    if (range.scale == Scale::binary)
        for (int stride = 1;; ++stride)
            if (auto ticks = binary_ticks(range, axis, stride); apart(ticks) || labels(ticks) < 2)
                return ticks;
    if (range.scale == Scale::logarithmic) {
        if (range.high / range.low < 3.0)
            if (auto ticks = logarithmic_ticks(range, 9, 1); apart(ticks))
                return ticks;
        if (auto ticks = logarithmic_ticks(range, 3, 1); apart(ticks))
            return ticks;
        // Labels at decades alone are too few to read a value of a short range.
        if (labels(logarithmic_ticks(range, 1, 1)) <= 3)
            if (auto ticks = logarithmic_ticks(range, 2, 1); apart(ticks))
                return ticks;
        for (int stride = 1;; ++stride)
            if (auto ticks = logarithmic_ticks(range, 1, stride); apart(ticks) || labels(ticks) < 2)
                return ticks;
    }
    for (double count = 8.0;; count /= 1.5)
        if (auto ticks = linear_ticks(range, count); apart(ticks) || ticks.size() < 2)
            return ticks;
}

/// The entries of the legend, not yet placed: series, references, bands, and points beyond the axes.
std::vector<LegendEntry> legend_of(const Figure &figure, const Ranges &ranges) {
    using Of = LegendEntry::Of;
    std::vector<LegendEntry> entries;
    if (figure.point_count() == 0)
        return entries;
    std::set<std::string> named; // the same series in several panels is one
    const auto add = [&](const Series &series) {
        if (!series.unlisted && !series.name.empty() &&
            (named.insert(series.name).second || figure.panels.empty()))
            entries.push_back({Of::series, 0, &series, series.name, 0.0, 0.0});
    };
    for (const Panel &panel : figure.panels)
        std::ranges::for_each(panel.series, add);
    std::ranges::for_each(figure.series, add);
    const auto add_guides = [&](Of of, const auto &guides) {
        for (std::size_t i = 0; i < guides.size(); ++i)
            if (!guides[i].label.empty())
                entries.push_back({of, i, nullptr, guides[i].label, 0.0, 0.0});
    };
    add_guides(Of::reference, figure.references);
    add_guides(Of::band, figure.bands);
    // Series are listed by style, not as they are drawn; forecast and measured come first.
    const auto place = [](const Series &series) {
        const bool own = series.style == styles::forecast || series.style == styles::measured;
        return std::pair(!own, series.style);
    };
    std::stable_sort(entries.begin(), entries.end(), [&](const LegendEntry &a, const LegendEntry &b) {
        return a.series != nullptr && b.series != nullptr && place(*a.series) < place(*b.series);
    });
    if (const std::size_t count = beyond_count(figure, ranges); count > 0)
        entries.push_back({Of::beyond, 0, nullptr, beyond_text(count), 0.0, 0.0});
    return entries;
}

/// The widths of the legend's columns if its entries stand in rows of `columns` entries.
std::vector<double> column_widths(const std::vector<LegendEntry> &legend, std::size_t columns,
                                  const Sizes &sizes) {
    std::vector<double> widths(columns, 0.0);
    for (std::size_t i = 0; i < legend.size(); ++i)
        widths[i % columns] =
            std::max(widths[i % columns],
                     sizes.symbol + sizes.gap + text_width(legend[i].label, sizes.text) + 2.0 * sizes.gap);
    return widths;
}

/// Places the legend's entries between `left` and `right` in as many columns as fit. Returns the lower end.
double place_legend(FigureLayout &layout, double left, double right) {
    std::vector<LegendEntry> &legend = layout.legend;
    if (legend.empty())
        return 0.0;
    const Sizes &sizes = layout.sizes;
    for (LegendEntry &entry : legend)
        entry.label = fitted(entry.label, right - left - sizes.symbol - 3.0 * sizes.gap, sizes.text);
    std::size_t columns = legend.size();
    std::vector<double> widths;
    for (;; --columns) {
        widths = column_widths(legend, columns, sizes);
        if (std::accumulate(widths.begin(), widths.end(), 0.0) <= right - left + 2.0 * sizes.gap ||
            columns == 1)
            break;
    }
    layout.legend_columns = columns;
    const double line = std::max(sizes.legend_row, sizes.text_height() + 0.18 * sizes.text);
    for (std::size_t i = 0; i < legend.size(); ++i) {
        const auto before = widths.begin() + static_cast<std::ptrdiff_t>(i % columns);
        legend[i].x = std::accumulate(widths.begin(), before, left);
        legend[i].y = sizes.gap + std::max(sizes.legend_row, sizes.text_height()) / 2.0 +
                      static_cast<double>(i / columns) * line;
    }
    return legend.back().y + sizes.text_height() / 2.0 + sizes.gap;
}

/// Writes whole thousands as "10k", so that labels of neighbouring plots do not meet.
void shorten(std::vector<Tick> &ticks) {
    for (Tick &tick : ticks)
        if (tick.label.size() > 3 && tick.label.ends_with("000") && tick.label.find('.') == std::string::npos)
            tick.label.replace(tick.label.size() - 3, 3, "k");
}

/// How far labels below an axis of `length` stand out beyond its left end, and beyond its right end.
std::pair<double, double> overhang(const std::vector<Tick> &ticks, const AxisRange &range, double length,
                                   double text) {
    double before = 0.0, after = 0.0;
    for (const Tick &tick : ticks) {
        const double half = text_width(tick.label, text) / 2.0, at = range.at(tick.value) * length;
        before = std::max(before, half - at);
        after = std::max(after, at + half - length);
    }
    return {before, after};
}

double plot_width(const FigureLayout &layout) {
    return (layout.sizes.width - layout.left - layout.right -
            layout.plot_gap * static_cast<double>(layout.columns - 1)) /
           static_cast<double>(layout.columns);
}

std::vector<Tick> x_ticks_of(const FigureLayout &layout, const Figure &figure, double length) {
    const double text = layout.sizes.text;
    return ticks_of(figure.x, layout.ranges.x, length, layout.sizes.gap,
                    [&](const std::string &label) { return text_width(label, text); });
}

/// Decides how many plots stand beside each other, their ticks along x, and the room between them and at
/// their right. The room at their left is decided already.
void place_columns(FigureLayout &layout, const Figure &figure, std::size_t plots) {
    const Sizes &sizes = layout.sizes;
    constexpr std::size_t few = 6;
    double least = plots > few ? sizes.narrow_panel : sizes.panel;
    for (const Panel &panel : figure.panels) // a plot has room for its title, if that is not too long for two
        least = std::max(least, std::min(text_width(panel.title, sizes.text), sizes.width / 2.5));
    layout.right = sizes.gap;
    layout.plot_gap = plots > 1 ? 2.0 * sizes.gap : 0.0;
    for (int round = 0; round < 3; ++round) { // labels need room, and the room decides on the labels
        const double all = sizes.width - layout.left - layout.right;
        if (plots > 1) {
            const auto most = static_cast<std::size_t>(
                std::max(1.0, std::floor((all + layout.plot_gap) / (least + layout.plot_gap))));
            const std::size_t rows = (plots + most - 1) / most;
            layout.columns = (plots + rows - 1) / rows;
            if (plots <= 10 && layout.columns > 2 && plots % layout.columns == 1 &&
                plots % (layout.columns - 1) == 0)
                --layout.columns; // no plot stands alone in the last row
        }
        const double length = plot_width(layout);
        layout.x_ticks = x_ticks_of(layout, figure, length);
        if (plots > 1)
            shorten(layout.x_ticks);
        const auto [before, after] = overhang(layout.x_ticks, layout.ranges.x, length, sizes.text);
        layout.right = std::max(layout.right, sizes.gap + after);
        if (plots > 1)
            layout.plot_gap = std::max(layout.plot_gap, before + after + sizes.text);
    }
}

/// The height of each plot: that of its rows with a category axis, its width if it is square.
double plot_height(const FigureLayout &layout, const Figure &figure, std::size_t plots) {
    const Sizes &sizes = layout.sizes;
    if (figure.y.scale == Scale::category)
        return std::max(1.0, static_cast<double>(figure.y.categories.size())) * sizes.row;
    const double width = plot_width(layout);
    if (figure.square)
        return std::min(width, sizes.square_limit);
    const double ratio = layout.columns * 4 <= plots ? 0.5 : 0.85; // of four rows and more each is lower
    return plots > 1 ? std::min(ratio * width, sizes.plot_height) : sizes.plot_height;
}

/// Sets the ticks along y of plots of this height; long names of categories are cut.
void set_y_ticks(FigureLayout &layout, const Figure &figure, double height) {
    const Sizes &sizes = layout.sizes;
    layout.y_ticks.clear();
    if (figure.y.scale == Scale::category) {
        for (std::size_t i = 0; i < figure.y.categories.size(); ++i)
            layout.y_ticks.push_back(
                {static_cast<double>(i), fitted(figure.y.categories[i], sizes.width * 0.68, sizes.text)});
    } else {
        layout.y_ticks = ticks_of(figure.y, layout.ranges.y, height, 0.55 * sizes.text,
                                  [&](const std::string &) { return sizes.text_height(); });
    }
}

/// The width of the widest label along y.
double widest_label(const FigureLayout &layout) {
    double widest = 0.0;
    for (const Tick &tick : layout.y_ticks)
        widest = std::max(widest, text_width(tick.label, layout.sizes.text));
    return widest;
}

} // namespace

// Chosen by the look of each. In the order of Sizes: width, text, gap, row, plot_height, square_limit; mark,
// small_mark; symbol; line, thin, hair; narrow_panel, panel; legend_row, which nobody presses on paper.
Sizes sizes_for(SvgUse use, double paper_bp) {
    switch (use) {
    case SvgUse::in_column:
        return {384.0, 12.5, 5.0, 19.0, 250.0, 330.0, 3.6, 2.4, 18.0, 1.6, 1.0, 1.0, 130.0, 150.0, 24.0};
    case SvgUse::in_width:
        return {1000.0, 12.5, 6.0, 24.0, 300.0, 420.0, 4.0, 2.6, 22.0, 1.8, 1.0, 1.0, 200.0, 200.0, 24.0};
    case SvgUse::in_screen:
        return {1392.0, 12.5, 6.0, 24.0, 190.0, 420.0, 4.0, 2.6, 22.0, 1.8, 1.0, 1.0, 270.0, 270.0, 24.0};
    case SvgUse::standalone:
        return {paper_bp, paper_text_bp, 3.0,  10.5, std::min(0.58 * paper_bp, 200.0),
                300.0,    1.9,           1.5,  17.0, 1.0,
                0.6,      0.5,           58.0, 88.0, 0.0};
    default:
        return {720.0, 12.5, 6.0, 19.0, 320.0, 420.0, 4.0, 2.6, 22.0, 1.8, 1.0, 1.0, 140.0, 240.0, 24.0};
    }
}

std::string fitted(const std::string &text, double width, double size) {
    if (text_width(text, size) <= width)
        return text;
    std::string kept;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t length = character_length(rest);
        if (text_width(kept, size) + text_width(rest.substr(0, length), size) + text_width("…", size) > width)
            break;
        kept += rest.substr(0, length);
        rest.remove_prefix(length);
    }
    return kept + "…";
}

FigureLayout layout_of(const Figure &figure, const Sizes &sizes) {
    FigureLayout layout;
    layout.sizes = sizes;
    layout.ranges = ranges_of(figure);
    layout.legend = legend_of(figure, layout.ranges);
    const std::size_t plots = std::max<std::size_t>(1, figure.panels.size());
    const double label = sizes.text_height() + sizes.gap;
    double height = sizes.plot_height;
    // The labels of y take room from the width, which decides the height of a square, which decides them.
    for (int round = 0; round < 2; ++round) {
        set_y_ticks(layout, figure, height);
        layout.left = sizes.gap + (figure.y.label.empty() ? 0.0 : label) + widest_label(layout) + sizes.gap;
        place_columns(layout, figure, plots);
        height = plot_height(layout, figure, plots);
    }
    set_y_ticks(layout, figure, height);
    // The same range on both axes gets the same ticks.
    const AxisRange &x = layout.ranges.x, &y = layout.ranges.y;
    if (figure.square && x.scale == y.scale && x.low == y.low && x.high == y.high)
        layout.y_ticks = layout.x_ticks;
    layout.y_label_x = layout.left - widest_label(layout) - 2.0 * sizes.gap - sizes.text_height();
    const double width = plot_width(layout);
    layout.square =
        figure.square && width <= height; // a wide one is no higher than the limit, and fills the width
    const double legend = place_legend(layout, sizes.gap, sizes.width - sizes.gap);
    const bool titles = !figure.panels.empty();
    // `top` is the upper end of the next row of plots, above their titles.
    double top = std::max(legend, sizes.gap + sizes.text_height() / 2.0);
    layout.top = top + (titles ? sizes.text_height() + 0.5 * sizes.gap : sizes.gap);
    for (std::size_t i = 0; i < plots; ++i) {
        const std::size_t column = i % layout.columns;
        if (column == 0 && i > 0)
            top = layout.plots.back().bottom + 1.5 * sizes.gap;
        const double left = layout.left + static_cast<double>(column) * (width + layout.plot_gap);
        const double at = top + (titles ? sizes.text_height() + 0.5 * sizes.gap : sizes.gap);
        PlotBox box{left,        left + width, at, at + height, "", {}, i + layout.columns >= plots,
                    column == 0, column};
        if (titles) {
            box.title = fitted(figure.panels[i].title, width + layout.plot_gap - sizes.gap, sizes.text);
            for (const Series &series : figure.panels[i].series)
                box.series.push_back(&series);
        }
        for (const Series &series : figure.series)
            box.series.push_back(&series);
        layout.plots.push_back(std::move(box));
    }
    layout.bottom = layout.plots.back().bottom;
    layout.x_label = fitted(figure.x.label, sizes.width - 2.0 * sizes.gap, sizes.text);
    layout.y_label = fitted(figure.y.label, layout.bottom - layout.top + sizes.text_height(), sizes.text);
    layout.height =
        layout.bottom + sizes.gap + sizes.text_height() + (figure.x.label.empty() ? 0.0 : label) + sizes.gap;
    return layout;
}

double FigureLayout::x_of(const PlotBox &plot, double value) const {
    return plot.left + ranges.x.at(value) * (plot.right - plot.left);
}

double FigureLayout::y_of(const Figure &figure, const PlotBox &plot, double value) const {
    const double share = ranges.y.at(value) * (plot.bottom - plot.top);
    return figure.y.scale == Scale::category ? plot.top + share : plot.bottom - share;
}

Polyline guide_line(const Ranges &ranges, Guide guide, double value) {
    const AxisRange &x = ranges.x, &y = ranges.y;
    if (guide == Guide::horizontal)
        return y.holds(value) ? Polyline{{x.low, value}, {x.high, value}} : Polyline();
    if (guide == Guide::vertical)
        return x.holds(value) ? Polyline{{value, y.low}, {value, y.high}} : Polyline();
    const double x1 = std::max(x.low, y.low / value), x2 = std::min(x.high, y.high / value);
    return x1 < x2 ? Polyline{{x1, value * x1}, {x2, value * x2}} : Polyline();
}

Polyline band_corners(const Ranges &ranges, const Band &band) {
    const AxisRange &x = ranges.x, &y = ranges.y;
    if (band.guide == Guide::horizontal) {
        const double low = y.clamp(band.low), high = y.clamp(band.high);
        return {{x.low, low}, {x.high, low}, {x.high, high}, {x.low, high}};
    }
    if (band.guide == Guide::vertical) {
        const double low = x.clamp(band.low), high = x.clamp(band.high);
        return {{low, y.low}, {low, y.high}, {high, y.high}, {high, y.low}};
    }
    // The polygon low * x <= y <= high * x, clipped to the plot corner by corner.
    const Polyline above = guide_line(ranges, Guide::diagonal, band.high);
    Polyline corners = guide_line(ranges, Guide::diagonal, band.low);
    if (corners.empty() || above.empty())
        return {};
    const auto corner = [&](double cx, double cy) {
        if (cy >= band.low * cx && cy <= band.high * cx)
            corners.emplace_back(cx, cy);
    };
    corner(x.high, y.high);
    corners.insert(corners.end(), above.rbegin(), above.rend());
    corner(x.low, y.low);
    return corners;
}

Polyline joined_points(const Series &series, const Ranges &ranges) {
    Polyline line;
    for (const Point &point : series.points) {
        const Placed placed = place(point, ranges);
        if (series.drawn == Drawn::steps && placed.dx > 0)
            break; // a staircase that reaches the right edge would rise there to its last value
        if (series.drawn == Drawn::steps)
            line.emplace_back(placed.x, line.empty() ? ranges.y.low : line.back().second);
        line.emplace_back(placed.x, placed.y);
    }
    // A staircase is a distribution, which goes on at its last value up to the edge.
    if (series.drawn == Drawn::steps && !line.empty())
        line.emplace_back(ranges.x.high, line.back().second);
    // Points at the same place, as several at the edge, are one.
    line.erase(std::unique(line.begin(), line.end()), line.end());
    return line;
}

bool has_marks(const Series &series) {
    return series.drawn == Drawn::points || series.drawn == Drawn::lines;
}

bool is_joined(const Series &series) {
    return series.drawn == Drawn::lines || series.drawn == Drawn::curve || series.drawn == Drawn::steps;
}

bool is_bars(const Series &series) {
    return series.drawn == Drawn::bars || series.drawn == Drawn::spans;
}

double mark_size(const Series &series, const Sizes &sizes) {
    constexpr std::size_t many = 150, very_many = 600; // chosen: larger marks would hide each other
    if (series.points.size() > very_many)
        return 0.75 * sizes.small_mark;
    const bool spread =
        std::ranges::any_of(series.points, [](const Point &point) { return point.low.has_value(); });
    return spread || series.drawn == Drawn::lines || series.points.size() > many ? sizes.small_mark
                                                                                 : sizes.mark;
}

std::vector<double> dashes_of(std::size_t style) {
    static const std::array<std::vector<double>, style_count> dashes = {
        {{}, {5.0, 2.0}, {1.5, 1.5}, {6.0, 2.0, 1.5, 2.0}, {9.0, 2.5}, {3.0, 1.5, 1.0, 1.5, 1.0, 1.5}}};
    return style >= styles::measured ? dashes.front() : dashes[style % style_count];
}

double bar_strength(const Series &series) {
    constexpr std::array<double, 3> strengths = {1.0, 0.5, 0.2}; // of styles that follow each other
    constexpr double of_context = 0.4;
    if (series.drawn == Drawn::spans)
        return series.pale ? 0.5 : 1.0;
    return series.hollow                      ? 0.0
           : series.style == styles::context  ? of_context
           : series.style >= styles::measured ? 1.0
                                              : strengths[series.style % strengths.size()];
}

} // namespace convcast
