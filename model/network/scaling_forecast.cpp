#include "model/network/scaling_forecast.hpp"

#include "model/base/errors.hpp"
#include "model/machine/assume.hpp"
#include "model/machine/profile.hpp"
#include "model/network/rung_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {
namespace {

// ---- a step ----

/// Forecasts steps of training (Sc3): the launches and exchanges of the GPU with the largest share, one after
/// another. Profile, peers and host_link outlive it.
class Steps {
  public:
    Steps(const Network &network, const GpuProfile &profile, const PeerNumbers &peers,
          const std::optional<HostLink> &host_link)
        : ladder_(find_ladder(network)), profile_(profile), forecaster_(ladder_, network, profile),
          peers_(peers), host_link_(host_link), launch_s_(profile.launch_floor->value.value) {
        const double gap = profile.launch_gap ? profile.launch_gap->value.value : launch_s_;
        gap_s_ = profile.graph_launch_period
                     ? std::max(0.0, profile.graph_launch_period->value.value - launch_s_)
                     : gap;
        constexpr std::int64_t some_images = 8; // any number: whether kernels fit an SM does not depend on it
        if (const auto one = ladder_.splits.find(to_text(DeviceSplit::one)); one != ladder_.splits.end())
            no_room_ = forecaster_.forecast(*rung_named(ladder_, one->second.step), some_images).why_not;
    }

    /// Why a step of one GPU has no forecast (its kernels do not fit an SM), if the ladder names other
    /// kernels (small_step) whose steps are forecast instead; absent otherwise.
    std::optional<std::string> of_other_kernels() const {
        const bool others = std::ranges::any_of(
            ladder_.splits, [](const auto &split) { return split.second.small_step.has_value(); });
        return others ? no_room_ : std::nullopt;
    }

    /// The forecast of a case with a split, without rates. Throws UsageError if kernels do not fit the GPU.
    NetworkTimes of(const NetworkCase &item) {
        DeclaredSplit split = ladder_.splits.at(to_text(*item.split));
        if (const std::optional<std::string> why = of_other_kernels()) {
            if (!split.small_step)
                throw UsageError("no forecast of the split " + to_text(*item.split) + " on " + profile_.id +
                                 ": " + *why);
            split.step = *split.small_step, split.forward = split.small_forward;
        }
        // Exchanges in seconds: within the forward part, behind the step, and of that among hosts.
        const double forward = exchange_time(split.forward_floats, item);
        NetworkTimes times;
        times.computation_s = computation_time(split.step, item);
        const double behind = exchange_time(split.step_floats, item);
        const auto [low, middle, high] = between_hosts(split.step_floats, item);
        times.communication_s = Seconds(forward + behind + middle);
        times.time_s = *times.computation_s + *times.communication_s;
        if (high > 0.0) {
            times.low_s = *times.time_s + Seconds(low - middle);
            times.high_s = *times.time_s + Seconds(high - middle);
        }
        if (split.forward) {
            times.forward_s = computation_time(*split.forward, item) + Seconds(forward);
            times.backward_s = *times.time_s - *times.forward_s;
        }
        return times;
    }

  private:
    // The first GPU has the largest share: share_of_rank gives what is left over to the first ones.
    static std::int64_t images_of(const NetworkCase &item) {
        return splits_rows(*item.split) ? item.batch : item.shares.front();
    }
    /// Names of the ladder's expressions that a split gives.
    static std::map<std::string, double> values_of(const NetworkCase &item) {
        std::map<std::string, double> values = {{"devices", item.devices}};
        if (splits_rows(*item.split))
            values["rows"] = static_cast<double>(item.shares.front());
        return values;
    }

    /// The call of a rung with one GPU's images. Kept, since advice_for asks for the same sizes again.
    Seconds computation_time(const std::string &id, const NetworkCase &item) {
        const auto [known, fresh] =
            computed_.try_emplace({id, images_of(item), item.devices, item.shares.front()});
        if (!fresh)
            return known->second;
        Rung rung = *rung_named(ladder_, id);
        for (LadderLaunch &launch : rung.launches)
            launch.values.merge(values_of(item));
        const RungForecast forecast = forecaster_.forecast(rung, images_of(item));
        if (forecast.why_not)
            throw UsageError("no forecast of the split " + to_text(*item.split) + " on " + profile_.id +
                             ": " + *forecast.why_not);
        return known->second = *forecast.call_s();
    }

    /// Of an expression for a number of floats.
    double bytes_of(const std::string &floats, const NetworkCase &item) {
        return sizeof(float) * forecaster_.number(floats, images_of(item), values_of(item));
    }

