// A small network that has every kind of operator that runs, most of them alone and some behind each other.
#pragma once

#include "model/machine/knowledge.hpp"
#include "model/network/forecast.hpp"
#include "model/network/network.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// As it runs on the H200, whatever the device is, without forecasts of what else could be done.
inline PlannedNetwork planned_network(const Network &network, std::int64_t batch,
                                      const std::vector<std::string> &strategies = {},
                                      const std::string &schedule = "") {
    const GpuProfile h200 = find_profile("h200");
    NetworkQuestion question;
    question.batch = batch;
    question.strategies = strategies;
    question.what_if = false;
    if (!schedule.empty())
        question.schedule = parse_schedule(schedule, network.id + ".schedule");
    return plan_network(network, h200, knowledge_for(h200), question);
}

inline Network network_of_every_operator() {
    return read_network(R"({"schema": "convcast/network/1", "id": "every", "title": "t", "citation": "c",
        "input": [8, 12, 12], "outputs": ["q", "end"], "operators": [
        {"name": "grouped", "kind": "convolution", "outputs": 16, "window": [3, 3], "pad": [2, 2], "dilation": [2, 2],
         "groups": 2, "output": [16, 12, 12]},
        {"name": "grouped_bias", "kind": "bias", "output": [16, 12, 12]},
        {"name": "grouped_silu", "kind": "silu", "output": [16, 12, 12]},
        {"name": "depthwise", "kind": "convolution", "outputs": 16, "window": [3, 3], "pad": [1, 1], "groups": 16,
         "output": [16, 12, 12]},
        {"name": "depthwise_bias", "kind": "bias", "output": [16, 12, 12]},
        {"name": "clip", "kind": "clip", "low": 0, "high": 6, "output": [16, 12, 12]},
        {"name": "squeeze", "kind": "average_pooling", "window": [12, 12], "output": [16, 1, 1]},
        {"name": "fc1", "kind": "convolution", "outputs": 4, "window": [1, 1], "output": [4, 1, 1]},
        {"name": "fc1_bias", "kind": "bias", "output": [4, 1, 1]},
        {"name": "fc1_swish", "kind": "hard_swish", "output": [4, 1, 1]},
        {"name": "fc2", "kind": "convolution", "outputs": 16, "window": [1, 1], "output": [16, 1, 1]},
        {"name": "gate", "kind": "hard_logistic", "alpha": 0.16666667, "beta": 0.5, "output": [16, 1, 1]},
        {"name": "excite", "kind": "multiply", "from": ["clip", "gate"], "output": [16, 12, 12]},
        {"name": "scale", "kind": "scale", "output": [16, 12, 12]},
        {"name": "leaky", "kind": "leaky_relu", "alpha": 0.1, "output": [16, 12, 12]},
        {"name": "row", "kind": "slice", "from": ["leaky"], "begin": [0, 3, 0], "output": [16, 1, 12]},
        {"name": "over_rows", "kind": "add", "from": ["leaky", "row"], "output": [16, 12, 12]},
        {"name": "every_second", "kind": "slice", "begin": [2, 0, 1], "step": [3, 2, 2], "output": [5, 6, 6]},
        {"name": "wide", "kind": "pad", "pad": [1, 2], "pad_end": [0, 1], "alpha": 0.25, "output": [5, 7, 9]},
        {"name": "near", "kind": "resize", "mode": "nearest", "output": [5, 12, 12]},
        {"name": "linear", "kind": "linear", "alpha": 0.5, "beta": 0.125, "output": [5, 12, 12]},
        {"name": "bilinear", "kind": "resize", "from": ["every_second"], "mode": "bilinear", "output": [5, 12, 12]},
        {"name": "tanh", "kind": "tanh", "output": [5, 12, 12]},
        {"name": "corners", "kind": "resize", "from": ["every_second"], "mode": "bilinear_corners", "output": [5, 9, 7]},
        {"name": "asymmetric", "kind": "resize", "mode": "bilinear_asymmetric", "output": [5, 12, 12]},
        {"name": "all", "kind": "concat", "from": ["over_rows", "linear", "tanh", "asymmetric"], "output": [31, 12, 12]},
        {"name": "all_logistic", "kind": "logistic", "output": [31, 12, 12]},
        {"name": "norm", "kind": "layer_norm", "alpha": 0.00001, "output": [31, 12, 12]},
        {"name": "gelu", "kind": "gelu", "output": [31, 12, 12]},
        {"name": "erf", "kind": "erf", "output": [31, 12, 12]},
        {"name": "less", "kind": "slice", "begin": [0, 0, 0], "output": [30, 12, 12]},
        {"name": "shuffle", "kind": "transpose", "sizes": [3, 10, 12, 12], "order": [1, 0, 2, 3], "output": [30, 12, 12]},
        {"name": "up", "kind": "transposed_convolution", "outputs": 6, "window": [3, 3], "stride": [2, 2], "pad": [1, 1],
         "pad_end": [0, 0], "groups": 3, "output": [6, 24, 24]},
        {"name": "up_bias", "kind": "bias", "output": [6, 24, 24]},
        {"name": "up_relu", "kind": "relu", "output": [6, 24, 24]},
        {"name": "p", "kind": "max_pooling", "window": [3, 3], "stride": [2, 2], "pad_end": [1, 1], "output": [6, 12, 12]},
        {"name": "p_relu", "kind": "relu", "output": [6, 12, 12]},
        {"name": "q", "kind": "average_pooling", "window": [3, 3], "stride": [1, 1], "pad": [1, 1], "inside": true,
         "output": [6, 12, 12]},
        {"name": "flat", "kind": "reshape", "output": [864, 1, 1]},
        {"name": "d", "kind": "dense", "outputs": 20, "output": [20, 1, 1]},
        {"name": "d_bias", "kind": "bias", "output": [20, 1, 1]},
        {"name": "d_silu", "kind": "silu", "output": [20, 1, 1]},
        {"name": "end", "kind": "softmax", "output": [20, 1, 1]}]})",
                        "every.json");
}

} // namespace convcast
