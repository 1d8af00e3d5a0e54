#include "reports/figure.hpp"

#include "reports/explained.hpp"
#include "reports/figure_layout.hpp"
#include "reports/lists.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The mark of each shape of mark_of, as svg.cpp draws them. pgf has neither bow tie nor chevron: marks.tex
/// declares them in the figure.
constexpr std::array<const char *, style_count> marks = {"mark=*",
                                                         "mark=square*",
                                                         "mark=triangle*",
                                                         "mark=diamond*",
                                                         "mark=triangle*, mark options={rotate=180}",
                                                         "mark=convcast bow tie"};
/// A length in PostScript points, as TeX writes it: "2.5bp".
std::string bp(double length) {
    return coordinate(length) + "bp";
}

/// The colour of a style, of which `strength` (0 to 1) is left, the rest white.
std::string shade(std::size_t style, double strength) {
    std::string text = fmt::format("convcast{}", colour_of(style));
    return strength < 1.0 ? text + "!" + coordinate(100.0 * strength) : text;
}

/// The option of pgfplots for a style's dashes on a line of this width in points; "" of a solid one.
std::string dash_pattern(std::size_t style, double line) {
    std::string pattern;
    bool on = true;
    for (const double length : dashes_of(style)) {
        pattern += fmt::format("{}{} {}", pattern.empty() ? "" : " ", on ? "on" : "off", bp(length * line));
        on = !on;
    }
    return pattern.empty() ? "" : ", dash pattern=" + pattern;
}

/// The options of pgfplots for a series' line, and below for its marks and for a reference.
std::string line_look(const Series &series, const Sizes &sizes) {
    return fmt::format("{}, no marks, line width={}{}", shade(series.style, 1.0), bp(sizes.line),
                       dash_pattern(series.style, sizes.line));
}

std::string mark_look(const Series &series, const Sizes &sizes) {
    const double size = mark_size(series, sizes) * (series.hollow ? 1.35 : 1.0);
    return fmt::format("{}, only marks, mark size={}, line width={}{}, {}", shade(series.style, 1.0),
                       bp(size), bp(series.hollow ? sizes.thin : sizes.hair),
                       series.hollow ? ", fill=white" : "", marks[mark_of(series.style)]);
}

std::string reference_look(const Figure &figure, std::size_t index, const Sizes &sizes) {
    constexpr std::array<const char *, 4> dashes = {"solid", "dash pattern=on 6bp off 3bp",
                                                    "dash pattern=on 2bp off 2bp",
                                                    "dash pattern=on 8bp off 3bp on 2bp off 3bp"};
    return fmt::format("black, no marks, line width={}, {}", bp(sizes.thin),
                       dashes[figure.references[index].style.value_or(index) % dashes.size()]);
}

/// The \addplot of points, without an entry in the legend; `close` is " -- cycle" for an area.
std::string plot_of(const std::string &look, const Polyline &points, const char *close = "") {
    std::string out = fmt::format("\\addplot[{}, forget plot] coordinates {{", look);
    constexpr std::size_t a_line = 6; // points in a line of the file
    for (std::size_t i = 0; i < points.size(); ++i)
        out += fmt::format("{}({},{})", i % a_line == 0 ? "\n  " : " ", number(points[i].first),
                           number(points[i].second));
    return out + fmt::format("}}{};\n", close);
}

/// Writes one figure, placed by the layout, in TeX's own fonts, which are narrower than its.
class TexWriter {
  public:
    TexWriter(const Figure &figure, const PaperWidth &width)
        : figure_(figure), width_(width), layout_(layout_of(figure, sizes_for(SvgUse::standalone, width.bp))),
          sizes_(layout_.sizes) {}

    std::string write() {
        out_ = fmt::format("% {}\n% needs \\usepackage{{pgfplots}} \\pgfplotsset{{compat=1.17}}\n",
                           escape_tex(figure_.title));
        for (std::size_t i = 0; i < palette.size(); ++i)
            out_ += fmt::format("\\definecolor{{convcast{}}}{{HTML}}{{{}}}\n", i, palette[i]);
        out_ += embedded_text("marks.tex");
        out_ += fmt::format("\\pgfmathsetlengthmacro{{\\convcastwidth}}{{{}}}\n",
                            width_.tex_length.empty() ? bp(width_.bp) : width_.tex_length);
        const double gaps = layout_.plot_gap * static_cast<double>(layout_.columns - 1);
        const PlotBox &first = layout_.plots.front();
        // A width that TeX decides changes the plots alone: margins and text stay as they are.
        out_ += fmt::format("\\pgfmathsetlengthmacro{{\\convcastplot}}{{(\\convcastwidth-{})/{}}}\n",
                            bp(layout_.left + layout_.right + gaps), layout_.columns);
        out_ += fmt::format("\\begin{{tikzpicture}}[font={}, trim left=0bp, trim right=\\convcastwidth]\n",
                            font());
        for (const PlotBox &plot : layout_.plots)
            axis(plot, &plot == &first);
        axis_labels();
        out_ += "\\end{tikzpicture}\n";
        if (const std::size_t count = beyond_count(figure_, layout_.ranges); count > 0)
            out_ += "% chevrons at the edge: " + beyond_text(count) + "\n";
        return out_;
    }

