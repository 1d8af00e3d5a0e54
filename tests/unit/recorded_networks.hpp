// An H200, and runs of networks that were recorded on it.
#pragma once

#include "model/base/described.hpp"
#include "model/base/files.hpp"
#include "model/machine/profile.hpp"
#include "model/network/network_run.hpp"

#include <string>

namespace convcast {

inline const GpuProfile &h200() {
    static const GpuProfile its = find_profile("h200");
    return its;
}

/// "ladders/mnist_b2048"
inline NetworkRun recorded_network(const std::string &name) {
    const std::string file = std::string(CONVCAST_SOURCE_DIR) + "/data/recorded/h200/" + name + ".json";
    return described::read_document<NetworkRun>(read_file(file), file, NetworkRun().schema);
}

} // namespace convcast
