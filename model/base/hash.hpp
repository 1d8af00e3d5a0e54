// Content hashes that tie data to the code or the profile that made it.
#pragma once

#include <string>
#include <vector>

namespace convcast {

/// XXH3-128 over the texts and their lengths, 32 hex digits.
std::string content_hash(const std::vector<std::string> &texts);

} // namespace convcast
