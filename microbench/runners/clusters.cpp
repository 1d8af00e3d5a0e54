#include "microbench/runners/harness.hpp"
#include "microbench/runners/pointer_ring.hpp"

#include <algorithm>
#include <span>

namespace convcast::probe {
namespace {

void need_clusters(const ProbeContext &context) {
    constexpr int first_major = 9;
    if (context.device.compute_major < first_major)
        throw ProbeSkipped("needs thread block clusters, which compute capability 9.0 was the first to have");
}

template <class... Parameters>
void launch_clusters(const ProbeContext &context, const Kernel &kernel, unsigned ctas, unsigned cluster,
                     unsigned threads, std::size_t shared, Parameters... parameters) {
    void *args[] = {static_cast<void *>(&parameters)..., nullptr};
    kernel.launch(dim3(ctas), dim3(threads), shared, context.watch.stream(), args, cluster);
}

/// CTAs, in whole clusters, of which surely all run at once with one on an SM: GPCs have SMs left over.
unsigned resident_ctas(const ProbeContext &context, unsigned cluster) {
    constexpr double room = 0.85;
    return std::max(1u, static_cast<unsigned>(room * sms(context)) / cluster) * cluster;
}

constexpr unsigned sizes[] = {2, 4, 8};

} // namespace

Samples cluster_latency(ProbeContext &context, const Module &module) {
    need_clusters(context);
    constexpr unsigned nodes = 1024, warm = nodes, hops = 4 * nodes, threads = 128; // as in cluster.cu
    const Kernel kernel = module.kernel("cluster_chase");
    const std::vector<std::uint32_t> ring = random_cycle(nodes);
    const DeviceBuffer<std::uint32_t> next{std::span<const std::uint32_t>(ring)};
    const std::uint32_t expected = after(ring, 0, warm + hops);
    Samples all;
    for (const unsigned cluster : sizes) {
        const unsigned ctas = resident_ctas(context, cluster);
        DeviceBuffer<std::uint32_t> end(ctas);
        const std::uint32_t *const next_data = next.data();
        std::uint32_t *const end_data = end.data();
        const std::vector<Rate> found = rates(context, ctas, warm_up_after(all), [&](Span *spans) {
            launch_clusters(context, kernel, ctas, cluster, threads, 0, next_data, warm, hops, end_data,
                            spans);
        });
        for (const std::uint32_t seen : end.to_host())
            if (seen != expected)
                throw GpuError("the chase through a cluster did not end where it was to end");
        all.push_back(samples_from(found, "cluster_latency", "clk",
                                   {{"cluster", cluster}, {"footprint_bytes", 4.0 * nodes}, {"hops", hops}},
                                   "one thread of each CTA, random cycle in the shared memory of the next CTA "
                                   "of its cluster, clock64 around all hops on the median SM",
                                   [](const Rate &rate) { return rate.cycles_per_cta / hops; }));
    }
    return all;
}

Samples cluster_bandwidth(ProbeContext &context, const Module &module) {
    need_clusters(context);
    constexpr unsigned iterations = 128, reads = 8, words = 8192, threads = 512; // as in cluster.cu
    Samples all;
    for (const unsigned bytes : {4u, 16u}) {
        const Kernel kernel = module.kernel("cluster_read<" + std::to_string(bytes) + ">");
        for (const unsigned cluster : sizes) {
            const unsigned ctas = resident_ctas(context, cluster);
            DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
            sink.fill_bytes(0);
            std::uint32_t *const sink_data = sink.data();
            const std::size_t shared = shared_to_hold(context, kernel, threads, 1).value();
            const std::vector<Rate> found = rates(context, ctas, warm_up_after(all), [&](Span *spans) {
                launch_clusters(context, kernel, ctas, cluster, threads, shared, iterations, sink_data, spans);
            });
            std::uint32_t expected = 0; // modulo 2^32; all memory is filled alike
            for (unsigned read = 0; read < reads; ++read)
                for (unsigned thread = 0; thread < threads; ++thread)
                    for (unsigned word = 0; word < bytes / 4; ++word)
                        expected += word_at((thread + read * threads) * bytes % (4 * words) / 4 + word);
            expect_sum(sink, expected * iterations * ctas, "cluster_read");
            all.push_back(samples_from(
                found, "cluster_bandwidth", "B/clk",
                {{"cluster", cluster}, {"bytes_per_lane", bytes}, {"threads", threads}, {"loads", reads}},
                "one CTA on an SM reads the shared memory of the others of its cluster, by clock64 of the "
                "median SM",
                [&](const Rate &rate) {
                    return static_cast<double>(bytes) * threads * reads * iterations / rate.cycles_per_cta;
                }));
        }
    }
    return all;
}

Samples cluster_barrier(ProbeContext &context, const Module &module) {
    need_clusters(context);
    constexpr unsigned iterations = 32, unrolled = 16, threads = 256; // as in cluster.cu
    const Kernel kernels[] = {module.kernel("cluster_barrier<1>"), module.kernel("cluster_barrier<2>")};
    Samples all;
    for (const unsigned cluster : sizes) {
        const unsigned ctas = resident_ctas(context, cluster);
        DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
        std::uint32_t *const sink_data = sink.data();
        std::vector<Rate> found[2];
        for (int i = 0; i < 2; ++i) {
            const std::size_t shared = shared_to_hold(context, kernels[i], threads, 1).value();
            found[i] = rates(context, ctas, warm_up_after(all), [&](Span *spans) {
                launch_clusters(context, kernels[i], ctas, cluster, threads, shared, iterations, sink_data,
                                spans);
            });
        }
        ProbeSamples samples{"cluster_barrier",
                             "clk",
                             {{"cluster", cluster}, {"threads", threads}, {"iterations", iterations}},
                             {},
                             {},
                             "32 barriers minus 16, each behind a store to shared memory, by clock64 of the "
                             "median SM"};
        for (std::size_t i = 0; i < found[0].size(); ++i) {
            samples.values.push_back((found[1][i].cycles_per_cta - found[0][i].cycles_per_cta) /
                                     (iterations * unrolled));
            samples.sm_clock_hz.push_back(found[1][i].clock_hz);
        }
        all.push_back(std::move(samples));
    }
    return all;
}

Samples cluster_room(ProbeContext &context, const Module &module) {
    need_clusters(context);
    constexpr unsigned iterations = 64, threads = 256, rounds = 4; // some 0.2 ms a CTA
    const Kernel kernel = module.kernel("cluster_barrier<1>");
    Samples all;
    for (const unsigned cluster : sizes) {
        const unsigned ctas = rounds * sms(context) / cluster * cluster;
        DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
        DeviceBuffer<Span> spans(ctas);
        std::uint32_t *const sink_data = sink.data();
        Span *const spans_data = spans.data();
        const std::size_t shared = shared_to_hold(context, kernel, threads, 1).value();
        ProbeSamples samples{"cluster_room",
                             "1",
                             {{"cluster", cluster}, {"threads", threads}, {"ctas", ctas}},
                             {},
                             {},
                             "CTAs, one an SM, that had started when the first one ended, by the global timer"};
        for (std::size_t i = 0; i < sample_count; ++i) {
            spans.fill_bytes(0);
            launch_clusters(context, kernel, ctas, cluster, threads, shared, iterations, sink_data, spans_data);
            wait(context, "cudaStreamSynchronize after clusters");
            const std::vector<Span> seen = spans.to_host();
            std::uint64_t first_end = seen.front().end_ns;
            for (const Span &span : seen)
                first_end = std::min(first_end, span.end_ns);
            samples.values.push_back(static_cast<double>(std::count_if(
                seen.begin(), seen.end(), [&](const Span &span) { return span.start_ns < first_end; })));
            samples.sm_clock_hz.push_back(rate_of(seen).clock_hz);
        }
        all.push_back(std::move(samples));
    }
    return all;
}

} // namespace convcast::probe
