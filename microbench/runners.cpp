#include "microbench/runners.hpp"

#include "gpu/check.hpp"
#include "gpu/memory.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>

namespace convcast {
namespace {

using Samples = std::vector<ProbeSamples>;

constexpr std::size_t sample_count = 15; // of probes that count cycles; a stop-watch decides for itself

/// As in probes/common.cuh.
struct Span {
    std::uint64_t start_cycles, end_cycles;
    std::uint64_t start_ns, end_ns;
    std::uint32_t sm, padding;
};
static_assert(sizeof(Span) == 40);

/// As in probes/common.cuh.
std::uint32_t word_at(std::uint32_t i) {
    std::uint32_t x = i + 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

unsigned sms(const ProbeContext &context) {
    return static_cast<unsigned>(context.device.sm_count);
}

void wait(const ProbeContext &context, const char *for_what) {
    check(cudaStreamSynchronize(context.watch.stream()), for_what);
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

// ---- probes that count cycles ----

struct Rate {
    double cycles_per_cta = 0.0; ///< on the median SM; CTAs that share an SM divide its time
    double clock_hz = 0.0;
};

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

/// Repeats a launch that writes one Span per CTA: for at least `warm_up` unseen, then `sample_count` times.
template <class Launch>
std::vector<Rate> rates(const ProbeContext &context, std::size_t ctas, Seconds warm_up,
                        const Launch &launch) {
    DeviceBuffer<Span> spans(ctas);
    const auto once = [&] {
        spans.fill_bytes(0);
        launch(spans.data());
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
    return found;
}

constexpr Seconds short_warm_up(0.05);
constexpr Seconds
    wake_up(0.4); // an idle GPU takes that long to raise its clocks, seen from nvbench's practice

/// `value` makes a sample of a Rate.
template <class Value>
ProbeSamples samples_from(const std::vector<Rate> &rates, const char *probe, const char *unit,
                          std::map<std::string, double> knobs, const char *note, const Value &value) {
    ProbeSamples samples{probe, unit, std::move(knobs), {}, {}, note};
    for (const Rate &rate : rates) {
        samples.values.push_back(value(rate));
        samples.sm_clock_hz.push_back(rate.clock_hz);
    }
    return samples;
}

constexpr unsigned ffma_threads = 512, ffma_ctas_per_sm = 2;
constexpr double ffmas_per_iteration = 512.0; // of one thread: steps * 16 in ffma.cu

std::vector<Rate> ffma_rates(const ProbeContext &context, const Module &module, int registers,
                             unsigned iterations, Seconds warm_up) {
    const Kernel kernel = module.kernel("ffma<" + std::to_string(registers) + ">");
    const unsigned ctas = ffma_ctas_per_sm * sms(context);
    DeviceBuffer<float> sink(std::size_t{ctas} * ffma_threads);
    sink.fill_bytes(0);
    float *const sink_data = sink.data();
    constexpr float scale = 0.001f;
    std::vector<Rate> found = rates(context, ctas, warm_up, [&](Span *spans) {
        kernel.launch_with(dim3(ctas), dim3(ffma_threads), 0, context.watch.stream(), iterations, scale,
                           sink_data, spans);
    });
    for (const float value : sink.to_host())
        if (!(std::isfinite(value) && value > 0.0f)) // all terms are positive
            throw GpuError("ffma computed " + std::to_string(value) + ", expected a number above zero");
    return found;
}

Samples sm_clock(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 2000; // about 4 ms at 128 lanes a SM: the timer's tick is 1/4000 of it
    constexpr int registers = 3;
    return {samples_from(ffma_rates(context, module, registers, iterations, wake_up), "sm_clock", "Hz",
                         {{"registers", registers}, {"iterations", iterations}},
                         "clock64 over globaltimer on the median SM while all SMs run FFMAs",
                         [](const Rate &rate) { return rate.clock_hz; })};
}

Samples ffma_rate(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 500;
    Samples all;
    for (const int registers : {2, 3})
        all.push_back(samples_from(
            ffma_rates(context, module, registers, iterations, short_warm_up), "ffma_rate", "fma/clk",
            {{"registers", registers},
             {"iterations", iterations},
             {"threads_per_sm", ffma_threads * ffma_ctas_per_sm},
             {"accumulators", 16}},
            "by clock64 of the median SM; registers: distinct ones that an FFMA reads", [](const Rate &rate) {
                return ffmas_per_iteration * iterations * ffma_threads / rate.cycles_per_cta;
            }));
    return all;
}

/// A random cycle through all nodes of `bytes` (Sattolo's algorithm), as absolute pointers on the device.
class PointerRing {
  public:
    static constexpr std::size_t node_bytes = 128; // one line of L2

    explicit PointerRing(std::size_t bytes)
        : memory_(bytes / sizeof(std::uint64_t)), next_(bytes / node_bytes) {
        std::vector<std::uint32_t> order(next_.size());
        std::iota(order.begin(), order.end(), 0u);
        std::mt19937_64 random(1);
        std::shuffle(order.begin(), order.end(), random); // visiting them in a random order is a single cycle
        for (std::size_t i = 0; i < order.size(); ++i)
            next_[order[i]] = order[(i + 1) % order.size()];
        std::vector<std::uint64_t> image(memory_.size());
        for (std::size_t node = 0; node < next_.size(); ++node)
            image[node * node_bytes / sizeof(std::uint64_t)] = address(next_[node]);
        memory_.copy_from(image);
    }

    std::size_t nodes() const { return next_.size(); }
    std::uint64_t address(std::uint32_t node) const {
        return reinterpret_cast<std::uint64_t>(memory_.data()) + node * std::uint64_t{node_bytes};
    }
    std::uint32_t after(std::uint32_t node, std::size_t hops) const {
        for (; hops > 0; --hops)
            node = next_[node];
        return node;
    }

  private:
    DeviceBuffer<std::uint64_t> memory_;
    std::vector<std::uint32_t> next_;
};

/// Each sample starts where the one before ended and is taken by another CTA, hence mostly by another SM.
ProbeSamples chase(ProbeContext &context, const Module &module, const char *probe, std::size_t bytes,
                   unsigned warm, unsigned hops, bool cold) {
    const Kernel kernel = module.kernel("chase");
    const PointerRing ring(bytes);
    DeviceBuffer<Span> spans(sms(context));
    DeviceBuffer<std::uint64_t> end(1);
    ProbeSamples samples{probe,
                         "clk",
                         {{"footprint_bytes", static_cast<double>(bytes)},
                          {"node_bytes", static_cast<double>(PointerRing::node_bytes)},
                          {"warm_hops", warm},
                          {"hops", hops}},
                         {},
                         {},
                         {}};
    std::string seen_from;
    std::uint32_t node = 0;
    for (std::size_t i = 0; i <= sample_count; ++i) { // the first is to warm up
        const auto chosen = static_cast<unsigned>(i * sms(context) / (sample_count + 1));
        const unsigned long long start = ring.address(node);
        auto *const end_data = reinterpret_cast<unsigned long long *>(end.data());
        Span *const spans_data = spans.data();
        if (cold)
            context.watch.flush_l2();
        kernel.launch_with(dim3(sms(context)), dim3(1), 0, context.watch.stream(), start, warm, hops, chosen,
                           end_data, spans_data);
        wait(context, "cudaStreamSynchronize after a pointer chase");
        node = ring.after(node, std::size_t{warm} + hops);
        if (end.to_host()[0] != ring.address(node))
            throw GpuError("the pointer chase did not end where it was to end");
        if (i == 0)
            continue;
        const Span span = spans.to_host()[chosen];
        const Rate rate = rate_of({span});
        samples.values.push_back(rate.cycles_per_cta / hops);
        samples.sm_clock_hz.push_back(rate.clock_hz);
        seen_from += (seen_from.empty() ? "" : ", ") + std::to_string(span.sm);
    }
    samples.note =
        "one thread, random cycle of absolute pointers, clock64 around all hops; from SMs " + seen_from;
    return samples;
}

Samples dram_latency(ProbeContext &context, const Module &module) {
    // Large against L2, small enough for the TLBs: misses there are another number (+40 % at 4 GiB on a
    // B200).
    const std::size_t bytes = std::max<std::size_t>(std::size_t{256} << 20, 4 * context.device.l2_bytes);
    return {chase(context, module, "dram_latency", bytes, 1024, 16384, true)};
}

Samples l2_latency(ProbeContext &context, const Module &module) {
    // Small enough to lie in the near half of an L2 that keeps two copies.
    const std::size_t bytes =
        std::min<std::size_t>(std::size_t{4} << 20, context.device.l2_bytes / 4) / 4096 * 4096;
    const auto lap = static_cast<unsigned>(bytes / PointerRing::node_bytes);
    return {chase(context, module, "l2_latency", bytes, lap, lap, false)};
}

Samples shared_bandwidth(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 1024, iterations = 2000, loads = 8;
    Samples all;
    for (const unsigned width : {1u, 4u}) { // words a lane
        const Kernel kernel = module.kernel("shared_read<" + std::to_string(width) + ">");
        DeviceBuffer<std::uint32_t> sink(std::size_t{sms(context)} * threads);
        sink.fill_bytes(0);
        std::uint32_t *const sink_data = sink.data();
        const std::vector<Rate> found = rates(context, sms(context), short_warm_up, [&](Span *spans) {
            kernel.launch_with(dim3(sms(context)), dim3(threads), 0, context.watch.stream(), iterations,
                               sink_data, spans);
        });
        std::uint32_t expected = 0;
        for (unsigned warp = 0; warp < threads / 32; ++warp)
            for (unsigned load = 0; load < loads; ++load)
                for (unsigned word = 0; word < 32 * width; ++word)
                    expected += word_at(128 * (warp % 24 + load) + word);
        expect_sum(sink, expected * iterations * sms(context), "shared_read");
        all.push_back(samples_from(found, "shared_bandwidth", "B/clk",
                                   {{"bytes_per_lane", 4.0 * width}, {"threads", threads}, {"loads", loads}},
                                   "conflict-free, by clock64 of the median SM", [&](const Rate &rate) {
                                       return 4.0 * width * loads * threads * iterations /
                                              rate.cycles_per_cta;
                                   }));
    }
    return all;
}

Samples banks(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 1024, iterations = 512, loads = 8;
    const Kernel kernel = module.kernel("shared_stride");
    Samples all;
    for (const unsigned stride : {1u, 2u, 3u, 4u, 8u, 16u, 32u, 64u}) {
        DeviceBuffer<std::uint32_t> sink(std::size_t{sms(context)} * threads);
        sink.fill_bytes(0);
        std::uint32_t *const sink_data = sink.data();
        const std::vector<Rate> found = rates(context, sms(context), short_warm_up, [&](Span *spans) {
            kernel.launch_with(dim3(sms(context)), dim3(threads), 0, context.watch.stream(), stride,
                               iterations, sink_data, spans);
        });
        std::uint32_t expected = 0;
        for (unsigned load = 0; load < loads; ++load)
            for (unsigned lane = 0; lane < 32; ++lane)
                expected += word_at(128 * load + stride * lane);
        expect_sum(sink, expected * (threads / 32) * iterations * sms(context), "shared_stride");
        all.push_back(samples_from(found, "banks", "clk", {{"stride_words", stride}, {"threads", threads}},
                                   "clocks of the median SM per LDS.32 of a warp", [&](const Rate &rate) {
                                       return rate.cycles_per_cta / (threads / 32 * loads * iterations);
                                   }));
    }
    return all;
}

Samples barrier_latency(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 256, iterations = 256, unrolled = 32;
    const auto rates_of = [&](const char *name) {
        const Kernel kernel = module.kernel(name);
        return rates(context, sms(context), short_warm_up, [&](Span *spans) {
            kernel.launch_with(dim3(sms(context)), dim3(threads), 0, context.watch.stream(), iterations,
                               spans);
        });
    };
    const std::vector<Rate> once = rates_of("barrier<1>"), twice = rates_of("barrier<2>");
    ProbeSamples samples{"barrier_latency",
                         "clk",
                         {{"threads", threads}, {"iterations", iterations}},
                         {},
                         {},
                         "64 barriers minus 32, by clock64 of the median SM, one CTA on each"};
    for (std::size_t i = 0; i < once.size(); ++i) {
        samples.values.push_back((twice[i].cycles_per_cta - once[i].cycles_per_cta) /
                                 (iterations * unrolled));
        samples.sm_clock_hz.push_back(twice[i].clock_hz);
    }
    return {samples};
}

// ---- probes that take a kernel's time ----

ProbeSamples samples_from(const SampleSeries &series, const char *probe, const char *unit,
                          std::map<std::string, double> knobs, const std::string &note, double bytes) {
    ProbeSamples samples{probe, unit, std::move(knobs), {}, {}, note + "; by " + series.method};
    for (const Sample &sample : series.samples) {
        samples.values.push_back(bytes / sample.time.value);
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

/// Vectors of 16 bytes with word_at(), and what all their words add up to.
struct FilledBuffer {
    DeviceBuffer<uint4> data;
    std::uint32_t sum = 0;

    FilledBuffer(ProbeContext &context, std::size_t bytes) : data(bytes / sizeof(uint4)) {
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
};

/// Far beyond L2, so that what is left there from before counts for little.
std::size_t dram_bytes(const ProbeContext &context) {
    return std::max(std::size_t{2} << 30, 8 * context.device.l2_bytes) / 4096 * 4096;
}

struct ReadGrid {
    unsigned ctas_per_sm, threads, loads;
    double bytes_per_sm() const { return 16.0 * ctas_per_sm * threads * loads; }
};

ProbeSamples dram_read(ProbeContext &context, const Module &module, const FilledBuffer &buffer,
                       const char *probe, const ReadGrid &grid) {
    const Kernel kernel = module.kernel("dram_read<" + std::to_string(grid.loads) + ">");
    const unsigned ctas = grid.ctas_per_sm * sms(context);
    DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * grid.threads);
    sink.fill_bytes(0);
    const uint4 *const data = buffer.data.data();
    const unsigned long long count = buffer.data.size();
    std::uint32_t *const sink_data = sink.data();
    const SampleSeries series = context.watch.measure(
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(ctas), dim3(grid.threads), 0, stream, data, count, sink_data);
        },
        bandwidth_options(L2State::cold));
    expect_sum(sink, buffer.sum, "dram_read");
    const auto bytes = static_cast<double>(buffer.data.bytes());
    return samples_from(series, probe, "B/s",
                        {{"ctas_per_sm", grid.ctas_per_sm},
                         {"threads", grid.threads},
                         {"loads", grid.loads},
                         {"bytes_in_flight", grid.bytes_per_sm() * sms(context)},
                         {"buffer_bytes", bytes}},
                        "16 B a lane, read only, L2 flushed before", bytes);
}

Samples dram_read_bandwidth(ProbeContext &context, const Module &module) {
    const FilledBuffer buffer(context, dram_bytes(context));
    Samples all;
    for (const ReadGrid &grid :
         {ReadGrid{2, 512, 4}, ReadGrid{4, 256, 4}, ReadGrid{4, 512, 4}, ReadGrid{2, 512, 8}})
        all.push_back(dram_read(context, module, buffer, "dram_read_bandwidth", grid));
    return all;
}

Samples dram_read_curve(ProbeContext &context, const Module &module) {
    const FilledBuffer buffer(context, dram_bytes(context));
    Samples all;
    // From a fraction to several times (latency x bandwidth) of any GPU since Volta, which is 2 to 20 KiB an
    // SM. One CTA on each SM, so that the load is the same everywhere.
    for (const unsigned kib : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u, 48u, 64u, 96u, 128u}) {
        const unsigned warp_loads = kib * 2; // of 512 bytes
        unsigned loads = 1;
        while (loads < 8 && warp_loads / loads > 16)
            loads *= 2;
        all.push_back(
            dram_read(context, module, buffer, "dram_read_curve", {1, 32 * warp_loads / loads, loads}));
    }
    return all;
}

Samples dram_write_bandwidth(ProbeContext &context, const Module &module) {
    const Kernel kernel = module.kernel("dram_write");
    DeviceBuffer<uint4> buffer(dram_bytes(context) / sizeof(uint4));
    uint4 *const data = buffer.data();
    const unsigned long long count = buffer.size();
    Samples all;
    for (const auto &[ctas_per_sm, threads] : {std::pair{4u, 256u}, {2u, 512u}, {8u, 256u}}) {
        buffer.fill_bytes(0);
        // Warm, which is: the same writes ran right before. They leave L2 full of lines to be written back,
        // as many as this call itself leaves behind, so the bytes written to DRAM in its time are those it
        // stores.
        const SampleSeries series = context.watch.measure(
            [&](cudaStream_t stream) {
                kernel.launch_with(dim3(ctas_per_sm * sms(context)), dim3(threads), 0, stream, data, count);
            },
            bandwidth_options(L2State::warm));
        std::vector<std::uint32_t> seen(4);
        for (const std::size_t at : {std::size_t{0}, buffer.size() / 2, buffer.size() - 1}) {
            check(cudaMemcpy(seen.data(), data + at, sizeof(uint4), cudaMemcpyDeviceToHost), "cudaMemcpy");
            for (std::size_t i = 0; i < seen.size(); ++i)
                if (seen[i] != word_at(static_cast<std::uint32_t>(4 * at + i)))
                    throw GpuError("dram_write did not write what it was to write");
        }
        const auto bytes = static_cast<double>(buffer.bytes());
        all.push_back(
            samples_from(series, "dram_write_bandwidth", "B/s",
                         {{"ctas_per_sm", ctas_per_sm}, {"threads", threads}, {"buffer_bytes", bytes}},
                         "16 B a lane, write only, the same writes ran right before", bytes));
    }
    return all;
}

/// The largest prime up to `most`; 3 at least.
unsigned prime_at_most(unsigned most) {
    const auto is_prime = [](unsigned n) {
        for (unsigned d = 2; d * d <= n; ++d)
            if (n % d == 0)
                return false;
        return true;
    };
    unsigned n = std::max(most, 3u);
    while (!is_prime(n))
        --n;
    return n;
}

Samples l2_read_bandwidth(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 512, ctas_per_sm = 2, loads = 4, passes = 3;
    constexpr std::size_t tile_bytes = std::size_t{threads} * loads * sizeof(uint4);
    const Kernel kernel = module.kernel("l2_read");
    const unsigned ctas = ctas_per_sm * sms(context);
    // 0.35 of L2: twice that still fits where each half of L2 keeps a copy of its own.
    const unsigned tiles =
        prime_at_most(static_cast<unsigned>(0.35 * static_cast<double>(context.device.l2_bytes) / tile_bytes));
    const FilledBuffer buffer(context, tiles * tile_bytes);
    DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
    sink.fill_bytes(0);
    const uint4 *const data = buffer.data.data();
    std::uint32_t *const sink_data = sink.data();
    const SampleSeries series = context.watch.measure(
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(ctas), dim3(threads), 0, stream, data, tiles, passes, sink_data);
        },
        bandwidth_options(L2State::warm));
    expect_sum(sink, buffer.sum * passes * ctas, "l2_read");
    return {samples_from(series, "l2_read_bandwidth", "B/s",
                         {{"buffer_bytes", static_cast<double>(buffer.data.bytes())},
                          {"ctas_per_sm", ctas_per_sm},
                          {"threads", threads},
                          {"loads", loads},
                          {"passes", passes}},
                         "every CTA reads all of the buffer, past L1; L2 warm",
                         static_cast<double>(buffer.data.bytes()) * passes * ctas)};
}

// ---- launches ----

constexpr unsigned empty_threads = 128; // a CTA on each SM

void need_activity_records(const ProbeContext &context) {
    if (context.watch.why_events())
        throw GpuError("needs activity records: " + *context.watch.why_events());
}

Samples launch_floor(ProbeContext &context, const Module &module) {
    need_activity_records(context);
    const Kernel kernel = module.kernel("empty");
    StopWatchOptions options;
    options.l2 = L2State::warm;
    options.min_samples = 50;
    const SampleSeries series = context.watch.measure(
        [&](cudaStream_t stream) { kernel.launch_with(dim3(sms(context)), dim3(empty_threads), 0, stream); },
        options);
    ProbeSamples samples{"launch_floor",
                         "s",
                         {{"ctas_per_sm", 1}, {"threads", empty_threads}},
                         {},
                         {},
                         "end minus start of the activity record of an empty kernel"};
    for (const Sample &sample : series.samples) {
        samples.values.push_back(sample.time.value);
        samples.sm_clock_hz.push_back(sample.sm_clock.value);
    }
    return {samples};
}

Samples launch_gap(ProbeContext &context, const Module &module) {
    need_activity_records(context);
    constexpr int kernels = 20, series_count = 5;
    const Kernel kernel = module.kernel("empty");
    ProbeSamples samples{
        "launch_gap", "s", {{"ctas_per_sm", 1}, {"threads", empty_threads}, {"kernels", kernels}},
        {},           {},  "start of an empty kernel minus end of the one before it, all queued ahead"};
    for (int i = 0; i < series_count; ++i) {
        StopWatchOptions options;
        options.l2 = L2State::warm;
        options.min_samples = options.max_samples = 3; // the records are those of the last
        const SampleSeries series = context.watch.measure(
            [&](cudaStream_t stream) {
                for (int j = 0; j < kernels; ++j)
                    kernel.launch_with(dim3(sms(context)), dim3(empty_threads), 0, stream);
            },
            options);
        if (series.samples.back().launch_gaps)
            continue; // the host's time may be inside
        for (std::size_t j = 1; j < series.activities.size(); ++j) {
            const std::uint64_t start = series.activities[j].start_ns, end = series.activities[j - 1].end_ns;
            if (start < end)
                throw GpuError("two kernels of one stream overlap in their activity records");
            samples.values.push_back(1e-9 * static_cast<double>(start - end));
            samples.sm_clock_hz.push_back(series.samples.back().sm_clock.value);
        }
    }
    return {samples};
}

constexpr bool same_order(const std::array<ProbeRunner, probes.size()> &runners) {
    for (std::size_t i = 0; i < probes.size(); ++i)
        if (runners[i].probe != probes[i].name)
            return false;
    return true;
}

constexpr std::array<ProbeRunner, probes.size()> runners = {{
    {"sm_clock", "ffma.cu", sm_clock},
    {"ffma_rate", "ffma.cu", ffma_rate},
    {"dram_latency", "chase.cu", dram_latency},
    {"l2_latency", "chase.cu", l2_latency},
    {"dram_read_bandwidth", "dram_read.cu", dram_read_bandwidth},
    {"dram_write_bandwidth", "dram_write.cu", dram_write_bandwidth},
    {"dram_read_curve", "dram_read.cu", dram_read_curve},
    {"l2_read_bandwidth", "l2_read.cu", l2_read_bandwidth},
    {"shared_bandwidth", "shared.cu", shared_bandwidth},
    {"banks", "shared.cu", banks},
    {"barrier_latency", "barrier.cu", barrier_latency},
    {"launch_floor", "empty.cu", launch_floor},
    {"launch_gap", "empty.cu", launch_gap},
}};
static_assert(same_order(runners), "a probe of samples.hpp lacks its runner, or has it at another place");

} // namespace

const std::array<ProbeRunner, probes.size()> probe_runners = runners;

} // namespace convcast
