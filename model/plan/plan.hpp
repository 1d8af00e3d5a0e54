// A plan: what the executor launches, and what the forecast counts of it.
#pragma once

#include "model/base/describe.hpp"
#include "model/machine/facts.hpp"
#include "model/plan/work.hpp"

#include <boost/describe.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// What a launch's pointer parameter points at: a tensor of the call, or the plan's own memory.
enum class Memory { input, filters, output, workspace };
BOOST_DESCRIBE_ENUM(Memory, input, filters, output, workspace)

struct Operand {
    Memory memory = Memory::input;
    std::int64_t offset_bytes = 0; ///< into the workspace; 0 for tensors
    CONVCAST_MEMBERS(Operand, memory, offset_bytes)
};

/// What the executor compiles and launches.
struct Launch {
    std::string kernel; ///< file executor/kernels/<kernel>.cu and function template of that name
    std::vector<std::int64_t> template_arguments; ///< in the order of the kernel's template parameters
    std::vector<Operand> operands; ///< the kernel's pointers in order; none: input, filters, output
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::optional<bool>
        early; ///< may start while the launch before it ends, for which its kernel waits; absent: no
    std::optional<std::int64_t> cluster; ///< CTAs along x that run at once and share their memory; absent: 1
    std::int64_t threads = 0;            ///< per CTA, one dimension
    std::int64_t shared_bytes = 0;       ///< dynamic, per CTA
    std::int64_t register_cap = 0;       ///< of a thread; compiled in as __maxnreg__
    /// Compiled with the instructions that no other architecture has, as wgmma of sm_90a. Absent: without.
    std::optional<bool> architecture_features;
    std::int64_t ctas_per_sm = 0; ///< resident, by threads, registers as planned and shared memory
    std::int64_t filter_begin = 0, filter_count = 0; ///< filters this launch computes
    std::int64_t parts = 0, pieces = 0; ///< single-channel divisions: SMs, P or Q; others: parts of channels
    std::int64_t bank_floats = 0, band_floats = 0;      ///< shared floats of one buffer of filters, of map
    std::int64_t tile_h = 0, tile_k = 0;                ///< rows and filters of a CTA, where not compiled in
    std::optional<std::int64_t> tile_begin, tile_count; ///< winograd: tiles of this launch
    std::int64_t constant_bytes = 0; ///< filters copied to __constant__ memory before the launch; 0: none
    CONVCAST_MEMBERS(Launch, kernel, template_arguments, operands, grid, early, cluster, threads,
                     shared_bytes, register_cap, architecture_features, ctas_per_sm, filter_begin,
                     filter_count, parts, pieces, bank_floats, band_floats, tile_h, tile_k, tile_begin,
                     tile_count, constant_bytes)
};

