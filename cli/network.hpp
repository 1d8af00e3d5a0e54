// --network: what predict and choose say of a whole network.
#pragma once

#include "cli/arguments.hpp"
#include "model/network/scaling.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// --network, --batch
std::vector<Option> network_options();

/// Throws UsageError if --batch or an option of training stands without --network, which alone gives it a
/// meaning.
bool asks_network(const std::string &verb, const Arguments &arguments);

/// The forecast of the network as text, or as a document by --json and -o. Returns the exit code.
int predict_network(const Arguments &arguments);

/// The strategies of its convolutions, the `--top` first of each.
int choose_network(const Arguments &arguments);

/// The rungs of the network's ladder on the GPU at hand: verified and timed. 1 where a result is wrong.
int run_network(const Arguments &arguments);

/// Training on the IDX files of --data, split over GPUs.
int train_network_on(const Arguments &arguments, const Network &network, const std::vector<int> &devices,
                     DeviceSplit split);

} // namespace convcast::cli