  private:
    std::string font() const {
        return fmt::format("\\fontsize{{{}}}{{{}}}\\selectfont", bp(sizes_.text), bp(1.2 * sizes_.text));
    }

    /// The height above the lowest plot's lower end: y grows downwards in the layout, upwards in TeX.
    double above(double y) const { return layout_.bottom - y; }

    /// Options of an axis, "x" or "y": range, scale and ticks, with their labels if `labels`.
    std::string ticks(const char *letter, const Axis &axis, const AxisRange &range,
                      const std::vector<Tick> &all, bool labels) const {
        std::string places, names;
        for (const Tick &tick : labelled(all)) {
            places += (places.empty() ? "" : ",") + number(tick.value);
            names += (names.empty() ? "{" : ",{") + escape_tex(tick.label) + "}";
        }
        std::string out =
            fmt::format("  {0}min={1}, {0}max={2},", letter, number(range.low), number(range.high));
        if (is_logarithmic(axis.scale))
            out += fmt::format(" {}mode=log,", letter);
        if (axis.scale == Scale::category && *letter == 'y')
            out += " y dir=reverse,";
        return out + fmt::format("\n  {0}tick={{{1}}}, {0}ticklabels={{{2}}},\n", letter, places,
                                 labels ? names : "");
    }

    /// A plot with all that is in it; one of several has the legend of all.
    void axis(const PlotBox &plot, bool with_legend) {
        const std::string height = bp(plot.bottom - plot.top);
        out_ += fmt::format(
            "\\begin{{axis}}[at={{({{{0}+{1}*(\\convcastplot+{2})}},{{{3}}})}}, anchor=south west,\n"
            "  scale only axis, width=\\convcastplot, height={4},\n"
            "  grid=major, grid style={{black!13, line width={5}}}, tick style={{draw=none}}, "
            "minor tick num=0, xminorticks=false, yminorticks=false,\n"
            "  axis line style={{black!60, line width={6}}}, every axis/.append style={{font={7}}},\n"
            "  x tick label style={{inner sep={8}}}, y tick label style={{inner sep={8}}},\n",
            bp(layout_.left), plot.column, bp(layout_.plot_gap), bp(above(plot.bottom)),
            layout_.square ? "\\convcastplot" : height, bp(sizes_.hair), bp(sizes_.thin), font(),
            bp(sizes_.gap * 0.7));
        out_ += ticks("x", figure_.x, layout_.ranges.x, layout_.x_ticks, plot.x_labels);
        out_ += ticks("y", figure_.y, layout_.ranges.y, layout_.y_ticks, plot.y_labels);
        // The shift takes back that of pgfplots' own style.
        if (!plot.title.empty())
            out_ += fmt::format("  title={{{}}}, title style={{at={{(0.5,1)}}, anchor=south, yshift=-6pt, "
                                "text height=1.5ex, text depth=0.3ex, inner sep={}}},\n",
                                escape_tex(plot.title), bp(0.2 * sizes_.text + 0.3 * sizes_.gap));
        if (!layout_.legend.empty() && with_legend)
            legend_style(plot);
        out_ += "]\n";
        for (const Band &band : figure_.bands)
            if (const auto corners = band_corners(layout_.ranges, band); !corners.empty())
                out_ += plot_of("draw=none, no marks, fill=black!11", corners, " -- cycle");
        for (std::size_t i = 0; i < figure_.references.size(); ++i)
            add_guide(reference_look(figure_, i, sizes_), figure_.references[i].guide,
                      figure_.references[i].value);
        for (const Series *series : plot.series)
            draw(*series, plot);
        for (const Band &band : figure_.bands) // the ends are drawn last, because many marks cover the band
            for (const double end : {band.low, band.high})
                add_guide(fmt::format("black, no marks, line width={}", bp(sizes_.hair)), band.guide, end);
        if (with_legend)
            for (const LegendEntry &entry : layout_.legend)
                out_ += fmt::format("\\addlegendimage{{{}}}\n\\addlegendentry{{{}}}\n", symbol(entry),
                                    escape_tex(entry.label));
        out_ += "\\end{axis}\n";
    }

