#include "microbench/runners/pointer_ring.hpp"

#include <algorithm>
#include <bit>

namespace convcast::probe {
namespace {

/// Both series have as many samples.
StopWatchOptions short_options() {
    StopWatchOptions options;
    options.l2 = L2State::warm;
    options.min_samples = options.max_samples = static_cast<int>(sample_count);
    options.warm_up = Seconds(0.005);
    return options;
}

/// (time of `longer` - time of `shorter`) / amount: launch and start drop out.
ProbeSamples difference(const SampleSeries &shorter, const SampleSeries &longer, double amount,
                        const char *probe, std::map<std::string, double> knobs, const std::string &note) {
    ProbeSamples samples{probe, "s", std::move(knobs), {}, {}, note + "; by " + longer.method};
    for (std::size_t i = 0; i < std::min(shorter.samples.size(), longer.samples.size()); ++i) {
        samples.values.push_back((longer.samples[i].time.value - shorter.samples[i].time.value) / amount);
        samples.sm_clock_hz.push_back(longer.samples[i].sm_clock.value);
    }
    return samples;
}

} // namespace

Samples barrier_latency(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 64, unrolled = 32;
    const Kernel kernels[] = {module.kernel("barrier<1>"), module.kernel("barrier<2>")};
    Seconds warm_up = short_warm_up;
    Samples all;
    for (const unsigned ctas_per_sm : {1u, 2u, 4u})
        for (const unsigned warps : {1u, 2u, 4u, 8u, 16u, 32u}) {
            const unsigned threads = 32 * warps, ctas = ctas_per_sm * sms(context);
            std::vector<Rate> found[2];
            for (int i = 0; i < 2; ++i) {
                const auto shared = shared_to_hold(context, kernels[i], threads, ctas_per_sm);
                if (!shared)
                    break;
                found[i] = rates(context, ctas, warm_up, [&](Span *spans) {
                    kernels[i].launch_with(dim3(ctas), dim3(threads), *shared, context.watch.stream(),
                                           iterations, spans);
                });
            }
            if (found[1].empty())
                continue; // so many threads do not fit
            warm_up = Seconds(0.002);
            ProbeSamples samples{
                "barrier_latency",
                "clk",
                {{"warps", warps},
                 {"ctas_per_sm", ctas_per_sm},
                 {"threads", threads},
                 {"iterations", iterations}},
                {},
                {},
                "64 barriers minus 32, by clock64 of the median SM; CTAs of an SM at the same time"};
            for (std::size_t i = 0; i < found[0].size(); ++i) {
                // Rates divide an SM's time among its CTAs; here each takes all of it.
                samples.values.push_back((found[1][i].cycles_per_cta - found[0][i].cycles_per_cta) *
                                         ctas_per_sm / (iterations * unrolled));
                samples.sm_clock_hz.push_back(found[1][i].clock_hz);
            }
            all.push_back(std::move(samples));
        }
    return all;
}

Samples atomic_latency(ProbeContext &context, const Module &module) {
    const std::size_t nodes = std::min<std::size_t>(2048, context.device.l2_bytes / 4 / line_bytes) / 32 * 32;
    const auto lap = static_cast<unsigned>(nodes);
    constexpr std::size_t words = line_bytes / sizeof(std::uint64_t);
    const Kernel kernel = module.kernel("chase_by_adds");
    DeviceBuffer<std::uint64_t> memory(nodes * words);
    PointerRing ring(module, memory.data(), scattered_lines(nodes, nodes), context.watch.stream());
    DeviceBuffer<Span> spans(sms(context));
    DeviceBuffer<ChaseEnd> end(1);
    ProbeSamples samples{"atomic_latency",
                         "clk",
                         {{"footprint_bytes", static_cast<double>(memory.bytes())},
                          {"nodes", static_cast<double>(nodes)},
                          {"operand_bytes", 8},
                          {"hops", lap}},
                         {},
                         {},
                         {}};
    std::string seen_from;
    for (std::size_t i = 0; i <= sample_count; ++i) { // the first is to warm up
        const auto chosen = static_cast<unsigned>(i * sms(context) / (sample_count + 1));
        const unsigned long long start = ring.address(0);
        ChaseEnd *const end_data = end.data();
        Span *const spans_data = spans.data();
        ring.link(context.watch.stream());
        end.fill_bytes(0);
        kernel.launch_with(dim3(sms(context)), dim3(1), 0, context.watch.stream(), start, lap, lap, chosen,
                           end_data, spans_data);
        wait(context, "cudaStreamSynchronize after a chase by atomic adds");
        if (end.to_host()[0].node != ring.address(0))
            throw GpuError("the chase by atomic adds did not end where it was to end");
        const std::vector<std::uint64_t> seen = memory.to_host();
        for (std::size_t hop = 0; hop < nodes; ++hop)
            if (seen[(ring.address(hop) - ring.memory()) / sizeof(std::uint64_t)] !=
                ring.address(hop + 1) + 1)
                throw GpuError("the chase by atomic adds left out a node");
        if (i == 0)
            continue;
        const Span span = spans.to_host()[chosen];
        const Rate rate = rate_of({span});
        samples.values.push_back(rate.cycles_per_cta / lap);
        samples.sm_clock_hz.push_back(rate.clock_hz);
        seen_from += (seen_from.empty() ? "" : ", ") + std::to_string(span.sm);
    }
    samples.note =
        "one thread, atomic adds of 64 bits along a random cycle of lines in L2, clock64 around a lap; "
        "from SMs " +
        seen_from;
    return {samples};
}

Samples atomic_rate(ProbeContext &context, const Module &module) {
    constexpr unsigned ctas_per_sm = 2, threads = 512, line_words = line_bytes / 4;
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
        DeviceBuffer<std::uint32_t> counters(std::size_t{addresses} * spacing);
        counters.fill_bytes(0);
        std::uint32_t *const counters_data = counters.data();
        std::uint32_t expected = 0; // modulo 2^32, as on the device
        const auto series_of = [&](unsigned adds_per_warp) {
            return context.watch.measure(
                [&](cudaStream_t stream) {
                    expected += adds_per_warp * warps;
                    kernel.launch_with(dim3(ctas), dim3(threads), 0, stream, counters_data, addresses,
                                       spacing, adds_per_warp);
                },
                short_options());
        };
        const SampleSeries shorter = series_of(adds), longer = series_of(3 * adds);
        expect_sum(counters, expected, "atomic_rate");
        all.push_back(
            difference(shorter, longer, 2.0 * adds * warps, "atomic_rate",
                       {{"addresses", addresses},
                        {"spacing_bytes", 4.0 * spacing},
                        {"ctas_per_sm", ctas_per_sm},
                        {"threads", threads},
                        {"adds", adds}},
                       "one lane of each warp adds 4 bytes and wants no result (RED); three times as "
                       "many adds minus once as many"));
    }
    return all;
}

