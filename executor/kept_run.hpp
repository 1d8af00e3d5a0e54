// Keeps the finished part of a run while it goes on, so that an interrupted run leaves something behind.
#pragma once

#include "model/record/run.hpp"

#include <cstddef>

namespace convcast {

/// How a run ended. `incomplete`: its time was over before the last case, or a case lacks a timeline or exact
/// counts that were asked for.
enum class RunEnd { finished, incomplete, interrupted, device_lost };

/// Whether `run` would run the case: it was neither measured nor refused.
bool is_open(const Case &item);

/// Gives open cases whose status is `ok`, as a forecast leaves them, the status not_run.
void mark_not_run(Run &run);

/// A copy of a run that is updated case by case. It can be written by another thread even while the run's own
/// thread compiles or the GPU hangs. The caller must let only one thread use it at a time.
class KeptRun {
  public:
    explicit KeptRun(const Run &run) : run_(run) {}

    /// Copies the conditions and every case that was settled since the last update. A case that was not
    /// reached keeps what an earlier run found. `run` has the same cases as this.
    void update(const Run &run);
    /// Copies one case as it is, settled or not. Requires index < run.cases.size().
    void update(const Run &run, std::size_t index);

    /// The run as an interrupt leaves it: cases that were not reached have the reason "interrupted".
    Run interrupted() const;

  private:
    Run run_;
};

} // namespace convcast
