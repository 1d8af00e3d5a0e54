// How much memory a GPU has, by its name. No forecast of a time depends on it: it says what fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace convcast {

/// Bytes of memory of the GPU of this name, as its driver or a shipped profile has it; absent if not known.
std::optional<std::int64_t> memory_bytes_of(const std::string &gpu);

} // namespace convcast
