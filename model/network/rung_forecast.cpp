#include "model/network/rung_forecast.hpp"

#include "model/base/divide.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/profile.hpp"
#include "model/network/count_work.hpp"
#include "model/network/launch_times.hpp"
#include "model/network/scaling_forecast.hpp"
#include "model/paper/papers.hpp"
#include "model/plan/occupancy.hpp"
#include "model/time/assumed_range.hpp"
#include "model/time/call.hpp"
#include "model/time/formula.hpp"
#include "model/time/memory_terms.hpp"
#include "model/work/shared_access.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

namespace {

/// Clocks that an SM's schedulers, shared memory with L1, and constant cache are busy with a warp's round.
struct Services {
    double issue = 0.0, passes = 0.0, constants = 0.0;
    double most() const { return std::max({issue, passes, constants}); }
};

/// Clocks that a multiply-add of three registers keeps its scheduler busy: 1 at the full rate of FMAs, and
/// more where register banks conflict.
double product_clocks(const Machine &m) {
    constexpr double warp_width = 32.0;
    const double full_rate = warp_width * m.schedulers;
    return full_rate / std::min(full_rate, m.outer_rate);
}

/// `address_clocks`: clocks of an SM's constant cache for each address.
Services services_of(const LaunchPhase &phase, const Machine &m, double address_clocks) {
    const double issued = phase.instructions + phase.products * (product_clocks(m) - 1.0);
    return {issued / m.schedulers, phase.passes * m.pass_bytes / m.shared_bw,
            phase.constants * address_clocks};
}

/// Load of the busiest scheduler over the mean, where `ctas` CTAs share an SM (N5's u). CTAs of a multiple of
/// the schedulers' warps all begin with the same one, and load the same ones; the warps of other CTAs go on
/// where the CTA before ended, so that all are dealt out together.
double imbalance_of(const LaunchPhase &phase, double ctas, std::int64_t cta_warps, const Machine &m) {
    const auto schedulers = static_cast<double>(m.schedulers);
    const double dealt =
        cta_warps % static_cast<std::int64_t>(m.schedulers) == 0 ? phase.warps : phase.warps * ctas;
    return dealt > 0.0 ? std::ceil(dealt / schedulers) * schedulers / dealt : 1.0;
}

/// Times of phases on one GPU, in clocks.
class Phases {
  public:
    /// `from_dram`: share of the loads of what other launches wrote that L2 does not have.
    Phases(const GpuProfile &profile, const Machine &m, double from_dram = 0.0)
        : m_(m), load_s_(m.l2_latency_s + from_dram * (m.latency_s - m.l2_latency_s)),
          l1_(profile.l1_latency ? profile.l1_latency->value.value : m.shared_latency),
          constant_(profile.constant_l1_latency ? profile.constant_l1_latency->value.value
                                                : m.shared_latency),
          address_(profile.constant_address_time ? profile.constant_address_time->value.value
                                                 : constant_address_clocks),
          grid_meet_((profile.grid_sync_time ? profile.grid_sync_time->value.value : m.launch_s) * m.clock) {}

    /// N5, in clocks. `cta_warps`: warps of a CTA, also those that have no work in the phase.
    double time(const LaunchPhase &phase, double ctas, std::int64_t cta_warps) const {
        Services one = services_of(phase, m_, address_);
        // What bounds a warp alone, beside what it waits for; a scheduler issues one instruction a clock.
        const double own =
            std::max({phase.chain * m_.ffma_latency, one.issue * m_.schedulers, one.passes, one.constants});
        one.issue *= imbalance_of(phase, ctas, cta_warps, m_);
        const double warps = std::max(1.0, ctas * phase.warps), busy = warps * one.most();
        const std::array services_and_alone = {
            Seconds(busy), Seconds(ctas * phase.l2_read_bytes / of_sm(m_.l2_bw)),
            Seconds(ctas * phase.l2_written_bytes / of_sm(m_.l2_write_bw)), Seconds(waits(phase) + own)};
        const double round = formula::combine(TermKind::queue, warps, services_and_alone);
        return phase.rounds * (round + phase.barriers * m_.barrier_s * m_.clock);
    }

