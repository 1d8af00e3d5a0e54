// What is finished of a run while it goes on: what an interrupted one leaves behind.
#pragma once

#include "model/record/run.hpp"

#include <cstddef>

namespace convcast {

/// How a run ended. incomplete: the time given was over before its last case, or a case has no timeline or
/// exact counts that should have.
enum class RunEnd { finished, incomplete, interrupted, device_lost };

/// A case that `run` would run: it was neither measured nor refused.
bool is_open(const Case &item);

/// A forecast is `ok` before anything ran; from here on such a case is not_run until it is.
void mark_not_run(Run &run);

/// A copy of a run that keeps up with it case by case: as long as kernels are compiled or the GPU hangs,
/// another thread may write it. The caller sees to it that only one thread uses it at a time.
class KeptRun {
  public:
    explicit KeptRun(const Run &run) : run_(run) {}

    /// Takes over the conditions and every case that was settled since. A case that was not reached keeps
    /// what an earlier run found of it.
    void update(const Run &run);
    /// Takes over one case as it is, settled or not. Requires index < run.cases.size().
    void update(const Run &run, std::size_t index);

    /// The run as an interrupt leaves it: what was not reached says so.
    Run interrupted() const;

  private:
    Run run_;
};

} // namespace convcast
