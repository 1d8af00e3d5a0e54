#include "executor/network/node_spans.hpp"

#include <algorithm>
#include <vector>

namespace convcast {

std::vector<CallNodes> node_spans(StopWatch &watch, const StopWatch::Call &call, bool several_streams,
                                  bool only_kernels) {
    constexpr int calls = 15;
    StopWatchOptions how;
    how.l2 = L2State::warm;
    how.min_samples = how.max_samples = 1;
    how.warm_up = Seconds(0.0);
    std::vector<CallNodes> all(calls);
    for (CallNodes &spans : all) {
        std::vector<ActivityRecord> records = watch.measure(call, how).activities;
        if (several_streams)
            std::stable_sort(
                records.begin(), records.end(),
                [](const ActivityRecord &a, const ActivityRecord &b) { return a.call < b.call; });
        for (const ActivityRecord &record : records)
            if (!only_kernels || record.kind == ActivityKind::kernel)
                spans.push_back({record.start_ns, record.end_ns});
    }
    return all;
}

} // namespace convcast
