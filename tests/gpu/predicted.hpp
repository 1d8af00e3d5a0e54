// What tests compile and run: plans for the H200's profile, whatever the device is.
#pragma once

#include "executor/launch/kernel_source.hpp"
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

/// A launch's kernel is as its plan reckons with it: no spills, registers within the cap, no shared memory
/// beside the launch's.
inline void expect_sound(const CompiledModule &compiled, const Partition &part) {
    SCOPED_TRACE(name_expression(part));
    const KernelFacts &facts = compiled.facts(name_expression(part));
    // ptxas serialises wgmma where registers do not suffice, and says so only in its log.
    EXPECT_EQ(compiled.log.find("wgmma.mma_async instructions are serialized"), std::string::npos);
    EXPECT_LE(facts.registers, part.register_cap);
    EXPECT_EQ(facts.spill_store_bytes, 0);
    EXPECT_EQ(facts.spill_load_bytes, 0);
    EXPECT_EQ(facts.static_shared_bytes, 0);
}

/// The plans of cases, which must stay where they are.
inline std::vector<PlanTask> tasks_of(const std::vector<Case> &cases) {
    std::vector<PlanTask> tasks;
    for (const Case &item : cases)
        tasks.push_back({&*item.prediction->plan, ConvShape::parse(item.shape)});
    return tasks;
}

} // namespace convcast
