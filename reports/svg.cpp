#include "reports/figure.hpp"

#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace convcast {
namespace {

/// The marks of a figure that belong to series of single points; those on lines do not count.
std::size_t drawn_marks(const Figure &figure) {
    return count_points(figure,
                        [](const Series &series, const Point &) { return series.drawn == Drawn::points; });
}

/// The CSS of a drawing for paper, with colours and widths of strokes. On a page, page.css says these.
std::string paper_style(const Sizes &sizes) {
    std::string style = fmt::format(
        "text{{font:{}px 'DejaVu Sans',Verdana,sans-serif;fill:#222}}.ground{{fill:#fff}}"
        ".frame{{fill:none;stroke:#666;stroke-width:{}}}.grid{{fill:none;stroke:#ddd;stroke-width:{}}}"
        ".band{{fill:#e4e4e4;stroke:none}}.end{{fill:none;stroke:#222;stroke-width:{}}}.ref{{fill:none;"
        "stroke:#222;stroke-width:{}}}"
        ".ref1{{stroke-dasharray:6 3}}.ref2{{stroke-dasharray:2 2}}.ref3{{stroke-dasharray:8 3 2 3}}",
        coordinate(sizes.text), coordinate(sizes.thin), coordinate(sizes.hair), coordinate(sizes.hair),
        coordinate(sizes.thin));
    for (std::size_t i = 0; i < palette.size(); ++i)
        style += fmt::format(".s{0}{{fill:#{1};stroke:#{1};stroke-width:{2}}}", i, palette[i],
                             coordinate(sizes.hair));
    return style +
           fmt::format(".line.line{{fill:none;stroke-width:{}}}.spread.spread{{fill:none;stroke-width:{}}}"
                       ".dots.dots{{fill:none;stroke-width:{};stroke-linecap:round;stroke-opacity:.6}}"
                       ".hollow.hollow{{fill:#fff;stroke-width:{}}}.beyond.beyond{{fill:none;stroke:#555;"
                       "stroke-width:{}}}",
                       coordinate(sizes.line), coordinate(sizes.thin), coordinate(sizes.mark),
                       coordinate(sizes.thin), coordinate(1.3 * sizes.thin));
}

/// The SVG path of a mark around the current point, in relative commands; `size` is half its width. A hollow
/// mark is larger, so that it shows around a filled one at the same place.
std::string marker_path(std::size_t style, bool hollow, double size) {
    const double half = hollow ? 1.35 * size : size;
    const auto c = [half](double share) { return coordinate(half * share); };
    switch (mark_of(style)) {
    case 0: // circle
        return fmt::format("m-{0} 0a{0} {0} 0 1 0 {1} 0a{0} {0} 0 1 0-{1} 0z", c(1.0), c(2.0));
    case 1: // square
        return fmt::format("m-{0}-{0}h{1}v{1}h-{1}z", c(0.85), c(1.7));
    case 2: // triangle
        return fmt::format("m0-{0}l{0} {1}h-{1}z", c(1.1), c(2.2));
    case 3: // diamond
        return fmt::format("m0-{0}l{0} {0}l-{0} {0}l-{0}-{0}z", c(1.25));
    case 4: // triangle on its tip
        return fmt::format("m-{0}-{1}h{2}l-{0} {3}z", c(1.1), c(0.9), c(2.2), c(2.0));
    default: // bow tie
        return fmt::format("m-{0}-{0}h{1}l-{1} {1}h{1}z", c(0.9), c(1.8));
    }
}

/// The path of a chevron at the edge that points to the point beyond: dx, dy of Placed.
std::string edge_path(int dx, int dy, double size) {
    const auto c = [size](double share) { return coordinate(size * share); };
    if (dx != 0)
        return fmt::format("m{} {}l{} {}l{} {}", c(-0.9 * dx), c(-1.1), c(1.1 * dx), c(1.1), c(-1.1 * dx),
                           c(1.1));
    return fmt::format("m{} {}l{} {}l{} {}", c(-1.1), c(0.9 * dy), c(1.1), c(-1.1 * dy), c(1.1), c(1.1 * dy));
}

/// The SVG attribute of a style's dashes on a line of this width; "" of a solid one.
std::string dash_attribute(std::size_t style, double line) {
    std::string dashes;
    for (const double length : dashes_of(style))
        dashes += (dashes.empty() ? "" : " ") + coordinate(length * line);
    return dashes.empty() ? "" : " stroke-dasharray=\"" + dashes + "\"";
}

/// The SVG attribute of how much of its colour a bar has; "" of all of it and of outlines.
std::string strength_attribute(const Series &series) {
    const double strength = bar_strength(series);
    return strength < 1.0 && !series.hollow ? " fill-opacity=\"" + coordinate(strength) + "\"" : "";
}

std::string reference_class(const Figure &figure, std::size_t index) {
    return fmt::format("ref ref{}", figure.references[index].style.value_or(index) % 4);
}

/// Writes one figure as SVG. A drawing for paper with few marks has an element for each, with its label as
/// title; on a page, or of many marks, those of a series are one path.
class SvgWriter {
  public:
    SvgWriter(const Figure &figure, SvgUse use, const PaperWidth &width)
        : figure_(figure), use_(use), layout_(layout_of(figure, sizes_for(use, width.bp))),
          sizes_(layout_.sizes) {}