    void add_guide(const std::string &look, Guide guide, double value) {
        if (const Polyline line = guide_line(layout_.ranges, guide, value); !line.empty())
            out_ += plot_of(look, line);
    }

    /// Puts the legend at the left edge of the figure, above the first plot.
    void legend_style(const PlotBox &plot) {
        const double lift = plot.title.empty() ? sizes_.gap : sizes_.text_height() + sizes_.gap;
        out_ += fmt::format("  legend columns={}, legend cell align=left, legend style={{draw=none, "
                            "fill=none, inner sep=0pt, "
                            "at={{(axis description cs:0,1)}}, xshift={}, yshift={}, anchor=south west, "
                            "/tikz/every odd column/.append style={{column sep={}}}, "
                            "/tikz/every even column/.append style={{column sep={}}}}},\n",
                            layout_.legend_columns, bp(sizes_.gap - layout_.left), bp(lift), bp(sizes_.gap),
                            bp(2.0 * sizes_.gap));
    }

    /// The options of the chevrons at an edge, turned by that many degrees from pointing upwards.
    std::string edge_look(int turn) const {
        return fmt::format("black!67, only marks, mark=convcast chevron, mark size={}, line width={}, "
                           "mark options={{rotate={}}}",
                           bp(sizes_.mark), bp(1.3 * sizes_.thin), turn);
    }

    /// The options of an entry's symbol in the legend.
    std::string symbol(const LegendEntry &entry) const {
        switch (entry.of) {
        case LegendEntry::Of::reference:
            return reference_look(figure_, entry.index, sizes_);
        case LegendEntry::Of::band:
            return "area legend, draw=black, fill=black!11";
        case LegendEntry::Of::beyond:
            return edge_look(-90);
        case LegendEntry::Of::series:
            break;
        }
        const Series &series = *entry.series;
        if (is_bars(series))
            return fmt::format("area legend, draw={}, fill={}", shade(series.style, 1.0),
                               shade(series.style, bar_strength(series)));
        if (!is_joined(series))
            return mark_look(series, sizes_);
        std::string look = line_look(series, sizes_);
        if (has_marks(series))
            look.replace(look.find("no marks"), 8,
                         fmt::format("mark size={}, {}{}", bp(mark_size(series, sizes_)),
                                     marks[mark_of(series.style)],
                                     series.hollow ? ", mark options={fill=white}" : ""));
        return look;
    }

    /// A series in a plot: line, bars of the spread, marks or bars, chevrons at the edges.
    void draw(const Series &series, const PlotBox &plot) {
        const Ranges &ranges = layout_.ranges;
        if (is_joined(series) && !series.points.empty())
            out_ += plot_of(line_look(series, sizes_), joined_points(series, ranges));
        Polyline spread, bars, inside;
        std::array<Polyline, 4> beyond; // left, right, below, above
        for (const Point &point : series.points) {
            if (is_tallied(figure_, point))
                continue;
            const Placed placed = place(point, ranges);
            if (point.low && point.high && ranges.x.holds(point.x))
                append_line(spread, {point.x, ranges.y.clamp(*point.low)},
                            {point.x, ranges.y.clamp(*point.high)});
            if (is_bars(series))
                append_line(bars, {ranges.x.clamp(point.from.value_or(ranges.x.low)), placed.y},
                            {placed.x, placed.y});
            else if (has_marks(series) && placed.clamped())
                beyond[placed.dx != 0 ? (placed.dx > 0 ? 1 : 0) : (placed.dy > 0 ? 3 : 2)].emplace_back(
                    placed.x, placed.y);
            else if (has_marks(series))
                inside.emplace_back(placed.x, placed.y);
        }
        strokes(shade(series.style, 1.0), sizes_.thin, spread);
        if (!bars.empty())
            draw_bars(series, plot, bars);
        if (!inside.empty())
            out_ += plot_of(mark_look(series, sizes_), inside);
        constexpr std::array<int, 4> turns = {90, -90, 180, 0};
        for (std::size_t side = 0; side < beyond.size(); ++side)
            if (!beyond[side].empty())
                out_ += plot_of(edge_look(turns[side]) + ", clip marker paths=false", beyond[side]);
    }

