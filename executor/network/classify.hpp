// A network's outputs for many images, by a rung of its ladder.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/reference.hpp"

#include <cstdint>
#include <vector>

namespace convcast {

/// The class of each image: by as many images a call as the rung takes, at most 2048.
std::vector<std::uint8_t> classes_by(Compiler &compiler, const Device &device, const Ladder &ladder,
                                     const Rung &rung, const Network &network, const LabelledImages &images,
                                     const Parameters &parameters);

/// Index of the operator whose output is the network's: the last that is no loss.
std::size_t output_operator(const Network &network);

} // namespace convcast
