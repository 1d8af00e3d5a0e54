// Times that have nothing of the host in them.
#pragma once

#include "gpu/stream.hpp"
#include "microbench/runners/harness.hpp"

#include <string>

namespace convcast::probe {

/// Seconds of what `queue` queues while the stream is held, so that the host's time is not inside.
template <class Queue>
double held_time(const Kernel &hold, cudaStream_t stream, const std::string &what,
                 const Queue &queue) {
    constexpr unsigned long long longest_ns = 100'000'000;
    Event begin, end;
    for (unsigned long long held_ns = 2'000'000; held_ns < longest_ns; held_ns *= 2) {
        hold.launch_with(dim3(1), dim3(1), 0, stream, held_ns);
        begin.record(stream);
        queue();
        end.record(stream);
        const bool in_time = !begin.passed();
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after empty kernels");
        if (in_time)
            return end.since(begin).value;
    }
    throw GpuError("the host took longer than 50 ms to queue " + what);
}

} // namespace convcast::probe