    /// Sc3: how long a GPU sends `floats` floats (an expression; absent: none) to each other one of its host.
    /// Its copies are nodes of the graph that run at once and share its link. NCCL sums in a ring instead, in
    /// which a GPU sends a part of the floats 2 (devices - 1) times.
    double exchange_time(const std::optional<std::string> &floats, const NetworkCase &item) {
        if (!floats)
            return 0.0;
        const double devices = item.devices / item.hosts.value_or(1);
        if (devices == 1.0)
            return gap_s_ + launch_s_; // the kernel that sums
        const bool ring = item.split == DeviceSplit::batch_nccl;
        const double times_sent = ring ? 2.0 * (devices - 1.0) / devices : devices - 1.0;
        return meeting(devices) + times_sent * bytes_of(*floats, item) / peers_.bandwidth_bytes_per_s.value;
    }

    /// Seconds, of a range.
    struct Span {
        double low = 0.0, middle = 0.0, high = 0.0;
    };

    /// Sc5: how long hosts sum `floats` floats in a tree, up and down, by a network of which a range is
    /// known. All 0 on one host. The document has the link wherever a case has hosts.
    Span between_hosts(const std::optional<std::string> &floats, const NetworkCase &item) {
        if (!floats || !item.hosts)
            return {};
        const double hosts = *item.hosts, bytes = bytes_of(*floats, item);
        const auto time_with = [&](Seconds latency, Bandwidth bandwidth) {
            return 2.0 * std::ceil(std::log2(hosts)) * latency.value +
                   2.0 * (hosts - 1.0) / hosts * bytes / bandwidth.value;
        };
        Span span{time_with(host_link_->least_latency_s, host_link_->most_bytes_per_s), 0.0,
                  time_with(host_link_->most_latency_s, host_link_->least_bytes_per_s)};
        span.middle = std::sqrt(span.low * span.high);
        return span;
    }

    /// Seconds of an exchange of next to nothing: a measured round with an empty kernel, less the kernel.
    /// More GPUs than were measured take as long as the most that were. If nobody measured it, a copy arrives
    /// a latency later, and so does the word that it has.
    double meeting(double devices) const {
        const CurveSeries *rounds = line_of(profile_, "peer_meets");
        if (rounds == nullptr)
            return gap_s_ + launch_s_ + 2.0 * peers_.latency_s.value;
        return std::max(0.0, value_at(*rounds, devices) - launch_s_ - gap_s_);
    }

