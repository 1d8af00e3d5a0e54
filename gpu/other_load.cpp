#include "gpu/other_load.hpp"

#include "gpu/check.hpp"
#include "gpu/device.hpp"
#include "gpu/library.hpp"

#include <array>
#include <cstddef>
#include <exception>
#include <string>

namespace convcast {
namespace {

// The few entries of NVML's stable C interface (nvml.h) that are needed; a toolkit may be installed without
// its header.
using NvmlDevice = struct nvmlDevice_st *;
struct NvmlUtilization {
    unsigned gpu, memory; ///< per cent of the last sampling period
};
struct NvmlProcess {
    unsigned pid;
    unsigned long long used_gpu_memory;
    unsigned gpu_instance, compute_instance;
};
constexpr int nvml_success = 0, nvml_insufficient_size = 7;

/// Below, a desktop or a monitor that looks at the GPU now and then.
constexpr unsigned busy_percent = 5;

class Nvml {
  public:
    Nvml()
        : library_({{"libnvidia-ml.so.1"}, "see other work on the GPU", "the NVIDIA driver"}),
          shutdown_(library_.symbol("nvmlShutdown")) {
        call("nvmlInit_v2");
    }
    ~Nvml() { shutdown_(); }
    Nvml(const Nvml &) = delete;
    Nvml &operator=(const Nvml &) = delete;

    NvmlDevice device(const std::string &uuid) const {
        NvmlDevice device = nullptr;
        call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device);
        return device;
    }

    unsigned busy_percent(NvmlDevice device) const {
        NvmlUtilization utilization{};
        call("nvmlDeviceGetUtilizationRates", device, &utilization);
        return utilization.gpu;
    }

    std::size_t processes(NvmlDevice device) const {
        std::array<NvmlProcess, 64> processes{};
        auto count = static_cast<unsigned>(processes.size());
        // Where there are more, `count` is how many.
        call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, processes.data());
        return count;
    }

  private:
    /// A function of NVML whose parameters are of the types of `arguments`.
    template <class... Arguments> void call(const char *function, Arguments... arguments) const {
        const int result = library_.symbol<int(Arguments...)>(function)(arguments...);
        if (result != nvml_success && result != nvml_insufficient_size)
            throw GpuError(std::string(function) + " failed with " + std::to_string(result));
    }

    SharedLibrary library_;
    int (*shutdown_)();
};

} // namespace

OtherLoad other_load(int ordinal) {
    try {
        const Nvml nvml;
        const NvmlDevice device = nvml.device(device_uuid(ordinal));
        const unsigned percent = nvml.busy_percent(device);
        const std::size_t processes = nvml.processes(device);
        if (percent < busy_percent && processes == 0)
            return {false, "none"};
        return {percent >= busy_percent,
                std::to_string(processes) + " other compute process" + (processes == 1 ? "" : "es") +
                    ", GPU busy " + std::to_string(percent) + " % of the time before the first probe"};
    } catch (const std::exception &error) {
        return {false, std::string("cannot be seen: ") + error.what()};
    }
}

} // namespace convcast
