#include "microbench/runners/pointer_ring.hpp"

#include <algorithm>
#include <bit>

namespace convcast::probe {
namespace {

constexpr unsigned line_words = line_bytes / 4;

/// The time of `longer` minus that of `shorter`, over `amount`: launch and start drop out.
ProbeSamples difference(ProbeContext &context, const StopWatch::Call &shorter, const StopWatch::Call &longer,
                        Knobs knobs, double amount) {
    constexpr int count = static_cast<int>(sample_count); // of both
    const StopWatchOptions options{
        .l2 = L2State::warm, .min_samples = count, .max_samples = count, .warm_up = Seconds(0.005)};
    const ProbeSamples less = timed(context, shorter, options, {});
    ProbeSamples samples = timed(context, longer, options, std::move(knobs));
    for (std::size_t i = 0; i < samples.values.size(); ++i)
        samples.values[i] = (samples.values[i] - less.values.at(i)) / amount;
    return samples;
}

Samples atomic_latency(ProbeContext &context, const Module &module) {
    const std::size_t nodes = near_nodes(context);
    const auto lap = static_cast<unsigned>(nodes);
    const Kernel kernel = module.kernel("chase_by_adds");
    DeviceBuffer<std::uint64_t> memory(nodes * line_bytes / sizeof(std::uint64_t));
    PointerRing ring(module, memory.data(), scattered_lines(nodes, nodes), context.watch.stream());
    ProbeSamples samples = configuration(context, {{"footprint_bytes", static_cast<double>(memory.bytes())},
                                                   {"nodes", static_cast<double>(nodes)},
                                                   {"operand_bytes", 8},
                                                   {"hops", lap}});
    chase(
        context, samples, lap, lap, sample_count,
        [&](unsigned chosen, std::size_t position, ChaseEnd *end, Span *spans) {
            const unsigned long long start = ring.address(position);
            ring.link(context.watch.stream());
            kernel.launch_with(dim3(sms(context)), dim3(1), 0, context.watch.stream(), start, lap, lap,
                               chosen, end, spans);
        },
        [&](const ChaseEnd &end, std::size_t position) {
            if (end.node != ring.address(position))
                throw GpuError("the chase by atomic adds did not end where it was to end");
            const std::vector<std::uint64_t> seen = memory.to_host();
            for (std::size_t hop = 0; hop < nodes; ++hop)
                if (seen[(ring.address(hop) - ring.memory()) / sizeof(std::uint64_t)] !=
                    ring.address(hop + 1) + 1)
                    throw GpuError("the chase by atomic adds left out a node");
        });
    return {samples};
}

Samples atomic_rate(ProbeContext &context, const Module &module) {
    constexpr unsigned ctas_per_sm = 2, threads = 512;
    const Kernel kernel = module.kernel("atomic_rate");
    const unsigned ctas = ctas_per_sm * sms(context), warps = ctas * threads / 32;
    // They are to stay in L2.
    const auto most = std::bit_floor(static_cast<unsigned>(context.device.l2_bytes / 2 / line_bytes));
    Samples all;
    for (const unsigned wanted : {1u, 32u, 1024u, 65536u}) {
        const unsigned addresses = std::min(wanted, most);
        const unsigned spacing = addresses > 32 ? line_words : 1;
        // One address takes about one add a clock, many as many as the SMs send.
        const unsigned adds = addresses == 1 ? 256 : 2048;
        DeviceBuffer<std::uint32_t> counters = zeros(std::size_t{addresses} * spacing);
        std::uint32_t expected = 0; // modulo 2^32, as on the device
        const auto adding = [&](unsigned adds_per_warp) {
            return [&, adds_per_warp](cudaStream_t stream) {
                expected += adds_per_warp * warps;
                kernel.launch_with(dim3(ctas), dim3(threads), 0, stream, counters.data(), addresses, spacing,
                                   adds_per_warp);
            };
        };
        all.push_back(difference(context, adding(adds), adding(3 * adds),
                                 {{"addresses", addresses},
                                  {"spacing_bytes", 4.0 * spacing},
                                  {"ctas_per_sm", ctas_per_sm},
                                  {"threads", threads},
                                  {"adds", adds}},
                                 2.0 * adds * warps));
        expect_sum(counters, expected, "atomic_rate");
    }
    return all;
}

Samples float_adds(ProbeContext &context, const Module &module) {
    constexpr unsigned ctas_per_sm = 2, threads = 512, lanes = 32;
    constexpr unsigned adds = 8; // to one line a million altogether: whole floats up to 16 million are exact
    const Kernel kernel = module.kernel("float_adds");
    const unsigned ctas = ctas_per_sm * sms(context), warps = ctas * threads / lanes;
    Samples all;
    for (unsigned lines = 1; lines <= 16384; lines *= 2) {
        DeviceBuffer<float> words(std::size_t{lines} * line_words);
        const auto adding = [&](unsigned adds_of_warp) {
            return [&, adds_of_warp](cudaStream_t stream) {
                kernel.launch_with(dim3(ctas), dim3(threads), 0, stream, words.data(), lines, line_words,
                                   adds_of_warp);
            };
        };
        const unsigned least = lines < 32 ? adds : 8 * adds;
        all.push_back(difference(
            context, adding(least), adding(3 * least),
            {{"lines", lines}, {"ctas_per_sm", ctas_per_sm}, {"threads", threads}, {"adds", least}},
            2.0 * least * warps * lanes));
        words.fill_bytes(0);
        adding(adds)(context.watch.stream());
        wait(context, "cudaStreamSynchronize after adds");
        double sum = 0.0;
        for (const float word : words.to_host())
            sum += static_cast<double>(word);
        if (sum != static_cast<double>(adds) * warps * lanes)
            throw GpuError("float_adds: the sums are not what was added");
    }
    return all;
}

Samples grid_sync(ProbeContext &context, const Module &module) {
    int cooperative = 0;
    check(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, context.device.ordinal),
          "cudaDeviceGetAttribute");
    if (!cooperative)
        throw ProbeSkipped("needs cooperative launches, which this GPU or its driver does not have");
    constexpr unsigned threads = 256, few = 64, many = 256;
    const Kernel kernel = module.kernel("grid_sync"), checked = module.kernel("grid_sync_checked");
    const int most = std::min(kernel.ctas_per_sm(threads, 0), checked.ctas_per_sm(threads, 0));
    DeviceBuffer<std::uint32_t> word = zeros(1);
    Samples all;
    for (const unsigned ctas_per_sm : {1u, 2u}) {
        if (static_cast<int>(ctas_per_sm) > most)
            continue; // they would wait for CTAs that cannot start
        const unsigned ctas = ctas_per_sm * sms(context);
        DeviceBuffer<std::uint32_t> steps = zeros(ctas), late = zeros(1);
        volatile std::uint32_t *const steps_data = steps.data();
        checked.launch_together(dim3(ctas), dim3(threads), 0, context.watch.stream(), word.data(), few,
                                steps_data, late.data());
        wait(context, "cudaStreamSynchronize after grid barriers");
        for (const std::uint32_t step : steps.to_host())
            if (step != few)
                throw GpuError("grid_sync: a CTA did not pass all barriers");
        if (const std::uint32_t count = late.to_host()[0]; count > 0)
            throw GpuError("grid_sync: " + std::to_string(count) + " CTAs did not wait at a barrier");

        const auto meeting = [&](unsigned barriers) {
            return [&, barriers](cudaStream_t stream) {
                kernel.launch_together(dim3(ctas), dim3(threads), 0, stream, word.data(), barriers);
            };
        };
        all.push_back(difference(
            context, meeting(few), meeting(many),
            {{"ctas_per_sm", ctas_per_sm}, {"threads", threads}, {"barriers", many}, {"barriers_less", few}},
            many - few));
        // An even number of barriers turned the top bit over in each launch, and left nothing below it.
        if (const std::uint32_t left = word.to_host()[0]; left != 0)
            throw GpuError("grid_sync: " + std::to_string(left) + " is left in the word of the barrier");
    }
    return all;
}

Samples cluster_room(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 64, threads = 256, rounds = 4; // some 0.2 ms a CTA
    const Kernel kernel = module.kernel("cluster_barrier<1>");
    const std::size_t shared = shared_to_hold(context, kernel, threads, 1).value();
    Samples all;
    for (const unsigned cluster : {2u, 4u, 8u}) {
        const unsigned ctas = rounds * sms(context) / cluster * cluster;
        DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
        DeviceBuffer<Span> spans(ctas);
        const KernelCall call{
            kernel, dim3(ctas), dim3(threads), shared, {iterations, sink.data(), spans.data()}, cluster};
        ProbeSamples samples =
            configuration(context, {{"cluster", cluster}, {"threads", threads}, {"ctas", ctas}});
        for (std::size_t i = 0; i < sample_count; ++i) {
            spans.fill_bytes(0);
            call(context.watch.stream());
            wait(context, "cudaStreamSynchronize after clusters");
            const std::vector<Span> seen = spans.to_host();
            std::uint64_t first_end = seen.front().end_ns;
            for (const Span &span : seen)
                first_end = std::min(first_end, span.end_ns);
            const auto started = std::count_if(seen.begin(), seen.end(),
                                               [&](const Span &span) { return span.start_ns < first_end; });
            add_sample(samples, static_cast<double>(started), rate_of(seen).clock_hz);
        }
        all.push_back(std::move(samples));
    }
    return all;
}

} // namespace

ProbeRuns synchronisation_runs() {
    return {{"atomic_latency", atomic_latency},
            {"atomic_rate", atomic_rate},
            {"float_adds", float_adds},
            {"grid_sync", grid_sync},
            {"cluster_room", cluster_room}};
}

} // namespace convcast::probe
