#include "executor/network/devices_group.hpp"

#include "gpu/stream.hpp"

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
    else // one address space; graphs can capture this call, but not cudaMemcpyPeerAsync
        check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream),
              "cudaMemcpyAsync between GPUs");
}

void DeviceGroup::wait() const {
    for (const DeviceFacts &facts : facts_) {
        const OnDevice here(facts.ordinal);
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
}

} // namespace convcast