    Ladder ladder_;
    const GpuProfile &profile_;
    RungForecaster forecaster_;
    const PeerNumbers &peers_;
    const std::optional<HostLink> &host_link_;
    std::map<std::tuple<std::string, std::int64_t, int, std::int64_t>, Seconds>
        computed_;                       ///< computation_time by rung, images, GPUs and share
    std::optional<std::string> no_room_; ///< why a step of one GPU has no forecast
    double launch_s_, gap_s_ = 0.0; ///< of an empty kernel; from its end to the next one's start in a graph
};

// ---- the matrix of copies between GPUs ----

/// What is published of the links of GPUs whose name has a part: NVLink 4 has 900 GB/s both ways together.
struct PublishedLink {
    const char *part_of_name;
    double bandwidth, latency; ///< bytes a second one way; seconds
    const char *by;
};
constexpr PublishedLink published_links[] = {
    {"H200", 450e9, 0.85e-6,
     "data sheet of the H200: NVLink 4, 450 GB/s a direction; latency as measured on one"},
    {"H100 80GB HBM3", 450e9, 0.85e-6,
     "data sheet of the H100 SXM: NVLink 4, 450 GB/s a direction; latency as measured on an H200"}};

/// Bytes a second one way: the less of a copy alone and of half of two opposite ones. 0 if not known.
double one_way(const PeerLink &link) {
    const double alone = link.bandwidth_bytes_per_s ? link.bandwidth_bytes_per_s->value : 0.0;
    const double both = link.both_ways_bytes_per_s ? link.both_ways_bytes_per_s->value / 2.0 : alone;
    return alone > 0.0 ? std::min(alone, both) : both;
}

/// The least batch from which on `holds` is true up to most_split_batch; absent if it is not true of that.
/// Looks at multiples of block_images: on a grid down to one that fails, then between the last two.
template <class Holds> std::optional<std::int64_t> from_size(const Holds &holds) {
    constexpr double step = 1.09;            // ratio of neighbours of the grid: eight of them double a size
    constexpr std::int64_t block_images = 8; // of a block of executor/network/mnist.cu
    std::optional<std::int64_t> from;        // the smallest batch so far of which it is true
    std::int64_t batch = most_split_batch;   // behind the loop the largest of which it is not
    for (; batch >= block_images && holds(batch);
         batch = std::min(batch - block_images, static_cast<std::int64_t>(static_cast<double>(batch) / step) /
                                                    block_images * block_images))
        from = batch;
    while (from && batch >= block_images && *from - batch > block_images) {
        const std::int64_t between = (*from + batch) / (2 * block_images) * block_images;
        (holds(between) ? *from : batch) = between;
    }
    return from;
}

/// From which batch on the split is faster than one GPU, and from which on with an efficiency of 0.9.
ScalingAdvice advice_for(const Network &network, Steps &steps, DeviceSplit split, int devices) {
    ScalingAdvice advice;
    advice.split = split;
    advice.devices = devices;
    const auto speed_up = [&](std::int64_t batch) {
        const NetworkCase one = case_of(network, DeviceSplit::one, 1, batch),
                          several = case_of(network, split, devices, batch);
        return several.status == Status::infeasible ? 0.0 : *steps.of(one).time_s / *steps.of(several).time_s;
    };
    constexpr double good_efficiency = 0.9;
    advice.pays_from = from_size([&](std::int64_t batch) { return speed_up(batch) > 1.0; });
    advice.efficient_from =
        from_size([&](std::int64_t batch) { return speed_up(batch) >= good_efficiency * devices; });
    return advice;
}

/// The links between these GPUs whose bandwidth the profile has, or all such links if it has none between
/// these. Sets `missing` to whether it lacks some.
std::vector<const PeerLink *> links_of(const GpuProfile &profile, const std::vector<int> &devices,
                                       bool &missing) {
    std::vector<const PeerLink *> known, between;
    for (const PeerLink &link : profile.peers)
        if (one_way(link) > 0.0)
            known.push_back(&link);
    missing = false;
    for (const int from : devices)
        for (const int to : devices) {
            const auto link = std::ranges::find_if(known, [&](const PeerLink *one) {
                return std::minmax(one->from, one->to) == std::minmax(from, to);
            });
            if (from != to && link == known.end())
                missing = true;
            else if (from != to)
                between.push_back(*link);
        }
    return between.empty() ? known : between;
}

/// " (6 to 12; a latency of 1 to 10 us)", "" of a link without a range.
std::string range_text(const PeerLink &link) {
    return link.range
               ? fmt::format(" ({:.0f} to {:.0f}; a latency of {:.3g} to {:.3g} us)",
                             link.range->least_bytes_per_s.value / 1e9,
                             link.range->most_bytes_per_s.value / 1e9,
                             link.range->least_latency_s.value * 1e6, link.range->most_latency_s.value * 1e6)
               : "";
}

/// Throws UsageError if nothing is published of the GPU here.
PeerNumbers published_numbers(const GpuProfile &profile, std::vector<std::string> &assumptions) {
    for (const PublishedLink &link : published_links)
        if (profile.name.find(link.part_of_name) != std::string::npos) {
            assumptions.push_back(
                fmt::format("copies between GPUs were not measured: {:.0f} GB/s one way, {}",
                            link.bandwidth / 1e9, link.by));
            return {Bandwidth(link.bandwidth), Seconds(link.latency), Source::published, link.by};
        }
    throw UsageError("the profile " + profile.id +
                     " says nothing of copies between GPUs. `convcast measure` on a host with two of them "
                     "does; or add to the "
                     "profile's \"peers\" what is published: {\"from\": 0, \"to\": 1, \"direct\": true, "
                     "\"bandwidth_bytes_per_s\": 450e9, \"latency_s\": 1e-6, \"source\": \"published\", "
                     "\"by\": \"data sheet\"}");
}

} // namespace