/// How a launch's CTAs run and what they do, as the strategy counts it from the source: what the forecast
/// reads.
struct Counts {
    std::string variant;        ///< where a kernel has quite different loops: its facts are counted apart
    std::optional<bool> beside; ///< early, and needs nothing of the launch before it; absent: it waits
    std::optional<double> cluster_bytes; ///< that a CTA reads of the others' shared memory at its end
    std::optional<double> cluster_waits; ///< times that a warp waits for such reads
    std::int64_t ctas = 0, waves = 0;
    std::int64_t idle_ctas = 0;              ///< of the grid, that find nothing to do
    std::optional<double> idle_instructions; ///< warp instructions of one of those; absent: none are idle
    double tail = 0.0;                       ///< share of the SMs that have a CTA in the last wave, (0, 1]
    std::int64_t stages = 1;                 ///< buffers of the prefetch pipeline
    std::int64_t steps = 1;                  ///< pipeline steps of one CTA
    std::int64_t busy_warps = 0;             ///< of a CTA that have work in a step
    std::int64_t copy_warps = 0; ///< of a CTA that only copy, beside the busy ones; 0: all warps copy
    std::int64_t barriers = 1;   ///< of a step: 0 where no warp waits for another
    double copy_passes =
        0.0; ///< wavefronts of shared memory per 128 bytes that a step copies there by cp.async
    std::int64_t independent_sums = 1; ///< accumulators of a thread: FFMAs that do not wait for each other
    bool snaked = false; ///< serpentine: neighbouring FFMAs of its outer product share an operand
    /// Work of the busiest scheduler in a step, divided by the mean of all schedulers (F31). Absent: 1, as
    /// warps share a step evenly.
    std::optional<double> busiest_scheduler;
    /// What the warp that copies most copies, divided by the mean of all warps (F6). Absent: 1.
    std::optional<double> longest_copier;
    /// How many busy warps of one CTA the busiest scheduler has (F11). Absent: as many as it gets if the busy
    /// warps are the first `busy_warps` of the CTA.
    std::optional<std::int64_t> scheduler_warps;
    /// How often a busy warp computes outputs and then stores them in a step (F32). Absent: so often that
    /// stores always overlap with arithmetic.
    std::optional<double> store_rounds;
    StepWork step;  ///< of one full CTA
    StepWork drain; ///< what a CTA does once: loads before its first step, the rest after its last
    std::optional<MergeableReads> mergeable_reads; ///< part of work.l2_read_bytes; absent: none
    /// Part of work.l2_write_bytes: sectors that a store writes only in part (F21). Absent: there are none,
    /// or the same warp writes the rest of the sector right behind.
    std::optional<double> partial_write_bytes;
    std::optional<double> new_share; ///< share of the steps that read data new to the CTA (F8); absent: all
    /// Share of the steps whose loads reach a sector that the warp has not loaded yet; the other steps find
    /// in L1 what they load (F8). Absent: all of them.
    std::optional<double> sector_share;
    /// How many CTAs, neighbours in the grid, read the same pixels (F8). Absent: the pixels are in L2, since
    /// the launch before wrote them.
    std::optional<double> sharing_ctas;
    /// How many requests of the whole launch one line of L2 serves one after another, where all CTAs ask for
    /// the same lines and no requests can be merged (F36). Absent: too few to matter.
    std::optional<double> line_turns;
    Work work; ///< of the whole launch
    CONVCAST_MEMBERS(Counts, variant, beside, cluster_bytes, cluster_waits, ctas, waves, idle_ctas,
                     idle_instructions, tail, stages, steps, busy_warps, copy_warps, barriers, copy_passes,
                     independent_sums, snaked, busiest_scheduler, longest_copier, scheduler_warps,
                     store_rounds, step, drain, mergeable_reads, partial_write_bytes, new_share, sector_share,
                     sharing_ctas, line_turns, work)
};

/// What the facts of its kernel add: absent in a plan as the strategy counts it, and where no kernel was
/// counted. `with_facts` gives a plan whose counts are scaled as well (model/work/compiled.hpp).
struct AsCompiled {
    std::optional<Pace> pace;
    std::optional<double> cold_clocks; ///< that the first warps wait for code and constants
    std::optional<double> once_clocks; ///< of a warp alone, for an instruction of a copy
    CONVCAST_MEMBERS(AsCompiled, pace, cold_clocks, once_clocks)
};

/// One launch of a plan: the executor launches and the model forecasts the same object.
struct Partition : Launch, Counts, AsCompiled {
    /// Ignored in documents of earlier versions: they are counted and forecast anew.
    static constexpr std::array<const char *, 2> former_members = {"loads_first", "longest_warp"};
    BOOST_DESCRIBE_CLASS(Partition, (Launch, Counts, AsCompiled), (), (), ())
};

struct Plan {
    std::vector<Partition> launches;
    std::vector<Partition> prepare;   ///< once per filter set
    std::int64_t workspace_bytes = 0; ///< what `prepare` leaves there stays valid for its filter set
    /// Multiply-adds of an algorithm that transforms (Winograd), nothing padded; its results are judged as
    /// such. Absent: the convolution's definition is computed.
    std::optional<double> transformed_fmas;
    CONVCAST_MEMBERS(Plan, launches, prepare, workspace_bytes, transformed_fmas)
};

/// Calls visit(launch) for each launch, those that prepare first.
template <class PlanOrConst, class Visit> void each_launch(PlanOrConst &plan, const Visit &visit) {
    for (auto *launches : {&plan.prepare, &plan.launches})
        for (auto &part : *launches)
            visit(part);
}

/// Whether a launch multiplies on tensor cores; such plans have columns of their own in every report.
bool uses_tensor_cores(const Plan &plan);

/// The launch that a plan's regimes and summary are of: that with most FMAs. A plan must have a launch.
const Partition &main_launch(const Plan &plan);

} // namespace convcast
