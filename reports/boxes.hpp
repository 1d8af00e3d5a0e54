// Drawings that are no figures, as SVG: boxes with words in them (layouts of data, parts of an image, layers
// of a network), and the pictures of a data set.
#pragma once

#include "model/record/images.hpp"
#include "reports/figure.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// A rectangle, its sizes in units of the drawing, from the drawing's upper left corner.
struct Box {
    double x = 0.0, y = 0.0, width = 1.0, height = 1.0;
    std::optional<std::size_t> style; ///< its colour, as that of a series; absent: words alone
    std::string text;                 ///< in its middle; smaller than other text where it needs to be
};

/// A column's width if all words then fit their boxes in letters that can be read, else a page's.
PaperWidth width_for(const std::vector<Box> &boxes);

/// An SVG of that width on paper, which the boxes fill. They are drawn in order, so that a box hides what is
/// under it. `title` is read out.
std::string boxes_svg(const std::vector<Box> &boxes, const std::string &title, const PaperWidth &width);

/// Five pictures beside each other, each with its name below it; what is 0 in the data is white. Neighbouring
/// pixels of a row that have the same grey are one rectangle. `title` is read out.
std::string images_svg(const GreyImages &images, const std::string &title, const PaperWidth &width);

} // namespace convcast