Samples float_adds(ProbeContext &context, const Module &module) {
    constexpr unsigned ctas_per_sm = 2, threads = 512, line_words = line_bytes / 4, lanes = 32;
    constexpr unsigned adds = 8; // to one line a million altogether: whole floats up to 16 million are exact
    const Kernel kernel = module.kernel("float_adds");
    const unsigned ctas = ctas_per_sm * sms(context), warps = ctas * threads / lanes;
    Samples all;
    for (unsigned lines = 1; lines <= 16384; lines *= 2) {
        DeviceBuffer<float> words(std::size_t{lines} * line_words);
        float *const data = words.data();
        const auto series_of = [&](unsigned adds_of_warp) {
            return context.watch.measure(
                [&](cudaStream_t stream) {
                    kernel.launch_with(dim3(ctas), dim3(threads), 0, stream, data, lines, line_words,
                                       adds_of_warp);
                },
                short_options());
        };
        const unsigned least = lines < 32 ? adds : 8 * adds;
        const SampleSeries shorter = series_of(least), longer = series_of(3 * least);
        words.fill_bytes(0);
        kernel.launch_with(dim3(ctas), dim3(threads), 0, context.watch.stream(), data, lines, line_words,
                           adds);
        wait(context, "cudaStreamSynchronize after adds");
        double sum = 0.0;
        for (const float word : words.to_host())
            sum += static_cast<double>(word);
        if (sum != static_cast<double>(adds) * warps * lanes)
            throw GpuError("float_adds: the sums are not what was added");
        all.push_back(difference(
            shorter, longer, 2.0 * least * warps * lanes, "float_adds",
            {{"lines", lines}, {"ctas_per_sm", ctas_per_sm}, {"threads", threads}, {"adds", least}},
            "all lanes of a warp add to the first word of a line and want no result (RED); three "
            "times as many adds minus once as many"));
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
    DeviceBuffer<std::uint32_t> word(1), late(1);
    word.fill_bytes(0);
    std::uint32_t *const word_data = word.data(), *const late_data = late.data();
    Samples all;
    for (const unsigned ctas_per_sm : {1u, 2u}) {
        if (static_cast<int>(ctas_per_sm) > most)
            continue; // they would wait for CTAs that cannot start
        const unsigned ctas = ctas_per_sm * sms(context);
        DeviceBuffer<std::uint32_t> steps(ctas);
        volatile std::uint32_t *const steps_data = steps.data();
        steps.fill_bytes(0);
        late.fill_bytes(0);
        checked.launch_together(dim3(ctas), dim3(threads), 0, context.watch.stream(), word_data, few,
                                steps_data, late_data);
        wait(context, "cudaStreamSynchronize after grid barriers");
        for (const std::uint32_t step : steps.to_host())
            if (step != few)
                throw GpuError("grid_sync: a CTA did not pass all barriers");
        if (const std::uint32_t count = late.to_host()[0]; count > 0)
            throw GpuError("grid_sync: " + std::to_string(count) + " CTAs did not wait at a barrier");

        const auto series_of = [&](unsigned barriers) {
            return context.watch.measure(
                [&](cudaStream_t stream) {
                    kernel.launch_together(dim3(ctas), dim3(threads), 0, stream, word_data, barriers);
                },
                short_options());
        };
        const SampleSeries shorter = series_of(few), longer = series_of(many);
        // An even number of barriers turned the top bit over in each launch, and left nothing below it.
        if (const std::uint32_t left = word.to_host()[0]; left != 0)
            throw GpuError("grid_sync: " + std::to_string(left) + " is left in the word of the barrier");
        all.push_back(difference(
            shorter, longer, many - few, "grid_sync",
            {{"ctas_per_sm", ctas_per_sm}, {"threads", threads}, {"barriers", many}, {"barriers_less", few}},
            "barrier of our own, one atomic add a CTA, in a cooperative launch; 256 minus "
            "64 barriers"));
    }
    return all;
}

} // namespace convcast::probe
