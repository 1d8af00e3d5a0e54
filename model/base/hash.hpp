// Content hashes, by which a document says which code or profile it was made with.
#pragma once

#include <string>
#include <vector>

namespace convcast {

/// XXH3-128 over the texts and their lengths, as 32 hex digits. Not secure against forgery.
std::string content_hash(const std::vector<std::string> &texts);

} // namespace convcast
