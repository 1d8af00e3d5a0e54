// --devices: a network's training on several GPUs, forecast and measured.
#pragma once

#include "cli/arguments.hpp"

namespace convcast::cli {

/// Forward, backward and step of each split, from the profile's matrix of copies.
int predict_scaling(const Arguments &arguments);

/// The same measured, beside the forecast; with --data a training by one split. 1 where a result is wrong.
int run_scaling_network(const Arguments &arguments);

} // namespace convcast::cli
