#include "executor/count/exact_counts.hpp"

#include "executor/count/case_counts.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

std::vector<std::string> exact_metric_names() {
    std::vector<std::string> names = metric_names(metrics::instrumented);
    for (const Metric &metric :
         {metrics::asked_wavefronts_load, metrics::asked_wavefronts_store, metrics::asked_wavefronts_copy})
        names.emplace_back(metric.name);
    return names;
}

bool lacks_exact_counts(const Case &item) {
    const Measurement *cold = item.measured(L2State::cold);
    if (!item.strategy || item.status != Status::ok || cold == nullptr)
        return false;
    const std::vector<std::string> names = exact_metric_names();
    return !cold->counters || std::any_of(names.begin(), names.end(), [&](const std::string &name) {
        return !cold->counters->contains(name);
    });
}

void add_exact_counts(Case &item, const std::map<std::string, double> &counters) {
    Measurement &cold = cold_measurement(item);
    const auto value = [&](const Metric &metric) { return counters.at(metric.name); };
    Work work = cold.work.value_or(Work{});
    if (ConvShape::parse(item.shape).dtype != DataType::i8)
        work.fmas = value(metrics::thread_ffma);
    const double asked = value(metrics::asked_wavefronts_load) + value(metrics::asked_wavefronts_store);
    work.shared_wavefronts_by_address = std::min(asked, work.shared_wavefronts.value_or(asked));
    cold.work = work;
    std::map<std::string, double> all = cold.counters.value_or(std::map<std::string, double>{});
    for (const auto &[name, count] : counters)
        all.insert_or_assign(name, count);
    cold.counters = std::move(all);
}

} // namespace convcast
