// Cases of networks for people: what predict, run and report say of a ladder's implementations and of steps
// on GPUs.
#pragma once

#include "cli/arguments.hpp"
#include "model/network/network_run.hpp"

#include <string>

namespace convcast::cli {

/// The cases with what is known of each: forecast, measured, published. `gpu` names the GPU of the times.
std::string cases_text(const NetworkRun &run, const std::string &gpu);

/// The document where --json or -o ask for it, else the text.
void write_network(const Arguments &arguments, const NetworkRun &run, const std::string &text);

} // namespace convcast::cli
