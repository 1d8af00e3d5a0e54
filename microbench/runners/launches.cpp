#include "microbench/runners/graphs.hpp"
#include "microbench/runners/harness.hpp"

#include <cstddef>
#include <numeric>
#include <vector>

namespace convcast::probe {
namespace {

constexpr unsigned empty_threads = 128; // a CTA on each SM

Samples launch_floor(ProbeContext &context, const Module &module) {
    need_activity_records(context);
    const Kernel kernel = module.kernel("empty");
    return {timed(
        context,
        [&](cudaStream_t stream) { kernel.launch_with(dim3(sms(context)), dim3(empty_threads), 0, stream); },
        {.l2 = L2State::warm, .min_samples = 50}, {{"ctas_per_sm", 1}, {"threads", empty_threads}})};
}

Samples smallest_copy(ProbeContext &context, const Module &module) {
    need_activity_records(context);
    const Kernel kernel = module.kernel("smallest_copy");
    std::vector<float> numbers(std::size_t{sms(context)} * empty_threads);
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    const DeviceBuffer<float> from(numbers);
    DeviceBuffer<float> to(numbers.size());
    to.fill_bytes(0);
    Samples all = {timed(
        context,
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(sms(context)), dim3(empty_threads), 0, stream, from.data(), to.data());
        },
        {.l2 = L2State::warm, .min_samples = 50}, {{"ctas_per_sm", 1}, {"threads", empty_threads}})};
    if (to.to_host() != numbers)
        throw GpuError("smallest_copy did not copy its numbers");
    return all;
}

Samples launch_gap(ProbeContext &context, const Module &module) {
    need_activity_records(context);
    constexpr int kernels = 20, series_count = 5;
    const Kernel kernel = module.kernel("empty");
    ProbeSamples samples =
        configuration(context, {{"ctas_per_sm", 1}, {"threads", empty_threads}, {"kernels", kernels}});
    for (int i = 0; i < series_count; ++i) {
        const SampleSeries series = context.watch.measure(
            [&](cudaStream_t stream) {
                for (int j = 0; j < kernels; ++j)
                    kernel.launch_with(dim3(sms(context)), dim3(empty_threads), 0, stream);
            },
            {.l2 = L2State::warm, .min_samples = 3, .max_samples = 3}); // the records are those of the last
        if (series.samples.back().launch_gaps)
            continue; // the host's time may be inside
        for (std::size_t j = 1; j < series.activities.size(); ++j) {
            const std::uint64_t start = series.activities[j].start_ns, end = series.activities[j - 1].end_ns;
            if (start < end)
                throw GpuError("two kernels of one stream overlap in their activity records");
            add_sample(samples, 1e-9 * static_cast<double>(start - end),
                       series.samples.back().sm_clock.value);
        }
    }
    return {samples};
}

/// Rounds in which each of some streams runs an empty kernel and then waits for all others.
Samples meets(ProbeContext &context, const Module &module, bool in_graph) {
    constexpr int least = 2, most = 10, most_streams = 16;
    const Kernel empty = module.kernel("empty"), hold = module.kernel("hold");
    const cudaStream_t stream = context.watch.stream();
    std::vector<Stream> others(most_streams);
    std::vector<Event> ends(most_streams);
    Event start;
    const auto rounds = [&](int count, std::size_t width) {
        for (int round = 0; round < count; ++round) {
            start.record(stream);
            for (std::size_t i = 0; i < width; ++i) {
                start.hold_back(others[i].handle());
                empty.launch_with(dim3(sms(context)), dim3(empty_threads), 0, others[i].handle());
            }
            for (std::size_t i = 0; i < width; ++i) {
                ends[i].record(others[i].handle());
                ends[i].hold_back(stream);
            }
        }
    };
    rounds(1, most_streams); // loads the code, which cannot be done while a graph is captured
    wait(context, "cudaStreamSynchronize after a meeting");
    Samples all;
    for (std::size_t width = 2; width <= most_streams; width *= 2) {
        const std::string what = std::to_string(width) + " streams that meet";
        const auto time_of = [&](int count) {
            if (!in_graph)
                return held_time(hold, stream, what, [&] { rounds(count, width); });
            const Graph graph(stream, [&] { rounds(count, width); });
            return held_time(hold, stream, what, [&] { graph.launch(stream); });
        };
        ProbeSamples samples = configuration(context, {{"streams", static_cast<double>(width)},
                                                       {"ctas_per_sm", 1},
                                                       {"threads", empty_threads},
                                                       {"rounds", most},
                                                       {"rounds_less", least}});
        add_rounds(context, samples, least, most, sample_count, time_of);
        all.push_back(std::move(samples));
    }
    return all;
}

enum class Chain { from_stream, from_graph, early_from_graph };

