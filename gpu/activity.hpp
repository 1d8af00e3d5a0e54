// What ran on the device and when, from CUPTI's activity records. Needs no privileges.
#pragma once

#include "gpu/cupti.hpp"

#include <cupti_activity.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

enum class ActivityKind { kernel, memcpy, memset };

/// Between what a copy moves bytes. other: within the GPU's memory, or to another GPU's.
enum class CopyEnds { from_host, to_host, other };

struct ActivityRecord {
    ActivityKind kind = ActivityKind::kernel;
    std::string name;           ///< a kernel's mangled name; empty otherwise
    std::uint64_t start_ns = 0; ///< on the device, on CUPTI's clock
    std::uint64_t end_ns = 0;
    std::uint32_t call = 0;  ///< the host's that enqueued it: a thread's later calls have larger numbers
    int device = 0;          ///< CUDA ordinal; of a copy to another GPU that which it comes from
    std::uint64_t bytes = 0; ///< moved by a memcpy or memset
    CopyEnds ends = CopyEnds::other; ///< of a memcpy
    std::optional<int> to_device;    ///< of a copy to another GPU
    int registers = 0;               ///< per thread; this and all below for kernels only
    int static_shared_bytes = 0;
    int dynamic_shared_bytes = 0;
    std::array<int, 3> grid{};
    std::array<int, 3> block{};
};

/// Tracing from start() to stop(). CUPTI serves one tracer a process, so at most one of these may be running.
class ActivityTrace {
  public:
    /// Absent if tracing works; otherwise why not. Needs a current device.
    static std::optional<std::string> why_not_available();

    ActivityTrace();
    ActivityTrace(const ActivityTrace &) = delete;
    ActivityTrace &operator=(const ActivityTrace &) = delete;
    ~ActivityTrace();

    void start();

    /// Waits for the device and hands out what has finished since the last call, by start time, of all
    /// devices; tracing goes on.
    std::vector<ActivityRecord> drain();

    /// drain(), and tracing ends.
    std::vector<ActivityRecord> stop();

  private:
    void disable() noexcept;

    Cupti cupti_{"time kernels by activity records"};
    decltype(&cuptiActivityEnable) enable_ = cupti_.symbol("cuptiActivityEnable");
    decltype(&cuptiActivityDisable) disable_ = cupti_.symbol("cuptiActivityDisable");
    decltype(&cuptiActivityFlushAll) flush_all_ = cupti_.symbol("cuptiActivityFlushAll");
    bool running_ = false;
};

} // namespace convcast
