// A comparison in every format.
#pragma once

#include "cli/sheet.hpp"
#include "model/base/comparison.hpp"

#include <string>

namespace convcast::cli {

/// `all`: also the rows in which nothing changed, and those that only one file has.
std::string comparison_text(const ComparedFiles &comparison, Format format, bool all);

} // namespace convcast::cli
