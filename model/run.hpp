// The document that flows through all verbs: what was asked, predicted and measured.
#pragma once

#include "model/checked.hpp"
#include "model/errors.hpp"
#include "model/timeline.hpp"
#include "model/units.hpp"

#include <boost/describe.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// What a call does to the chip, predicted or counted: same fields, so a report subtracts them. A counter
/// that was not read, or a quantity the model does not forecast, is absent.
struct Work {
    std::optional<double> fmas;              ///< thread-level FFMAs executed, padding of tiles included
    std::optional<double> tensor_fmas;       ///< of tensor cores, every product of parts and padding included
    std::optional<double> instructions;      ///< warp instructions issued
    std::optional<double> shared_wavefronts; ///< passes through shared memory, loads and stores
    /// Of them those that the addresses ask for, without what is served again for the sake of timing. Absent
    /// in a forecast: all of them.
    std::optional<double> shared_wavefronts_by_address;
    std::optional<double> shared_conflicts;              ///< wavefronts beyond the fewest possible
    std::optional<double> l2_read_bytes, l2_write_bytes; ///< between the SMs and L2, in 32-byte sectors
    std::optional<double> dram_read_bytes, dram_write_bytes;
    BOOST_DESCRIBE_CLASS(Work, (),
                         (fmas, tensor_fmas, instructions, shared_wavefronts, shared_wavefronts_by_address,
                          shared_conflicts, l2_read_bytes, l2_write_bytes, dram_read_bytes, dram_write_bytes),
                         (), ())
};

/// What a forecast says of a quantity, also where it is that of another.
inline std::optional<double> forecast_of(const Work &forecast, std::optional<double> Work::*quantity) {
    const bool no_repeats =
        quantity == &Work::shared_wavefronts_by_address && !forecast.shared_wavefronts_by_address;
    return no_repeats ? forecast.shared_wavefronts : forecast.*quantity;
}

/// Which of the papers' ways hides the memory latency; docs/model.md, "Regimes".
enum class Regime { compute_hidden, bulk_hidden, exposed };
BOOST_DESCRIBE_ENUM(Regime, compute_hidden, bulk_hidden, exposed)

enum class TermKind {
    leaf,     ///< `value_s`
    sum,      ///< children after one another
    max,      ///< children at once, the slowest decides
    pnorm,    ///< (sum child^exponent)^(1/exponent): a soft maximum
    pipeline, ///< children fill, step, drain: fill + (count - 1) * step + drain
    schedule, ///< children full wave, tail wave: count full waves of CTAs one after another, then the tail
    queue,    ///< children services, alone: count jobs, each `alone` by itself, share what serves all of
              ///< them in each of the `services`
};
BOOST_DESCRIBE_ENUM(TermKind, leaf, sum, max, pnorm, pipeline, schedule, queue)

/// A node of the forecast's arithmetic. The time is the tree's value; see model/term.hpp.
struct Term {
    TermKind kind = TermKind::leaf;
    std::string name;               ///< "FMA", "shared memory", "DRAM latency", ...
    std::string formula;            ///< with its numbers: "65536 fma / 128 fma/clk / 1980 MHz"
    Seconds value_s;                ///< of the whole node
    std::optional<double> exponent; ///< pnorm
    std::optional<double> count;    ///< pipeline: steps; schedule: full waves
    std::vector<Term> children;
    BOOST_DESCRIBE_CLASS(Term, (), (kind, name, formula, value_s, exponent, count, children), (), ())

    void check(const FieldProblem &problem) const; ///< as many children as its kind has
};

/// Totals of one CTA's pipeline step, all threads together.
struct StepWork {
    double fmas = 0;                   ///< thread-level
    std::optional<double> tensor_fmas; ///< of tensor cores, TF32; absent: the launch does not use them
    double instructions = 0;           ///< warp instructions, FFMA included
    /// Of them those that are not left to the busy warps: Partition::copy_warps do them, or all warps of the
    /// CTA.
    double copying = 0;
    double shared_wavefronts = 0; ///< and those of global loads that hit L1, which share the data path
    /// Warp instructions that load from global memory to registers, and others that no counter tells from
    /// integers and logic; for the facts only (W2).
    double loads = 0;
    double line_waits = 0; ///< times that the slowest warp waits for lines new to L1, behind its first loads
    double turns = 0; ///< of the busy warps' innermost loops: each waits for values of shared memory first
    double constant_lines = 0; ///< of 64 bytes of constant memory, that the busy warps come to one by one
    double load_bytes = 0;     ///< global to shared memory or registers
    double store_bytes = 0;    ///< written to the output in this step
    BOOST_DESCRIBE_CLASS(StepWork, (),
                         (fmas, tensor_fmas, instructions, copying, shared_wavefronts, loads, line_waits,
                          turns, constant_lines, load_bytes, store_bytes),
                         (), ())
};