    /// Clocks that a phase's first round waits for `code` instructions that the SM has not run yet, beyond
    /// the time in which its warps issue those that have come.
    double fetch(const LaunchPhase &phase, double code, double ctas, std::int64_t cta_warps) const {
        const double issue = std::max(1.0, ctas * phase.warps) * services_of(phase, m_, address_).issue *
                             imbalance_of(phase, ctas, cta_warps, m_);
        return std::max(0.0, code_clocks * code - issue);
    }

    /// Clocks that a CTA keeps the busiest unit of its SM busy with all phases.
    double service(const std::vector<LaunchPhase> &phases) const {
        Services all;
        for (const LaunchPhase &phase : phases) {
            const Services one = services_of(phase, m_, address_);
            const double times = phase.warps * phase.rounds;
            all.issue += times * one.issue, all.passes += times * one.passes;
            all.constants += times * one.constants;
        }
        return all.most();
    }

  private:
    /// Clocks of a round in which a warp only waits: for loads, shuffles and meetings.
    double waits(const LaunchPhase &phase) const {
        return (phase.l2_waits * load_s_ + phase.l2_hits * m_.l2_latency_s) * m_.clock +
               phase.l1_waits * l1_ + phase.shared_waits * m_.shared_latency +
               phase.constant_waits * constant_ + phase.shuffles * (m_.shared_latency + m_.ffma_latency) +
               phase.cluster_waits * m_.cluster_latency +
               phase.cluster_meets * m_.cluster_barrier_s * m_.clock + phase.grid_meets * grid_meet_;
    }

    /// An SM's share of what L2 delivers or takes, in bytes a clock.
    double of_sm(double bandwidth) const { return bandwidth / static_cast<double>(m_.sm_count) / m_.clock; }

