#include "executor/count/case_counts.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

std::vector<std::string> exact_metric_names() {
    return metric_names(std::array{metrics::asked_wavefronts_load, metrics::asked_wavefronts_store,
                                   metrics::asked_wavefronts_copy},
                        metric_names(metrics::instrumented));
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
    const auto value = [&](const char *metric) { return counters.at(metric); };
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

namespace {

Regime counted_regime(const Measurement &m, const GpuProfile &profile) {
    const auto counter = [&](const char *metric) { return m.counters->at(metric); };
    const double seconds = m.time_s.value;
    const Work &work = *m.work;
    double dram = counter(metrics::dram_busy) / 100.0, l2 = 0.0;
    if (profile.dram_read_bandwidth) {
        const double read = profile.dram_read_bandwidth->value.value;
        const double write = profile.dram_write_bandwidth ? profile.dram_write_bandwidth->value.value : read;
        dram = (*work.dram_read_bytes / read + *work.dram_write_bytes / write) / seconds;
    }
    if (profile.l2_read_bandwidth)
        l2 = (*work.l2_read_bytes + *work.l2_write_bytes) / profile.l2_read_bandwidth->value.value / seconds;
    return measured_regime(counter(metrics::fma_pipe_busy) / 100.0, counter(metrics::issue_busy) / 100.0,
                           dram, l2);
}

} // namespace

Measurement &cold_measurement(Case &item) {
    return *std::find_if(item.measurements.begin(), item.measurements.end(),
                         [](const Measurement &m) { return m.l2 == L2State::cold; });
}

void add_counts(Measurement &measurement, const std::map<std::string, double> &counters,
                const GpuProfile &profile) {
    const auto value = [&](const char *metric) { return counters.at(metric); };
    constexpr double sector_bytes = 32.0;
    Work work;
    if (counters.contains(metrics::thread_ffma))
        work.fmas = value(metrics::thread_ffma);
    work.instructions = value(metrics::instructions);
    work.shared_wavefronts = value(metrics::shared_wavefronts_load) + value(metrics::shared_wavefronts_store);
    work.shared_conflicts = value(metrics::shared_conflicts_load) + value(metrics::shared_conflicts_store);
    work.l2_read_bytes = value(metrics::l2_sectors_read) * sector_bytes;
    work.l2_write_bytes = value(metrics::l2_sectors_write) * sector_bytes;
    work.dram_read_bytes = value(metrics::dram_bytes_read);
    work.dram_write_bytes = value(metrics::dram_bytes_write);
    measurement.work = work;
    measurement.counters = counters;
    measurement.regime = counted_regime(measurement, profile);
}

bool used_tensor_cores(const std::map<std::string, double> &counters) {
    return counters.at(metrics::instructions_tensor_pipe) > counters.at(metrics::instructions_tensor_hfma2);
}

} // namespace convcast
