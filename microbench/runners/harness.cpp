#include "microbench/runners/harness.hpp"

#include "model/base/statistics.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>

namespace convcast::probe {

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

unsigned resident_ctas(const ProbeContext &context, unsigned cluster) {
    constexpr double room = 0.85;
    return std::max(1u, static_cast<unsigned>(room * sms(context)) / cluster) * cluster;
}

ProbeSamples configuration(const ProbeContext &context, Knobs knobs, const std::string &note) {
    const Probe &probe = *context.probe;
    return {std::string(probe.name),
            std::string(probe.unit),
            std::move(knobs),
            {},
            {},
            note.empty() ? std::string(probe.note) : note};
}

void add_sample(ProbeSamples &samples, double value, double clock_hz) {
    samples.values.push_back(value);
    samples.sm_clock_hz.push_back(clock_hz);
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
    return {upper_median(std::move(cycles)), upper_median(std::move(clocks))};
}

namespace {

constexpr Seconds short_warm_up(0.05),
    between_configurations(0.002); // the first configuration has woken the clocks
/// An idle GPU takes that long to raise its clocks, seen from nvbench's practice.
constexpr Seconds wake_up(0.4);

/// Throws GpuError unless a kernel left what it was to leave.
void expect_done(const ClockedLaunch &launch, const std::string &kernel,
                 const std::vector<std::uint32_t> &left, unsigned ctas) {
    const std::size_t of_cta = left.size() / ctas;
    for (unsigned cta = 0; cta < ctas; ++cta) {
        const std::span<const std::uint32_t> words(left.data() + cta * of_cta, of_cta);
        const auto sum = std::accumulate(words.begin(), words.end(), std::uint32_t{0}); // modulo 2^32
        if (launch.sum && sum != *launch.sum)
            throw GpuError(kernel + " did not compute what it was to compute: the sum of a CTA is " +
                           std::to_string(sum) + ", expected " + std::to_string(*launch.sum));
        for (std::size_t word = 0; launch.right && word < words.size(); ++word)
            if (!launch.right(word, words[word]))
                throw GpuError(kernel + " did not compute what it was to compute: word " +
                               std::to_string(word) + " of a CTA is " + std::to_string(words[word]));
    }
}

/// Repeats a launch: for at least `warm_up` unseen, then `sample_count` times. None if as many CTAs of an SM
/// as are asked for do not fit.
std::vector<Rate> rates(const ProbeContext &context, const Kernel &kernel, const ClockedLaunch &launch,
                        Seconds warm_up) {
    const std::optional<std::size_t> shared =
        launch.spread ? shared_to_hold(context, kernel, launch.threads, launch.ctas_per_sm) : 0;
    if (!shared)
        return {};
    const unsigned ctas =
        launch.cluster > 1 ? resident_ctas(context, launch.cluster) : launch.ctas_per_sm * sms(context);
    std::vector<std::uint32_t> given;
    for (unsigned cta = 0; cta < (launch.memory_of_cta ? ctas : 1); ++cta)
        given.insert(given.end(), launch.memory.begin(), launch.memory.end());
    given.resize(std::max<std::size_t>(given.size(), 1));
    const DeviceBuffer<std::uint32_t> memory{std::span<const std::uint32_t>(given)};
    const DeviceBuffer<std::uint32_t> results = zeros(std::max(ctas * launch.results, 1u));
    DeviceBuffer<Span> spans(ctas);
    KernelCall call{kernel, dim3(ctas), dim3(launch.threads), *shared, {}, launch.cluster};
    if (!launch.memory.empty())
        call.arguments.emplace_back(memory.data());
    call.arguments.insert(call.arguments.end(), launch.scalars.begin(), launch.scalars.end());
    if (launch.results > 0)
        call.arguments.emplace_back(results.data());
    call.arguments.emplace_back(spans.data());
    const auto once = [&] {
        spans.fill_bytes(0);
        call(context.watch.stream());
        wait(context, "cudaStreamSynchronize after a probe");
    };
    const auto start = std::chrono::steady_clock::now();
    do
        once();
    while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(warm_up.value));
    std::vector<Rate> found;
    while (found.size() < sample_count) {
        once();
        found.push_back(rate_of(spans.to_host()));
    }
    if (launch.sum || launch.right)
        expect_done(launch, kernel.name(), (launch.results > 0 ? results : memory).to_host(), ctas);
    return found;
}

} // namespace

