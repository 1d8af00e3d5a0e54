// Performance counters of pieces of work, by CUPTI's range profiler: user ranges, replayed by us.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// Absent if counters can be read on the calling thread's device; otherwise why not and what to do.
std::optional<std::string> why_no_counters();

/// Those of `metrics` that `chip` ("GH100", case counts) does not have. Needs libcupti, no GPU.
std::vector<std::string> unknown_metrics(const std::string &chip, const std::vector<std::string> &metrics);

/// How often the work must be replayed to read all of `metrics` on `chip`. Needs libcupti, no GPU.
int passes_for(const std::string &chip, const std::vector<std::string> &metrics);

class CounterSession {
  public:
    /// For the calling thread's device. Throws CounterPermissionError if counters are kept to administrators.
    explicit CounterSession(std::vector<std::string> metrics);
    ~CounterSession();

    int passes() const;

    using Work = std::function<void()>;
    using Values = std::map<std::string, double>; ///< by metric name

    /// Runs `work` once per pass and reads the counters of all kernels it launches. `before` runs outside the
    /// range, ahead of each time: restore inputs, flush L2. Nothing else may use the device.
    Values collect(const Work &before, const Work &work);

    /// The same of several pieces of work, each counted by itself, in their order. Switching the profiler on
    /// takes some 0.17 s and a pass 4 ms (H200), however many pieces there are.
    std::vector<Values> collect_each(const Work &before, const std::vector<Work> &works);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace convcast
