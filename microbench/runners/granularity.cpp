#include "gpu/counters.hpp"
#include "gpu/metrics.hpp"
#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <memory>

namespace convcast::probe {
namespace {

struct Slots { // as in segment.cu
    std::uint32_t last, fold;
};

constexpr unsigned threads = 512, ctas_per_sm = 2; // as the launch bounds of stride.cu and segment.cu

/// Values of the knob `level`: what a value says.
constexpr double by_time = 0;       ///< useful bytes a second
constexpr double moved_by_dram = 1; ///< bytes that DRAM gave, per useful byte
constexpr double moved_by_l2 = 2;   ///< bytes that L2 gave to the SMs, per useful byte

/// Counters repeat to a few parts in a thousand, and every look at them takes long.
constexpr int counted_samples = 3;

/// One way of reading a buffer, and what is to come of it.
struct Pattern {
    std::map<std::string, double> knobs;
    double useful_bytes;
    std::function<void(cudaStream_t)> call;
};

ProbeSamples time_of(ProbeContext &context, const Pattern &pattern) {
    Knobs knobs = pattern.knobs;
    knobs["level"] = by_time;
    return timed(context, pattern.call, sweep_options(L2State::cold), std::move(knobs), pattern.useful_bytes);
}

/// GB20x calls bytes read from DRAM otherwise; asked of the chips' metric tables.
constexpr const char *dram_bytes_names[] = {metrics::dram_bytes_read.name, "dram__bytes_op_read.sum"};

/// What the counters say of each pattern. `timed` are the samples by time, in the order of `patterns`; their
/// clocks stand for those under the profiler.
Samples counted(ProbeContext &context, const std::vector<Pattern> &patterns, const Samples &timed) {
    const char *dram_bytes_read = dram_bytes_names[0];
    std::unique_ptr<CounterSession> session;
    const auto open = [&] {
        session = std::make_unique<CounterSession>(
            std::vector<std::string>{dram_bytes_read, metrics::l2_sectors_read.name});
    };
    try {
        open();
    } catch (const DeviceLost &) {
        throw;
    } catch (const GpuError &) {
        dram_bytes_read = dram_bytes_names[1];
        open();
    }
    Samples all;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        const Pattern &pattern = patterns[i];
        ProbeSamples dram = configuration(context, pattern.knobs), l2 = dram;
        dram.unit = l2.unit = "1";
        dram.knobs["level"] = moved_by_dram;
        dram.note = std::string(dram_bytes_read) + " per useful byte, L2 flushed before";
        l2.knobs["level"] = moved_by_l2;
        l2.note = "lts__t_sectors_srcunit_tex_op_read.sum x 32 B per useful byte, L2 flushed before";
        for (int sample = 0; sample < counted_samples; ++sample) {
            const std::map<std::string, double> seen = session->collect(
                [&] { context.watch.flush_l2(); }, [&] { pattern.call(context.watch.stream()); });
            constexpr double sector_bytes = 32.0;
            const double clock = timed[i].sm_clock_hz.front();
            add_sample(dram, seen.at(dram_bytes_read) / pattern.useful_bytes, clock);
            add_sample(l2, seen.at(metrics::l2_sectors_read.name) * sector_bytes / pattern.useful_bytes,
                       clock);
        }
        all.push_back(std::move(dram));
        all.push_back(std::move(l2));
    }
    return all;
}

/// Adds what the counters say, or notes why they say nothing.
void add_counted(ProbeContext &context, const std::vector<Pattern> &patterns, Samples &timed) {
    try {
        Samples by_counters = counted(context, patterns, timed);
        std::move(by_counters.begin(), by_counters.end(), std::back_inserter(timed));
    } catch (const DeviceLost &) {
        throw;
    } catch (const GpuError &error) {
        for (ProbeSamples &samples : timed)
            samples.note += std::string("; no counters: ") + error.what();
    }
}

/// Runs the kernel that adds up what should be read, and compares.
template <class... Parameters>
void expect_read(const ProbeContext &context, const DeviceBuffer<std::uint32_t> &sink, const Kernel &kernel,
                 const char *reader, Parameters... parameters) {
    DeviceBuffer<std::uint32_t> total = zeros(1);
    kernel.launch_with(dim3(8 * sms(context)), dim3(256), 0, context.watch.stream(), parameters...,
                       total.data());
    wait(context, "cudaStreamSynchronize after adding up a pattern");
    expect_sum(sink, total.to_host()[0], reader);
}

constexpr auto words_of = [](const FilledBuffer &buffer) {
    return reinterpret_cast<const std::uint32_t *>(buffer.data.data());
};

Samples stride_granularity(ProbeContext &context, const Module &module) {
    const FilledBuffer buffer(context, dram_bytes(context));
    const unsigned ctas = ctas_per_sm * sms(context);
    DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
    const Kernel read = module.kernel("stride_read"), sum = module.kernel("stride_sum");
    Samples all;
    std::vector<Pattern> patterns;
    for (const unsigned stride : {4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u}) {
        const auto count = static_cast<unsigned>(buffer.data.bytes() / stride);
        const unsigned stride_words = stride / 4;
        patterns.push_back({{{"stride_bytes", stride}, {"buffer_bytes", buffer.bytes()}},
                            4.0 * count,
                            [=, &read, &buffer, &sink](cudaStream_t stream) {
                                read.launch_with(dim3(ctas), dim3(threads), 0, stream, words_of(buffer),
                                                 count, stride_words, sink.data());
                            }});
        sink.fill_bytes(0);
        all.push_back(time_of(context, patterns.back()));
        expect_read(context, sink, sum, "stride_read", count, stride_words);
    }
    add_counted(context, patterns, all);
    return all;
}

Samples segment_granularity(ProbeContext &context, const Module &module) {
    // The permutation of segments needs a power of two.
    const FilledBuffer buffer(context, std::bit_floor(dram_bytes(context)));
    const std::size_t bytes = buffer.data.bytes();
    const unsigned ctas = ctas_per_sm * sms(context);
    DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
    const auto count =
        static_cast<unsigned>(bytes / sizeof(std::uint32_t) / 8); // one slot of four, half of it
    Samples all;
    std::vector<Pattern> patterns;
    for (const bool aligned : {true, false})
        for (const unsigned segment : {4u, 8u, 16u, 32u, 64u, 128u, 256u}) {
            const auto slot_count = static_cast<unsigned>(bytes / (2 * segment));
            const Slots slots{slot_count - 1, static_cast<unsigned>(std::bit_width(slot_count)) / 2 + 1};
            const std::string arguments =
                "<" + std::to_string(segment / 4) + (aligned ? ", true>" : ", false>");
            const Kernel read = module.kernel("segment_read" + arguments);
            patterns.push_back(
                {{{"segment_bytes", segment}, {"aligned", aligned}, {"buffer_bytes", buffer.bytes()}},
                 4.0 * count,
                 [=, &buffer, &sink](cudaStream_t stream) {
                     read.launch_with(dim3(ctas), dim3(threads), 0, stream, words_of(buffer), count, slots,
                                      sink.data());
                 }});
            sink.fill_bytes(0);
            all.push_back(time_of(context, patterns.back()));
            expect_read(context, sink, module.kernel("segment_sum" + arguments), "segment_read", count,
                        slots);
        }
    add_counted(context, patterns, all);
    return all;
}

} // namespace

ProbeRuns granularity_runs() {
    return {{"stride_granularity", stride_granularity}, {"segment_granularity", segment_granularity}};
}

} // namespace convcast::probe
