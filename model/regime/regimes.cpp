#include "model/regime/regimes.hpp"

#include "model/base/divide.hpp"
#include "model/machine/machine.hpp"
#include "model/paper/papers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace convcast {
namespace {

constexpr double idle_cta_clocks = 650.0;   ///< of a CTA that finds nothing to do: its warps live 650 to 700
constexpr double idle_start_clocks = 600.0; ///< of the first ones on an SM, until their code is there

/// CTAs in the slots of the SMs: full waves, then some SMs with `most` CTAs and others with one less.
struct Occupied {
    double waves = 0.0;      ///< with the last one
    double full = 0.0;       ///< of these, waves with a CTA in every slot
    double with_most = 0.0;  ///< SMs of the last wave with `most` CTAs
    double with_fewer = 0.0; ///< with one CTA less, but at least one
    double most = 0.0;
};

/// The two halves of a share of a single-channel division lie on one SM, except for the first shares of each
/// image (F19). Of other launches each SM gets one CTA before any gets a second.
Occupied occupied_by(const Partition &part, std::int64_t sms, std::int64_t elsewhere) {
    const std::int64_t ctas = part.ctas - part.idle_ctas, slots = part.ctas_per_sm * sms, rest = ctas % slots;
    Occupied out;
    out.full = double(ctas / slots);
    out.waves = out.full + (rest > 0 ? 1.0 : 0.0);
    constexpr std::int64_t halves = 2;
    const std::int64_t images = std::max<std::int64_t>(1, part.grid[1]),
                       shares = ceil_div(rest, halves * images), alone = std::min(shares, elsewhere);
    if (part.idle_ctas > 0 && part.grid[0] == halves * part.parts && ctas < slots &&
        images * (shares + alone) <= sms) {
        out.with_most = double(images * (shares > alone ? shares - alone : halves * alone));
        out.with_fewer = double(shares > alone ? images * halves * alone : 0);
        out.most = shares > alone ? 2.0 : 1.0;
        return out;
    }
    const std::int64_t few = rest / sms, more = rest % sms;
    out.with_most = double(more > 0 ? more : std::min(rest, sms));
    out.with_fewer = more > 0 && few > 0 ? double(sms - more) : 0.0;
    out.most = double(few + (more > 0 ? 1 : 0));
    return out;
}

/// R1: clocks in which an SM has a CTA, of all SMs together, of launches that run for `running` clocks.
double active_clocks(const Plan &plan, double instructions, double running, const Gpu &gpu) {
    const std::int64_t sms = gpu.limits.sm_count;
    const auto elsewhere = static_cast<std::int64_t>(gpu.architecture.second_round_elsewhere->value);
    const auto all = double(sms);
    double ctas = 0.0, waves = 0.0; // with work
    each_launch(plan, [&](const Partition &part) {
        ctas += double(part.ctas - part.idle_ctas);
        waves += occupied_by(part, sms, elsewhere).waves;
    });
    double busy = 0.0, idle = 0.0; // SMs of all waves; clocks
    each_launch(plan, [&](const Partition &part) {
        const Occupied slots = occupied_by(part, sms, elsewhere);
        // An SM with a CTA less ends sooner by the time in which that one's instructions would be issued.
        const double issued = std::min(1.0, instructions / std::max(1.0, ctas) * slots.most * waves /
                                                (gpu.limits.schedulers_per_sm * running));
        const double last =
            slots.with_most + (slots.most > 0.0 ? slots.with_fewer * (1.0 - issued / slots.most) : 0.0);
        busy += slots.full * all + last;
        const double others = all - slots.with_most - slots.with_fewer;
        if (part.idle_ctas > 0 && others > 0.0)
            idle += others * (idle_start_clocks +
                              idle_cta_clocks *
                                  std::ceil(double(part.idle_ctas) / (others * double(part.ctas_per_sm))));
    });
    return (waves > 0.0 ? running * busy / waves : running * all) + idle;
}

} // namespace

Regime regime_by_rule(double fmas, double n_fma, double bytes, double v_s_bytes) {
    if (fmas >= n_fma)
        return Regime::compute_hidden;
    return bytes >= v_s_bytes ? Regime::bulk_hidden : Regime::exposed;
}

Regime measured_regime(double fma_share, double issue_share, double dram_share, double l2_share) {
    if (std::max(fma_share, issue_share) >= busy_fma_share)
        return Regime::compute_hidden;
    return std::max(dram_share, l2_share) >= busy_memory_share ? Regime::bulk_hidden : Regime::exposed;
}

std::optional<Regime> paper_regime(const Rules &rules) {
    if (!rules.n_fma || !rules.v_s_bytes || !rules.round_fmas || !rules.round_bytes)
        return std::nullopt;
    return regime_by_rule(*rules.round_fmas, double(*rules.n_fma), *rules.round_bytes,
                          double(*rules.v_s_bytes));
}

OverLatency over_latency(const Plan &plan, const ConvShape &shape, const Gpu &gpu) {
    const Machine m = machine_of(gpu, shape.dtype, {});
    const Partition &main = main_launch(plan);
    const double resident = double(std::min(main.ctas_per_sm, ceil_div(main.ctas, m.sm_count)));
    const double active = double(std::min<std::int64_t>(main.ctas, m.sm_count));
    const double fmas = resident * main.step.tensor_fmas.value_or(main.step.fmas),
                 rate = main.step.tensor_fmas ? m.tensor_rate : m.ffma_rate,
                 bytes = resident * active * main.step.load_bytes *
                         double(std::max<std::int64_t>(1, main.stages - 1));
    return {fmas / (gpu.profile.dram_latency->value.value * rate), bytes / (m.read_bw * m.latency_s)};
}

Regime physical_regime(const OverLatency &over) {
    return regime_by_rule(over.fmas, 1.0, over.bytes, 1.0);
}

Utilisation utilisation_of(const Plan &plan, const Work &work, Seconds time, const Gpu &gpu) {
    const GpuProfile &profile = gpu.profile;
    Utilisation out;
    double launches = 0.0; // that follow a gap; one that starts early has its CTAs on the SMs by then
    each_launch(plan, [&](const Partition &part) {
        launches += (part.early.value_or(false) ? 0.0 : 1.0) + (part.constant_bytes > 0 ? 1.0 : 0.0);
    });
    const double floor_s = profile.launch_floor ? profile.launch_floor->value.value : 0.0;
    const double gap_s = profile.launch_gap ? profile.launch_gap->value.value : floor_s;
    // Launching takes no SM's time; of a forecast near the floor some is left all the same.
    const double running = std::max(time.value - floor_s - (launches - 1.0) * gap_s, time.value / 10.0);
    if (profile.sm_clock) {
        const double instructions = work.instructions.value_or(0.0);
        const double clocks = active_clocks(plan, instructions, running * profile.sm_clock->value.value, gpu);
        out.fma = work.fmas.value_or(0.0) / (clocks * profile.limits.cores_per_sm);
        out.issue = instructions / (clocks * profile.limits.schedulers_per_sm);
    }
    if (profile.dram_read_bandwidth) {
        const double read = profile.dram_read_bandwidth->value.value;
        const double write = profile.dram_write_bandwidth ? profile.dram_write_bandwidth->value.value : read;
        out.dram = (work.dram_read_bytes.value_or(0.0) / read + work.dram_write_bytes.value_or(0.0) / write) /
                   time.value;
    }
    if (profile.l2_read_bandwidth)
        out.l2 = (work.l2_read_bytes.value_or(0.0) + work.l2_write_bytes.value_or(0.0)) /
                 profile.l2_read_bandwidth->value.value / time.value;
    return out;
}

} // namespace convcast
