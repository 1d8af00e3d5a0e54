#include "gpu/counters.hpp"
#include "gpu/metrics.hpp"
#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

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
constexpr const char *dram_bytes_names[] = {metrics::dram_bytes_read, "dram__bytes_op_read.sum"};

/// What the counters say of each pattern. `timed` are the samples by time, in the order of `patterns`; their
/// clocks stand for those under the profiler.
Samples counted(ProbeContext &context, const std::vector<Pattern> &patterns, const Samples &timed) {
    const char *dram_bytes_read = dram_bytes_names[0];
    std::unique_ptr<CounterSession> session;
    const auto open = [&] {
        session = std::make_unique<CounterSession>(
            std::vector<std::string>{dram_bytes_read, metrics::l2_sectors_read});
    };
    if (why_refused(open)) {
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
            add_sample(l2, seen.at(metrics::l2_sectors_read) * sector_bytes / pattern.useful_bytes, clock);
        }
        all.push_back(std::move(dram));
        all.push_back(std::move(l2));
    }
    return all;
}

/// Reads a buffer in one way after another.
class Reader {
  public:
    Reader(ProbeContext &context, std::size_t bytes)
        : context_(context), buffer_(context, bytes), sink_(std::size_t{ctas()} * threads) {}

    std::size_t bytes() const { return buffer_.data.bytes(); }

    /// Times `read` on `count` words, whose places `where` tells, and has `sum` add up what it should read.
    template <class Where>
    void take(const Kernel &read, const Kernel &sum, const char *reader, Knobs knobs, unsigned count,
              const Where &where) {
        knobs["buffer_bytes"] = buffer_.bytes();
        patterns_.push_back({std::move(knobs), 4.0 * count, [=, this](cudaStream_t stream) {
                                 read.launch_with(dim3(ctas()), dim3(threads), 0, stream, words(), count,
                                                  where, sink_.data());
                             }});
        sink_.fill_bytes(0);
        timed_.push_back(time_of(context_, patterns_.back()));
        DeviceBuffer<std::uint32_t> total = zeros(1);
        sum.launch_with(dim3(8 * sms(context_)), dim3(256), 0, context_.watch.stream(), count, where,
                        total.data());
        wait(context_, "cudaStreamSynchronize after adding up a pattern");
        expect_sum(sink_, total.to_host()[0], reader);
    }

    /// The times, and what the counters say, or in the notes why they say nothing.
    Samples samples() {
        const std::optional<std::string> why = why_refused([&] {
            Samples by_counters = counted(context_, patterns_, timed_);
            std::move(by_counters.begin(), by_counters.end(), std::back_inserter(timed_));
        });
        if (why)
            for (ProbeSamples &samples : timed_)
                samples.note += "; no counters: " + *why;
        return std::move(timed_);
    }

  private:
    unsigned ctas() const { return ctas_per_sm * sms(context_); }
    const std::uint32_t *words() const {
        return reinterpret_cast<const std::uint32_t *>(buffer_.data.data());
    }

    ProbeContext &context_;
    FilledBuffer buffer_;
    DeviceBuffer<std::uint32_t> sink_;
    std::vector<Pattern> patterns_;
    Samples timed_; ///< of each pattern
};

Samples stride_granularity(ProbeContext &context, const Module &module) {
    Reader reader(context, dram_bytes(context));
    const Kernel read = module.kernel("stride_read"), sum = module.kernel("stride_sum");
    for (const unsigned stride : {4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u})
        reader.take(read, sum, "stride_read", {{"stride_bytes", stride}},
                    static_cast<unsigned>(reader.bytes() / stride), stride / 4);
    return reader.samples();
}

Samples segment_granularity(ProbeContext &context, const Module &module) {
    // The permutation of segments needs a power of two.
    Reader reader(context, std::bit_floor(dram_bytes(context)));
    const auto count =
        static_cast<unsigned>(reader.bytes() / sizeof(std::uint32_t) / 8); // one slot of four, half of it
    for (const bool aligned : {true, false})
        for (const unsigned segment : {4u, 8u, 16u, 32u, 64u, 128u, 256u}) {
            const auto slot_count = static_cast<unsigned>(reader.bytes() / (2 * segment));
            const Slots slots{slot_count - 1, static_cast<unsigned>(std::bit_width(slot_count)) / 2 + 1};
            const std::string arguments =
                "<" + std::to_string(segment / 4) + (aligned ? ", true>" : ", false>");
            reader.take(module.kernel("segment_read" + arguments), module.kernel("segment_sum" + arguments),
                        "segment_read", {{"segment_bytes", segment}, {"aligned", aligned}}, count, slots);
        }
    return reader.samples();
}

} // namespace

ProbeRuns granularity_runs() {
    return {{"stride_granularity", stride_granularity}, {"segment_granularity", segment_granularity}};
}

} // namespace convcast::probe
