// An H200, what it is asked of networks, and runs of networks that were recorded on it.
#pragma once

#include "model/base/document.hpp"
#include "model/base/files.hpp"
#include "model/machine/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/network/forecast.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

inline const GpuProfile &h200() {
    static const GpuProfile its = find_profile("h200");
    return its;
}

/// Of these images, without changes of the GPU.
inline NetworkQuestion only_time(std::int64_t batch = 1, std::vector<std::string> strategies = {}) {
    NetworkQuestion question;
    question.batch = batch;
    question.strategies = std::move(strategies);
    question.what_if = false;
    return question;
}

inline PlannedNetwork planned_on_h200(const Network &network, const NetworkQuestion &question) {
    return plan_network(network, h200(), knowledge_for(h200()), question);
}

/// "ladders/mnist_b2048"
inline NetworkRun recorded_network(const std::string &name) {
    const std::string file = std::string(CONVCAST_SOURCE_DIR) + "/data/recorded/h200/" + name + ".json";
    return described::read_document<NetworkRun>(read_file(file), file);
}

} // namespace convcast
