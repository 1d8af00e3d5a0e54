#include "model/network/scaling_forecast.hpp"

#include "model/base/errors.hpp"
#include "model/machine/curve.hpp"
#include "model/machine/machine.hpp"
#include "model/network/scaling_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

// ---- a step ----

/// Kernels and exchanges behind each other, on the GPU with the largest share.
class Steps {
  public:
    Steps(const GpuProfile &profile, const PeerNumbers &peers)
        : gpu_(profile), machine_(machine_of(gpu_, DataType::f32, Calibration{})),
          kernels_(machine_, banks_of(profile), static_cast<double>(profile.limits.l2_bytes)), peers_(peers),
          gap_(profile.graph_launch_period
                   ? std::max(0.0, profile.graph_launch_period->value.value - machine_.launch_s)
                   : machine_.gap_s) {}

    ScalingTimes of(const ScalingCase &item) const {
        const Parts parts = splits_rows(item.split) ? by_rows(item) : by_images(item);
        ScalingTimes times;
        times.forward_s = Seconds(parts.forward + parts.forward_exchange);
        times.step_s = Seconds(parts.computation + parts.exchange);
        times.backward_s = times.step_s - times.forward_s;
        times.computation_s = Seconds(parts.computation);
        times.communication_s = Seconds(parts.exchange);
        return times;
    }

  private:
    struct Parts {
        double forward = 0.0, forward_exchange = 0.0, computation = 0.0, exchange = 0.0;
    };

    static constexpr double of_update = 4.0, of_gather = 8.0; ///< loads of a thread that wait together

    static bool splits_rows(DeviceSplit split) {
        return split == DeviceSplit::rows || split == DeviceSplit::parameters;
    }

    static double blocks_of(double images) {
        constexpr double block_images = 8.0;
        return std::ceil(images / block_images);
    }

    double launch(const SplitKernel &kernel, double data_bytes = 0.0) const {
        return kernels_.seconds(kernel, data_bytes) + gap_;
    }

    Parts by_images(const ScalingCase &item) const {
        const double images = static_cast<double>(item.shares.front()),
                     data = images * WindowShare{}.image_bytes();
        const bool one = item.split == DeviceSplit::one;
        Parts parts;
        parts.forward = launch(kernels_.step(images, false), data);
        parts.computation = launch(kernels_.step(images, true), data) +
                            launch(kernels_.sum_of_parts(split_all_parameters, blocks_of(images),
                                                         one ? of_update : of_gather));
        if (!one) {
            parts.computation += launch(kernels_.update(split_all_parameters, item.devices));
            parts.exchange = exchange(split_all_parameters, item.devices);
        }
        return parts;
    }

    Parts by_rows(const ScalingCase &item) const {
        const bool sums = item.split == DeviceSplit::parameters;
        const WindowShare share{static_cast<double>(item.shares.front())};
        const double images = static_cast<double>(item.batch), data = images * share.image_bytes();
        const double first = launch(kernels_.rows_forward(share, images, sums), data);
        Parts parts;
        parts.forward = first + launch(kernels_.rows_back(share, images, item.devices, sums, false), data);
        parts.computation =
            first + launch(kernels_.rows_back(share, images, item.devices, sums, true), data) +
            launch(kernels_.sum_of_parts(share.parameters(), blocks_of(images), of_gather)) +
            launch(kernels_.update(sums ? share.parameters() : split_all_parameters, item.devices));
        parts.forward_exchange =
            exchange(images * (sums ? split_outputs_count : share.features()), item.devices);
        parts.exchange = parts.forward_exchange +
                         exchange(sums ? split_convolution_parameters : share.parameters(), item.devices);
        return parts;
    }

    /// Sc3: a GPU sends `floats` to each other one. The copies are nodes of the graph that run at once and
    /// share its link.
    double exchange(double floats, double devices) const {
        return meeting(devices) + (devices - 1.0) * 4.0 * floats / peers_.bandwidth_bytes_per_s.value;
    }

