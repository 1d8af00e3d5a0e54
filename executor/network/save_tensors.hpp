// The numbers of a run of a network as files, so that another implementation can be given the same and
// compared: the network itself, its images, each operator's parameters and the outputs. docs/networks.md says
// how the files are named.
#pragma once

#include "executor/network/network_data.hpp"
#include "model/network/network.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace convcast {

/// FOLDER/network.json, FOLDER/input.npy and FOLDER/parameters_N.npy of operator number N. Throws InputError
/// if the folder cannot be written.
void save_inputs(const std::string &folder, const Network &network, std::int64_t batch,
                 const NetworkData &data);

/// FOLDER/output_N.npy of operator number N.
void save_output(const std::string &folder, const Network &network, std::int64_t batch, std::size_t op,
                 std::span<const float> values);

} // namespace convcast
