// Pictures of a data set as SVG.
#pragma once

#include "model/record/images.hpp"
#include "reports/figure.hpp"

#include <string>

namespace convcast {

/// Five beside each other, each with its name below it; what is 0 in the data is white. Neighbouring pixels
/// of a row that have the same grey are one rectangle. `title` is read out.
std::string images_svg(const GreyImages &images, const std::string &title, const PaperWidth &width);

} // namespace convcast
