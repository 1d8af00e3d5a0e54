#include "reports/images_svg.hpp"

#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>

namespace convcast {
namespace {

constexpr std::size_t across = 5, greys = 16;
constexpr double gap = 4.0; ///< between images and around all, points

int grey_of(char digit) {
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/// For each grey the runs of pixels that have it, as one path in units of a pixel.
std::string pixels(const GreyImage &image) {
    std::array<std::string, greys> paths;
    for (std::size_t y = 0; y < image.rows.size(); ++y) {
        const std::string &row = image.rows[y];
        for (std::size_t x = 0, end = 0; x < row.size(); x = end) {
            end = std::min(row.find_first_not_of(row[x], x), row.size());
            fmt::format_to(std::back_inserter(paths[static_cast<std::size_t>(grey_of(row[x]))]),
                           "M{} {}h{}v1H{}z", x, y, end - x, x);
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

std::string images_svg(const GreyImages &images, const std::string &title, const PaperWidth &width) {
    const std::size_t columns = std::min(across, images.images.size()),
                      lines = (images.images.size() + columns - 1) / columns;
    const auto wide = static_cast<double>(images.images.front().rows.front().size()),
               high = static_cast<double>(images.images.front().rows.size());
    const double each = (width.bp - gap) / static_cast<double>(columns), scale = (each - gap) / wide,
                 line = scale * high + 2.0 * gap + paper_text_bp;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.2f} {1:.2f}\" width=\"{0:.2f}pt\" "
        "height=\"{1:.2f}pt\" role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n<style>text{{font-family:"
        "'DejaVu Sans',Verdana,sans-serif;fill:#222;text-anchor:middle}}</style>\n<rect width=\"100%\" "
        "height=\"100%\" fill=\"#fff\"/>\n",
        width.bp, gap + line * static_cast<double>(lines), escape_xml(title));
    for (std::size_t i = 0; i < images.images.size(); ++i) {
        const double x = gap + each * static_cast<double>(i % columns),
                     y = gap + line * static_cast<double>(i / columns);
        out += fmt::format("<g transform=\"translate({:.2f} {:.2f}) scale({:.4f})\" "
                           "shape-rendering=\"crispEdges\">\n{}</g>\n",
                           x, y, scale, pixels(images.images[i]));
        out += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:.2f}\">{}</text>\n",
                           x + 0.5 * scale * wide, y + scale * high + paper_text_bp, paper_text_bp,
                           escape_xml(images.images[i].name));
    }
    return out + "</svg>\n";
}

} // namespace convcast
