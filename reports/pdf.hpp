// An SVG as a PDF, by rsvg-convert where it is installed.
#pragma once

#include <filesystem>
#include <string>

namespace convcast {

/// "" if `pdf` was made, else why not. The PDF appears whole: it is written beside its place, then renamed.
std::string svg_to_pdf(const std::filesystem::path &svg, const std::filesystem::path &pdf);

} // namespace convcast
