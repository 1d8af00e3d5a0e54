#include "reports/figure.hpp"

#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {
namespace {

// Sizes in SVG user units, which browsers show as CSS pixels and rsvg-convert as 1/96 inch.
constexpr double figure_width = 560.0;
constexpr double plot_height = 300.0;
constexpr double row_height = 17.0; ///< of a category
constexpr double text_size = 11.0;
constexpr double gap = 6.0;
constexpr double mark = 4.0;       ///< half a marker
constexpr double small_mark = 2.6; ///< half a marker on a line or a bar

/// Okabe and Ito's palette without its yellow, which vanishes on white; tex.cpp has the same.
constexpr const char *standalone_style =
    "text{font:11px 'DejaVu "
    "Sans',Verdana,sans-serif;fill:#222}.ground{fill:#fff}.frame{fill:none;stroke:#888}"
    ".grid{stroke:#ddd}.band{fill:#000;fill-opacity:.07}.ref{fill:none;stroke:#444}.ref1{stroke-dasharray:6 "
    "3}"
    ".ref2{stroke-dasharray:2 2}.ref3{stroke-dasharray:8 3 2 "
    "3}.line{fill:none;stroke-width:1.8}.spread.spread{fill:none;stroke-width:1.2}"
    ".hollow{fill:#fff;stroke-width:1.5}.beyond{stroke:#222}"
    ".s0{fill:#0072B2;stroke:#0072B2}.s1{fill:#D55E00;stroke:#D55E00}.s2{fill:#009E73;stroke:#009E73}"
    ".s3{fill:#CC79A7;stroke:#CC79A7}.s4{fill:#E69F00;stroke:#E69F00}.s5{fill:#56B4E9;stroke:#56B4E9}"
    ".hollow.hollow{fill:#fff}.line.line{fill:none}";

/// The text's end cut off and marked, so that it is no wider than `width`.
std::string fitted(const std::string &text, double width) {
    if (text_width(text, text_size) <= width)
        return text;
    std::string kept;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t length = character_length(rest);
        if (text_width(kept, text_size) + text_width(rest.substr(0, length), text_size) +
                text_width("…", text_size) >
            width)
            break;
        kept += rest.substr(0, length);
        rest.remove_prefix(length);
    }
    return kept + "…";
}

struct Tick {
    double value;
    std::string label; ///< "" for a tick between labels
};

/// Fixed notation with as many decimals as a value of that size or spacing needs.
std::string tick_label(double value, double spacing) {
    const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(spacing) - 1e-9)));
    constexpr int most_decimals = 12; // nobody counts more zeros
    if (decimals > most_decimals)
        return fmt::format("{:.0e}", value);
    std::string text = fmt::format("{:.{}f}", value, decimals);
    return text.find_first_not_of("-0.") == std::string::npos ? "0" : text;
}

std::vector<Tick> linear_ticks(const AxisRange &range, double count) {
    const double step = round_number((range.high - range.low) / count, true);
    std::vector<Tick> ticks;
    for (double i = std::ceil(range.low / step - 1e-9); i * step <= range.high + 1e-9 * step; ++i)
        ticks.push_back({i * step, tick_label(i * step, step)});
    return ticks;
}

/// Labels at `per_decade` values of every `stride`-th decade.
std::vector<Tick> logarithmic_ticks(const AxisRange &range, int per_decade, int stride) {
    std::vector<Tick> ticks;
    const int first = static_cast<int>(std::floor(std::log10(range.low) + 1e-9));
    const int last = static_cast<int>(std::ceil(std::log10(range.high) - 1e-9));
    for (int decade = first; decade <= last; ++decade)
        for (int digit = 1; digit <= 9; ++digit) {
            const double value = digit * std::pow(10.0, decade);
            if (value < range.low * (1.0 - 1e-9) || value > range.high * (1.0 + 1e-9))
                continue;
            const bool wanted =
                digit == 1 || (per_decade == 3 && (digit == 2 || digit == 5)) || per_decade == 9;
            const bool labelled = wanted && (decade - first) % stride == 0;
            ticks.push_back({value, labelled ? tick_label(value, std::pow(10.0, decade)) : ""});
        }
    return ticks;
}