PeerNumbers peer_numbers(const GpuProfile &profile, const std::vector<int> &devices,
                         std::vector<std::string> &assumptions) {
    bool missing = false;
    const std::vector<const PeerLink *> links = links_of(profile, devices, missing);
    if (links.empty())
        return published_numbers(profile, assumptions);
    const PeerLink &slowest =
        **std::ranges::min_element(links, {}, [](const auto *link) { return one_way(*link); });
    double latency = 0.0, both_ways = one_way(slowest);
    for (const PeerLink &link : profile.peers) {
        latency = std::max(latency, link.latency_s ? link.latency_s->value : 0.0);
        if (link.both_ways_bytes_per_s)
            both_ways = std::min(both_ways, link.both_ways_bytes_per_s->value / 2.0);
    }
    const PeerNumbers numbers{
        Bandwidth(both_ways), Seconds(latency), slowest.source.value_or(Source::measured),
        slowest.by.value_or(fmt::format("peer_copy, GPU {} to GPU {}", slowest.from, slowest.to))};
    if (numbers.source != Source::measured)
        assumptions.push_back(fmt::format("copies between GPUs at {:.0f} GB/s one way{}: {}, {}",
                                          both_ways / 1e9, range_text(slowest),
                                          boost::describe::enum_to_string(numbers.source, "?"), numbers.by));
    if (missing)
        assumptions.push_back(
            fmt::format("the profile {} has no link between some of these GPUs: each is taken "
                        "to be as fast as that from GPU {} to GPU {}",
                        profile.id, slowest.from, slowest.to));
    return numbers;
}

NetworkRun forecast_scaling(const Network &network, const GpuProfile &profile,
                            const ScalingQuestion &question) {
    require_split_kernels(network);
    NetworkRun run;
    run.network = network.id;
    run.devices = question.devices;
    run.cases = scaling_cases(network, question);
    if (question.hosts > 1)
        run.host_link = question.host_link.value_or(usual_host_link());
    return forecast_anew(std::move(run), network, profile);
}

namespace {

/// The range of a step (I3): its time with each number that the profile assumes at that end of its range that
/// makes the step shorter, and links between GPUs at their best; and with all at the other ends.
class StepRanges {
  public:
    StepRanges(const Network &network, const GpuProfile &profile, const std::vector<int> &devices,
               const std::optional<HostLink> &host_link)
        : network_(network), profile_(profile), devices_(devices), host_link_(host_link),
          numbers_(ranged_numbers(profile)) {
        for (const RangedNumber &number : numbers_) {
            low_.push_back(variant(with_number(profile, number.name, number.low)));
            high_.push_back(variant(with_number(profile, number.name, number.high)));
        }
    }

    /// Widens low_s and high_s of a case's forecast. Does nothing if the profile has no ranges.
    void add_range(NetworkTimes &times, const NetworkCase &item) {
        const bool links =
            std::ranges::any_of(profile_.peers, [](const PeerLink &link) { return link.range.has_value(); });
        if (numbers_.empty() && !links)
            return;
        std::vector<bool> faster_high, slower_high; // by number, whether its high end is that one
        for (std::size_t i = 0; i < numbers_.size(); ++i) {
            const bool high = *high_[i]->steps.of(item).time_s < *low_[i]->steps.of(item).time_s;
            faster_high.push_back(high), slower_high.push_back(!high);
        }
        const NetworkTimes fast = together(faster_high, true).of(item),
                           slow = together(slower_high, false).of(item);
        times.low_s = std::min(times.low_s.value_or(*times.time_s), fast.low_s.value_or(*fast.time_s));
        times.high_s = std::max(times.high_s.value_or(*times.time_s), slow.high_s.value_or(*slow.time_s));
    }

  private:
    /// Steps on another GPU, and what they refer to.
    struct Variant {
        GpuProfile profile;
        std::vector<std::string> said; ///< assumptions, which the document has of the profile itself already
        PeerNumbers peers;
        Steps steps;
        Variant(const StepRanges &of, GpuProfile its)
            : profile(std::move(its)), peers(peer_numbers(profile, of.devices_, said)),
              steps(of.network_, profile, peers, of.host_link_) {}
    };

    std::unique_ptr<Variant> variant(GpuProfile profile) const {
        return std::make_unique<Variant>(*this, std::move(profile));
    }

    /// Steps with every number at its high or its low end and the links at their best or worst. Made once.
    Steps &together(const std::vector<bool> &high, bool best_links) {
        std::unique_ptr<Variant> &made = together_[{high, best_links}];
        if (made)
            return made->steps;
        GpuProfile profile = profile_;
        for (std::size_t i = 0; i < numbers_.size(); ++i)
            profile = with_number(std::move(profile), numbers_[i].name,
                                  high[i] ? numbers_[i].high : numbers_[i].low);
        for (PeerLink &link : profile.peers)
            if (const auto &range = link.range) {
                link.bandwidth_bytes_per_s = best_links ? range->most_bytes_per_s : range->least_bytes_per_s;
                link.both_ways_bytes_per_s.reset();
                link.latency_s = best_links ? range->least_latency_s : range->most_latency_s;
            }
        made = variant(std::move(profile));
        return made->steps;
    }