    const Machine &m_;
    double load_s_;        ///< latency of a load of what another launch wrote, in seconds
    double l1_, constant_; ///< latencies in clocks
    double address_;       ///< clocks of the constant cache for an address
    double grid_meet_; ///< clocks of a barrier of all CTAs; that of an empty launch where nobody measured it
};

/// The least time in which the bytes of a launch can move, in seconds: through L2, and through DRAM unless
/// `images_in_l2`, where L2 has all that the call reads and writes. Of DRAM's bytes as many as go both ways
/// move at the bandwidth of a copy, if the profile has it.
double bytes_time(const LaunchWork &work, const GpuProfile &profile, const Machine &m, bool images_in_l2) {
    double dram = 0.0;
    if (!images_in_l2) {
        const double read = work.read_bytes, written = work.written_bytes,
                     both = profile.dram_copy_bandwidth ? std::min(read, written) : 0.0;
        dram = (read - both) / m.read_bw + (written - both) / m.write_bw;
        if (both > 0.0)
            dram += 2.0 * both / profile.dram_copy_bandwidth->value.value;
    }
    const double stored = work.written_bytes + m.partial_sector * work.partial_bytes; // as whole sectors
    return std::max({work.l2_read_bytes / m.l2_bw, stored / m.l2_write_bw, dram});
}

double atomics_time(const LaunchWork &work, const GpuProfile &profile) {
    return work.atomics > 0.0 ? atomic_adds_time(work.atomics, work.atomic_lines, profile).value : 0.0;
}

/// Why a launch has no CTA on an SM; "" if it has one.
std::string too_large(const LadderLaunch &launch, const LaunchWork &work, const Gpu &gpu) {
    return resident_ctas(gpu, work.threads, work.registers, work.shared_bytes) > 0
               ? ""
               : launch.kernel + " does not fit an SM: " + std::to_string(work.threads) + " threads with " +
                     std::to_string(work.registers) + " registers and " + std::to_string(work.shared_bytes) +
                     " bytes of shared memory";
}

/// Clocks that the first CTAs wait for code (N6). A phase's share of the code is taken to be its share of the
/// instructions of one round, since a loop's text is about as long as its iteration.
double cold_code(const Phases &phases, const LaunchWork &work, double ctas, std::int64_t cta_warps) {
    double instructions = 0.0, clocks = 0.0;
    for (const auto *all : {&work.phases, &work.last})
        for (const LaunchPhase &phase : *all)
            instructions += phase.instructions;
    if (instructions == 0.0)
        return code_clocks * work.code;
    for (const auto *all : {&work.phases, &work.last})
        for (const LaunchPhase &phase : *all)
            clocks += phases.fetch(phase, work.code * phase.instructions / instructions,
                                   all == &work.last ? 1.0 : ctas, cta_warps);
    return clocks;
}

struct ForecastLaunch {
    KernelForecast forecast;
    double busy_s = 0.0; ///< seconds in which other launches cannot use the GPU
};

/// N6. `images_in_l2`: L2 has all that the call reads and writes.
ForecastLaunch forecast_of(const LadderLaunch &launch, const LaunchWork &work, const Gpu &gpu,
                           const Machine &m, bool images_in_l2) {
    // Of CTAs that read the same bytes at the same time only the first waits for DRAM.
    const double from_dram =
        images_in_l2 || work.l2_read_bytes <= 0.0 ? 0.0 : std::min(1.0, work.read_bytes / work.l2_read_bytes);
    const Phases phases(gpu.profile, m, from_dram);
    Partition placed; // of which usable_sms reads the cluster: SMs that clusters of so many CTAs can use (F9)
    placed.cluster = work.cluster;
    const auto sms = static_cast<double>(launch_terms::usable_sms(placed, m));
    // CTAs: that fit an SM, of the launch, and of the busiest SM in the first wave.
    const double most = resident_ctas(gpu, work.threads, work.registers, work.shared_bytes),
                 ctas = static_cast<double>(work.ctas), busiest = std::min(most, std::ceil(ctas / sms));
    KernelForecast out;
    out.kernel = launch.kernel;
    out.operators = launch.operators;
    out.ctas_per_sm = static_cast<std::int64_t>(busiest);
    out.waves = ctas / (most * sms);
    const auto part = [&](const std::string &name, double clocks) {
        out.parts.push_back({name, Seconds(clocks / m.clock)});
        return clocks;
    };
    const std::int64_t cta_warps = ceil_div(work.threads, warp_lanes);
    double first = part("cold code", cold_code(phases, work, busiest, cta_warps));
    for (const LaunchPhase &phase : work.phases)
        first += part(phase.name, phases.time(phase, busiest, cta_warps));
    for (const LaunchPhase &phase : work.last)
        first += part(phase.name, phases.time(phase, 1.0, cta_warps));
    first += part("last store", m.l2_latency_s * m.clock);
    double time = first / m.clock;
    if (out.waves > 1.0) {
        // CTAs that start together stay in lockstep: a phase of one overlaps no other phase of another.
        const auto wave = [&](double resident) {
            double together = m.turnover_clocks;
            for (const LaunchPhase &phase : work.phases)
                together += phases.time(phase, resident, cta_warps);
            return together;
        };
        // `full` waves, the first of which is counted above, and a last one with `rest` CTAs on an SM.
        const auto whole_sms = static_cast<std::int64_t>(sms),
                   wave_ctas = static_cast<std::int64_t>(most) * whole_sms;
        const auto full = static_cast<double>(work.ctas / wave_ctas),
                   rest = static_cast<double>(ceil_div(work.ctas % wave_ctas, whole_sms)),
                   further = ((full - 1.0) * wave(most) + (rest > 0.0 ? wave(rest) : 0.0)) / m.clock;
        time += further;
        out.parts.push_back({"further waves", Seconds(further)});
    }
    const double bytes = bytes_time(work, gpu.profile, m, images_in_l2),
                 adds = atomics_time(work, gpu.profile);
    if (std::max(bytes, adds) > time) {
        out.parts.push_back({bytes > adds ? "bytes beyond that" : "atomic adds beyond that",
                             Seconds(std::max(bytes, adds) - time)});
        time = std::max(bytes, adds);
    }
    const double started = ctas * m.cta_s;
    out.time_s = Seconds(std::max(time, started));
    const double cores = ctas / sms * phases.service(work.phases) / m.clock;
    // Its CTAs leave other launches only the SMs that they do not fill (N9).
    const double slots = time * std::min(1.0, out.waves);
    return {std::move(out), std::max({cores, bytes, adds, started, slots})};
}

// ---- launches behind and beside each other ----

/// How closely launches can follow each other, in seconds.
struct LaunchPace {
    double step;  ///< from a launch's end to the start of one that needs what it wrote
    double issue; ///< between the starts of launches that need nothing of each other
    double meet;  ///< until all streams have waited for each other, beyond the two above
};

/// N7's meeting, in seconds: what a measured round, in which each stream runs an empty kernel and all streams
/// then wait for each other, takes beyond its kernels. `curve` has rounds by streams; 0 without it.
double meeting(const GpuProfile &profile, const char *curve, std::int64_t streams, const LaunchPace &pace,
               double floor_s) {
    const CurveSeries *line = line_of(profile, curve);
    if (streams < 2 || line == nullptr)
        return 0.0;
    const auto wide = static_cast<double>(streams);
    const double beyond = std::max(1.0, wide / line->x.back()), round = value_at(*line, wide) * beyond;
    return std::max(0.0, round - std::max(floor_s + pace.step, wide * pace.issue));
}

/// N7: how the launches of a rung add up to a call. Seconds.
struct Calls {
    const Rung &rung;
    const std::vector<ForecastLaunch> &launches; ///< by line of the rung
    std::int64_t streams;                        ///< that have images
    double copy; ///< of all images from the host; 0 where they are on the device

