// Which files a kernel of the user's own consists of.
#pragma once

#include <string>
#include <vector>

namespace convcast {

/// The files that read_own_kernel (model/record/own_kernel.hpp) reads for this one, as far as they are there:
/// the launch file, the source, what that includes.
std::vector<std::string> files_of_own_kernel(const std::string &file);

} // namespace convcast
