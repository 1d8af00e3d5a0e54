// Chases through shared memory, L1, L2, DRAM and constant memory.
#include "microbench/derived.hpp"
#include "microbench/patterns.hpp"
#include "microbench/probes/rows.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace convcast {
namespace {

ClockedLaunch shared_chase(const ProbePoint &at) {
    const unsigned nodes = at["warm_hops"];
    std::vector<std::uint32_t> ring = random_cycle(nodes);
    const std::uint32_t end = after(ring, 0, at["warm_hops"] + at["hops"]);
    return {.kernel = "chase_shared",
            .amount = at.knobs.at("hops"),
            .threads = 128,
            .scalars = {at["warm_hops"], at["hops"]},
            .memory = std::move(ring),
            .results = 1,
            .sum = end};
}

} // namespace

std::vector<Probe> latency_probes() {
    const ProbeCurve by_footprint{
        CurveAxis("footprint", "B", true), latency_axis, Better::lowest, {"footprint_bytes"}};
    return {
        Probe("shared_latency", "How long does one dependent load of shared memory take?", "chase_shared.cu",
              "clk",
              "one thread on each SM, random cycle of 32-bit addresses, clock64 around all hops on the "
              "median SM",
              {.fields = {{"shared_latency", Better::lowest}}},
              {.axes = {{"footprint_bytes", {16384}},
                        {"node_bytes", {4}},
                        {"warm_hops", {4096}},
                        {"hops", {16384}}},
               .launch = shared_chase}),
        Probe("l1_latency", "How long does one dependent load take that hits L1?", "chase.cu", "clk",
              "one thread, random cycle of absolute pointers, clock64 around all hops",
              {.fields = {{"l1_latency", Better::lowest}}},
              {.templates = instances("chase<{}>", {{"false", "true"}})}),
        Probe("l2_latency", "How long does one dependent load take that hits L2, from each SM?", "chase.cu",
              "clk",
              "one thread of this SM, random cycle of absolute pointers, past L1, clock64 around a whole "
              "lap after another",
              {.fields = {{"l2_latency"}},
               .curve = ProbeCurve(CurveAxis("SM", "1", false), CurveAxis("latency", "clk", false),
                                   Better::lowest, {"sm"}),
               .derive = derive_l2_latency}),
        Probe("latency_by_footprint", "How long does a load take when so many bytes are in use?", "chase.cu",
              "clk", "one thread, random cycle of absolute pointers, clock64 around all hops",
              {.fields = {{"l2_far_latency"}, {"l1_seen_bytes"}, {"l2_seen_bytes"}},
               .curve = by_footprint,
               .derive = derive_footprints}),
        Probe("dram_latency", "How long does one dependent load take that misses L2?", "chase.cu", "clk",
              "one thread, random cycle of absolute pointers, clock64 around all hops",
              {.fields = {{"dram_latency", Better::lowest}}}),
        Probe("tlb_latency", "How much longer does it take when its page is not known?", "chase.cu", "clk",
              "one thread, random cycle of absolute pointers, clock64 around all hops",
              {.fields = {{"dram_tlb_latency"}},
               .curve =
                   ProbeCurve(CurveAxis("region", "B", true), latency_axis, Better::lowest, {"region_bytes"}),
               .derive = derive_tlb_latency}),
        Probe("constant_latency", "How long does a dependent load of constant memory take?",
              "chase_constant.cu", "clk",
              "one thread, random cycle of addresses in constant memory, clock64 around all hops, after "
              "two laps",
              {.fields = {{"constant_l1_latency"}, {"constant_l2_latency"}, {"constant_l1_seen_bytes"}},
               .curve = by_footprint,
               .derive = derive_constant},
              {.templates = {"&ring"}}),
    };
}

} // namespace convcast
