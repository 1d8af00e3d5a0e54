#include "microbench/runners/pointer_ring.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace convcast::probe {
namespace {

constexpr unsigned hop_unit = 32; // `unrolled` of the chases

/// Whole laps of at least `least` hops.
unsigned laps_of(std::size_t nodes, std::size_t least) {
    return static_cast<unsigned>((least + nodes - 1) / nodes * nodes);
}

/// The %smid of every SM, ascending.
std::vector<std::uint32_t> sm_ids(const ProbeContext &context, const Module &module) {
    const Kernel kernel = module.kernel("list_sms");
    DeviceBuffer<std::uint32_t> ids(sms(context)), arrived = zeros(1);
    kernel.launch_with(dim3(sms(context)), dim3(1), shared_to_hold(context, kernel, 1, 1).value(),
                       context.watch.stream(), ids.data(), arrived.data());
    wait(context, "cudaStreamSynchronize after listing the SMs");
    const std::vector<std::uint32_t> seen = ids.to_host();
    const std::set<std::uint32_t> distinct(seen.begin(), seen.end());
    return {distinct.begin(), distinct.end()};
}

/// From a few lines to four times L2: four points an octave around the sizes of L1 and L2, two elsewhere.
std::vector<std::size_t> footprints(const DeviceFacts &device) {
    constexpr std::size_t unit = hop_unit * line_bytes;
    // L1 and shared memory are one memory; the driver tells of the latter.
    const auto l1 = static_cast<double>(device.shared_per_sm_bytes),
               l2 = static_cast<double>(device.l2_bytes);
    const auto near = [](double bytes, double size) { return bytes >= size / 4 && bytes < 2 * size; };
    std::vector<std::size_t> found;
    for (double bytes = unit; bytes < 4.1 * l2;
         bytes *= near(bytes, l1) || near(bytes, l2) ? std::pow(2.0, 0.25) : std::sqrt(2.0)) {
        const std::size_t whole = static_cast<std::size_t>(bytes / unit + 0.5) * unit;
        if (found.empty() || whole > found.back())
            found.push_back(whole);
    }
    if (found.back() < 4 * device.l2_bytes)
        found.push_back((4 * device.l2_bytes + unit - 1) / unit * unit);
    return found;
}

/// Device memory with a ring through `lines` of its first `slots` lines.
struct RingMemory {
    DeviceBuffer<unsigned char> memory;
    PointerRing ring;
    RingMemory(ProbeContext &context, const Module &module, std::size_t lines)
        : memory(lines * line_bytes),
          ring(module, memory.data(), scattered_lines(lines, lines), context.watch.stream()) {}
    double bytes() const { return static_cast<double>(memory.bytes()); }
};

Samples l1_latency(ProbeContext &context, const Module &module) {
    constexpr std::size_t nodes = 16384 / line_bytes; // fits every L1, leaves none to chance
    const RingMemory chased(context, module, nodes);
    return {chase_by_loads(context, module, chased.ring,
                           {.warm = laps_of(nodes, 1), .hops = laps_of(nodes, 16384), .through_l1 = true},
                           {{"footprint_bytes", chased.bytes()}})};
}

Samples l2_latency(ProbeContext &context, const Module &module) {
    constexpr std::size_t samples_per_sm = 5;
    const std::size_t nodes = near_nodes(context);
    const auto lap = static_cast<unsigned>(nodes);
    const RingMemory chased(context, module, nodes);
    const Kernel kernel = module.kernel("chase_on_sm");
    const std::size_t shared = shared_to_hold(context, kernel, 1, 1).value();
    DeviceBuffer<Span> spans(sms(context));
    DeviceBuffer<ChaseEnd> end(1);
    DeviceBuffer<std::uint32_t> taken = zeros(1);
    const unsigned long long start = chased.ring.address(0);
    unsigned ticket = 0;
    const auto sample = [&](std::uint32_t sm) {
        spans.fill_bytes(0);
        end.fill_bytes(0);
        kernel.launch_with(dim3(sms(context)), dim3(1), shared, context.watch.stream(), start, lap, lap, sm,
                           ++ticket, taken.data(), end.data(), spans.data());
        wait(context, "cudaStreamSynchronize after a pointer chase");
        if (end.to_host()[0].node != chased.ring.address(0))
            throw GpuError("the pointer chase on SM " + std::to_string(sm) +
                           " did not end where it was to end");
        for (const Span &span : spans.to_host())
            if (span.end_cycles != 0)
                return rate_of({span});
        throw GpuError("no CTA ran on SM " + std::to_string(sm));
    };
    Samples all;
    for (const std::uint32_t sm : sm_ids(context, module)) {
        ProbeSamples samples = configuration(context, {{"sm", sm},
                                                       {"footprint_bytes", chased.bytes()},
                                                       {"node_bytes", static_cast<double>(line_bytes)},
                                                       {"warm_hops", lap},
                                                       {"hops", lap}});
        for (std::size_t i = 0; i < samples_per_sm; ++i) {
            const Rate rate = sample(sm);
            add_sample(samples, rate.cycles_per_cta / lap, rate.clock_hz);
        }
        all.push_back(std::move(samples));
    }
    return all;
}

Samples latency_by_footprint(ProbeContext &context, const Module &module) {
    // Longer rings are neither warmed by their one thread nor chased in full: that would take a second each.
    constexpr std::size_t whole_laps_to = 4 * mebibyte;
    const std::vector<std::size_t> sizes = footprints(context.device);
    DeviceBuffer<unsigned char> memory(sizes.back());
    Samples all;
    for (const std::size_t bytes : sizes) {
        const std::size_t nodes = bytes / line_bytes;
        const bool whole = bytes <= whole_laps_to;
        const PointerRing ring(module, memory.data(), scattered_lines(nodes, nodes), context.watch.stream());
        all.push_back(chase_by_loads(context, module, ring,
                                     {.warm = whole ? laps_of(nodes, 1) : 1024,
                                      .hops = whole ? laps_of(nodes, 8192) : 8192,
                                      .through_l1 = true,
                                      .touch = true,
                                      .samples = 7,
                                      .note = whole ? "; whole laps after one" : "; every line read before"},
                                     {{"footprint_bytes", static_cast<double>(bytes)}}));
    }
    return all;
}

Samples dram_latency(ProbeContext &context, const Module &module) {
    // Large against L2, small enough for the TLBs: misses there are another number (+40 % at 4 GiB on a
    // B200).
    const RingMemory chased(context, module,
                            std::max(256 * mebibyte, 4 * context.device.l2_bytes) / line_bytes);
    return {chase_by_loads(context, module, chased.ring, {.warm = 1024, .hops = 16384, .cold = true},
                           {{"footprint_bytes", chased.bytes()}})};
}

Samples tlb_latency(ProbeContext &context, const Module &module) {
    // As many lines in every region, more than L2 holds twice, so that only the pages differ.
    const std::size_t lines =
        std::max<std::size_t>(context.device.l2_bytes / line_bytes / 5 * 11, std::size_t{1} << 18);
    std::size_t region = 256 * mebibyte;
    while (region < 2 * lines * line_bytes)
        region *= 2;
    const std::size_t most = std::min(65536 * mebibyte, device_memory().free / 2);
    if (most < 2 * region)
        throw ProbeSkipped("needs " + std::to_string(4 * region / mebibyte) + " MiB of free GPU memory");
    std::size_t largest = region;
    while (2 * largest <= most)
        largest *= 2;
    DeviceBuffer<unsigned char> memory(largest);
    Samples all;
    for (; region <= largest; region *= 2) {
        const PointerRing ring(module, memory.data(), scattered_lines(lines, region / line_bytes),
                               context.watch.stream());
        all.push_back(chase_by_loads(
            context, module, ring,
            {.warm = 512,
             .hops = 4096,
             .cold = true, // the lines linked last are in L2
             .note = "; lines at random places of the region, none visited twice"},
            {{"region_bytes", static_cast<double>(region)}, {"lines", static_cast<double>(lines)}}));
    }
    return all;
}

Samples constant_latency(ProbeContext &context, const Module &module) {
    constexpr std::size_t node_bytes = 64, most = 65536; // all constant memory there is
    constexpr unsigned hops = 4096;
    const Kernel kernel = module.kernel("chase_constant");
    std::size_t ring_bytes = 0;
    void *const memory = module.global("ring", ring_bytes);
    if (ring_bytes != most)
        throw GpuError("the ring in constant memory has " + std::to_string(ring_bytes) + " B, expected " +
                       std::to_string(most));
    DeviceBuffer<std::uint32_t> end(1);
    module.kernel("constant_base").launch_with(dim3(1), dim3(1), 0, context.watch.stream(), end.data());
    wait(context, "cudaStreamSynchronize after asking where constant memory is");
    const std::uint32_t base = end.to_host()[0];
    DeviceBuffer<Span> spans(sms(context));
    Samples all;
    std::size_t last = 0;
    for (double size = 512; size < 1.01 * most; size *= std::pow(2.0, 0.25)) {
        const std::size_t nodes = static_cast<std::size_t>(size / node_bytes + 0.5);
        if (nodes == last)
            continue;
        last = nodes;
        const std::vector<std::uint32_t> next = random_cycle(nodes);
        const auto address = [&](std::uint32_t node) {
            return base + static_cast<std::uint32_t>(node * node_bytes);
        };
        std::vector<std::uint32_t> image(nodes * node_bytes / sizeof(std::uint32_t));
        for (std::size_t i = 0; i < nodes; ++i)
            image[i * node_bytes / sizeof(std::uint32_t)] = address(next[i]);
        check(cudaMemcpy(memory, image.data(), nodes * node_bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        const unsigned warm = 2 * laps_of(nodes, 1) / hop_unit * hop_unit + hop_unit;
        const std::uint32_t expected = address(after(next, 0, warm + hops));
        ProbeSamples samples =
            configuration(context, {{"footprint_bytes", static_cast<double>(nodes * node_bytes)},
                                    {"node_bytes", double{node_bytes}},
                                    {"warm_hops", warm},
                                    {"hops", hops}});
        for (std::size_t i = 0; i <= sample_count; ++i) { // the first is to warm up
            const auto chosen = static_cast<unsigned>(i * sms(context) / (sample_count + 1));
            kernel.launch_with(dim3(sms(context)), dim3(1), 0, context.watch.stream(), base, warm, hops,
                               chosen, end.data(), spans.data());
            wait(context, "cudaStreamSynchronize after a chase through constant memory");
            if (end.to_host()[0] != expected)
                throw GpuError("the chase through constant memory did not end where it was to end");
            if (i == 0)
                continue;
            const Rate rate = rate_of({spans.to_host()[chosen]});
            add_sample(samples, rate.cycles_per_cta / hops, rate.clock_hz);
        }
        all.push_back(std::move(samples));
    }
    return all;
}

} // namespace

ProbeRuns latency_runs() {
    return {{"l1_latency", l1_latency},
            {"l2_latency", l2_latency},
            {"latency_by_footprint", latency_by_footprint},
            {"dram_latency", dram_latency},
            {"tlb_latency", tlb_latency},
            {"constant_latency", constant_latency}};
}

} // namespace convcast::probe
