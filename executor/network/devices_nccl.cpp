#include "executor/network/devices_nccl.hpp"

#include "model/base/errors.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace convcast {
namespace {

// Of NCCL's application binary interface, the same since 2.0.
constexpr int nccl_success = 0, nccl_float32 = 7, nccl_sum = 0;

} // namespace

Nccl::Nccl(const DeviceGroup &group)
    : library_({{"libnccl.so.2", "libnccl.so"}, "sum gradients by NCCL", "NCCL (libnccl2)"}),
      all_reduce_(library_.symbol<AllReduce>("ncclAllReduce")),
      group_start_(library_.symbol<Simple>("ncclGroupStart")),
      group_end_(library_.symbol<Simple>("ncclGroupEnd")),
      destroy_(library_.symbol<Destroy>("ncclCommDestroy")),
      error_text_(library_.symbol<ErrorText>("ncclGetErrorString")),
      version_(library_.symbol<Version>("ncclGetVersion")) {
    if (!group.distinct())
        throw GpuError(
            "NCCL takes every GPU once, and one stands in --devices several times; the split 'batch' sums "
            "by copies");
    std::vector<int> ordinals;
    for (std::size_t i = 0; i < group.size(); ++i)
        ordinals.push_back(group.ordinal(i));
    communicators_.assign(ordinals.size(), nullptr);
    check(library_.symbol<Init>("ncclCommInitAll")(communicators_.data(), static_cast<int>(ordinals.size()),
                                                   ordinals.data()),
          "ncclCommInitAll");
}

Nccl::~Nccl() {
    for (const Communicator communicator : communicators_)
        if (communicator)
            (void)destroy_(communicator);
}

void Nccl::sum(const std::vector<float *> &values, std::size_t count,
               const std::vector<cudaStream_t> &streams) const {
    check(group_start_(), "ncclGroupStart");
    for (std::size_t i = 0; i < values.size(); ++i)
        check(all_reduce_(values[i], values[i], count, nccl_float32, nccl_sum, communicators_[i], streams[i]),
              "ncclAllReduce");
    check(group_end_(), "ncclGroupEnd");
}

std::string Nccl::version() const {
    int number = 0;
    check(version_(&number), "ncclGetVersion");
    constexpr int major = 10000, minor = 100; // since NCCL 2.9
    return std::to_string(number / major) + "." + std::to_string(number % major / minor) + "." +
           std::to_string(number % minor);
}

void Nccl::check(int result, const char *call) const {
    if (result != nccl_success)
        throw GpuError(std::string(call) + " failed: NCCL " + error_text_(result));
}

} // namespace convcast
