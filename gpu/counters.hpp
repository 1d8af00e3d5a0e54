// Performance counters of a piece of work, by CUPTI's range profiler: one user range, replayed by us.
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

    /// Runs `work` once per pass and reads the counters of all kernels it launches, by metric name.
    /// `before_pass` runs outside the range, ahead of each pass: restore inputs, flush L2. Nothing else may
    /// use the device.
    std::map<std::string, double> collect(const std::function<void()> &before_pass,
                                          const std::function<void()> &work);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace convcast