/// How fast one warp and its scheduler run a kernel's instructions, as the compiler ordered them: its facts
/// (model/facts.hpp).
struct Pace {
    double ffma_clocks = 1.0;  ///< of a warp alone, for an FFMA
    double other_clocks = 1.0; ///< for another instruction of a step
    double once_clocks = 1.0;  ///< for one of a copy, or of what a CTA does once
    double alu_share = 0.0;    ///< of all but FFMAs, those that the pipe of integers and logic executes
    /// And of copies, or of what a CTA does once; absent: alu_share, that of all.
    std::optional<double> copy_alu_share = std::nullopt;
    double cold_clocks = 0.0;     ///< that a launch's first warps wait for instructions and constants
    double constant_clocks = 0.0; ///< that a warp waits for each line of constant memory it comes to
    BOOST_DESCRIBE_CLASS(Pace, (),
                         (ffma_clocks, other_clocks, once_clocks, alu_share, copy_alu_share, cold_clocks,
                          constant_clocks),
                         (), ())
};

/// What a launch's pointer parameter points at: a tensor of the call, or the plan's own memory.
enum class Memory { input, filters, output, workspace };
BOOST_DESCRIBE_ENUM(Memory, input, filters, output, workspace)

struct Operand {
    Memory memory = Memory::input;
    std::int64_t offset_bytes = 0; ///< into the workspace; 0 for tensors
    BOOST_DESCRIBE_CLASS(Operand, (), (memory, offset_bytes), (), ())
};

/// Bytes that SMs ask L2 for, each of which `readers` SMs of a GPC ask for.
struct ReadersInGpc {
    double readers = 1.0, bytes = 0.0;
    BOOST_DESCRIBE_CLASS(ReadersInGpc, (), (readers, bytes), (), ())
};

/// Reads that several SMs of a GPC have in common: those of their requests that meet on the way to L2 are
/// merged (W6), the more of them the closer in step the SMs are.
struct MergeableReads {
    std::vector<ReadersInGpc> reads;
    double sms = 1.0;   ///< that have CTAs
    double warps = 1.0; ///< that are there at once, of all SMs
    double waves = 1.0; ///< of CTAs
    BOOST_DESCRIBE_CLASS(MergeableReads, (), (reads, sms, warps, waves), (), ())
};

