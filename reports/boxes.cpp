#include "reports/boxes.hpp"

#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

namespace convcast {
namespace {

constexpr double margin = 4.0; ///< around the drawing and between pictures, points

/// An SVG of that size in points: `body`, which is SVG, on white.
std::string sheet(double width, double height, const std::string &title, const std::string &body) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.2f} {1:.2f}\" width=\"{0:.2f}pt\" "
        "height=\"{1:.2f}pt\" role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n<style>text{{font-family:"
        "'DejaVu Sans',Verdana,sans-serif;fill:#222;text-anchor:middle}}</style>\n<rect width=\"100%\" "
        "height=\"100%\" fill=\"#fff\"/>\n{3}</svg>\n",
        width, height, escape_xml(title), body);
}

/// SVG of words whose middle is at x; they stand on the line y.
std::string words_at(double x, double y, double size, const std::string &text) {
    return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:.2f}\">{}</text>\n", x, y, size,
                       escape_xml(text));
}

/// The largest font size, at most that of a figure's text, at which the words fit the box; points. `scale` is
/// points in a unit of the drawing.
double text_size(const Box &box, double scale) {
    constexpr double room = 0.92, line = 1.2; // of the box's width; height of a line over the font size
    double size = std::min(paper_text_bp, scale * box.height / line);
    if (const double wide = text_width(box.text, size); wide > room * scale * box.width)
        size *= room * scale * box.width / wide;
    return size;
}

/// Points in a unit of the drawing if the boxes fill its width.
double scale_of(const std::vector<Box> &boxes, const PaperWidth &width) {
    double right = 1.0;
    for (const Box &box : boxes)
        right = std::max(right, box.x + box.width);
    return (width.bp - 2.0 * margin) / right;
}

/// A light tone of a colour "rrggbb", as "#rrggbb".
std::string light(const std::string &colour) {
    constexpr double share = 0.35, white = 255.0;
    std::string out = "#";
    for (std::size_t at = 0; at < 6; at += 2)
        out += fmt::format("{:02x}", std::lround(share * std::stoi(colour.substr(at, 2), nullptr, 16) +
                                                 (1.0 - share) * white));
    return out;
}

/// SVG of a box and its words; `scale` is points in a unit of the drawing.
std::string drawn(const Box &box, double scale) {
    const double x = margin + scale * box.x, y = margin + scale * box.y, width = scale * box.width,
                 height = scale * box.height;
    std::string out;
    if (box.style)
        out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
                           "stroke=\"#555\" stroke-width=\"0.4\"/>\n",
                           x, y, width, height, light(palette[colour_of(*box.style)]));
    if (const double size = text_size(box, scale); !box.text.empty() && size > 0.0)
        out += words_at(x + width / 2.0, y + height / 2.0 + 0.36 * size, size, box.text);
    return out;
}

/// SVG of an image whose unit is a pixel: a path for each grey, of the runs of pixels in a row that have it.
/// The digits of the image are hexadecimal; 0 is white, which is not drawn.
std::string pixels(const GreyImage &image) {
    constexpr std::size_t greys = 16;
    std::array<std::string, greys> paths;
    for (std::size_t y = 0; y < image.rows.size(); ++y) {
        const std::string &row = image.rows[y];
        for (std::size_t x = 0, end = 0; x < row.size(); x = end) {
            end = std::min(row.find_first_not_of(row[x], x), row.size());
            const int grey = row[x] <= '9' ? row[x] - '0' : row[x] - 'a' + 10;
            fmt::format_to(std::back_inserter(paths[static_cast<std::size_t>(grey)]), "M{} {}h{}v1H{}z", x, y,
                           end - x, x);
        }
    }
    std::string out;
    for (std::size_t grey = 1; grey < greys; ++grey)
        if (!paths[grey].empty())
            out +=
                fmt::format("<path fill=\"#{0:x}{0:x}{0:x}\" d=\"{1}\"/>\n", greys - 1 - grey, paths[grey]);
    return out;
}

} // namespace

PaperWidth width_for(const std::vector<Box> &boxes) {
    constexpr double least_read = 7.0; // points of a letter that is read on paper; chosen
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
    std::string body;
    for (const Box &box : boxes)
        body += drawn(box, scale);
    return sheet(width.bp, scale * bottom + 2.0 * margin, title, body);
}

std::string images_svg(const GreyImages &images, const std::string &title, const PaperWidth &width) {
    constexpr std::size_t across = 5;
    const std::size_t columns = std::min(across, images.images.size()),
                      lines = (images.images.size() + columns - 1) / columns;
    const auto wide = static_cast<double>(images.images.front().rows.front().size()),
               high = static_cast<double>(images.images.front().rows.size());
    const double each = (width.bp - margin) / static_cast<double>(columns), scale = (each - margin) / wide,
                 line = scale * high + 2.0 * margin + paper_text_bp;
    std::string body;
    for (std::size_t i = 0; i < images.images.size(); ++i) {
        const double x = margin + each * static_cast<double>(i % columns),
                     y = margin + line * static_cast<double>(i / columns);
        body += fmt::format("<g transform=\"translate({:.2f} {:.2f}) scale({:.4f})\" "
                            "shape-rendering=\"crispEdges\">\n{}</g>\n",
                            x, y, scale, pixels(images.images[i]));
        body += words_at(x + 0.5 * scale * wide, y + scale * high + paper_text_bp, paper_text_bp,
                         images.images[i].name);
    }
    return sheet(width.bp, margin + line * static_cast<double>(lines), title, body);
}

} // namespace convcast