/// The time of a kernel in a chain of empty ones. Early ones wait for the one before them themselves.
ProbeSamples period(ProbeContext &context, const Module &module, Chain chain) {
    constexpr int few = 64, many = 256; // far fewer than what a queue holds before the host must wait
    const bool early = chain == Chain::early_from_graph, graph = chain != Chain::from_stream;
    const Kernel empty = module.kernel(early ? "empty_early" : "empty"), hold = module.kernel("hold");
    const cudaStream_t stream = context.watch.stream();
    const auto launch = [&](int kernels) {
        for (int i = 0; i < kernels; ++i)
            empty.launch(dim3(sms(context)), dim3(empty_threads), 0, stream, nullptr, 1, early && i > 0);
    };
    launch(1); // loads the code, which cannot be done while a graph is captured
    wait(context, "cudaStreamSynchronize after an empty kernel");
    const Graph short_graph(stream, [&] { launch(few); }), long_graph(stream, [&] { launch(many); });
    ProbeSamples samples = configuration(
        context, {{"ctas_per_sm", 1}, {"threads", empty_threads}, {"kernels", many}, {"kernels_less", few}},
        chain == Chain::from_graph ? "chain of 256 empty kernels in a graph minus one of 64, by events" : "");
    if (!early)
        samples.knobs["graph"] = graph;
    add_rounds(context, samples, few, many, sample_count, [&](int kernels) {
        return held_time(
            hold, stream, std::to_string(kernels) + (early ? " kernels that start early" : " empty kernels"),
            [&] { graph ? (kernels == few ? short_graph : long_graph).launch(stream) : launch(kernels); });
    });
    return samples;
}

Samples launch_period(ProbeContext &context, const Module &module) {
    return {period(context, module, Chain::from_stream), period(context, module, Chain::from_graph)};
}

Samples early_launch_period(ProbeContext &context, const Module &module) {
    return {period(context, module, Chain::early_from_graph)};
}

Samples graph_meets(ProbeContext &context, const Module &module) {
    return meets(context, module, true);
}

Samples stream_meets(ProbeContext &context, const Module &module) {
    return meets(context, module, false);
}

Samples launch_by_grid(ProbeContext &context, const Module &module) {
    const Kernel kernel = module.kernel("empty");
    std::vector<unsigned> grids;
    for (unsigned ctas = 1; ctas < sms(context); ctas *= 2)
        grids.push_back(ctas);
    for (unsigned per_sm = 1; per_sm <= 64; per_sm *= 2)
        grids.push_back(per_sm * sms(context));
    Samples all;
    for (const unsigned ctas : grids)
        all.push_back(timed(
            context,
            [&](cudaStream_t stream) { kernel.launch_with(dim3(ctas), dim3(empty_threads), 0, stream); },
            {.l2 = L2State::warm, .min_samples = 30, .max_samples = 30, .warm_up = Seconds(0.005)},
            {{"ctas", ctas}, {"threads", empty_threads}}));
    return all;
}

Samples shared_capacity(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 128, sm_numbers = 4096; // far above any %smid
    constexpr std::size_t unit = 128;                    // a finer step than the hardware's is of no use
    const Kernel kernel = module.kernel("shared_capacity");
    kernel.prefer_shared(100);
    DeviceBuffer<std::uint32_t> arrived(sm_numbers), proved(1);
    /// Whether `together` CTAs with as many bytes each are on every SM at once and keep what they write.
    const auto works = [&](std::size_t bytes, unsigned together) {
        bool kept = false;
        (void)why_refused([&] { // the driver refuses too much
            kernel.allow_shared(bytes);
            if (kernel.ctas_per_sm(threads, bytes) < static_cast<int>(together))
                return;
            const unsigned ctas = together * sms(context);
            const auto words = static_cast<unsigned>(bytes / sizeof(std::uint32_t));
            arrived.fill_bytes(0);
            proved.fill_bytes(0);
            kernel.launch_with(dim3(ctas), dim3(threads), bytes, context.watch.stream(), words, together,
                               arrived.data(), sm_numbers, proved.data());
            wait(context, "cudaStreamSynchronize after filling shared memory");
            kept = proved.to_host()[0] == ctas;
        });
        return kept;
    };
    Samples all;
    for (const unsigned together : {1u, 2u}) {
        std::size_t good = 16384 / unit, bad = 2 * context.device.shared_per_sm_bytes / unit; // units a CTA
        if (!works(good * unit, together))
            throw GpuError("a CTA does not get even 16 KiB of shared memory that works");
        while (bad - good > 1) {
            const std::size_t middle = (good + bad) / 2;
            (works(middle * unit, together) ? good : bad) = middle;
        }
        const double per_cta = static_cast<double>(good * unit);
        const double reserved = static_cast<double>(context.device.shared_reserved_bytes);
        ProbeSamples samples = configuration(
            context, {{"kind", together}, {"dynamic_bytes", per_cta}, {"reserved_bytes", reserved}},
            together == 1 ? "" : "two CTAs on every SM at once, with what the system takes of each");
        add_sample(samples, together == 1 ? per_cta : together * (per_cta + reserved),
                   context.watch.sm_clock().value);
        all.push_back(std::move(samples));
    }
    return all;
}

} // namespace

ProbeRuns launch_runs() {
    return {{"launch_floor", launch_floor},
            {"smallest_copy", smallest_copy},
            {"launch_gap", launch_gap},
            {"launch_period", launch_period},
            {"early_launch_period", early_launch_period},
            {"launch_by_grid", launch_by_grid},
            {"graph_meets", graph_meets},
            {"stream_meets", stream_meets},
            {"shared_capacity", shared_capacity}};
}

} // namespace convcast::probe