/// One launch, exactly: the formulas, the compile options and the launch all read this object.
struct Partition {
    std::string kernel; ///< file executor/kernels/<kernel>.cu and function template of that name
    std::string
        variant; ///< where a kernel has quite different loops: its facts are counted apart (model/facts.hpp)
    std::vector<std::int64_t> template_arguments; ///< in the order of the kernel's template parameters
    std::vector<Operand> operands; ///< the kernel's pointers in order; none: input, filters, output
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::optional<bool>
        early; ///< may start while the launch before it ends, for which its kernel waits; absent: no
    std::optional<bool> beside; ///< early, and needs nothing of the launch before it; absent: it waits
    std::optional<std::int64_t> cluster; ///< CTAs along x that run at once and share their memory; absent: 1
    std::optional<double> cluster_bytes; ///< that a CTA reads of the others' shared memory at its end
    std::optional<double> cluster_waits; ///< times that a warp waits for such reads
    std::int64_t threads = 0;            ///< per CTA, one dimension
    std::int64_t shared_bytes = 0;       ///< dynamic, per CTA
    std::int64_t register_cap = 0;       ///< of a thread; compiled in as __maxnreg__
    std::int64_t ctas_per_sm = 0;        ///< resident, by threads, registers at the cap and shared memory
    std::int64_t ctas = 0, waves = 0;
    std::int64_t idle_ctas = 0;              ///< of the grid, that find nothing to do
    std::optional<double> idle_instructions; ///< warp instructions of one of those; absent: none are idle
    double tail = 0.0;                       ///< share of the SMs that have work in the last wave, (0, 1]
    std::int64_t stages = 1;                 ///< buffers of the prefetch pipeline
    std::int64_t steps = 1;                  ///< pipeline steps of one CTA
    std::int64_t busy_warps = 0;             ///< of a CTA that have work in a step
    std::int64_t copy_warps = 0; ///< of a CTA that only copy, beside the busy ones; 0: all warps copy
    std::int64_t barriers = 1;   ///< of a step: 0 where no warp waits for another
    double copy_passes =
        0.0; ///< of the shared memory pipe, per 128 bytes that a step copies there asynchronously
    std::int64_t independent_sums = 1; ///< accumulators of a thread: FFMAs that do not wait for each other
    bool snaked =
        false; ///< its FFMAs walk an outer product back and forth: each shares an operand with the one before
    std::optional<bool> loads_first; ///< a turn of a warp's loop loads all its operands, then multiplies
    /// Where warps share a step unevenly: the work of the busiest scheduler, and of the busiest warp, over
    /// that of an average one. Absent: 1.
    std::optional<double> busiest_scheduler, longest_warp;
    /// What the warp copies that copies most, over what an average one does. Absent: 1.
    std::optional<double> longest_copier;
    /// Of a CTA, busy warps of the scheduler that has most. Absent: the first warps are busy.
    std::optional<std::int64_t> scheduler_warps;
    std::optional<Pace> pace; ///< absent: no counted case tells it
    StepWork step;            ///< of one full CTA
    StepWork drain;           ///< what a CTA does once: loads before its first step, the rest after its last
    std::int64_t filter_begin = 0, filter_count = 0; ///< filters this launch computes
    std::int64_t parts = 0, pieces = 0;              ///< single-channel divisions: SMs divided over, P or Q
    std::int64_t bank_floats = 0, band_floats = 0;   ///< shared floats of one buffer of filters, of map
    std::int64_t tile_h = 0, tile_k = 0; ///< rows and filters of a CTA where they are not compiled in
    std::optional<std::int64_t> tile_begin, tile_count; ///< winograd: tiles of this launch
    std::int64_t constant_bytes = 0; ///< filters copied to __constant__ memory before the launch; 0: none
    std::optional<MergeableReads> mergeable_reads; ///< of work.l2_read_bytes; absent: none
    /// Of work.l2_write_bytes the sectors that a store leaves written in part. Absent: none, or the same warp
    /// writes the rest at once.
    std::optional<double> partial_write_bytes;
    std::optional<double> new_share; ///< of its steps that read what the CTA has not read yet; absent: all
    /// CTAs, one after another in the grid, that read the same pixels. Absent: the launch before wrote them.
    std::optional<double> sharing_ctas;
    Work work; ///< of the whole launch
    BOOST_DESCRIBE_CLASS(Partition, (),
                         (kernel, variant, template_arguments, operands, grid, early, beside, cluster,
                          cluster_bytes, cluster_waits, threads, shared_bytes, register_cap, ctas_per_sm,
                          ctas, waves, idle_ctas, idle_instructions, tail, stages, steps, busy_warps,
                          copy_warps, barriers, copy_passes, independent_sums, snaked, loads_first,
                          busiest_scheduler, longest_warp, longest_copier, scheduler_warps, pace, step, drain,
                          filter_begin, filter_count, parts, pieces, bank_floats, band_floats, tile_h, tile_k,
                          tile_begin, tile_count, constant_bytes, mergeable_reads, partial_write_bytes,
                          new_share, sharing_ctas, work),
                         (), ())
};

struct Plan {
    std::vector<Partition> launches;
    std::vector<Partition> prepare;   ///< once per filter set
    std::int64_t workspace_bytes = 0; ///< what `prepare` leaves there stays valid for its filter set
    /// Multiply-adds of an algorithm that transforms (Winograd), nothing padded; its results are judged as
    /// such. Absent: the convolution's definition is computed.
    std::optional<double> transformed_fmas;
    BOOST_DESCRIBE_CLASS(Plan, (), (launches, prepare, workspace_bytes, transformed_fmas), (), ())
};