    std::string write() {
        const std::string label = escape_xml(figure_.title);
        const char *unit = use_ == SvgUse::standalone ? "pt" : "";
        out_ = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure{4}\" viewBox=\"0 0 {0} {1}\" "
            "width=\"{0}{2}\" height=\"{1}{2}\" role=\"img\" aria-label=\"{3}\">\n<title>{3}</title>\n",
            coordinate(sizes_.width), coordinate(layout_.height), unit, label,
            use_ == SvgUse::in_width    ? " wide"
            : use_ == SvgUse::in_screen ? " whole"
            : use_ == SvgUse::in_column ? " column"
                                        : "");
        if (use_ == SvgUse::standalone)
            out_ +=
                fmt::format("<style>{}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
                            paper_style(sizes_));
        const bool empty = figure_.point_count() == 0; // then the plot has its frame and says why
        for (const PlotBox &plot : layout_.plots)
            draw(plot, empty);
        labels();
        for (const LegendEntry &entry : layout_.legend)
            out_ += fmt::format("<g class=\"legend\">{}<g transform=\"translate({} {})\">{}</g>{}</g>\n",
                                hit(entry), coordinate(entry.x + sizes_.symbol / 2.0), coordinate(entry.y),
                                symbol(entry),
                                text(entry.x + sizes_.symbol + sizes_.gap, entry.y, "start", entry.label));
        if (empty) {
            const PlotBox &plot = layout_.plots.front();
            out_ += text((plot.left + plot.right) / 2.0, (plot.top + plot.bottom) / 2.0, "middle",
                         fitted(figure_.no_data.empty() ? "no data" : figure_.no_data, plot.right - plot.left,
                                sizes_.text)) +
                    "\n";
        }
        return out_ + "</svg>\n";
    }

  private:
    double y_of(const PlotBox &plot, double value) const { return layout_.y_of(figure_, plot, value); }

    /// "X Y" of a point of the data, as paths have it.
    std::string at(const PlotBox &plot, double x, double y) const {
        return coordinate(layout_.x_of(plot, x)) + " " + coordinate(y_of(plot, y));
    }

