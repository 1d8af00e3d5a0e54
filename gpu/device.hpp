// Which GPU this is and what the driver says about it.
#pragma once

#include "model/base/units.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace convcast {

/// As the driver reports it; nothing here is measured.
struct DeviceFacts {
    int ordinal = 0;
    std::string name;
    std::string uuid; ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi -L prints it
    int compute_major = 0;
    int compute_minor = 0;
    int sm_count = 0;
    Frequency max_clock;    ///< highest SM clock
    Frequency memory_clock; ///< of the DRAM interface; two transfers a cycle for HBM and GDDR
    int memory_bus_bits = 0;
    std::size_t l2_bytes = 0;
    std::size_t shared_per_sm_bytes = 0;
    std::size_t shared_per_block_bytes = 0; ///< with opt-in
    std::size_t shared_reserved_bytes = 0;  ///< taken by the system from every CTA
    int registers_per_sm = 0;
    int max_threads_per_sm = 0;
    int max_threads_per_block = 0;
    int max_ctas_per_sm = 0;
    std::size_t memory_bytes = 0;
    std::size_t memory_free_bytes = 0;
    int driver_version = 0;  ///< highest CUDA version the driver supports, 1000 * major + 10 * minor
    int runtime_version = 0; ///< CUDA version this binary was built with, same form

    int compute_capability() const { return 10 * compute_major + compute_minor; }
};

/// Throws GpuError. Creates the device's primary context; the calling thread's device stays as it was.
DeviceFacts query_device(int ordinal);

/// As DeviceFacts::uuid, without a context of this process on the device.
std::string device_uuid(int ordinal);

/// Absent if there is a usable GPU; otherwise one sentence on what is missing and what to do.
std::optional<std::string> why_no_device();

/// "13.0" for 13000.
std::string cuda_version_text(int version);

/// Makes one GPU the calling thread's device. Throws GpuError, also if there is no such device.
class Device {
  public:
    explicit Device(int ordinal);
    const DeviceFacts &facts() const { return facts_; }

  private:
    DeviceFacts facts_;
};

} // namespace convcast