Samples clocked(ProbeContext &context, const Module &module) {
    const Probe &probe = *context.probe;
    const std::string_view unit = probe.unit;
    Samples all;
    for (const ClockedLaunch &launch : launches_of(probe)) {
        if (launch.capability != 0 && launch.capability != context.device.compute_capability())
            continue;
        const Seconds warm_up = unit == "Hz" ? wake_up : all.empty() ? short_warm_up : between_configurations;
        const std::vector<Rate> found = rates(context, module.kernel(launch.kernel), launch, warm_up);
        const std::vector<Rate> less =
            launch.less.empty() ? std::vector<Rate>(found.size())
                                : rates(context, module.kernel(launch.less), launch, between_configurations);
        if (found.empty() || less.empty())
            continue; // so many threads do not fit
        ProbeSamples samples = configuration(context, launch.knobs, launch.note);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double cycles = found[i].cycles_per_cta - less[i].cycles_per_cta;
            add_sample(samples,
                       unit == "Hz"    ? found[i].clock_hz
                       : unit == "clk" ? cycles / launch.amount
                                       : launch.amount / cycles,
                       found[i].clock_hz);
        }
        all.push_back(std::move(samples));
    }
    return all;
}

ProbeSamples timed(ProbeContext &context, const StopWatch::Call &call, const StopWatchOptions &options,
                   Knobs knobs, double amount, const std::string &note) {
    const SampleSeries series = context.watch.measure(call, options);
    ProbeSamples samples = configuration(context, std::move(knobs), note);
    samples.note += "; by " + series.method;
    for (const Sample &sample : series.samples)
        add_sample(samples, samples.unit == "s" ? sample.time.value : amount / sample.time.value,
                   sample.sm_clock.value);
    return samples;
}

StopWatchOptions bandwidth_options(L2State l2) {
    return {.l2 = l2, .max_samples = 50, .target_error = 0.001, .max_time = Seconds(0.5)};
}

StopWatchOptions sweep_options(L2State l2) {
    return {.l2 = l2,
            .max_samples = 20,
            .target_error = 0.002,
            .max_time = Seconds(0.2),
            .warm_up = Seconds(0.01)};
}

std::vector<Grid> points_in_flight() {
    std::vector<Grid> points;
    for (const unsigned kib : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u, 48u, 64u, 96u, 128u}) {
        const unsigned warp_accesses = kib * 2; // of 512 bytes
        unsigned batch = 1;
        while (batch < 8 && warp_accesses / batch > 16)
            batch *= 2;
        points.push_back({1, 32 * warp_accesses / batch, batch});
    }
    return points;
}

FilledBuffer::FilledBuffer(ProbeContext &context, std::size_t bytes) : data(bytes / sizeof(uint4)) {
    DeviceBuffer<std::uint32_t> total = zeros(1);
    const unsigned long long count = data.size();
    context.fill.kernel("fill").launch_with(dim3(8 * sms(context)), dim3(256), 0, context.watch.stream(),
                                            data.data(), count, total.data());
    wait(context, "cudaStreamSynchronize after filling a buffer");
    sum = total.to_host()[0];
}

DeviceBuffer<std::uint32_t> zeros(std::size_t count) {
    DeviceBuffer<std::uint32_t> words(count);
    words.fill_bytes(0);
    return words;
}

void expect_sum(const DeviceBuffer<std::uint32_t> &sink, std::uint32_t expected, const std::string &kernel) {
    const std::vector<std::uint32_t> values = sink.to_host();
    const auto seen = std::accumulate(values.begin(), values.end(), std::uint32_t{0}); // modulo 2^32
    if (seen != expected)
        throw GpuError(kernel + " did not read what it was to read: its sum is " + std::to_string(seen) +
                       ", expected " + std::to_string(expected));
}

void expect_written(const ProbeContext &context, const DeviceBuffer<uint4> &data, std::size_t count,
                    const char *check, const std::string &kernel) {
    DeviceBuffer<std::uint32_t> wrong = zeros(1);
    const unsigned long long checked = count;
    context.fill.kernel(check).launch_with(dim3(8 * sms(context)), dim3(256), 0, context.watch.stream(),
                                           data.data(), checked, 0u, wrong.data());
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
