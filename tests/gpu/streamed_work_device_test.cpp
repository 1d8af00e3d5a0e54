// Calls on several streams run in the order that they were given, queued one by one and as a graph, again and
// again.
#include "executor/network/streamed_work.hpp"
#include "gpu/memory.hpp"
#include "gpu/stopwatch.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace convcast {
namespace {

using StreamedWorkDevice = OnGpu;

/// Each call of a stream sleeps, then copies a number that a call of another stream wrote to the next place:
/// a call that does not wait copies a 0.
TEST_F(StreamedWorkDevice, CallsComeAfterThoseThatTheyFollow) {
    const Device device(0);
    Compiler compiler;
    const Module module(compiler.compile(gpu_kernels_request(device.facts().compute_capability())));
    constexpr unsigned long long nanoseconds = 200'000;
    DeviceBuffer<unsigned> numbers(5);
    StreamedWork work;
    const std::size_t first = work.add_stream(), second = work.add_stream();
    const auto move_on = [&](std::size_t stream, std::size_t to) {
        work.add(stream, KernelCall{module.kernel("convcast_sleep"), dim3(1), dim3(1), 0, {nanoseconds}});
        return work.add(stream, [at = numbers.data() + to](cudaStream_t on) {
            check(cudaMemcpyAsync(at, at - 1, sizeof *at, cudaMemcpyDeviceToDevice, on), "cudaMemcpyAsync");
        });
    };
    work.add(0, [at = numbers.data()](cudaStream_t on) {
        check(cudaMemsetAsync(at, 1, sizeof *at, on), "cudaMemsetAsync");
    });
    work.follow(first, 0);
    const std::size_t one = move_on(first, 1);
    work.wait(second, one);
    move_on(second, 2);
    work.follow(0, second);
    move_on(0, 3);
    work.follow(first, 0);
    move_on(first, 4); // that nothing waits for
    const Stream stream(Stream::Kind::ordered);
    const auto expect_all = [&](const char *how) {
        EXPECT_EQ(numbers.to_host(), std::vector<unsigned>(5, 0x01010101U)) << how;
        numbers.fill_bytes(0);
    };
    numbers.fill_bytes(0);
    for (int i = 0; i < 3; ++i) {
        work.enqueue(stream.handle());
        expect_all("queued");
    }
    const Graph graph(stream.handle(), [&] { work.enqueue(stream.handle()); });
    for (int i = 0; i < 3; ++i) {
        graph.launch(stream.handle());
        expect_all("as a graph");
    }
    ThreadedWork threads(work);
    for (int i = 0; i < 20; ++i) {
        threads.enqueue(stream.handle());
        expect_all("by threads");
    }
}

TEST_F(StreamedWorkDevice, WhatAThreadsCallThrowsIsThrownAndTheNextRoundIsDone) {
    const Device device(0);
    StreamedWork work;
    const std::size_t one = work.add_stream(), other = work.add_stream();
    bool fails = true;
    const std::size_t call = work.add(one, [&](cudaStream_t) {
        if (fails)
            throw GpuError("on purpose");
    });
    work.wait(other, call); // whose thread would wait for ever
    work.add(other, [](cudaStream_t) {});
    const Stream stream;
    ThreadedWork threads(work);
    EXPECT_THROW(threads.enqueue(stream.handle()), GpuError);
    fails = false;
    EXPECT_NO_THROW(threads.enqueue(stream.handle()));
    stream.wait();
}

} // namespace
} // namespace convcast
