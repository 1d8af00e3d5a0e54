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

ProbeSamples time_of(ProbeContext &context, const Pattern &pattern, const char *probe) {
    std::map<std::string, double> knobs = pattern.knobs;
    knobs["level"] = by_time;
    return samples_from(context.watch.measure(pattern.call, sweep_options(L2State::cold)), probe, "B/s",
                        std::move(knobs), "useful bytes over time, 4 B a lane, L2 flushed before",
                        pattern.useful_bytes);
}

/// GB20x calls bytes read from DRAM otherwise; asked of the chips' metric tables.
constexpr const char *dram_bytes_names[] = {metrics::dram_bytes_read.name, "dram__bytes_op_read.sum"};

/// What the counters say of each pattern. `timed` are the samples by time, in the order of `patterns`; their
/// clocks stand for those under the profiler.
Samples counted(ProbeContext &context, const std::vector<Pattern> &patterns, const char *probe,
                const Samples &timed) {
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
        ProbeSamples dram{probe, "1", pattern.knobs, {}, {}, {}}, l2 = dram;
        dram.knobs["level"] = moved_by_dram;
        dram.note = std::string(dram_bytes_read) + " per useful byte, L2 flushed before";
        l2.knobs["level"] = moved_by_l2;
        l2.note = "lts__t_sectors_srcunit_tex_op_read.sum x 32 B per useful byte, L2 flushed before";
        for (int sample = 0; sample < counted_samples; ++sample) {
            const std::map<std::string, double> seen = session->collect(
                [&] { context.watch.flush_l2(); }, [&] { pattern.call(context.watch.stream()); });
            constexpr double sector_bytes = 32.0;
            dram.values.push_back(seen.at(dram_bytes_read) / pattern.useful_bytes);
            l2.values.push_back(seen.at(metrics::l2_sectors_read.name) * sector_bytes / pattern.useful_bytes);
            for (ProbeSamples *const some : {&dram, &l2})
                some->sm_clock_hz.push_back(timed[i].sm_clock_hz.front());
        }
        all.push_back(std::move(dram));
        all.push_back(std::move(l2));
    }
    return all;
}

/// Adds what the counters say, or notes why they say nothing.
void add_counted(ProbeContext &context, const std::vector<Pattern> &patterns, const char *probe,
                 Samples &timed) {
    try {
        Samples by_counters = counted(context, patterns, probe, timed);
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
    DeviceBuffer<std::uint32_t> total(1);
    total.fill_bytes(0);
    std::uint32_t *const total_data = total.data();
    kernel.launch_with(dim3(8 * sms(context)), dim3(256), 0, context.watch.stream(), parameters...,
                       total_data);
    wait(context, "cudaStreamSynchronize after adding up a pattern");
    expect_sum(sink, total.to_host()[0], reader);
}

} // namespace

Samples stride_granularity(ProbeContext &context, const Module &module) {
    const FilledBuffer buffer(context, dram_bytes(context));
    const auto *const data = reinterpret_cast<const std::uint32_t *>(buffer.data.data());
    const unsigned ctas = ctas_per_sm * sms(context);
    DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
    std::uint32_t *const sink_data = sink.data();
    const Kernel read = module.kernel("stride_read"), sum = module.kernel("stride_sum");
    Samples all;
    std::vector<Pattern> patterns;
    for (const unsigned stride : {4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u}) {
        const auto count = static_cast<unsigned>(buffer.data.bytes() / stride);
        const unsigned stride_words = stride / 4;
        patterns.push_back(
            {{{"stride_bytes", stride}, {"buffer_bytes", static_cast<double>(buffer.data.bytes())}},
             4.0 * count,
             [=, &read](cudaStream_t stream) {
                 read.launch_with(dim3(ctas), dim3(threads), 0, stream, data, count, stride_words, sink_data);
             }});
        sink.fill_bytes(0);
        all.push_back(time_of(context, patterns.back(), "stride_granularity"));
        expect_read(context, sink, sum, "stride_read", count, stride_words);
    }
    add_counted(context, patterns, "stride_granularity", all);
    return all;
}

Samples segment_granularity(ProbeContext &context, const Module &module) {
    // The permutation of segments needs a power of two.
    const std::size_t bytes = std::bit_floor(dram_bytes(context));
    const FilledBuffer buffer(context, bytes);
    const auto *const data = reinterpret_cast<const std::uint32_t *>(buffer.data.data());
    const unsigned ctas = ctas_per_sm * sms(context);
    DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
    std::uint32_t *const sink_data = sink.data();
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
            patterns.push_back({{{"segment_bytes", segment},
                                 {"aligned", aligned ? 1.0 : 0.0},
                                 {"buffer_bytes", static_cast<double>(bytes)}},
                                4.0 * count,
                                [=](cudaStream_t stream) {
                                    read.launch_with(dim3(ctas), dim3(threads), 0, stream, data, count, slots,
                                                     sink_data);
                                }});
            sink.fill_bytes(0);
            all.push_back(time_of(context, patterns.back(), "segment_granularity"));
            expect_read(context, sink, module.kernel("segment_sum" + arguments), "segment_read", count,
                        slots);
        }
    add_counted(context, patterns, "segment_granularity", all);
    return all;
}

} // namespace convcast::probe