/// A tick at every power of two, labels at every `stride`-th.
std::vector<Tick> binary_ticks(const AxisRange &range, const Axis &axis, int stride) {
    std::vector<Tick> ticks;
    for (const double power : powers_of_two(range, stride))
        ticks.push_back({power, power_label(power, axis)});
    return ticks;
}

/// Ticks whose labels, `extent(label)` long along the axis of `length`, stay apart.
template <class Extent>
std::vector<Tick> ticks_of(const Axis &axis, const AxisRange &range, double length, Extent extent) {
    const auto apart = [&](const std::vector<Tick> &ticks) {
        double end = -std::numeric_limits<double>::infinity();
        for (const Tick &tick : ticks) {
            if (tick.label.empty())
                continue;
            const double middle = range.at(tick.value) * length, half = extent(tick.label) / 2.0;
            if (middle - half < end + gap)
                return false;
            end = middle + half;
        }
        return true;
    };
    const auto labels = [](const std::vector<Tick> &ticks) {
        return std::count_if(ticks.begin(), ticks.end(),
                             [](const Tick &tick) { return !tick.label.empty(); });
    };
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
        for (int stride = 1;; ++stride)
            if (auto ticks = logarithmic_ticks(range, 1, stride); apart(ticks) || labels(ticks) < 2)
                return ticks;
    }
    for (double count = 8.0;; count /= 1.5)
        if (auto ticks = linear_ticks(range, count); apart(ticks) || ticks.size() < 2)
            return ticks;
}

