// One figure as data, and three writers of it: CSV, SVG and TeX (pgfplots). SVG and TeX share one layout
// (figure_layout.hpp), so that their marks, ticks and legend agree. The same figure gives the same bytes
// everywhere: fixed number formats, no locale, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

enum class Scale {
    linear,
    logarithmic,
    binary, ///< logarithmic with its ticks at powers of two
    category,
};

struct Axis {
    std::string label{}; ///< with its unit: "measured time, µs"
    Scale scale = Scale::linear;
    /// Absent: from the points. Points beyond are drawn at the edge as chevrons and counted, never dropped.
    std::optional<double> low{}, high{};
    std::vector<std::string> categories{}; ///< of a category axis: value i is the i-th, from the top
    bool bytes = false;                    ///< of a binary axis: its ticks say "64 KiB"
};

struct Point {
    double x = 0.0, y = 0.0;
    std::string label; ///< what a reader sees on hovering, and in the CSV
    /// CaseRow::id of the case that the point stands for: a page shows that case when it is hovered or
    /// pressed. Absent: the page shows `label`.
    std::optional<std::int64_t> id{};
    std::optional<double> from{};        ///< bars and spans: where the bar begins on x; it ends at `x`
    std::optional<double> low{}, high{}; ///< a thin bar along y: the spread behind `y`
};

enum class Drawn {
    points, ///< a mark for each
    lines,  ///< marks, joined in their order
    curve,  ///< joined without marks: a function, not measurements
    steps,  ///< points in order, joined as a staircase: first along x, then along y
    bars,   ///< horizontal, of a category axis
    spans,  ///< horizontal bars on a numeric axis, many, without labels of their own
};

/// Styles that mean the same thing in every figure. The others are numbered from 0; regimes come first, in
/// their own order: compute, bulk, exposed.
namespace styles {
inline constexpr std::size_t measured = 36; ///< the colour of text
inline constexpr std::size_t context = 38;  ///< grey: stands back, as parts behind their total, or "other"
inline constexpr std::size_t forecast = 37; ///< solid lines and round marks
} // namespace styles

struct Series {
    std::string name;
    std::size_t style = 0; ///< colour and marker shape; the same thing keeps its style in all figures
    Drawn drawn = Drawn::points;
    bool hollow = false; ///< marks and bars are outlines
    std::vector<Point> points{};
    double thickness = 1.0; ///< of spans: the height of each, in the unit of y
    bool pale = false;      ///< of spans: half of the colour, which sets neighbours apart
    bool unlisted = false;  ///< has no entry in the legend: the caption or another entry says what it is

    void add(double x, double y, std::string label, std::optional<std::int64_t> id = {}) {
        points.push_back({x, y, std::move(label), id});
    }
    /// A bar along x in a row of a category axis (Figure::add_row), or at the height `row` of spans.
    void add_bar(double from, double to, double row, std::string label, std::optional<std::int64_t> id = {}) {
        points.push_back({to, row, std::move(label), id, from});
    }
};

enum class Guide { horizontal, vertical, diagonal };

/// A line at x or y = `value`; a diagonal is y = value * x.
struct Reference {
    Guide guide = Guide::horizontal;
    double value = 0.0;
    std::string label;                  ///< "" draws the line without a legend entry
    std::optional<std::size_t> style{}; ///< its dashes; absent: by its place among the references
};

/// The area between two lines like those of Reference, at `low` and at `high`.
struct Band {
    Guide guide = Guide::horizontal;
    double low = 0.0, high = 0.0;
    std::string label;
};

/// One plot of several beside each other, all with the same axes (small multiples).
struct Panel {
    std::string title;
    std::vector<Series> series;
};

struct Figure {
    std::string id; ///< also the name of its files
    std::string title, caption{};
    Axis x{}, y{};
    std::vector<Band> bands{};
    std::vector<Reference> references{};
    std::vector<Series> series{}; ///< with panels: drawn in each of them
    std::string no_data{};        ///< shown when no series has a point: why
    std::vector<Panel> panels{};  ///< none: one plot
    bool square = false;          ///< the plot is as high as it is wide, as far as a page has room for it
    /// On logarithmic axes: points with a coordinate of 0 are not drawn, because the caption counts them.
    bool tallies_zeros = false;
    std::string part{}; ///< the section of its page that it stands in; "": it is a file alone