    /// The call without the floor of its first launch. `each` gets the time of all launches of each line.
    double time(const LaunchPace &pace, std::vector<double> &each) const {
        double all = 0.0;
        each.assign(launches.size(), 0.0);
        const auto constant_copies =
            static_cast<double>(std::count_if(rung.constant.begin(), rung.constant.end(),
                                              [](const ConstantCopy &copied) { return copied.each_call; }));
        double steps = constant_copies - 1.0; // nodes that wait for another: the first waits for nothing
        double uploads = copy;                // to the streams, which is not in `all` yet
        if (rung.upload && !rung.streams)
            all += copy, steps += 1.0, uploads = 0.0;
        for (std::size_t i = 0; i < launches.size(); ++i) {
            if (!rung.launches[i].each_stream.value_or(false)) {
                const auto repeat = static_cast<double>(rung.launches[i].repeat.value_or(1));
                each[i] = repeat * launches[i].forecast.time_s.value;
                all += each[i], steps += repeat;
                continue;
            }
            std::size_t end = i + 1; // behind the line at whose end all streams wait for each other
            while (!rung.launches[end - 1].meet.value_or(false) && end < launches.size() &&
                   rung.launches[end].each_stream.value_or(false))
                ++end;
            all += beside(i, end, uploads, pace, each);
            uploads = 0.0, i = end - 1;
        }
        return all + steps * pace.step;
    }

    /// The time of lines `first` to `end` - 1 on all streams. Each stream begins when its share of the images
    /// has arrived; `uploads` is how long the copies of all shares take, one after another.
    double beside(std::size_t first, std::size_t end, double uploads, const LaunchPace &pace,
                  std::vector<double> &each) const {
        const auto wide = static_cast<double>(streams);
        // The launches of one stream in a row; starting those of all streams; what all keep the SMs busy.
        double chain = 0.0, issue = 0.0, busy = 0.0, parts = 0.0;
        for (std::size_t i = first; i < end; ++i) {
            const auto repeat = static_cast<double>(rung.launches[i].repeat.value_or(1));
            const double launch_chain = repeat * (launches[i].forecast.time_s.value + pace.step);
            const double launch_issue = wide * repeat * pace.issue;
            const double launch_busy = wide * repeat * launches[i].busy_s;
            chain += launch_chain;
            issue += launch_issue;
            busy += launch_busy;
            each[i] = std::max({launch_chain, launch_issue, launch_busy});
            parts += each[i];
        }
        // Waiting for each other is work of what starts kernels: hidden where the SMs are busy for longer.
        const double together = std::max(std::max(chain, issue) + pace.meet, busy);
        const double first_upload = uploads / wide;
        const double all =
            uploads > 0.0 ? std::max(first_upload + together, uploads + chain + pace.meet) : together;
        for (std::size_t i = first; i < end; ++i)
            each[i] *= (all - first_upload) / parts; // so that they add up
        return all;
    }
};

} // namespace