/// A marker centred at the current point of a path, in relative commands. Hollow ones are larger: they show
/// around a filled one at the same place.
std::string marker_path(std::size_t style, bool hollow, double size = mark) {
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

/// A triangle at the edge that points out of the plot; dx, dy in {-1, 0, 1} say where the point lies.
std::string edge_path(int dx, int dy) {
    if (dx != 0)
        return fmt::format("m{} 0l{} -4.5v9z", dx * 3, -dx * 8);
    return fmt::format("m0 {}l-4.5 {}h9z", -dy * 3, dy * 8);
}

struct LegendEntry {
    std::string symbol; ///< SVG drawn in a box of 22 x 10 around (0, 0)
    std::string label;
};

/// How a reference or band runs through the plot, as two corner points in data; empty if it misses the plot.
struct Segment {
    double x1, y1, x2, y2;
};

std::string reference_class(std::size_t index) {
    return fmt::format("ref ref{}", index % 4);
}

/// Draws one figure; the layout is computed once, in the constructor.
class SvgWriter {
  public:
    SvgWriter(const Figure &figure, SvgUse use)
        : figure_(figure), use_(use), ranges_(ranges_of(figure)), legend_(legend()) {
        const bool rows = figure.y.scale == Scale::category;
        const double size =
            rows ? std::max(1.0, static_cast<double>(figure.y.categories.size())) * row_height : plot_height;
        constexpr double line_height = text_size * 1.25;
        const auto tall = [](const std::string &) { return text_size * 1.25; };
        const auto wide = [](const std::string &label) { return text_width(label, text_size); };
        if (rows)
            for (std::size_t i = 0; i < figure.y.categories.size(); ++i)
                y_ticks_.push_back(
                    {static_cast<double>(i), fitted(figure.y.categories[i], figure_width * 0.4)});
        else
            y_ticks_ = ticks_of(figure.y, ranges_.y, size, tall);
        double widest = 0.0;
        for (const Tick &tick : y_ticks_)
            widest = std::max(widest, wide(tick.label));
        left_ = gap + (figure.y.label.empty() ? 0.0 : line_height + gap) + widest + gap;
        right_ = figure_width - gap;
        // The last label of x is centred on its tick and may stand out to the right: measure, shrink, measure
        // again.
        for (int round = 0; round < 2; ++round) {
            x_ticks_ = ticks_of(figure.x, ranges_.x, right_ - left_, wide);
            for (const Tick &tick : x_ticks_)
                right_ = std::min(right_,
                                  figure_width - gap + (right_ - x_of(tick.value)) - wide(tick.label) / 2.0);
        }
        double x = left_, y = gap + line_height / 2.0;
        for (const LegendEntry &entry : legend_) {
            const double width = symbol_width + gap + wide(entry.label);
            if (x > left_ && x + width > figure_width - gap) {
                x = left_;
                y += line_height + 2.0;
            }
            legend_at_.push_back({x, y});
            x += width + 3.0 * gap;
        }
        top_ = legend_.empty() ? gap + line_height / 2.0 : y + line_height / 2.0 + 2.0 * gap;
        bottom_ = top_ + size;
        height_ = bottom_ + gap + line_height + (figure.x.label.empty() ? 0.0 : gap + line_height) + gap;
    }

    std::string write() {
        const std::string label = escape_xml(figure_.title);
        out_ =
            fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" viewBox=\"0 0 {0} {1}\" "
                        "width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n",
                        coordinate(figure_width), coordinate(height_), label);
        if (use_ == SvgUse::standalone)
            out_ +=
                fmt::format("<style>{}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
                            standalone_style);
        const bool empty = figure_.point_count() == 0;
        if (!empty)
            bands();
        axes();
        if (!empty)
            references();
        for (const Series &series : figure_.series)
            draw(series);
        for (std::size_t i = 0; i < legend_.size(); ++i)
            out_ += fmt::format(
                "<g class=\"legend\"><g transform=\"translate({} {})\">{}</g>{}</g>\n",
                coordinate(legend_at_[i].x + symbol_width / 2.0), coordinate(legend_at_[i].y),
                legend_[i].symbol,
                text(legend_at_[i].x + symbol_width + gap, legend_at_[i].y, "start",
                     fitted(legend_[i].label, figure_width - legend_at_[i].x - symbol_width - 2.0 * gap)));
        if (empty)
            out_ += text((left_ + right_) / 2.0, (top_ + bottom_) / 2.0, "middle",
                         fitted(figure_.no_data.empty() ? "no data" : figure_.no_data, right_ - left_)) +
                    "\n";
        return out_ + "</svg>\n";
    }

  private:
    static constexpr double symbol_width = 22.0;

    double x_of(double value) const { return left_ + ranges_.x.at(value) * (right_ - left_); }
    double y_of(double value) const {
        const double share = ranges_.y.at(value);
        return figure_.y.scale == Scale::category ? top_ + share * (bottom_ - top_)
                                                  : bottom_ - share * (bottom_ - top_);
    }

    /// Centred on y without dominant-baseline, which not every SVG program knows.
    static std::string text(double x, double y, const char *anchor, const std::string &words) {
        return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", coordinate(x),
                           coordinate(y + text_size * 0.36), anchor, escape_xml(words));
    }

    std::string line(const Segment &s) const {
        return fmt::format("M{} {}L{} {}", coordinate(x_of(s.x1)), coordinate(y_of(s.y1)),
                           coordinate(x_of(s.x2)), coordinate(y_of(s.y2)));
    }

    /// The part of a guide inside the plot.
    std::optional<Segment> segment(Guide guide, double value) const {
        const AxisRange &x = ranges_.x, &y = ranges_.y;
        if (guide == Guide::horizontal)
            return y.holds(value) ? std::optional(Segment{x.low, value, x.high, value}) : std::nullopt;
        if (guide == Guide::vertical)
            return x.holds(value) ? std::optional(Segment{value, y.low, value, y.high}) : std::nullopt;
        const double x1 = std::max(x.low, y.low / value), x2 = std::min(x.high, y.high / value);
        return x1 < x2 ? std::optional(Segment{x1, value * x1, x2, value * x2}) : std::nullopt;
    }

    void bands() {
        for (const Band &band : figure_.bands) {
            const AxisRange &x = ranges_.x, &y = ranges_.y;
            std::string path;
            if (band.guide == Guide::horizontal) {
                path = line({x.low, y.clamp(band.low), x.high, y.clamp(band.low)}) +
                       line({x.high, y.clamp(band.high), x.low, y.clamp(band.high)}).replace(0, 1, "L");
            } else if (band.guide == Guide::vertical) {
                path = line({x.clamp(band.low), y.low, x.clamp(band.high), y.low}) +
                       line({x.clamp(band.high), y.high, x.clamp(band.low), y.high}).replace(0, 1, "L");
            } else {
                path = diagonal_band(band);
            }
            if (!path.empty())
                out_ += "<path class=\"band\" d=\"" + path + "z\"/>\n";
        }
    }

    /// The polygon low * x <= y <= high * x, clipped to the plot corner by corner.
    std::string diagonal_band(const Band &band) const {
        const std::optional<Segment> below = segment(Guide::diagonal, band.low);
        const std::optional<Segment> above = segment(Guide::diagonal, band.high);
        if (!below || !above)
            return "";
        const AxisRange &x = ranges_.x, &y = ranges_.y;
        std::string path = line(*below);
        const auto corner = [&](double cx, double cy) {
            if (cy >= band.low * cx && cy <= band.high * cx)
                path += fmt::format("L{} {}", coordinate(x_of(cx)), coordinate(y_of(cy)));
        };
        corner(x.high, y.high);
        path += fmt::format("L{} {}L{} {}", coordinate(x_of(above->x2)), coordinate(y_of(above->y2)),
                            coordinate(x_of(above->x1)), coordinate(y_of(above->y1)));
        corner(x.low, y.low);
        return path;
    }

    void axes() {
        std::string grid;
        for (const Tick &tick : x_ticks_)
            if (!tick.label.empty())
                grid += line({tick.value, ranges_.y.low, tick.value, ranges_.y.high});
        for (const Tick &tick : y_ticks_)
            if (!tick.label.empty())
                grid += line({ranges_.x.low, tick.value, ranges_.x.high, tick.value});
        out_ += fmt::format(
            "<path class=\"grid\" d=\"{}\"/>\n<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" "
            "height=\"{}\"/>\n<g class=\"axis\">\n",
            grid, coordinate(left_), coordinate(top_), coordinate(right_ - left_),
            coordinate(bottom_ - top_));
        const double x_label_at = bottom_ + gap + text_size * 0.625;
        for (const Tick &tick : x_ticks_)
            if (!tick.label.empty())
                out_ += text(x_of(tick.value), x_label_at, "middle", tick.label) + "\n";
        for (const Tick &tick : y_ticks_)
            if (!tick.label.empty())
                out_ += text(left_ - gap, y_of(tick.value), "end", tick.label) + "\n";
        const double middle = (left_ + right_) / 2.0;
        if (!figure_.x.label.empty())
            out_ += text(middle, x_label_at + text_size * 1.25 + gap, "middle",
                         fitted(figure_.x.label, 2.0 * (std::min(middle, figure_width - middle) - gap))) +
                    "\n";
        if (!figure_.y.label.empty())
            out_ += fmt::format(
                "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                coordinate(gap + text_size), coordinate((top_ + bottom_) / 2.0),
                escape_xml(fitted(figure_.y.label, bottom_ - top_)));
        out_ += "</g>\n";
    }

    void references() {
        for (std::size_t i = 0; i < figure_.references.size(); ++i)
            if (const auto s = segment(figure_.references[i].guide, figure_.references[i].value))
                out_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", reference_class(i), line(*s));
    }

    void draw(const Series &series) {
        const std::string kind =
            fmt::format("s{}{}", series.style % style_count, series.hollow ? " hollow" : "");
        out_ += fmt::format("<g class=\"{}\">\n", kind);
        if (series.drawn == Drawn::steps && !series.points.empty())
            out_ += fmt::format("<path class=\"line\" d=\"{}\"/>\n", staircase(series));
        if (joined(series) && !series.points.empty())
            out_ += fmt::format("<path class=\"line\" d=\"{}\"/>\n", polyline(series));
        if (const std::string bars = spread_bars(series); !bars.empty())
            out_ += fmt::format("<path class=\"spread\" d=\"{}\"/>\n", bars);
        if (series.drawn == Drawn::spans) {
            out_ += fmt::format("<path stroke=\"none\" d=\"{}\"/>\n</g>\n", span_bars(series));
            return;
        }
        if (use_ == SvgUse::in_page)
            marks_together(series);
        else
            for (const Point &point : series.points) {
                const Placed placed = place(point, ranges_);
                const std::string shape = mark_shape(series, point, placed);
                if (!shape.empty())
                    out_ += fmt::format("<path{}{} d=\"{}\"><title>{}</title></path>\n",
                                        placed.clamped() ? " class=\"beyond\"" : "",
                                        point.id ? fmt::format(" data-case=\"{}\"", *point.id) : "", shape,
                                        escape_xml(point.label));
            }
        out_ += "</g>\n";
    }

    /// All marks of a series as two paths, those within the axes and those beyond, so that thousands of
    /// points are few elements. Each mark begins with an M; data-cases has their ids in the same order, empty
    /// for a mark of none, and data-labels the labels of those.
    void marks_together(const Series &series) {
        constexpr std::size_t many = 400; // from here on marks are dots: shapes could not be told apart
        const bool dots = series.drawn == Drawn::points && figure_.point_count() > many;
        for (const bool beyond : {false, true}) {
            std::string path, ids, labels;
            for (const Point &point : series.points) {
                const Placed placed = place(point, ranges_);
                if (placed.clamped() != beyond)
                    continue;
                const std::string shape =
                    dots && !beyond ? at_point(placed) + "h0" : mark_shape(series, point, placed);
                if (shape.empty())
                    continue;
                ids += (path.empty() ? "" : ",") + (point.id ? std::to_string(*point.id) : std::string());
                labels += (path.empty() ? "" : "\n") + (point.id ? std::string() : point.label);
                path += shape;
            }
            if (path.empty())
                continue;
            const bool labelled = labels.find_first_not_of('\n') != std::string::npos;
            out_ += fmt::format("<path class=\"marks{}{}\" data-cases=\"{}\"{} d=\"{}\"/>\n",
                                dots && !beyond ? " dots" : "", beyond ? " beyond" : "", ids,
                                labelled ? " data-labels=\"" + escape_xml(labels) + "\"" : "", path);
        }
    }

    std::string at_point(const Placed &placed) const {
        return fmt::format("M{} {}", coordinate(x_of(placed.x)), coordinate(y_of(placed.y)));
    }

    /// The path of one mark; empty where the series has none.
    std::string mark_shape(const Series &series, const Point &point, const Placed &placed) const {
        if (series.drawn == Drawn::bars) {
            const double begin = x_of(ranges_.x.clamp(point.from.value_or(ranges_.x.low)));
            return fmt::format("M{} {}H{}v{}H{}z", coordinate(begin),
                               coordinate(y_of(placed.y) - row_height * 0.36), coordinate(x_of(placed.x)),
                               coordinate(row_height * 0.72), coordinate(begin));
        }
        if (placed.clamped())
            return at_point(placed) + edge_path(placed.dx, placed.dy);
        if (series.drawn == Drawn::points || series.drawn == Drawn::lines)
            return at_point(placed) + marker_path(series.style, series.hollow, size_of_mark(series));
        return "";
    }

    /// Small where a line or a bar needs to be seen too.
    static double size_of_mark(const Series &series) {
        const bool spread = std::any_of(series.points.begin(), series.points.end(),
                                        [](const Point &point) { return point.low.has_value(); });
        return spread || series.drawn == Drawn::lines ? small_mark : mark;
    }

    static bool joined(const Series &series) {
        return series.drawn == Drawn::lines || series.drawn == Drawn::curve;
    }

    std::string polyline(const Series &series) const {
        std::string path;
        for (const Point &point : series.points) {
            const Placed placed = place(point, ranges_);
            path += fmt::format("{}{} {}", path.empty() ? "M" : "L", coordinate(x_of(placed.x)),
                                coordinate(y_of(placed.y)));
        }
        return path;
    }

    std::string spread_bars(const Series &series) const {
        std::string path;
        for (const Point &point : series.points)
            if (point.low && point.high && ranges_.x.holds(point.x))
                path += fmt::format("M{} {}V{}", coordinate(x_of(point.x)),
                                    coordinate(y_of(ranges_.y.clamp(*point.low))),
                                    coordinate(y_of(ranges_.y.clamp(*point.high))));
        return path;
    }

    /// Bars as one path; a hair between two that follow each other sets them apart.
    std::string span_bars(const Series &series) const {
        constexpr double hair = 0.4;
        std::string path;
        for (const Point &point : series.points) {
            const double begin = x_of(ranges_.x.clamp(point.from.value_or(ranges_.x.low)));
            const double end = x_of(ranges_.x.clamp(point.x));
            const double top = y_of(ranges_.y.clamp(point.y + series.thickness / 2.0));
            const double bottom = y_of(ranges_.y.clamp(point.y - series.thickness / 2.0));
            path += fmt::format("M{} {}H{}V{}H{}z", coordinate(begin), coordinate(top),
                                coordinate(end - begin > 3.0 * hair ? end - hair : end), coordinate(bottom),
                                coordinate(begin));
        }
        return path;
    }

    std::string staircase(const Series &series) const {
        std::string path;
        for (const Point &point : series.points) {
            const Placed placed = place(point, ranges_);
            path += path.empty() ? fmt::format("M{} {}", coordinate(x_of(placed.x)), coordinate(bottom_))
                                 : fmt::format("H{}", coordinate(x_of(placed.x)));
            path += fmt::format("V{}", coordinate(y_of(placed.y)));
        }
        // A distribution goes on at its last value up to the edge.
        return path + fmt::format("H{}", coordinate(right_));
    }

    std::vector<LegendEntry> legend() const {
        std::vector<LegendEntry> entries;
        if (figure_.point_count() == 0)
            return entries;
        for (const Series &series : figure_.series) {
            if (series.name.empty())
                continue;
            const char *hollow = series.hollow ? " hollow" : "";
            const std::size_t style = series.style % style_count;
            std::string shape;
            if (series.drawn == Drawn::steps || joined(series))
                shape = fmt::format("<path class=\"s{} line\" d=\"M-10 0h20\"/>", style);
            if (series.drawn == Drawn::bars || series.drawn == Drawn::spans)
                shape = fmt::format("<path class=\"s{}{}\" d=\"M-8-4h16v8h-16z\"/>", style, hollow);
            else if (series.drawn == Drawn::points || series.drawn == Drawn::lines)
                shape += fmt::format("<path class=\"s{}{}\" d=\"M0 0{}\"/>", style, hollow,
                                     marker_path(series.style, series.hollow, size_of_mark(series)));
            entries.push_back({shape, series.name});
        }
        for (std::size_t i = 0; i < figure_.references.size(); ++i)
            if (!figure_.references[i].label.empty())
                entries.push_back({fmt::format("<path class=\"{}\" d=\"M-11 0h22\"/>", reference_class(i)),
                                   figure_.references[i].label});
        for (const Band &band : figure_.bands)
            if (!band.label.empty())
                entries.push_back({"<path class=\"band\" d=\"M-11-5h22v10h-22z\"/>", band.label});
        if (const std::size_t count = beyond_count(figure_, ranges_); count > 0)
            entries.push_back(
                {"<path class=\"ref\" d=\"M0 0" + edge_path(1, 0) + "\"/>", beyond_text(count)});
        return entries;
    }

    const Figure &figure_;
    SvgUse use_;
    Ranges ranges_;
    std::vector<LegendEntry> legend_;
    std::vector<Placed> legend_at_;
    std::vector<Tick> x_ticks_, y_ticks_;
    double left_ = 0.0, right_ = 0.0, top_ = 0.0, bottom_ = 0.0, height_ = 0.0;
    std::string out_;
};

} // namespace

std::string to_svg(const Figure &figure, SvgUse use) {
    return SvgWriter(figure, use).write();
}

} // namespace convcast
