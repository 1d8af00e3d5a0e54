#include "executor/kept_run.hpp"

#include <cstddef>

namespace convcast {
namespace {

constexpr const char *not_reached = "not run yet";

} // namespace

bool is_open(const Case &item) {
    return item.measurements.empty() && item.status != Status::infeasible &&
           item.status != Status::unsupported;
}

void mark_not_run(Run &run) {
    for (Case &item : run.cases)
        if (is_open(item) && item.status == Status::ok) {
            item.status = Status::not_run;
            item.reason = not_reached;
        }
}

void KeptRun::update(const Run &run) {
    run_.conditions = run.conditions;
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
        const Case &now = run.cases[i], &kept = run_.cases[i];
        if (now.status != Status::not_run && (now.status != kept.status || now.reason != kept.reason ||
                                              now.measurements.size() != kept.measurements.size()))
            update(run, i);
    }
}

void KeptRun::update(const Run &run, std::size_t index) {
    run_.cases[index] = run.cases[index];
}

Run KeptRun::interrupted() const {
    Run run = run_;
    for (Case &item : run.cases)
        if (item.status == Status::not_run && item.reason == not_reached)
            item.reason = "interrupted";
    return run;
}

} // namespace convcast
