// The split of shapes into the part that may be fitted and the part that may not.
#pragma once

#include "model/base/hash.hpp"

#include <cstdint>
#include <string>

namespace convcast {

/// Drawn from a text, the same on every machine.
inline std::uint64_t seed_of(const std::string &text) {
    return std::stoull(content_hash({text}).substr(0, 16), nullptr, 16);
}

/// A fifth of all shapes: what may be fitted is fitted on these, and judged on the others. By the hash of the
/// shape's canonical text, so no one chooses.
inline bool in_training_part(const std::string &shape_id) {
    return seed_of(shape_id) % 5 == 0;
}

} // namespace convcast