/// The papers' numbers that apply to a case; docs/model.md, tier 1.
struct Rules {
    std::optional<std::int64_t> n_fma;     ///< FMAs per SM that hide the latency
    std::optional<std::int64_t> v_s_bytes; ///< bytes in flight, whole GPU, that hide the latency
    std::optional<std::int64_t> threads_per_sm, warps_per_sm;
    std::optional<std::int64_t> method;             ///< division 1 (filters over SMs) or 2 (map over SMs)
    std::optional<std::int64_t> pieces_p, pieces_q; ///< after rule 4
    std::optional<std::int64_t> candidate_p, candidate_q;     ///< before rule 4
    std::optional<std::int64_t> d1_bytes, d2_bytes, th1, th2; ///< as compared in rule 4
    std::optional<std::int64_t> run_pieces;                   ///< what really fits and runs
    std::optional<std::int64_t> segment_bytes, tile_w, tile_k_min, step_fma;
    std::optional<double> bank_ratio; ///< n = W_SMB / W_CD
    /// One round as the paper counts it: its FMAs on an SM, against n_fma, and its bytes of all SMs, against
    /// v_s_bytes.
    std::optional<double> round_fmas, round_bytes;
    std::vector<std::string> remarks; ///< e.g. "no P in range: lower bound 12 > upper bound 3"
    BOOST_DESCRIBE_CLASS(Rules, (),
                         (n_fma, v_s_bytes, threads_per_sm, warps_per_sm, method, pieces_p, pieces_q,
                          candidate_p, candidate_q, d1_bytes, d2_bytes, th1, th2, run_pieces, segment_bytes,
                          tile_w, tile_k_min, step_fma, bank_ratio, round_fmas, round_bytes, remarks),
                         (), ())
};

struct Regimes {
    std::optional<Regime> paper, physical, tier2;
    BOOST_DESCRIBE_CLASS(Regimes, (), (paper, physical, tier2), (), ())
};

struct TierTimes {
    std::optional<Seconds> tier0_s; ///< speed of light
    std::optional<Seconds> tier2_s; ///< from probes and counters, nothing fitted to times
    std::optional<Seconds>
        fitted_s; ///< with the numbers of data/calibration for this GPU, where there are any
    std::optional<Seconds> roofline_s; ///< wave-quantised roofline: the white-box model to beat
    std::optional<Seconds> mwp_cwp_s;  ///< Hong and Kim's model: likewise (model/baselines_of_forecast.hpp)
    BOOST_DESCRIBE_CLASS(TierTimes, (), (tier0_s, tier2_s, fitted_s, roofline_s, mwp_cwp_s), (), ())
};

/// What a leaf of the forecast adds to the time of this case and of the one it is compared with.
struct TermDifference {
    std::string name; ///< of the leaf
    Seconds here_s, there_s;
    BOOST_DESCRIBE_CLASS(TermDifference, (), (name, here_s, there_s), (), ())
};

/// Why a case stands where it does in a ranking; model/why.hpp.
struct Margin {
    std::int64_t rank = 0;
    std::string best;                  ///< the strategy it is compared with: that of the first rank
    double factor = 1.0;               ///< its time over the best's
    std::string decides;               ///< the leaf that makes most of the difference
    std::vector<TermDifference> terms; ///< largest difference first; together they are the margin
    BOOST_DESCRIBE_CLASS(Margin, (), (rank, best, factor, decides, terms), (), ())
};

struct Prediction {
    std::optional<Seconds>
        time_s; ///< the best tier there is; absent when the profile lacks numbers: see `reason`
    TierTimes times;
    std::optional<Seconds> time_low_s, time_high_s;
    std::optional<Regimes> regimes;
    std::optional<std::string> limiter; ///< the leaf that takes most of the time
    std::optional<Work> work;
    std::optional<Plan> plan;
    std::optional<Term> term;
    std::optional<Rules> rules;
    std::optional<Margin> margin; ///< where `choose --why` asked for it
    std::vector<std::string> assumptions;
    std::optional<std::string> reason; ///< why `time_s` is absent
    std::optional<Timeline> timeline;  ///< only where it was asked for
    BOOST_DESCRIBE_CLASS(Prediction, (),
                         (time_s, times, time_low_s, time_high_s, regimes, limiter, work, plan, term, rules,
                          margin, assumptions, reason, timeline),
                         (), ())

    void check(const FieldProblem &problem) const;
};

enum class L2State { cold, warm };
BOOST_DESCRIBE_ENUM(L2State, cold, warm)

