// The split of shapes into the part that may be fitted and the part that may not.
#pragma once

#include "model/base/hash.hpp"

#include <cstdint>
#include <string>

namespace convcast {

/// A number drawn from the hash of a text, the same on every machine.
inline std::uint64_t seed_of(const std::string &text) {
    return std::stoull(content_hash({text}).substr(0, 16), nullptr, 16);
}

/// Whether a shape, by its ConvShape::id, is in the fifth of all shapes that facts and calibration are made
/// from; forecasts are judged on the others. The hash of the id decides, so that nobody chooses.
inline bool in_training_part(const std::string &shape_id) {
    return seed_of(shape_id) % 5 == 0;
}

} // namespace convcast
