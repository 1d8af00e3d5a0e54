#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <numeric>

namespace convcast::probe {

std::uint32_t word_at(std::uint32_t i) {
    std::uint32_t x = i + 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

std::size_t free_device_bytes() {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
}

std::optional<std::size_t> shared_to_hold(const ProbeContext &context, const Kernel &kernel, unsigned threads,
                                          unsigned ctas) {
    constexpr std::size_t unit = 1024; // shared memory is given out in units of up to as much
    const DeviceFacts &device = context.device;
    const std::size_t share = device.shared_per_sm_bytes / ctas, taken = device.shared_reserved_bytes;
    if (share <= taken)
        return std::nullopt;
    const std::size_t bytes = std::min(device.shared_per_block_bytes, share - taken) / unit * unit;
    kernel.allow_shared(bytes);
    kernel.prefer_shared(100);
    if (kernel.ctas_per_sm(static_cast<int>(threads), bytes) != static_cast<int>(ctas))
        return std::nullopt;
    return bytes;
}

std::uint32_t sum_of(const DeviceBuffer<std::uint32_t> &sink) {
    const std::vector<std::uint32_t> values = sink.to_host();
    return std::accumulate(values.begin(), values.end(), std::uint32_t{0}); // modulo 2^32, as on the device
}

void expect_sum(const DeviceBuffer<std::uint32_t> &sink, std::uint32_t expected, const std::string &kernel) {
    if (const std::uint32_t seen = sum_of(sink); seen != expected)
        throw GpuError(kernel + " did not read what it was to read: its sum is " + std::to_string(seen) +
                       ", expected " + std::to_string(expected));
}

Rate rate_of(const std::vector<Span> &spans) {
    struct Sm {
        Span span{};
        int ctas = 0;
    };
    std::map<std::uint32_t, Sm> by_sm;
    for (const Span &span : spans) {
        if (span.end_cycles <= span.start_cycles || span.end_ns <= span.start_ns)
            throw GpuError("a probe's clock did not advance on SM " + std::to_string(span.sm));
        Sm &sm = by_sm[span.sm];
        if (sm.ctas++ == 0) {
            sm.span = span;
            continue;
        }
        sm.span.start_cycles = std::min(sm.span.start_cycles, span.start_cycles);
        sm.span.end_cycles = std::max(sm.span.end_cycles, span.end_cycles);
        sm.span.start_ns = std::min(sm.span.start_ns, span.start_ns);
        sm.span.end_ns = std::max(sm.span.end_ns, span.end_ns);
    }
    std::vector<double> cycles, clocks;
    for (const auto &[id, sm] : by_sm) {
        const auto taken = static_cast<double>(sm.span.end_cycles - sm.span.start_cycles);
        cycles.push_back(taken / sm.ctas);
        clocks.push_back(1e9 * taken / static_cast<double>(sm.span.end_ns - sm.span.start_ns));
    }
    const auto median = [](std::vector<double> &values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    };
    return {median(cycles), median(clocks)};
}

ProbeSamples samples_from(const SampleSeries &series, const char *probe, const char *unit,
                          std::map<std::string, double> knobs, const std::string &note, double amount) {
    ProbeSamples samples{probe, unit, std::move(knobs), {}, {}, note + "; by " + series.method};
    for (const Sample &sample : series.samples) {
        samples.values.push_back(amount > 0.0 ? amount / sample.time.value : sample.time.value);
        samples.sm_clock_hz.push_back(sample.sm_clock.value);
    }
    return samples;
}

StopWatchOptions bandwidth_options(L2State l2) {
    StopWatchOptions options;
    options.l2 = l2;
    options.max_samples = 50;
    options.target_error = 0.001;
    options.max_time = Seconds(0.5);
    return options;
}

StopWatchOptions sweep_options(L2State l2) {
    StopWatchOptions options;
    options.l2 = l2;
    options.max_samples = 20;
    options.target_error = 0.002;
    options.max_time = Seconds(0.2);
    options.warm_up = Seconds(0.01);
    return options;
}

std::vector<InFlight> points_in_flight() {
    std::vector<InFlight> points;
    for (const unsigned kib : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u, 48u, 64u, 96u, 128u}) {
        const unsigned warp_accesses = kib * 2; // of 512 bytes
        unsigned batch = 1;
        while (batch < 8 && warp_accesses / batch > 16)
            batch *= 2;
        points.push_back({32 * warp_accesses / batch, batch});
    }
    return points;
}

FilledBuffer::FilledBuffer(ProbeContext &context, std::size_t bytes) : data(bytes / sizeof(uint4)) {
    DeviceBuffer<std::uint32_t> total(1);
    total.fill_bytes(0);
    uint4 *const pointer = data.data();
    const unsigned long long count = data.size();
    std::uint32_t *const total_data = total.data();
    context.fill.kernel("fill").launch_with(dim3(8 * sms(context)), dim3(256), 0, context.watch.stream(),
                                            pointer, count, total_data);
    wait(context, "cudaStreamSynchronize after filling a buffer");
    sum = total.to_host()[0];
}

void expect_written(const ProbeContext &context, const DeviceBuffer<uint4> &data, std::size_t count,
                    const char *check, const std::string &kernel) {
    DeviceBuffer<std::uint32_t> wrong(1);
    wrong.fill_bytes(0);
    const uint4 *const pointer = data.data();
    const unsigned long long checked = count;
    std::uint32_t *const wrong_data = wrong.data();
    context.fill.kernel(check).launch_with(dim3(8 * sms(context)), dim3(256), 0, context.watch.stream(),
                                           pointer, checked, 0u, wrong_data);
    wait(context, "cudaStreamSynchronize after checking a buffer");
    if (const std::uint32_t found = wrong.to_host()[0]; found > 0)
        throw GpuError(kernel + " did not write what it was to write: " + std::to_string(found) + " of " +
                       std::to_string(count) + " times 16 bytes differ");
}

std::size_t dram_bytes(const ProbeContext &context) {
    const std::size_t wanted = std::max(std::size_t{2} << 30, 8 * context.device.l2_bytes);
    const std::size_t least = 4 * context.device.l2_bytes; // below, bandwidth of L2 would be taken for DRAM's
    const std::size_t there = context.device.memory_free_bytes / 8 * 3; // a copy needs two
    if (there < least)
        throw ProbeSkipped("needs " + std::to_string(2 * least >> 20) +
                           " MiB of free GPU memory, four times L2, twice");
    return std::min(wanted, there) / 4096 * 4096;
}

void need_activity_records(const ProbeContext &context) {
    if (context.watch.why_events())
        throw ProbeSkipped("needs activity records: " + *context.watch.why_events());
}

} // namespace convcast::probe