bool knows_atomic_adds(const GpuProfile &profile) {
    return profile.float_add_time || line_of(profile, "float_adds") != nullptr;
}

Seconds atomic_adds_time(double adds, double lines, const GpuProfile &profile) {
    const CurveSeries *measured = line_of(profile, "float_adds");
    return Seconds(adds *
                   (measured != nullptr ? value_at(*measured, lines) : profile.float_add_time->value.value));
}

Seconds phase_time(const LaunchPhase &phase, double ctas, std::int64_t cta_warps, const GpuProfile &profile) {
    const Gpu gpu(profile);
    const Machine m = machine_of(gpu, DataType::f32, {});
    return Seconds(Phases(profile, m).time(phase, ctas, cta_warps) / m.clock);
}

KernelForecast launch_forecast(const LadderLaunch &launch, const LaunchWork &work,
                               const GpuProfile &profile) {
    const Gpu gpu(profile);
    const bool in_l2 = work.read_bytes + work.written_bytes <= static_cast<double>(profile.limits.l2_bytes);
    return forecast_of(launch, work, gpu, machine_of(gpu, DataType::f32, {}), in_l2).forecast;
}

RungForecaster::RungForecaster(const Ladder &ladder, const Network &network, const GpuProfile &profile)
    : ladder_(ladder), network_(network), gpu_(profile), counter_(ladder.work, network, gpu_) {}

RungForecast RungForecaster::forecast(const Rung &rung, std::int64_t images) {
    const GpuProfile &profile = gpu_.profile;
    RungForecast out;
    if (const std::string missing = missing_for_forecast(profile); !missing.empty()) {
        out.why_not = no_time(profile, missing);
        return out;
    }
    if (auto why = refusal(rung, network_, images, capability_of(profile))) {
        out.why_not = std::move(why);
        return out;
    }
    const Machine m = machine_of(gpu_, DataType::f32, {});
    if (rung.upload && !profile.host_to_device_bandwidth) {
        out.why_not = "the profile has no host_to_device_bandwidth, by which images arrive";
        return out;
    }
    const std::int64_t streams = rung.streams.value_or(1), of_stream = share_of(rung, images, 0).count;
    std::vector<LaunchWork> works;
    // Bytes of the images and of all that the call writes.
    double moved = sizeof(float) * static_cast<double>(images * elements(network_.input));
    for (const LadderLaunch &launch : rung.launches) {
        const auto work =
            counter_.work_of(launch, rung, launch.each_stream.value_or(false) ? of_stream : images);
        if (!work)
            out.why_not = "the work of the kernel " + launch.kernel + " has not been counted";
        else if (std::string why = too_large(launch, *work, gpu_); !why.empty())
            out.why_not = std::move(why);
        else if (work->atomics > 0.0 && !knows_atomic_adds(profile))
            out.why_not = "the profile has no rate of atomic adds, which " + launch.kernel + " needs";
        if (out.why_not)
            return out;
        const double streams_of_launch = static_cast<double>(launch_count(rung, launch, images)) /
                                         static_cast<double>(launch.repeat.value_or(1));
        moved += streams_of_launch * work->written_bytes;
        works.push_back(*work);
    }
    // A launch finds in L2 what another wrote if all that a call writes fits there, with its images.
    const bool in_l2 = moved <= static_cast<double>(profile.limits.l2_bytes);
    std::vector<ForecastLaunch> launches;
    for (std::size_t i = 0; i < works.size(); ++i)
        launches.push_back(forecast_of(rung.launches[i], works[i], gpu_, m, in_l2));
    const Calls calls{rung, launches, std::min(streams, ceil_div(images, of_stream)),
                      rung.upload ? sizeof(float) * static_cast<double>(images * elements(network_.input)) /
                                        profile.host_to_device_bandwidth->value.value
                                  : 0.0};
    if (rung.upload)
        out.copy_s = Seconds(calls.copy);
    const double issued = profile.stream_launch_period ? profile.stream_launch_period->value.value : 0.0;
    std::vector<double> each;
    LaunchPace one_by_one{.step = m.launch_s + m.gap_s, .issue = issued, .meet = 0.0};
    one_by_one.meet = meeting(profile, "stream_meets", calls.streams, one_by_one, m.launch_s);
    out.stream_s = Seconds(m.launch_s + calls.time(one_by_one, each));
    for (const double time : each)
        out.in_stream_s.emplace_back(time);
    if (profile.graph_launch_period) {
        const double period = profile.graph_launch_period->value.value;
        LaunchPace in_graph{.step = period + dependent_gap_s, .issue = period, .meet = 0.0};
        in_graph.meet = meeting(profile, "graph_meets", calls.streams, in_graph, m.launch_s);
        out.time_s = Seconds(m.launch_s + calls.time(in_graph, each));
        for (std::size_t i = 0; i < launches.size(); ++i)
            launches[i].forecast.in_graph_s = Seconds(each[i]);
    }
    for (ForecastLaunch &launch : launches) {
        launch.forecast.record_s = Seconds(m.launch_s) + launch.forecast.time_s;
        out.launches.push_back(std::move(launch.forecast));
    }
    return out;
}

