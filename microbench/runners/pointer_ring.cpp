#include "microbench/runners/pointer_ring.hpp"

#include <algorithm>

namespace convcast::probe {

PointerRing::PointerRing(const Module &chase, void *memory, std::vector<std::uint32_t> order,
                         cudaStream_t stream)
    : link_(chase.kernel("link_ring")), memory_(reinterpret_cast<std::uint64_t>(memory)),
      order_(std::move(order)), order_on_device_(std::span<const std::uint32_t>(order_)) {
    link(stream);
}

void PointerRing::link(cudaStream_t stream) {
    const unsigned long long memory = memory_;
    const std::uint32_t *const order = order_on_device_.data();
    link_.launch_with(dim3(512), dim3(256), 0, stream, memory, order, static_cast<unsigned>(order_.size()));
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after linking a ring");
}

std::size_t near_nodes(const ProbeContext &context) {
    return std::min<std::size_t>(2048, context.device.l2_bytes / 4 / line_bytes) / 32 * 32;
}

void chase(ProbeContext &context, ProbeSamples &samples, unsigned warm, unsigned hops, std::size_t count,
           const ChaseLaunch &launch,
           const std::function<void(const ChaseEnd &end, std::size_t position)> &proof) {
    DeviceBuffer<Span> spans(sms(context));
    DeviceBuffer<ChaseEnd> end(1);
    std::string seen_from;
    std::size_t position = 0;
    for (std::size_t i = 0; i <= count; ++i) { // the first is to warm up
        const auto chosen = static_cast<unsigned>(i * sms(context) / (count + 1));
        end.fill_bytes(0);
        launch(chosen, position, end.data(), spans.data());
        wait(context, "cudaStreamSynchronize after a pointer chase");
        position += warm + hops;
        proof(end.to_host()[0], position);
        if (i == 0)
            continue;
        const Span span = spans.to_host()[chosen];
        const Rate rate = rate_of({span});
        add_sample(samples, rate.cycles_per_cta / hops, rate.clock_hz);
        seen_from += (seen_from.empty() ? "" : ", ") + std::to_string(span.sm);
    }
    samples.note += "; from SMs " + seen_from;
}

ProbeSamples chase_by_loads(ProbeContext &context, const Module &module, const PointerRing &ring,
                            const ChaseOptions &options, Knobs knobs) {
    const Kernel kernel = module.kernel(options.through_l1 ? "chase<true>" : "chase<false>");
    if (options.through_l1)
        kernel.prefer_shared(0);
    knobs.insert({{"node_bytes", static_cast<double>(line_bytes)},
                  {"nodes", static_cast<double>(ring.nodes())},
                  {"warm_hops", options.warm},
                  {"hops", options.hops}});
    ProbeSamples samples = configuration(context, std::move(knobs));
    const auto lines = static_cast<unsigned>(options.touch ? ring.nodes() : 0);
    // The lines of a touched ring are the first of its memory.
    const std::uint64_t addresses =
        lines * ring.memory() + line_bytes * (std::uint64_t{lines} * (lines - std::uint64_t{lines > 0}) / 2);
    chase(
        context, samples, options.warm, options.hops, options.samples,
        [&](unsigned chosen, std::size_t position, ChaseEnd *end, Span *spans) {
            if (options.cold)
                context.watch.flush_l2();
            const unsigned long long start = ring.address(position), memory = ring.memory();
            kernel.launch_with(dim3(sms(context)), dim3(options.touch ? 1024 : 32), 0, context.watch.stream(),
                               start, options.warm, options.hops, chosen, memory, lines, end, spans);
        },
        [&](const ChaseEnd &end, std::size_t position) {
            if (end.node != ring.address(position))
                throw GpuError("the pointer chase did not end where it was to end");
            if (end.addresses != addresses)
                throw GpuError("the pointer chase did not touch the lines that it was to touch");
        });
    samples.note += options.note;
    return samples;
}

} // namespace convcast::probe
