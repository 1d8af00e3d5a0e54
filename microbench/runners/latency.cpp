#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace convcast::probe {
namespace {

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

} // namespace

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

Samples shared_latency(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples l1_latency(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples latency_by_footprint(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples tlb_latency(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples constant_latency(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

} // namespace convcast::probe