    /// Adds a category below the others of y. Returns its place, which is the y of its points.
    double add_row(std::string category) {
        y.categories.push_back(std::move(category));
        return static_cast<double>(y.categories.size()) - 1.0;
    }
    /// Adds those of `all` that have a point.
    void add_drawn(std::vector<Series> all) {
        for (Series &one : all)
            if (!one.points.empty())
                series.push_back(std::move(one));
    }
    std::size_t
    point_count() const; ///< of all panels; the points of `series`, which each panel has, count once
};

/// Collects series by a key, a regime for example.
template <class Key> class SeriesBy {
  public:
    /// The series of this key; when it is asked for first, it is a copy of `empty`.
    Series &of(const Key &key, const Series &empty) { return series_.try_emplace(key, empty).first->second; }
    /// Moves out all series, ascending by key.
    std::vector<Series> take() {
        std::vector<Series> all;
        for (auto &[key, one] : series_)
            all.push_back(std::move(one));
        return all;
    }

  private:
    std::map<Key, Series> series_;
};

/// A text of a document as the name of a file: ASCII letters, digits and '-' stay, all else becomes '_'. A
/// long text is cut and ends in a hash of the whole.
std::string file_name(std::string_view text);

/// What the CSV says of a case. Of a list of these the place is the case's number, Point::id.
struct CaseColumns {
    std::string study, shape, strategy, knobs, regime, measured_regime;
};

/// A header and one line per point, quoted as in RFC 4180 where a cell needs it. Columns: panel (if there are
/// panels), series, the columns of the cases (if there are any), case, x and y with the labels of their axes
/// and so their units, from (if there are bars), low and high (if any point has them), label. On an axis of
/// categories the cell is the category.
std::string to_csv(const Figure &figure, std::span<const CaseColumns> cases = {});

/// How wide a figure is on paper.
struct PaperWidth {
    double bp = 0.0;        ///< PostScript points, 1/72 inch
    std::string tex_length; ///< a length of TeX that the TeX file fills instead; "": `bp`

    /// A column and the whole width of IEEEtran: 252 and 516 points of TeX. Scaled down to a column of acmart
    /// or of a two-column article, the text of 8 points is still 7 points high.
    static PaperWidth column();
    static PaperWidth page();
    /// "88mm", "8.8cm", "3.5in", "252pt" (points of TeX), "249bp", "column" or "page", of 40 to 400 mm.
    /// Throws UsageError.
    static PaperWidth parse(const std::string &text);
};

inline constexpr double paper_text_bp = 8.0; ///< all text of a figure on paper

/// Marks that a drawing or a page shows one by one, with labels; chosen, as browsers are slow with more. Of
/// more, those that would hide each other are left out; the CSV has all labels.
inline constexpr std::size_t most_labelled_marks = 20'000;

enum class SvgUse {
    standalone, ///< concrete colours, a white ground and the size on paper, for papers and other programs
    in_page,    ///< classes only, a size for screens: page.css gives the colours, light or dark
    in_column,  ///< the same for a narrow column of the page, or a phone
    in_width,   ///< the same for the whole width of a page; a phone scrolls it
    in_screen,  ///< the same for the whole width of a large screen
    in_pair,    ///< of a page alone: `in_column`, and `in_page` where the screen is large
};
/// The figure as SVG; `width` counts for SvgUse::standalone alone.
std::string to_svg(const Figure &figure, SvgUse use, const PaperWidth &width = PaperWidth::column());

/// Points that to_tex writes at most, because TeX keeps them in memory; chosen. Of more it includes <id>.pdf.
inline constexpr std::size_t tex_point_limit = 5000;
/// The figure as TeX for pgfplots, to be included by a document.
std::string to_tex(const Figure &figure, const PaperWidth &width = PaperWidth::column());

/// The width of text in DejaVu Sans (Verdana has nearly the same) at a font size, in its unit.
double text_width(std::string_view utf8, double size);

/// The text for content or a quoted attribute of XML or HTML. What XML forbids becomes U+FFFD.
std::string escape_xml(std::string_view text);
/// The text for TeX: what pdflatex without packages sets otherwise is a command, a control character a blank.
std::string escape_tex(std::string_view text);

} // namespace convcast