RungForecast RungForecaster::ranged_forecast(const Rung &rung, std::int64_t images) {
    RungForecast out = forecast(rung, images);
    if (!out.call_s())
        return out;
    const auto time_on = [&](const GpuProfile &other) {
        return *RungForecaster(ladder_, network_, other).forecast(rung, images).call_s();
    };
    if (const std::optional<TimeRange> range = range_of_assumed(gpu_.profile, time_on))
        out.low_s = range->low, out.high_s = range->high;
    return out;
}

RungForecast forecast_rung(const Ladder &ladder, const Rung &rung, const Network &network,
                           std::int64_t images, const GpuProfile &profile) {
    return RungForecaster(ladder, network, profile).ranged_forecast(rung, images);
}

Ladder training_part(Ladder ladder) {
    std::erase_if(ladder.rungs, [](const Rung &rung) { return !rung.trains.value_or(false); });
    return ladder;
}

std::int64_t training_batch(const Ladder &ladder) {
    return descent_of(ladder).value_or(Descent{}).batch;
}

NetworkRun ladder_run(const Ladder &ladder, const Network &network, std::int64_t images) {
    NetworkRun run;
    run.network = network.id;
    run.published_gpu = ladder.published_gpu;
    run.published_cpu_s = ladder.published_cpu_s;
    run.published_images = ladder.published_images;
    for (const Rung &rung : ladder.rungs) {
        NetworkCase &item = run.cases.emplace_back();
        item.id = rung.id, item.title = rung.title;
        item.batch = images;
        std::int64_t kernels = 0;
        for (const LadderLaunch &launch : rung.launches)
            kernels += launch_count(rung, launch, images);
        if (kernels > 0)
            item.nodes = kernels;
        item.published_s = rung.published_s;
    }
    return run;
}

NetworkRun forecast_ladder(const Ladder &ladder, const Network &network, std::int64_t images,
                           const GpuProfile &profile) {
    NetworkRun run = forecast_anew(ladder_run(ladder, network, images), network, profile);
    for (NetworkCase &item : run.cases)
        if (item.forecast->why_not) {
            item.status = Status::infeasible;
            item.reason = item.forecast->why_not;
        }
    return run;
}

} // namespace convcast
