// What the writers of a figure share: sizes, the ranges of its axes, their ticks, the legend, where each plot
// lies, and where a point goes that lies beyond the axes.
#pragma once

#include "reports/figure.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ranges>
#include <utility>

namespace convcast {

inline constexpr std::size_t style_count = 6; ///< colours, and marker shapes

/// The marker shape of a style, 0 to 5. In the first round of six styles colour and shape have the same
/// number; in each further round the shapes move on by one, so that 36 styles differ.
inline constexpr std::size_t mark_of(std::size_t style) {
    if (style >= styles::measured)
        return style == styles::context ? 3 : 0;
    return (style + style / style_count) % style_count;
}

/// The number of a style's colour in `palette`: the last two there are the colour of text and grey.
inline constexpr std::size_t ink_colour = style_count, grey_colour = style_count + 1;
inline constexpr std::size_t colour_of(std::size_t style) {
    return style == styles::measured   ? ink_colour
           : style == styles::context  ? grey_colour
           : style == styles::forecast ? 3 // a colour that no regime has
                                       : style % style_count;
}

/// Okabe and Ito's palette without its yellow, which vanishes on white, then the colours of text and grey.
inline constexpr std::array<const char *, style_count + 2> palette = {"0072B2", "D55E00", "009E73", "CC79A7",
                                                                      "E69F00", "56B4E9", "222222", "777777"};

/// Calls `do_it` with each series of a figure: those that all plots have, once, then those of each panel.
template <class F, class Do> void for_each_series(F &figure, Do do_it) {
    for (auto &series : figure.series)
        do_it(series);
    for (auto &panel : figure.panels)
        for (auto &series : panel.series)
            do_it(series);
}

/// How many points `wanted(series, point)` is true of; a series of all plots counts once.
std::size_t count_points(const Figure &figure, auto wanted) {
    std::ptrdiff_t count = 0;
    for_each_series(figure, [&](const Series &series) {
        count += std::ranges::count_if(series.points, [&](const Point &p) { return wanted(series, p); });
    });
    return static_cast<std::size_t>(count);
}

/// The range of an axis and its map to 0..1.
struct AxisRange {
    Scale scale;
    double low, high;

