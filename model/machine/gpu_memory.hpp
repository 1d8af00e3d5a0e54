// How much memory a GPU has, by its name. No forecast of a time depends on it: it says what fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace convcast {

/// Bytes of a GPU's memory by the name that its driver tells, or that a shipped profile has; absent of a GPU
/// that is not known.
std::optional<std::int64_t> memory_bytes_of(const std::string &gpu);

} // namespace convcast