    /// Words with the middle of their height at y, without dominant-baseline, which not every SVG program
    /// knows. `anchor` is "start", "middle" or "end": what of the words lies at x.
    std::string text(double x, double y, const char *anchor, const std::string &words) const {
        return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", coordinate(x),
                           coordinate(y + sizes_.text * 0.36), anchor, escape_xml(words));
    }

    /// The area of a legend's entry that a finger can press; "" where nothing happens then.
    std::string hit(const LegendEntry &entry) const {
        if (use_ == SvgUse::standalone || entry.of != LegendEntry::Of::series)
            return "";
        return fmt::format("<rect class=\"hit\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                           coordinate(entry.x), coordinate(entry.y - sizes_.legend_row / 2.0),
                           coordinate(sizes_.symbol + sizes_.gap + text_width(entry.label, sizes_.text)),
                           coordinate(sizes_.legend_row));
    }

    std::string path(const PlotBox &plot, const Polyline &points) const {
        std::string out;
        for (const auto &[x, y] : points)
            out += (out.empty() ? "M" : "L") + at(plot, x, y);
        return out;
    }

    /// A plot: its bands lie below its axes, these below lines and marks. An empty figure has only the axes.
    void draw(const PlotBox &plot, bool empty) {
        if (!empty)
            for (const Band &band : figure_.bands)
                if (const auto corners = band_corners(layout_.ranges, band); !corners.empty())
                    out_ += "<path class=\"band\" d=\"" + path(plot, corners) + "z\"/>\n";
        axes(plot);
        for (std::size_t i = 0; i < figure_.references.size() && !empty; ++i) {
            const Reference &its = figure_.references[i];
            if (const auto line = path(plot, guide_line(layout_.ranges, its.guide, its.value)); !line.empty())
                out_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", reference_class(figure_, i), line);
        }
        for (const Series *series : plot.series)
            draw(plot, *series);
        // The ends of a band are drawn last, because many marks cover the band.
        std::string ends;
        for (const Band &band : figure_.bands)
            for (const double end : {band.low, band.high})
                ends += path(plot, guide_line(layout_.ranges, band.guide, end));
        if (!ends.empty() && !empty)
            out_ += "<path class=\"end\" d=\"" + ends + "\"/>\n";
    }

    /// Frame, grid and the labels of its ticks.
    void axes(const PlotBox &plot) {
        const Ranges &ranges = layout_.ranges;
        std::string grid;
        for (const Tick &tick : labelled(layout_.x_ticks))
            grid += path(plot, {{tick.value, ranges.y.low}, {tick.value, ranges.y.high}});
        for (const Tick &tick : labelled(layout_.y_ticks))
            grid += path(plot, {{ranges.x.low, tick.value}, {ranges.x.high, tick.value}});
        out_ += fmt::format(
            "<path class=\"grid\" d=\"{}\"/>\n<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" "
            "height=\"{}\"/>\n<g class=\"axis\">\n",
            grid, coordinate(plot.left), coordinate(plot.top), coordinate(plot.right - plot.left),
            coordinate(plot.bottom - plot.top));
        if (plot.x_labels)
            for (const Tick &tick : labelled(layout_.x_ticks))
                out_ += text(layout_.x_of(plot, tick.value),
                             plot.bottom + sizes_.gap + sizes_.text_height() / 2.0, "middle", tick.label) +
                        "\n";
        if (plot.y_labels)
            for (const Tick &tick : labelled(layout_.y_ticks))
                out_ += text(plot.left - sizes_.gap, y_of(plot, tick.value), "end", tick.label) + "\n";
        if (!plot.title.empty())
            out_ += text((plot.left + plot.right) / 2.0, plot.top - 0.5 * (sizes_.text_height() + sizes_.gap),
                         "middle", plot.title) +
                    "\n";
        out_ += "</g>\n";
    }

    /// The labels of both axes, once for all plots.
    void labels() {
        out_ += "<g class=\"axis\">\n";
        if (!layout_.x_label.empty()) {
            const double half = text_width(layout_.x_label, sizes_.text) / 2.0;
            const double middle = (layout_.left + sizes_.width - layout_.right) / 2.0;
            out_ += text(std::clamp(middle, sizes_.gap + half,
                                    std::max(sizes_.gap + half, sizes_.width - sizes_.gap - half)),
                         layout_.bottom + 2.0 * sizes_.gap + 1.5 * sizes_.text_height(), "middle",
                         layout_.x_label) +
                    "\n";
        }
        if (!layout_.y_label.empty())
            out_ += fmt::format(
                "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                coordinate(layout_.y_label_x + sizes_.text), coordinate((layout_.top + layout_.bottom) / 2.0),
                escape_xml(layout_.y_label));
        out_ += "</g>\n";
    }

    /// A series in one plot: its line, the bars of its spread, then its marks or bars.
    void draw(const PlotBox &plot, const Series &series) {
        const std::size_t style = colour_of(series.style);
        out_ += fmt::format("<g class=\"s{}{}\">\n", style, series.hollow ? " hollow" : "");
        if (is_joined(series) && !series.points.empty())
            out_ +=
                fmt::format("<path class=\"line\"{} d=\"{}\"/>\n", dash_attribute(series.style, sizes_.line),
                            path(plot, joined_points(series, layout_.ranges)));
        if (const std::string bars = spread_bars(plot, series); !bars.empty())
            out_ += fmt::format("<path class=\"spread\" d=\"{}\"/>\n", bars);
        if (series.drawn == Drawn::spans)
            out_ += fmt::format("<path stroke=\"none\"{} d=\"{}\"/>\n", strength_attribute(series),
                                span_bars(plot, series));
        else if (use_ != SvgUse::standalone || many_)
            marks_together(plot, series);
        else
            for (const Point &point : series.points)
                mark(plot, series, point);
        out_ += "</g>\n";
    }

    /// A mark or bar as an element of its own, with its label as title.
    void mark(const PlotBox &plot, const Series &series, const Point &point) {
        const Placed placed = place(point, layout_.ranges);
        const std::string shape = mark_shape(plot, series, point, placed);
        if (shape.empty())
            return;
        out_ += fmt::format("<path{}{}{} d=\"{}\"><title>{}</title></path>\n",
                            placed.clamped() && !is_bars(series) ? " class=\"beyond\"" : "", look_of(series),
                            point.id ? fmt::format(" data-case=\"{}\"", *point.id) : "", shape,
                            escape_xml(point.label));
    }

    /// Whether marks are drawn as dots, because a figure has too many for their shapes to be told apart.
    bool are_dots(const Series &series) const {
        constexpr std::size_t many = 400; // chosen
        return (use_ != SvgUse::standalone || many_) && series.drawn == Drawn::points &&
               drawn_marks(figure_) > many;
    }

    /// Draws the marks of a series as two paths, within the axes and beyond, so that thousands are few
    /// elements. For the script each begins with an M; data-cases has their ids in order, data-labels the
    /// labels of those without.
    void marks_together(const PlotBox &plot, const Series &series) {
        const bool dots = are_dots(series);
        for (const bool beyond : {false, true}) {
            std::string path, ids, labels;
            for (const Point &point : series.points) {
                const Placed placed = place(point, layout_.ranges);
                if (placed.clamped() != beyond)
                    continue;
                const std::string shape = dots && !beyond ? "M" + at(plot, placed.x, placed.y) + "h0"
                                                          : mark_shape(plot, series, point, placed);
                if (shape.empty())
                    continue;
                ids += (path.empty() ? "" : ",") + (point.id ? std::to_string(*point.id) : std::string());
                labels += (path.empty() ? "" : "\n") + (point.id ? std::string() : point.label);
                path += shape;
            }
            if (path.empty())
                continue;
            const bool labelled = labels.find_first_not_of('\n') != std::string::npos;
            out_ += fmt::format("<path class=\"marks{}{}\"{}", dots && !beyond ? " dots" : "",
                                beyond && !is_bars(series) ? " beyond" : "", look_of(series));
            if (use_ != SvgUse::standalone) // for the page's script
                out_ += fmt::format(" data-cases=\"{}\"{}", ids,
                                    labelled ? " data-labels=\"" + escape_xml(labels) + "\"" : "");
            out_ += fmt::format(" d=\"{}\"/>\n", path);
        }
    }

    /// The attributes of each mark of a series that its group has not.
    static std::string look_of(const Series &series) {
        return series.drawn == Drawn::bars ? strength_attribute(series) : "";
    }

    /// The path of a point's mark or bar, or of a chevron if it lies beyond an axis; "" without a mark.
    std::string mark_shape(const PlotBox &plot, const Series &series, const Point &point,
                           const Placed &placed) const {
        const std::string at_mark = "M" + at(plot, placed.x, placed.y);
        if (series.drawn == Drawn::bars) {
            const double begin =
                layout_.x_of(plot, layout_.ranges.x.clamp(point.from.value_or(layout_.ranges.x.low)));
            double end = layout_.x_of(plot, placed.x);
            if (point.from && end - begin > 3.0 * sizes_.thin) // a gap sets the bars of a row apart
                end -= sizes_.thin;
            return fmt::format("M{} {}H{}v{}H{}z", coordinate(begin),
                               coordinate(y_of(plot, placed.y) - sizes_.row * bar_share / 2.0),
                               coordinate(end), coordinate(sizes_.row * bar_share), coordinate(begin));
        }
        if (!has_marks(series) || is_tallied(figure_, point))
            return "";
        if (placed.clamped())
            return at_mark + edge_path(placed.dx, placed.dy, sizes_.mark);
        return at_mark + marker_path(series.style, series.hollow, mark_size(series, sizes_));
    }

    /// The SVG path of all bars from Point::low to Point::high.
    std::string spread_bars(const PlotBox &plot, const Series &series) const {
        const Ranges &ranges = layout_.ranges;
        std::string out;
        for (const Point &point : series.points)
            if (point.low && point.high && ranges.x.holds(point.x))
                out += fmt::format("M{}V{}", at(plot, point.x, ranges.y.clamp(*point.low)),
                                   coordinate(y_of(plot, ranges.y.clamp(*point.high))));
        return out;
    }

    /// The path of all spans. A long one ends a little early, which sets the next one apart.
    std::string span_bars(const PlotBox &plot, const Series &series) const {
        constexpr double hair = 0.4; // in the unit of the drawing
        const Ranges &ranges = layout_.ranges;
        std::string out;
        for (const Point &point : series.points) {
            const double begin = layout_.x_of(plot, ranges.x.clamp(point.from.value_or(ranges.x.low)));
            const double end = layout_.x_of(plot, ranges.x.clamp(point.x));
            const double top = y_of(plot, ranges.y.clamp(point.y + series.thickness / 2.0));
            const double bottom = y_of(plot, ranges.y.clamp(point.y - series.thickness / 2.0));
            out += fmt::format("M{} {}H{}V{}H{}z", coordinate(begin), coordinate(top),
                               coordinate(end - begin > 3.0 * hair ? end - hair : end), coordinate(bottom),
                               coordinate(begin));
        }
        return out;
    }

    /// The SVG elements of an entry's symbol in the legend, around (0, 0).
    std::string symbol(const LegendEntry &entry) const {
        const double half = sizes_.symbol / 2.0 - 1.0;
        const std::string stroke = fmt::format("M-{0} 0h{1}", coordinate(half), coordinate(2.0 * half));
        const double high = 0.36 * sizes_.text;
        const std::string box = fmt::format("M-{0}-{1}h{2}v{3}h-{2}z", coordinate(0.75 * half),
                                            coordinate(high), coordinate(1.5 * half), coordinate(2.0 * high));
        switch (entry.of) {
        case LegendEntry::Of::reference:
            return fmt::format("<path class=\"{}\" d=\"{}\"/>", reference_class(figure_, entry.index),
                               stroke);
        case LegendEntry::Of::band:
            return "<path class=\"band\" d=\"" + box + "\"/><path class=\"end\" d=\"" + box + "\"/>";
        case LegendEntry::Of::beyond:
            return "<path class=\"beyond\" d=\"M0 0" + edge_path(1, 0, sizes_.mark) + "\"/>";
        case LegendEntry::Of::series:
            break;
        }
        const Series &series = *entry.series;
        const std::size_t style = colour_of(series.style);
        const char *hollow = series.hollow ? " hollow" : "";
        if (is_bars(series))
            return fmt::format("<path class=\"s{}{}\"{} d=\"{}\"/>", style, hollow,
                               strength_attribute(series), box);
        std::string shape;
        if (is_joined(series))
            shape = fmt::format("<path class=\"s{} line\"{} d=\"{}\"/>", style,
                                dash_attribute(series.style, sizes_.line), stroke);
        if (has_marks(series))
            shape += are_dots(series)
                         ? fmt::format("<path class=\"s{} dots\" d=\"M0 0h0\"/>", style)
                         : fmt::format("<path class=\"s{}{}\" d=\"M0 0{}\"/>", style, hollow,
                                       marker_path(series.style, series.hollow, mark_size(series, sizes_)));
        return shape;
    }

    const Figure &figure_;
    SvgUse use_;
    const bool many_ = drawn_marks(figure_) > 5'000; // chosen: an element and a title each would be megabytes
    FigureLayout layout_;
    const Sizes &sizes_;
    std::string out_;
};

} // namespace

std::string to_svg(const Figure &figure, SvgUse use, const PaperWidth &width) {
    return SvgWriter(figure, use, width).write();
}

} // namespace convcast
