// What tests on a device run: plans for the H200's profile, whatever the device is.
#pragma once

#include "executor/launch/prepare.hpp"
#include "model/predict.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace convcast {

inline const GpuProfile &h200() {
    static const GpuProfile profile = find_profile("h200");
    return profile;
}

inline unsigned all_threads() {
    return std::max(1U, std::thread::hardware_concurrency());
}

inline Case predicted(const Strategy &strategy, const std::string &shape) {
    static const Knowledge knowledge = knowledge_for(h200());
    return predict(strategy, ConvShape::parse(shape), h200(), knowledge);
}

inline Case predicted(const std::string &strategy, const std::string &shape) {
    return predicted(parse_strategy(strategy), shape);
}

/// A strategy, and a shape that it does.
struct Asked {
    std::string strategy, shape;
};

inline std::vector<Case> predicted(const std::vector<Asked> &all) {
    std::vector<Case> cases;
    for (const Asked &asked : all) {
        cases.push_back(predicted(asked.strategy, asked.shape));
        EXPECT_EQ(cases.back().status, Status::ok)
            << asked.strategy << " " << asked.shape << ": " << cases.back().reason.value_or("");
    }
    return cases;
}

/// The plans of cases, which must stay where they are.
inline std::vector<PlanTask> tasks_of(const std::vector<Case> &cases) {
    std::vector<PlanTask> tasks;
    for (const Case &item : cases)
        tasks.push_back({&*item.prediction->plan, ConvShape::parse(item.shape)});
    return tasks;
}

} // namespace convcast
