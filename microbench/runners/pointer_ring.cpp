#include "microbench/runners/pointer_ring.hpp"

#include <algorithm>
#include <random>

namespace convcast::probe {

std::vector<std::uint32_t> scattered_lines(std::size_t lines, std::size_t slots) {
    std::mt19937_64 random(1);
    std::vector<std::uint32_t> order(lines);
    for (std::size_t i = 0; i < lines; ++i) { // one of each stratum, so none twice
        const std::size_t first = i * slots / lines, behind = (i + 1) * slots / lines;
        order[i] = static_cast<std::uint32_t>(first + random() % (behind - first));
    }
    std::shuffle(order.begin(), order.end(), random); // visiting them in a random order is a single cycle
    return order;
}

PointerRing::PointerRing(const Module &chase, void *memory, std::vector<std::uint32_t> order,
                         cudaStream_t stream)
    : link_(chase.kernel("link_ring")), memory_(reinterpret_cast<std::uint64_t>(memory)),
      order_(std::move(order)), order_on_device_(std::span<const std::uint32_t>(order_)) {
    link(stream);
}

void PointerRing::link(cudaStream_t stream) {
    const unsigned long long memory = memory_;
    const std::uint32_t *const order = order_on_device_.data();
    const auto count = static_cast<unsigned>(order_.size());
    link_.launch_with(dim3(512), dim3(256), 0, stream, memory, order, count);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after linking a ring");
}

ProbeSamples chase(ProbeContext &context, const Module &module, const PointerRing &ring, const char *probe,
                   const ChaseOptions &options, std::map<std::string, double> knobs) {
    const Kernel kernel = module.kernel(options.through_l1 ? "chase<true>" : "chase<false>");
    if (options.through_l1)
        kernel.prefer_shared(0);
    DeviceBuffer<Span> spans(sms(context));
    DeviceBuffer<ChaseEnd> end(1);
    knobs.insert({{"node_bytes", static_cast<double>(line_bytes)},
                  {"nodes", static_cast<double>(ring.nodes())},
                  {"warm_hops", options.warm},
                  {"hops", options.hops}});
    ProbeSamples samples{probe, "clk", std::move(knobs), {}, {}, {}};
    const auto lines = static_cast<unsigned>(options.touch ? ring.nodes() : 0);
    const unsigned threads = options.touch ? 1024 : 32;
    // The lines of a touched ring are the first of its memory.
    const std::uint64_t addresses =
        lines * ring.memory() + line_bytes * (std::uint64_t{lines} * (lines - std::uint64_t{lines > 0}) / 2);
    std::string seen_from;
    std::size_t position = 0;
    for (std::size_t i = 0; i <= options.samples; ++i) { // the first is to warm up
        const auto chosen = static_cast<unsigned>(i * sms(context) / (options.samples + 1));
        const unsigned long long start = ring.address(position), memory = ring.memory();
        ChaseEnd *const end_data = end.data();
        Span *const spans_data = spans.data();
        end.fill_bytes(0);
        if (options.cold)
            context.watch.flush_l2();
        kernel.launch_with(dim3(sms(context)), dim3(threads), 0, context.watch.stream(), start, options.warm,
                           options.hops, chosen, memory, lines, end_data, spans_data);
        wait(context, "cudaStreamSynchronize after a pointer chase");
        position += options.warm + options.hops;
        const ChaseEnd seen = end.to_host()[0];
        if (seen.node != ring.address(position))
            throw GpuError("the pointer chase did not end where it was to end");
        if (seen.addresses != addresses)
            throw GpuError("the pointer chase did not touch the lines that it was to touch");
        if (i == 0)
            continue;
        const Span span = spans.to_host()[chosen];
        const Rate rate = rate_of({span});
        samples.values.push_back(rate.cycles_per_cta / options.hops);
        samples.sm_clock_hz.push_back(rate.clock_hz);
        seen_from += (seen_from.empty() ? "" : ", ") + std::to_string(span.sm);
    }
    samples.note =
        "one thread, random cycle of absolute pointers, clock64 around all hops; from SMs " + seen_from;
    return samples;
}

std::vector<std::uint32_t> random_cycle(std::size_t nodes) {
    const std::vector<std::uint32_t> order = scattered_lines(nodes, nodes);
    std::vector<std::uint32_t> next(nodes);
    for (std::size_t i = 0; i < nodes; ++i)
        next[order[i]] = order[(i + 1) % nodes];
    return next;
}

std::uint32_t after(const std::vector<std::uint32_t> &next, std::uint32_t node, std::size_t hops) {
    for (; hops > 0; --hops)
        node = next[node];
    return node;
}

} // namespace convcast::probe