    /// What a measured round of an empty kernel and an exchange of next to nothing takes beyond the kernel.
    /// Of more GPUs than were measured it is that of the most. Where nobody measured it, a copy arrives a
    /// latency later, and so does the word that it has.
    double meeting(double devices) const {
        const CurveSeries *rounds = line_of(gpu_.profile, "peer_meets");
        if (rounds == nullptr)
            return gap_ + machine_.launch_s + 2.0 * peers_.latency_s.value;
        return std::max(0.0, value_at(*rounds, devices) - machine_.launch_s - gap_);
    }

    Gpu gpu_;
    Machine machine_;
    SplitKernels kernels_;
    const PeerNumbers &peers_;
    double gap_;
};

// ---- the matrix ----

/// NVLink 4: 900 GB/s both ways, as published for these GPUs.
struct PublishedLink {
    const char *part_of_name;
    double bandwidth, latency;
    const char *by;
};
constexpr PublishedLink published_links[] = {
    {"H200", 450e9, 0.85e-6,
     "data sheet of the H200: NVLink 4, 450 GB/s a direction; latency as measured on one"},
    {"H100 80GB HBM3", 450e9, 0.85e-6,
     "data sheet of the H100 SXM: NVLink 4, 450 GB/s a direction; latency as measured on an H200"}};

double one_way(const PeerLink &link) {
    const double alone = link.bandwidth_bytes_per_s ? link.bandwidth_bytes_per_s->value : 0.0;
    const double both = link.both_ways_bytes_per_s ? link.both_ways_bytes_per_s->value / 2.0 : alone;
    return alone > 0.0 ? std::min(alone, both) : both;
}

/// The size of a batch, in eights, from which on all larger ones up to the largest satisfy `holds`: found on
/// a grid, then between its last two sizes.
template <class Holds> std::optional<std::int64_t> from_size(const Holds &holds) {
    constexpr double step = 1.09; // eight sizes an octave
    constexpr std::int64_t block_images = 8;
    std::optional<std::int64_t> from;
    std::int64_t batch = most_split_batch;
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

ScalingAdvice advice_for(const Network &network, const Steps &steps, DeviceSplit split, int devices) {
    ScalingAdvice advice;
    advice.split = split;
    advice.devices = devices;
    const auto speed_up = [&](std::int64_t batch) {
        ScalingQuestion question{{}, {split}, {batch}, false};
        question.devices.assign(static_cast<std::size_t>(devices), 0);
        std::optional<double> one, several;
        for (const ScalingCase &item : scaling_cases(network, question)) {
            if (item.status == Status::infeasible)
                continue;
            if (item.split == DeviceSplit::one)
                one = steps.of(item).step_s.value;
            else if (item.devices == devices)
                several = steps.of(item).step_s.value;
        }
        return one && several ? *one / *several : 0.0;
    };
    constexpr double good_efficiency = 0.9;
    advice.pays_from = from_size([&](std::int64_t batch) { return speed_up(batch) > 1.0; });
    advice.efficient_from =
        from_size([&](std::int64_t batch) { return speed_up(batch) >= good_efficiency * devices; });
    return advice;
}

} // namespace