    /// Draws bars as thick lines, because pgfplots' own all begin at 0; a darker line around is the outline.
    void draw_bars(const Series &series, const PlotBox &plot, const Polyline &bars) {
        const AxisRange &y = layout_.ranges.y;
        const double width = series.drawn == Drawn::bars
                                 ? sizes_.row * bar_share
                                 : (plot.bottom - plot.top) * series.thickness / (y.high - y.low);
        const double strength = bar_strength(series);
        const bool outlined = strength < 1.0;
        if (outlined)
            strokes(shade(series.style, 1.0), width, bars);
        strokes(shade(series.style, strength), outlined ? width - 2.0 * sizes_.hair : width, bars);
        // A white line at its end sets a bar apart from the next one of its row; an outline has a dark end.
        Polyline ends;
        if (series.drawn == Drawn::bars)
            for (const Point &point : series.points)
                if (point.from && layout_.ranges.x.holds(point.x) && point.x < layout_.ranges.x.high)
                    append_line(ends, {point.x, point.y - bar_share / 2.0},
                                {point.x, point.y + bar_share / 2.0});
        strokes(outlined ? shade(series.style, 1.0) : "white", sizes_.hair, ends);
    }

    /// Draws the lines that append_line has put into one list.
    void strokes(const std::string &colour, double width, const Polyline &lines) {
        if (!lines.empty())
            out_ += plot_of(
                fmt::format("{}, no marks, line width={}, unbounded coords=jump", colour, bp(width)), lines);
    }

    /// Adds a line to a list of them, set apart by a point that is not a number: pgfplots jumps there.
    static void append_line(Polyline &lines, std::pair<double, double> from, std::pair<double, double> to) {
        if (!lines.empty())
            lines.emplace_back(std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::quiet_NaN());
        lines.push_back(from);
        lines.push_back(to);
    }

    /// The labels of both axes, once for all plots.
    void axis_labels() {
        const double below = sizes_.text_height() + 2.0 * sizes_.gap;
        if (!layout_.x_label.empty())
            out_ += fmt::format("\\node[anchor=north, inner sep=0pt] at "
                                "({{({}+\\convcastwidth-{})/2}},{{-{}}}) {{{}}};\n",
                                bp(layout_.left), bp(layout_.right), bp(below), escape_tex(layout_.x_label));
        if (!layout_.y_label.empty())
            out_ += fmt::format("\\node[rotate=90, anchor=north, inner sep=0pt] at ({{{}}},{{{}}}) {{{}}};\n",
                                bp(layout_.y_label_x), bp((above(layout_.top) + above(layout_.bottom)) / 2.0),
                                escape_tex(layout_.y_label));
    }

    const Figure &figure_;
    const PaperWidth &width_;
    FigureLayout layout_;
    const Sizes &sizes_;
    std::string out_;
};

} // namespace

std::string escape_tex(std::string_view text) {
    // Characters that pdflatex with its default encodings sets as others or not at all.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 18> others = {
        {{"µ", "\\ensuremath{\\mu}"},
         {"×", "\\ensuremath{\\times}"},
         {"±", "\\ensuremath{\\pm}"},
         {"−", "\\ensuremath{-}"},
         {"≤", "\\ensuremath{\\le}"},
         {"≥", "\\ensuremath{\\ge}"},
         {"·", "\\ensuremath{\\cdot}"},
         {"…", "\\ldots{}"},
         {"→", "\\ensuremath{\\rightarrow}"},
         {"–", "--"},
         {"\u00a0", "~"},
         {"\\", "\\textbackslash{}"},
         {"~", "\\textasciitilde{}"},
         {"^", "\\textasciicircum{}"},
         {"<", "\\ensuremath{<}"},
         {">", "\\ensuremath{>}"},
         {"|", "\\ensuremath{|}"},
         {"\"", "''"}}};
    std::string out;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const std::string_view character = text.substr(0, length);
        const char c = text.front();
        const auto *known = first_where(others, [&](const auto &entry) { return entry.first == character; });
        if (known != nullptr)
            out += known->second;
        else if (std::string_view("&%$#_{}").find(c) != std::string_view::npos)
            out += fmt::format("\\{}", c);
        else if (length == 1 &&
                 (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F))
            out += ' ';
        else
            out += character;
        text.remove_prefix(length);
    }
    return out;
}

std::string to_tex(const Figure &figure, const PaperWidth &width) {
    if (figure.point_count() > tex_point_limit)
        return fmt::format(
            "% {}: {} points are more than TeX bears, so this includes the PDF; the data are in "
            "{}.csv\n% needs \\usepackage{{graphicx}}\n\\includegraphics[width={}]{{{}.pdf}}\n",
            escape_tex(figure.title), figure.point_count(), figure.id,
            width.tex_length.empty() ? bp(width.bp) : width.tex_length, figure.id);
    return TexWriter(figure, width).write();
}

} // namespace convcast
