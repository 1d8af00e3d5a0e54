#include "executor/network/devices_group.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace convcast {
DeviceGroup::DeviceGroup(const std::vector<int> &ordinals) {
    if (const auto why = why_no_device())
        throw GpuError(*why);
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    const std::set<int> different(ordinals.begin(), ordinals.end());
    if (const int last = *different.rbegin(); last >= count)
        throw GpuError("there is no GPU " + std::to_string(last) + ": this machine shows " +
                       std::to_string(count) + ", counted from 0; --devices 0,0 puts two shares on one GPU");
    distinct_ = different.size() == ordinals.size();
    for (const int ordinal : ordinals)
        facts_.push_back(query_device(ordinal));
    for (const DeviceFacts &facts : facts_)
        if (facts.compute_capability() != facts_.front().compute_capability())
            throw GpuError("GPU " + std::to_string(facts_.front().ordinal) + " (" + facts_.front().name +
                           ") and GPU " + std::to_string(facts.ordinal) + " (" + facts.name +
                           ") differ in compute capability; a split over both would measure neither");
    for (const int from : different)
        for (const int to : different)
            if (from != to && !enable_peer_access(from, to)) {
                detours_.emplace(from, to);
                notes_.push_back("GPU " + std::to_string(from) + " cannot reach the memory of GPU " +
                                 std::to_string(to) + ": copies between them go through the host");
            }
}

void DeviceGroup::copy(std::size_t from, const void *source, std::size_t to, void *target, std::size_t bytes,
                       cudaStream_t stream) const {
    if (detours_.contains({ordinal(from), ordinal(to)}))
        check(cudaMemcpyPeerAsync(target, ordinal(to), source, ordinal(from), bytes, stream),
              "cudaMemcpyPeerAsync");
    else // of one address space; the driver captures this one and refuses to capture the other
        check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream),
              "cudaMemcpyAsync between GPUs");
}

void DeviceGroup::wait() const {
    for (const DeviceFacts &facts : facts_) {
        const OnDevice here(facts.ordinal);
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
}

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
