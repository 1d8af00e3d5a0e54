// The split of shapes into the part that may be fitted and the part that may not.
#pragma once

#include <cstdint>
#include <string>

namespace convcast {

/// A fifth of all shapes: what may be fitted is fitted on these, and judged on the others. By the hash of the
/// shape's canonical text, so no one chooses.
bool in_training_part(const std::string &shape_id);

/// Drawn from a text, the same on every machine.
std::uint64_t seed_of(const std::string &text);

} // namespace convcast
