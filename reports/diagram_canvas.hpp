// What diagrams of plans and of shared memory are drawn with: a canvas for SVG, colours and shades.
#pragma once

#include "reports/figure_layout.hpp"
#include "reports/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast::diagram {

/// When a CTA needs something, which the drawing tells by shades: in the step that it computes, in the next,
/// which it copies meanwhile, or in a later one. A halo, which is needed besides its own part, is hatched.
enum class When { now, next, later, halo };

inline constexpr const char *map_colour = "#0072B2";
inline constexpr const char *filter_colour = "#D55E00";
inline constexpr const char *output_colour = "#009E73";

inline constexpr double gap = 3.0, line_height = 10.5;

struct DiagramKey {
    When when;
    std::string colour, words;
};

/// An SVG of a diagram, drawn element by element. Lengths are PostScript points from the upper left corner;
/// every text is 8 points high. `look` is attributes of SVG. What returns a double returns the lower end of
/// what it drew.
class Canvas {
  public:
    explicit Canvas(double width) : width_(width) {}

    double width() const { return width_; }

    void rect(double x, double y, double w, double h, const std::string &look) {
        body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", coordinate(x),
                             coordinate(y), coordinate(w), coordinate(h), look);
    }
    void line(double x1, double y1, double x2, double y2, const std::string &look) {
        body_ += fmt::format("<path d=\"M{} {}L{} {}\" {}/>\n", coordinate(x1), coordinate(y1),
                             coordinate(x2), coordinate(y2), look);
    }
    /// White lines between square cells and around them.
    void grid(double x, double y, double cell, std::int64_t columns, std::int64_t rows) {
        const double right = x + double(columns) * cell, lower = y + double(rows) * cell;
        std::string path;
        for (std::int64_t i = 0; i <= columns; ++i)
            path += fmt::format("M{0} {1}V{2}", coordinate(x + double(i) * cell), coordinate(y),
                                coordinate(lower));
        for (std::int64_t i = 0; i <= rows; ++i)
            path += fmt::format("M{0} {1}H{2}", coordinate(x), coordinate(y + double(i) * cell),
                                coordinate(right));
        body_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#fff\" stroke-width=\"0.5\"/>\n", path);
    }
    /// Words in a line whose upper end is y; `look` is a class, "strong" or "light" (white).
    void text(double x, double y, const std::string &words, const char *anchor = "start",
              const std::string &look = "") {
        body_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", coordinate(x),
                             coordinate(y + 0.95 * paper_text_bp), anchor,
                             look.empty() ? "" : " class=\"" + look + "\"", escape_xml(words));
    }

    /// A rectangle in the colour of a tensor and the shade of a step.
    void patch(double x, double y, double w, double h, const std::string &colour, When when) {
        constexpr double least = 1.2; // points; narrower is not seen
        rect(x, y, std::max(w, least), std::max(h, least),
             when == When::halo ? fmt::format("fill=\"url(#hatch)\" stroke=\"{}\" stroke-width=\"0.6\" "
                                              "stroke-dasharray=\"2 1.2\"",
                                              colour)
                                : fmt::format("fill=\"{}\"{}", colour,
                                              when == When::now    ? ""
                                              : when == When::next ? " fill-opacity=\"0.5\""
                                                                   : " fill-opacity=\"0.22\""));
    }

    double heading(double y, const std::string &words) {
        text(gap, y, words, "start", "strong");
        return y + line_height + gap;
    }

    /// Entries side by side, each a patch and what it means.
    double legend(double y, const std::vector<DiagramKey> &entries) {
        double x = gap;
        for (const DiagramKey &entry : entries) {
            patch(x, y + 1.5, 9.0, 6.5, entry.colour, entry.when);
            text(x + 12.0, y, entry.words);
            x += 12.0 + text_width(entry.words, paper_text_bp) + 9.0;
        }
        return y + line_height + gap;
    }

    /// The whole SVG; `title` is read out.
    std::string finish(double height, const std::string &title) const {
        return fmt::format(
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" viewBox=\"0 0 {0} {1}\" "
                   "width=\"{0}pt\" "
                   "height=\"{1}pt\" role=\"img\" "
                   "aria-label=\"{2}\">\n<title>{2}</title>\n<style>text{{font:{3}px 'DejaVu "
                   "Sans',Verdana,sans-serif;fill:#222}}.strong{{font-weight:bold}}.light{{fill:#fff}}</"
                   "style>\n<defs><pattern "
                   "id=\"hatch\" width=\"3\" height=\"3\" patternUnits=\"userSpaceOnUse\"><path "
                   "d=\"M0 3L3 0\" stroke=\"#555\" stroke-width=\"0.5\"/></pattern></defs>\n<rect "
                   "width=\"100%\" "
                   "height=\"100%\" fill=\"#fff\"/>\n",
                   coordinate(width_), coordinate(height), escape_xml(title), coordinate(paper_text_bp)) +
               body_ + "</svg>\n";
    }

  private:
    double width_;
    std::string body_;
};

inline constexpr const char *frame = "fill=\"none\" stroke=\"#444\" stroke-width=\"0.6\"";
inline constexpr const char *thin_frame = "fill=\"none\" stroke=\"#999\" stroke-width=\"0.35\"";
inline constexpr const char *thin = "stroke=\"#999\" stroke-width=\"0.35\"";

} // namespace convcast::diagram
