#include "reports/boxes.hpp"

#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace convcast {
namespace {

constexpr double margin = 4.0; ///< of the drawing, points

/// The largest size up to that of a figure's text at which the words fit the box.
double text_size(const Box &box, double scale) {
    constexpr double room = 0.92, line = 1.2;
    double size = std::min(paper_text_bp, scale * box.height / line);
    if (const double wide = text_width(box.text, size); wide > room * scale * box.width)
        size *= room * scale * box.width / wide;
    return size;
}

std::string drawn(const Box &box, double scale) {
    const double x = margin + scale * box.x, y = margin + scale * box.y, width = scale * box.width,
                 height = scale * box.height;
    std::string out;
    if (box.style)
        out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#{}\" "
                           "fill-opacity=\"0.35\" stroke=\"#555\" stroke-width=\"0.4\"/>\n",
                           x, y, width, height, palette[colour_of(*box.style)]);
    if (const double size = text_size(box, scale); !box.text.empty() && size > 0.0)
        out += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:.2f}\">{}</text>\n",
                           x + width / 2.0, y + height / 2.0 + 0.36 * size, size, escape_xml(box.text));
    return out;
}

} // namespace

std::string boxes_svg(const std::vector<Box> &boxes, const std::string &title, const PaperWidth &width) {
    double right = 1.0, bottom = 1.0;
    for (const Box &box : boxes) {
        right = std::max(right, box.x + box.width);
        bottom = std::max(bottom, box.y + box.height);
    }
    const double scale = (width.bp - 2.0 * margin) / right;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.2f} {1:.2f}\" width=\"{0:.2f}pt\" "
        "height=\"{1:.2f}pt\" role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n<style>text{{font-family:"
        "'DejaVu Sans',Verdana,sans-serif;fill:#222;text-anchor:middle}}</style>\n<rect width=\"100%\" "
        "height=\"100%\" fill=\"#fff\"/>\n",
        width.bp, scale * bottom + 2.0 * margin, escape_xml(title));
    for (const Box &box : boxes)
        out += drawn(box, scale);
    return out + "</svg>\n";
}

} // namespace convcast
