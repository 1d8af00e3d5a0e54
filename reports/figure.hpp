// One figure as data, and three writers of it: CSV, SVG and TeX (pgfplots, reading the CSV). The same figure
// gives the same bytes everywhere: fixed number formats, no locale, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

enum class Scale {
    linear,
    logarithmic,
    binary, ///< logarithmic with its ticks at powers of two
    category,
};

struct Axis {
    std::string label; ///< with its unit: "measured time, µs"
    Scale scale = Scale::linear;
    /// Absent: from the points. Points beyond are drawn at the edge as triangles and counted, never dropped.
    std::optional<double> low, high;
    std::vector<std::string> categories; ///< of a category axis: value i is the i-th, from the top
    bool bytes = false;                  ///< of a binary axis: its ticks say "64 KiB"
};

struct Point {
    double x = 0.0, y = 0.0;
    std::string label;                   ///< what a reader sees on hovering, and in the CSV
    std::optional<std::int64_t> id;      ///< the case, CaseRow::id
    std::optional<double> from{};        ///< bars and spans: where the bar begins on x; it ends at `x`
    std::optional<double> low{}, high{}; ///< a thin bar along y: the spread behind `y`
};

enum class Drawn {
    points,
    lines, ///< points in order, joined
    curve, ///< the same without marks: a function, not measurements
    steps, ///< points in order, joined as a staircase: first along x, then along y
    bars,  ///< horizontal, of a category axis
    spans, ///< horizontal bars on a numeric axis, many, without labels of their own
};

struct Series {
    std::string name;
    std::size_t style = 0; ///< colour and marker shape; the same thing keeps its style in all figures
    Drawn drawn = Drawn::points;
    bool hollow = false;
    std::vector<Point> points{};
    double thickness = 1.0; ///< spans: of each along y
};

enum class Guide { horizontal, vertical, diagonal };

/// A line at `value`; a diagonal is y = value * x.
struct Reference {
    Guide guide = Guide::horizontal;
    double value = 0.0;
    std::string label; ///< "" draws the line without a legend entry
};

/// The area between two such lines.
struct Band {
    Guide guide = Guide::horizontal;
    double low = 0.0, high = 0.0;
    std::string label;
};

struct Figure {
    std::string id; ///< also the name of its files
    std::string title, caption;
    Axis x, y;
    std::vector<Band> bands{};
    std::vector<Reference> references{};
    std::vector<Series> series{};
    std::string no_data{}; ///< shown when no series has a point: why

    std::size_t point_count() const;
    bool has_spread() const; ///< of any point
};

/// A text of a document as part of a figure's id: letters and digits of ASCII, '_' and '-', '_' for all
/// others. A long one is cut, and ends in a hash of all of it: what differs keeps names that differ.
std::string file_name(std::string_view text);

/// One line per point. Text cells hold no comma, quote or TeX special (commas become semicolons, the rest
/// '?'), so that pgfplots, which knows no quoting, reads the same file; `case` leads to the exact text.
/// Columns: group (number of the series, with a "c" when clamped), case, x, y, from, drawn_x, drawn_y, then
/// low and high if any point has them (y where one has none), series, label.
std::string to_csv(const Figure &figure);

enum class SvgUse {
    standalone, ///< concrete colours and a white ground, for papers and other programs
    in_page,    ///< classes only: page.css gives the colours, light or dark
};
std::string to_svg(const Figure &figure, SvgUse use);

/// Reads <id>.csv beside it; more than 5000 points are more than TeX bears, then it includes <id>.pdf.
std::string to_tex(const Figure &figure);

/// Of text in DejaVu Sans (Verdana has nearly the same widths) at a font size, in the size's unit.
double text_width(std::string_view utf8, double size);

/// For text and attribute values of XML and HTML. Characters XML forbids become U+FFFD.
std::string escape_xml(std::string_view text);
std::string escape_tex(std::string_view text);

} // namespace convcast