struct Measurement {
    Seconds time_s; ///< median; end of the last minus start of the first device activity of one call
    std::optional<Seconds> prepared_time_s; ///< median without the once-per-filter-set part
    std::vector<Seconds> samples_s;
    std::optional<Seconds> event_time_s; ///< median by events: the cross-check
    L2State l2 = L2State::cold;
    std::optional<Frequency> sm_clock_hz; ///< median over the samples
    std::optional<std::int64_t> throttled_samples;
    std::string method;                  ///< "activity" or "events"
    std::string stop_reason;             ///< "precision", "time" or "count"
    std::optional<std::int64_t> kernels; ///< device activities per call
    std::optional<Work> work;
    std::optional<std::map<std::string, double>> counters; ///< further raw counters, by metric name
    std::optional<Regime> regime;
    std::optional<double> relative_l2_error;
    std::optional<double> max_error_ratio; ///< largest |error| / its bound 4 n 2^-24 sum|x w|; <= 1 passes
    std::optional<Timeline>
        timeline; ///< of a verified call beside the timed ones; only where it was asked for
    BOOST_DESCRIBE_CLASS(Measurement, (),
                         (time_s, prepared_time_s, samples_s, event_time_s, l2, sm_clock_hz,
                          throttled_samples, method, stop_reason, kernels, work, counters, regime,
                          relative_l2_error, max_error_ratio, timeline),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "relative_l2_error" || field == "max_error_ratio") // of a result that is not finite
            return Range{0.0, 1e300, true};
        return std::nullopt;
    }
    void check(const FieldProblem &problem) const;
};

enum class Status { ok, infeasible, unsupported, wrong_result, failed, not_run };
BOOST_DESCRIBE_ENUM(Status, ok, infeasible, unsupported, wrong_result, failed, not_run)

struct Case {
    std::optional<std::string> study;
    std::string shape;
    std::optional<std::string> strategy; ///< canonical text with every knob; either this or `baseline`
    std::optional<std::string> baseline; ///< "cudnn:implicit_gemm", ...
    Status status = Status::not_run;
    std::optional<std::string> reason; ///< present unless ok
    std::optional<std::string> detail; ///< how a baseline did it: engine, knobs, notes, workspace
    std::optional<Prediction> prediction;
    std::vector<Measurement> measurements;
    BOOST_DESCRIBE_CLASS(Case, (),
                         (study, shape, strategy, baseline, status, reason, detail, prediction, measurements),
                         (), ())

    void check(const FieldProblem &problem) const;

    const Measurement *measured(L2State l2) const {
        for (const Measurement &m : measurements)
            if (m.l2 == l2)
                return &m;
        return nullptr;
    }
};

struct Producer {
    std::string version;             ///< of convcast
    std::string device_code_hash;    ///< XXH3-128 of kernels and probes
    std::string measuring_code_hash; ///< XXH3-128 of the code that times and counts
    BOOST_DESCRIBE_CLASS(Producer, (), (version, device_code_hash, measuring_code_hash), (), ())
};

/// A case of a document that this version cannot read, because of a strategy or a status that it does not
/// know, for example. It is kept as it stands and written back in its place.
struct UnreadCase {
    std::size_t before = 0;             ///< how many cases of Run::cases stand in front of it
    std::string json;                   ///< its text
    std::vector<InputProblem> problems; ///< with file, line and JSON path
};

struct Run {
    std::string schema = "convcast/run/1";
    Producer producer;
    std::string profile_id;
    std::string profile_hash;
    std::map<std::string, std::string>
        conditions; ///< GPU, driver, toolkit, cuDNN, date (UTC): where it was run
    std::vector<Case> cases;
    std::vector<UnreadCase>
        unread; ///< in the order of the document; in no place of its JSON but among the cases
    BOOST_DESCRIBE_CLASS(Run, (), (schema, producer, profile_id, profile_hash, conditions, cases), (), ())
};

/// Cases that cannot be read are put aside as Run::unread. `check_baseline` throws UsageError for a name that
/// is none; without it every name is taken. Throws InputError, with every problem at once, where the text as
/// a whole is no Run document, and where it has cases but none that can be read. `file` only names the text
/// in messages.
Run read_run(const std::string &text, const std::string &file,
             const std::function<void(const std::string &baseline)> &check_baseline = {});
std::string write_run(const Run &run);

} // namespace convcast