    const Network &network_;
    const GpuProfile &profile_;
    const std::vector<int> &devices_;
    const std::optional<HostLink> &host_link_;
    std::vector<RangedNumber> numbers_;
    std::vector<std::unique_ptr<Variant>> low_, high_; ///< of each number, with all others as they are
    std::map<std::pair<std::vector<bool>, bool>, std::unique_ptr<Variant>> together_;
};

/// Sets the forecasts of the cases with a split, their rates, the document's advice and assumptions.
void forecast_splits(NetworkRun &run, const Network &network, const GpuProfile &profile) {
    run.assumptions.clear();
    run.advice.clear();
    run.peers = peer_numbers(profile, run.devices, run.assumptions);
    Steps steps(network, profile, *run.peers, run.host_link);
    StepRanges ranges(network, profile, run.devices, run.host_link);
    std::set<std::pair<DeviceSplit, int>> advised; // splits and GPUs
    bool by_nccl = false;
    std::set<DeviceSplit> checked; // splits that have kernels
    std::string why_not;           // of the last case without a forecast
    for (NetworkCase &item : run.cases) {
        if (!item.split)
            continue;
        item.forecast.reset();
        by_nccl = by_nccl || item.split == DeviceSplit::batch_nccl;
        if (item.status == Status::infeasible)
            continue;
        if (checked.insert(*item.split).second)
            require_split(network, *item.split);
        try {
            item.forecast = steps.of(item);
        } catch (const UsageError &error) {
            if (!item.measured)
                item.status = Status::infeasible, item.reason = error.what();
            why_not = error.what();
            continue;
        }
        ranges.add_range(*item.forecast, item);
        // The split by NCCL has the same forecast as that by copies, and so the same advice.
        if (item.split != DeviceSplit::one && item.split != DeviceSplit::batch_nccl &&
            advised.emplace(*item.split, item.devices).second)
            run.advice.push_back(advice_for(network, steps, *item.split, item.devices));
    }
    if (!why_not.empty() && std::ranges::none_of(run.cases, [](const NetworkCase &item) {
            return item.forecast.has_value() && item.forecast->time_s;
        }))
        throw UsageError(why_not);
    add_rates(run.cases);
    if (const std::optional<std::string> other = steps.of_other_kernels())
        run.assumptions.push_back(
            "a step is that of other kernels, the implementation data_oriented_step, on each "
            "GPU for its images: " +
            *other);
    if (line_of(profile, "peer_meets") == nullptr)
        run.assumptions.push_back("GPUs wait for each other for two latencies of their link: the profile "
                                  "has no measured meetings (probe "
                                  "peer_meets); two H100s took 10 us longer for each exchange");
    else if (const double most = line_of(profile, "peer_meets")->x.back();
             static_cast<double>(run.devices.size()) > most)
        run.assumptions.push_back(fmt::format("more than {:g} GPUs meet as fast as {:g} do: peer_meets was "
                                              "measured on no more",
                                              most, most));
    if (by_nccl)
        run.assumptions.push_back("GPUs meet for NCCL's sum as they do for an exchange by copies");
    if (run.host_link)
        run.assumptions.push_back(fmt::format(
            "between hosts {:g} to {:g} GB/s one way for each GPU, a message takes {:g} to {:g} us: {}",
            run.host_link->least_bytes_per_s.value / 1e9, run.host_link->most_bytes_per_s.value / 1e9,
            run.host_link->least_latency_s.value * 1e6, run.host_link->most_latency_s.value * 1e6,
            run.host_link->by));
}

} // namespace

NetworkRun forecast_anew(NetworkRun run, const Network &network, const GpuProfile &profile) {
    const bool splits = std::any_of(run.cases.begin(), run.cases.end(),
                                    [](const NetworkCase &item) { return item.split.has_value(); });
    if (splits)
        require_split_kernels(network);
    run.profile_id = profile.id;
    run.profile_hash = profile_hash(profile);
    const Ladder ladder = find_ladder(network);
    RungForecaster forecaster(ladder, network, profile);
    for (NetworkCase &item : run.cases) {
        if (!item.id)
            continue;
        item.forecast.reset();
        item.kernels_forecast.clear();
        for (const Rung &rung : ladder.rungs)
            if (rung.id == *item.id) {
                const std::int64_t images = item.shares.empty() ? item.batch : item.shares.front();
                RungForecast forecast = forecaster.ranged_forecast(rung, images);
                item.kernels_forecast = std::move(forecast.launches);
                item.forecast = std::move(forecast);
            }
    }
    if (splits)
        forecast_splits(run, network, profile);
    return run;
}

} // namespace convcast
