// Images for training where no data set is at hand: CI and first tries.
#pragma once

#include "model/network/idx.hpp"

#include <cstdint>

namespace convcast {

/// `count` images of ten classes, each class a grating of its own direction and width, shifted at random and
/// under noise. The same for the same seed.
LabelledImages generated_images(const ImageShape &shape, std::int64_t count, std::uint64_t seed);

} // namespace convcast
