// Times that have nothing of the host in them.
#pragma once

#include "gpu/stream.hpp"
#include "microbench/runners/harness.hpp"

#include <string>

namespace convcast::probe {

/// Seconds of what `queue` queues while the stream is held, so that the host's time is not inside.
template <class Queue>
double held_time(const Kernel &hold, cudaStream_t stream, const std::string &what, const Queue &queue) {
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

/// Samples of one round each: `time_of(rounds)` of `many` rounds minus that of `few`. A first pair is to warm
/// up.
template <class TimeOf>
void add_rounds(const ProbeContext &context, ProbeSamples &samples, int few, int many, std::size_t count,
                const TimeOf &time_of) {
    for (std::size_t i = 0; i <= count; ++i) {
        const double shorter = time_of(few), longer = time_of(many);
        if (i > 0)
            add_sample(samples, (longer - shorter) / (many - few), context.watch.sm_clock().value);
    }
}

} // namespace convcast::probe