    double at(double value) const; ///< 0 at the low end, 1 at the high end
    bool holds(double value) const { return value >= low && value <= high; }
    double clamp(double value) const; ///< a NaN goes to the low end
};

struct Ranges {
    AxisRange x, y;
};
/// The ranges that show every point, reference and band, where the axes do not say their ends.
Ranges ranges_of(const Figure &figure);

/// Where a point is drawn: a point beyond the axes is moved to their ends.
struct Placed {
    double x, y;        ///< in the units of the axes
    int dx = 0, dy = 0; ///< -1 below the range of the axis, 1 above it, 0 within; y grows upwards
    bool clamped() const { return dx != 0 || dy != 0; }
};
Placed place(const Point &point, const Ranges &ranges);

/// Whether the caption counts the point, which has a 0, instead of drawing it: Figure::tallies_zeros.
bool is_tallied(const Figure &figure, const Point &point);

/// How many marks and bars are drawn at the edge because they lie beyond the axes.
std::size_t beyond_count(const Figure &figure, const Ranges &ranges);
std::string beyond_text(std::size_t count); ///< "1 point beyond the axis"

bool is_logarithmic(Scale scale);

/// Lengths of a drawing, in its unit: CSS pixels on a screen, PostScript points on paper.
struct Sizes {
    double width, text, gap, row, plot_height, square_limit; ///< row: the height of a category
    double mark, small_mark;                                 ///< half a marker; small ones are on lines
    double symbol;                                           ///< width of a legend's symbol
    double line, thin, hair;                                 ///< strokes: of data, of the frame, of the grid
    double narrow_panel, panel;                              ///< the least width of a plot among many, or few
    double legend_row; ///< the least height of a legend's line: a finger
    double text_height() const { return 1.25 * text; }
};
/// The sizes for a use; `paper_bp` is the width on paper in PostScript points, of SvgUse::standalone alone.
Sizes sizes_for(SvgUse use, double paper_bp);

struct Tick {
    double value;
    std::string label; ///< "" for a tick between labels
};

/// A view of the ticks that have a label.
inline auto labelled(const std::vector<Tick> &ticks) {
    return ticks | std::views::filter([](const Tick &tick) { return !tick.label.empty(); });
}

struct LegendEntry {
    enum class Of { series, reference, band, beyond } of; ///< beyond: the chevrons at the edge
    std::size_t index;                                    ///< of the reference or band in its figure
    const Series *series;                                 ///< nullptr of all but a series
    std::string label;
    double x, y; ///< the left end and the middle of its height
};

/// Where one plot lies; y grows downwards.
struct PlotBox {
    double left, right, top, bottom;
    std::string title;
    std::vector<const Series *> series;
    bool x_labels, y_labels; ///< whether the ticks' labels stand at it
    std::size_t column;
};

/// Where everything of a drawing lies, in the unit of its Sizes, from the upper left corner. Its pointers
/// point into the figure that it was made of.
struct FigureLayout {
    Sizes sizes{};
    Ranges ranges{};
    std::vector<Tick> x_ticks, y_ticks;
    std::vector<LegendEntry> legend;
    std::size_t legend_columns = 1, columns = 1;
    std::vector<PlotBox> plots;
    double left = 0.0, right = 0.0, plot_gap = 0.0; ///< of all plots; right: distance from the right edge
    double top = 0.0, bottom = 0.0, height = 0.0;
    bool square = false; ///< the plots are as high as they are wide
    std::string x_label, y_label;
    double y_label_x = 0.0; ///< the left edge of the label of y, which is turned

    /// Where a value of the data lies in the drawing.
    double x_of(const PlotBox &plot, double value) const;
    double y_of(const Figure &figure, const PlotBox &plot, double value) const;
};
/// Lays out a figure, which must outlive the layout.
FigureLayout layout_of(const Figure &figure, const Sizes &sizes);

/// The text, of which what is beyond `width` at a font size of `size` is cut off and replaced by "…".
std::string fitted(const std::string &text, double width, double size);

/// Points (x, y) in the units of the axes, which a line joins.
using Polyline = std::vector<std::pair<double, double>>;

/// The two ends of a guide inside the plot; empty where the guide misses the plot.
Polyline guide_line(const Ranges &ranges, Guide guide, double value);

/// The corners of the part of a band inside the plot, in order; empty where the band misses the plot.
Polyline band_corners(const Ranges &ranges, const Band &band);

/// The line of a joined series inside the plot. A staircase rises from the low end of y and goes on at its
/// last height to the right edge.
Polyline joined_points(const Series &series, const Ranges &ranges);

bool has_marks(const Series &series); ///< one per point
bool is_joined(const Series &series); ///< a line through the points
bool is_bars(const Series &series);   ///< bars or spans
/// Half the width of a mark: small on lines, and where there are so many that they hide each other.
double mark_size(const Series &series, const Sizes &sizes);

/// Dashes of a line's style, in units of the line's width: on, off, ...; empty is solid.
std::vector<double> dashes_of(std::size_t style);
/// How much of its colour a bar has, 0 (white) to 1, so that neighbours differ in a print in grey too.
double bar_strength(const Series &series);
inline constexpr double bar_share = 0.72; ///< of a row that its bar fills

/// 1, 2 or 5 times a power of ten: the smallest not below `value`, or the largest not above it.
double round_number(double value, bool up);

/// A coordinate: two decimals, no trailing zeros, no "-0".
std::string coordinate(double value);

/// A value of the data with nine digits: they are the same with every libm, all seventeen would not be.
std::string number(double value);

/// Bytes of the first character of `text`, which is not empty; malformed UTF-8 is single bytes.
std::size_t character_length(std::string_view text);

} // namespace convcast