PeerNumbers peer_numbers(const GpuProfile &profile, const std::vector<int> &devices,
                         std::vector<std::string> &assumptions) {
    PeerNumbers numbers;
    const PeerLink *slowest = nullptr;
    bool all_known = true, between_these = false;
    for (const int from : devices)
        for (const int to : devices) {
            if (from == to)
                continue;
            const auto link =
                std::find_if(profile.peers.begin(), profile.peers.end(), [&](const PeerLink &one) {
                    const bool between =
                        (one.from == from && one.to == to) || (one.from == to && one.to == from);
                    return between && one_way(one) > 0.0;
                });
            all_known = all_known && link != profile.peers.end();
            if (link != profile.peers.end() && (slowest == nullptr || one_way(*link) < one_way(*slowest)))
                slowest = &*link, between_these = true;
        }
    for (const PeerLink &link : profile.peers)
        if (!between_these && one_way(link) > 0.0 &&
            (slowest == nullptr || one_way(link) < one_way(*slowest)))
            slowest = &link;
    if (slowest != nullptr) {
        double latency = 0.0, both_ways = one_way(*slowest);
        for (const PeerLink &link : profile.peers) {
            latency = std::max(latency, link.latency_s ? link.latency_s->value : 0.0);
            if (link.both_ways_bytes_per_s)
                both_ways = std::min(both_ways, link.both_ways_bytes_per_s->value / 2.0);
        }
        numbers = {
            Bandwidth(both_ways), Seconds(latency), slowest->source.value_or(Source::measured),
            slowest->by.value_or(fmt::format("peer_copy, GPU {} to GPU {}", slowest->from, slowest->to))};
        if (numbers.source != Source::measured)
            assumptions.push_back(
                fmt::format("copies between GPUs at {:.0f} GB/s one way: {}, {}", both_ways / 1e9,
                            boost::describe::enum_to_string(numbers.source, "?"), numbers.by));
        if (!all_known)
            assumptions.push_back(
                fmt::format("the profile {} has no link between some of these GPUs: each is taken "
                            "to be as fast as that from GPU {} to GPU {}",
                            profile.id, slowest->from, slowest->to));
        return numbers;
    }
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

ScalingTimes forecast_case(const ScalingCase &item, const GpuProfile &profile, const PeerNumbers &peers) {
    return Steps(profile, peers).of(item);
}

Scaling forecast_scaling(const Network &network, const GpuProfile &profile, const ScalingQuestion &question) {
    Scaling scaling;
    scaling.network = network.id;
    scaling.devices = question.devices;
    scaling.cases = scaling_cases(network, question);
    for (ScalingCase &item : scaling.cases)
        if (item.status != Status::infeasible)
            item.status = Status::ok;
    return forecast_anew(std::move(scaling), network, profile);
}

Scaling forecast_anew(Scaling scaling, const Network &network, const GpuProfile &profile) {
    require_split_kernels(network);
    scaling.profile_id = profile.id;
    scaling.profile_hash = profile_hash(profile);
    scaling.assumptions.clear();
    scaling.advice.clear();
    scaling.peers = peer_numbers(profile, scaling.devices, scaling.assumptions);
    const Steps steps(profile, scaling.peers);
    std::vector<std::pair<DeviceSplit, int>> told;
    bool by_nccl = false;
    for (ScalingCase &item : scaling.cases) {
        item.forecast.reset(), item.forecast_rates.reset();
        by_nccl = by_nccl || item.split == DeviceSplit::batch_nccl;
        if (item.status == Status::infeasible)
            continue;
        item.forecast = steps.of(item);
        const std::pair<DeviceSplit, int> which{item.split, item.devices};
        // NCCL's has the same forecast as ours.
        if (item.split != DeviceSplit::one && item.split != DeviceSplit::batch_nccl &&
            std::find(told.begin(), told.end(), which) == told.end()) {
            told.push_back(which);
            scaling.advice.push_back(advice_for(network, steps, item.split, item.devices));
        }
    }
    add_rates(scaling.cases);
    if (line_of(profile, "peer_meets") == nullptr)
        scaling.assumptions.push_back("GPUs wait for each other for two latencies of their link: the profile "
                                      "has no measured meetings (probe "
                                      "peer_meets); two H100s took 10 us longer for each exchange");
    else if (const double most = line_of(profile, "peer_meets")->x.back();
             static_cast<double>(scaling.devices.size()) > most)
        scaling.assumptions.push_back(
            fmt::format("more than {:g} GPUs meet as fast as {:g} do: peer_meets was "
                        "measured on no more",
                        most, most));
    if (by_nccl)
        scaling.assumptions.push_back("NCCL's sum takes as long as our exchange by copies");
    return scaling;
}

} // namespace convcast
