// Cases as runs record them, for tests of what goes on with them.
#pragma once

#include "model/record/run.hpp"

#include <string>
#include <utility>
#include <vector>

namespace convcast {

inline Case case_of(const std::string &shape, const std::string &strategy, Status status = Status::ok) {
    Case item;
    item.shape = shape;
    item.strategy = strategy;
    item.status = status;
    return item;
}

/// With a cold L2.
inline Case measured_case(const std::string &shape, const std::string &strategy, double seconds,
                          const std::vector<double> &samples = {}) {
    Case item = case_of(shape, strategy);
    Measurement &m = item.measurements.emplace_back();
    m.time_s = Seconds(seconds);
    m.method = "events";
    m.stop_reason = "count";
    for (const double sample : samples)
        m.samples_s.emplace_back(sample);
    return item;
}

inline Run run_of(std::vector<Case> cases) {
    Run run;
    run.profile_id = "h200";
    run.cases = std::move(cases);
    return run;
}

} // namespace convcast
