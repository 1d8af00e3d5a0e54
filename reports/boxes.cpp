#include "reports/boxes.hpp"

#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
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

/// Points of a unit where the boxes are as wide as the drawing.
double scale_of(const std::vector<Box> &boxes, const PaperWidth &width) {
    double right = 1.0;
    for (const Box &box : boxes)
        right = std::max(right, box.x + box.width);
    return (width.bp - 2.0 * margin) / right;
}

/// A light tone of a colour on white.
std::string light(const std::string &colour) {
    constexpr double share = 0.35, white = 255.0;
    std::string out = "#";
    for (std::size_t at = 0; at < 6; at += 2)
        out += fmt::format("{:02x}", std::lround(share * std::stoi(colour.substr(at, 2), nullptr, 16) +
                                                 (1.0 - share) * white));
    return out;
}

std::string drawn(const Box &box, double scale) {
    const double x = margin + scale * box.x, y = margin + scale * box.y, width = scale * box.width,
                 height = scale * box.height;
    std::string out;
    if (box.style)
        out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
                           "stroke=\"#555\" stroke-width=\"0.4\"/>\n",
                           x, y, width, height, light(palette[colour_of(*box.style)]));
    if (const double size = text_size(box, scale); !box.text.empty() && size > 0.0)
        out += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:.2f}\">{}</text>\n",
                           x + width / 2.0, y + height / 2.0 + 0.36 * size, size, escape_xml(box.text));
    return out;
}

} // namespace

PaperWidth width_for(const std::vector<Box> &boxes) {
    constexpr double least_read = 7.0; ///< points of a letter
    const double scale = scale_of(boxes, PaperWidth::column());
    const bool fits = std::ranges::all_of(
        boxes, [&](const Box &box) { return box.text.empty() || text_size(box, scale) >= least_read; });
    return fits ? PaperWidth::column() : PaperWidth::page();
}

std::string boxes_svg(const std::vector<Box> &boxes, const std::string &title, const PaperWidth &width) {
    double bottom = 1.0;
    for (const Box &box : boxes)
        bottom = std::max(bottom, box.y + box.height);
    const double scale = scale_of(boxes, width);
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
