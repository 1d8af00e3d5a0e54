// Barriers and atomic adds, and what CTAs of a cluster take to reach each other.
#include "microbench/patterns.hpp"
#include "microbench/probes/rows.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace convcast {
namespace {

ClockedLaunch barrier(const ProbePoint &at) {
    constexpr unsigned unrolled = 32;
    const unsigned threads = 32 * at["warps"], ctas_per_sm = at["ctas_per_sm"];
    return {.kernel = "barrier<2>",
            .less = "barrier<1>",
            .amount = 1.0 * at["iterations"] * unrolled / ctas_per_sm, // CTAs of an SM wait at the same time
            .threads = threads,
            .ctas_per_sm = ctas_per_sm,
            .scalars = {at["iterations"]},
            .spread = true,
            .knobs = {{"threads", threads}}};
}

ClockedLaunch cluster_chase(const ProbePoint &at) {
    constexpr unsigned nodes = 1024; // as in cluster.cu
    std::vector<std::uint32_t> ring = random_cycle(nodes);
    const std::uint32_t end = after(ring, 0, nodes + at["hops"]);
    return {.kernel = "cluster_chase",
            .amount = at.knobs.at("hops"),
            .threads = 128,
            .cluster = at["cluster"],
            .scalars = {nodes, at["hops"]},
            .memory = std::move(ring),
            .results = 1,
            .sum = end};
}

ClockedLaunch cluster_read(const ProbePoint &at) {
    constexpr unsigned iterations = 128, memory_words = 8192; // as in cluster.cu
    const unsigned bytes = at["bytes_per_lane"], threads = at["threads"], reads = at["loads"];
    return {.kernel = "cluster_read<{bytes_per_lane}>",
            .amount = 1.0 * bytes * threads * reads * iterations,
            .threads = threads,
            .cluster = at["cluster"],
            .scalars = {iterations},
            .spread = true,
            .results = threads,
            .sum = iterations * sum_over(threads * reads, [&](unsigned read) { // all memory is filled alike
                       return loaded_at(read * bytes % (4 * memory_words), bytes);
                   })};
}

ClockedLaunch cluster_barrier(const ProbePoint &at) {
    constexpr unsigned unrolled = 16; // as in cluster.cu
    return {.kernel = "cluster_barrier<2>",
            .less = "cluster_barrier<1>",
            .amount = 1.0 * at["iterations"] * unrolled,
            .threads = at["threads"],
            .cluster = at["cluster"],
            .scalars = {at["iterations"]},
            .spread = true,
            .results = at["threads"]};
}

} // namespace

std::vector<Probe> synchronisation_probes() {
    constexpr int clusters = 90;
    const char *const no_clusters =
        "needs thread block clusters, which compute capability 9.0 was the first to have";
    const CurveAxis cluster_ctas("CTAs of a cluster", "1", true);
    return {
        Probe("barrier_latency", "How long does __syncthreads take, by warps and CTAs?", "barrier.cu", "clk",
              "64 barriers minus 32, by clock64 of the median SM; CTAs of an SM at the same time",
              {.fields =
                   {{"barrier_latency", Better::lowest, {{"warps", 8.0, true}, {"ctas_per_sm", 1.0, true}}}},
               .curve = ProbeCurve(CurveAxis("warps of a CTA", "1", true), barrier_axis, Better::lowest,
                                   {"warps"}, "ctas_per_sm", "{} CTAs an SM")},
              {.axes = {{"ctas_per_sm", {1, 2, 4}}, {"warps", {1, 2, 4, 8, 16, 32}}, {"iterations", {64}}},
               .launch = barrier}),
        Probe("atomic_latency", "How long does an atomic add take whose result is needed?", "chase.cu", "clk",
              "one thread, atomic adds of 64 bits along a random cycle of lines in L2, clock64 around a lap",
              {.fields = {{"atomic_latency", Better::lowest}}}),
        Probe("atomic_rate", "How fast are atomic adds to one address and to many?", "atomic_rate.cu", "s",
              "one lane of each warp adds 4 bytes and wants no result (RED); three times as many adds "
              "minus once as many",
              {.fields = {{"atomic_same_address_time", Better::lowest, {{"addresses", 1.0}}}},
               .curve =
                   ProbeCurve(CurveAxis("addresses", "1", true), add_axis, Better::lowest, {"addresses"})}),
        Probe("float_adds", "How fast are atomic adds of floats to so many lines?", "float_adds.cu", "s",
              "all lanes of a warp add to the first word of a line and want no result (RED); three times "
              "as many adds minus once as many",
              {.curve = ProbeCurve(CurveAxis("lines", "1", true), add_axis, Better::lowest, {"lines"})}),
        Probe("grid_sync", "How long does a barrier of the whole grid take?", "grid_sync.cu", "s",
              "barrier of our own, one atomic add a CTA, in a cooperative launch; 256 minus 64 barriers",
              {.fields = {{"grid_sync_time", Better::lowest, {{"ctas_per_sm", 1.0}}}}}),
        Probe("cluster_latency", "How long does one dependent load of another CTA's shared memory take?",
              "cluster.cu", "clk",
              "one thread of each CTA, random cycle in the shared memory of the next CTA of its cluster, "
              "clock64 "
              "around all hops on the median SM",
              {.fields = {{"cluster_latency", Better::lowest, {{"cluster", 4.0}}}}},
              {.axes = {{"cluster", {2, 4, 8}}, {"footprint_bytes", {4096}}, {"hops", {4096}}},
               .launch = cluster_chase,
               .least_capability = clusters,
               .needs = no_clusters}),
        Probe("cluster_bandwidth", "How many bytes of others' shared memory does an SM read a clock?",
              "cluster.cu", "B/clk",
              "one CTA on an SM reads the shared memory of the others of its cluster, by clock64 of the "
              "median SM",
              {.fields = {{"cluster_bandwidth", Better::highest, {{"cluster", 4.0}}}},
               .curve = ProbeCurve(cluster_ctas, sm_bandwidth_axis, Better::highest, {"cluster"},
                                   "bytes_per_lane", "{} B a lane")},
              {.axes =
                   {{"bytes_per_lane", {4, 16}}, {"cluster", {2, 4, 8}}, {"threads", {512}}, {"loads", {8}}},
               .launch = cluster_read,
               .least_capability = clusters,
               .needs = no_clusters}),
        Probe("cluster_barrier", "How long does a barrier of a cluster take?", "cluster.cu", "clk",
              "32 barriers minus 16, each behind a store to shared memory, by clock64 of the median SM",
              {.fields = {{"cluster_barrier_latency", Better::lowest, {{"cluster", 4.0}}}},
               .curve = ProbeCurve(cluster_ctas, barrier_axis, Better::lowest, {"cluster"})},
              {.axes = {{"cluster", {2, 4, 8}}, {"threads", {256}}, {"iterations", {32}}},
               .launch = cluster_barrier,
               .least_capability = clusters,
               .needs = no_clusters}),
        Probe("cluster_room", "On how many SMs do clusters run at once?", "cluster.cu", "1",
              "CTAs, one an SM, that had started when the first one ended, by the global timer",
              {.fields = {{"clusters_of_4_sms", Better::highest, {{"cluster", 4.0}}},
                          {"clusters_of_8_sms", Better::highest, {{"cluster", 8.0}}}}},
              {.least_capability = clusters, .needs = no_clusters}),
    };
}

} // namespace convcast
