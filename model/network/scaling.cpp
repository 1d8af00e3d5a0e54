#include "model/network/scaling.hpp"

#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/network/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr int most_ordinal = 1023; ///< of a GPU, as KernelTime::device has it; above this only slips come

const std::vector<DeviceSplit> all_splits = {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch,
                                             DeviceSplit::batch_nccl};

std::vector<std::string> names_of(const std::vector<DeviceSplit> &splits) {
    std::vector<std::string> names;
    for (const DeviceSplit split : splits)
        names.push_back(to_text(split));
    return names;
}

std::optional<int> ordinal_of(const std::string &text) {
    const auto value = number_of<int>(text);
    return value && *value >= 0 && *value <= most_ordinal ? value : std::nullopt;
}

/// What a network that is split by rows begins with: a convolution and, behind elementwise ones, a pooling.
struct Front {
    const Operator *convolution = nullptr, *pooling = nullptr;
};

/// Throws UsageError if the network does not begin so.
Front front_of(const Network &network) {
    Front front;
    for (const Operator &op : network.operators) {
        if (op.kind == OperatorKind::convolution && front.convolution == nullptr)
            front.convolution = &op;
        else if (op.kind == OperatorKind::max_pooling && front.pooling == nullptr)
            front.pooling = &op;
        else if (front.pooling == nullptr && !is_elementwise(op.kind))
            break;
    }
    const bool plain = front.convolution != nullptr && front.pooling != nullptr &&
                       front.convolution == &network.operators.front() && !front.convolution->pad &&
                       !front.convolution->stride && !front.pooling->pad && !front.pooling->stride;
    if (!plain)
        throw UsageError(
            "the network " + network.id +
            " cannot be split by rows: that takes a convolution without stride and padding, then a "
            "pooling");
    return front;
}

/// `count` things in shares that differ by at most one.
std::vector<ImageShare> shares_of(std::int64_t count, int devices) {
    std::vector<ImageShare> shares;
    for (int device = 0; device < devices; ++device)
        shares.push_back(share_of_rank(count, device, devices));
    return shares;
}

/// 2, 4, ... below all, and all.
std::vector<int> counts_up_to(int devices) {
    std::vector<int> counts;
    for (int count = 2; count < devices; count *= 2)
        counts.push_back(count);
    if (devices > 1)
        counts.push_back(devices);
    return counts;
}

/// Sc4, for `times` with a time_s. Times of one GPU: `one_all` with all images, `one_share` with a GPU's.
void add_rates(NetworkTimes &times, int devices, const std::optional<Seconds> &one_all,
               const std::optional<Seconds> &one_share) {
    if (one_all)
        times.speed_up = *one_all / *times.time_s;
    if (times.speed_up)
        times.efficiency = *times.speed_up / devices;
    if (one_share)
        times.weak_efficiency = *one_share / *times.time_s;
    if (times.computation_s && times.communication_s && times.communication_s->value > 0.0)
        times.computation_over_communication = *times.computation_s / *times.communication_s;
}

} // namespace

NetworkCase case_of(const Network &network, DeviceSplit split, int devices, std::int64_t batch) {
    NetworkCase item;
    item.split = split;
    item.devices = devices;
    item.batch = batch;
    try {
        if (splits_rows(split)) {
            for (const RowShare &share : row_shares(network, devices))
                item.shares.push_back(share.windows());
        } else {
            for (const ImageShare &share : batch_shares(batch, devices))
                item.shares.push_back(share.count);
        }
    } catch (const UsageError &error) {
        item.status = Status::infeasible;
        item.reason = error.what();
    }
    return item;
}

std::optional<std::string> why_other_shares(const NetworkCase &item, const Network &network) {
    const NetworkCase right = case_of(network, *item.split, item.devices, item.batch);
    if (item.status == Status::infeasible || item.shares == right.shares)
        return std::nullopt;
    if (right.reason)
        return "expected the status \"infeasible\": " + *right.reason;
    std::vector<std::string> shares;
    for (const std::int64_t share : right.shares)
        shares.push_back(std::to_string(share));
    return "expected [" + join(shares) + "], what each GPU has of this step";
}

// Sc1. The thesis gives the ends of two halves, LastRow = outputs / devices + K - 1 and FirstRow = LastRow -
// K + 1: those of the pixels that a share's windows need.
std::vector<RowShare> row_shares(const Network &network, int devices) {
    const Front front = front_of(network);
    const std::int64_t rows = front.pooling->output[1], pool = (*front.pooling->window)[0],
                       filter = (*front.convolution->window)[0];
    if (rows < devices)
        throw UsageError(fmt::format("{} has {} rows of pooling windows, fewer than {} GPUs: split the batch",
                                     network.id, rows, devices));
    std::vector<RowShare> shares;
    for (const auto &[first, count] : shares_of(rows, devices))
        shares.push_back({first, first + count, first * pool, (first + count) * pool + filter - 1});
    return shares;
}

std::vector<ImageShare> batch_shares(std::int64_t batch, int devices) {
    if (batch < devices)
        throw UsageError(
            fmt::format("{} images cannot be split over {} GPUs: at least one each", batch, devices));
    return shares_of(batch, devices);
}

std::vector<int> parse_devices(const std::string &verb, const std::string &text) {
    const auto refused = [&](const std::string &part) {
        return UsageError(verb + ": --devices takes CUDA ordinals, for example 0,1,2,3 or 0-3, got '" + part +
                          "'");
    };
    std::vector<int> devices;
    for (const std::string &part : split(text, ',')) {
        const std::size_t dash = part.find('-');
        const auto first = ordinal_of(part.substr(0, dash)),
                   last = dash == std::string::npos ? first : ordinal_of(part.substr(dash + 1));
        if (!first || !last || *last < *first)
            throw refused(part);
        for (int ordinal = *first; ordinal <= *last && std::ssize(devices) <= most_split_devices; ++ordinal)
            devices.push_back(ordinal);
    }
    if (std::ssize(devices) > most_split_devices)
        throw UsageError(
            fmt::format("{}: --devices takes at most {} GPUs, got '{}'", verb, most_split_devices, text));
    return devices;
}

HostLink usual_host_link() {
    return {Bandwidth(12.5e9), Bandwidth(50e9), Seconds(3e-6), Seconds(15e-6),
            "taken from networks of 100 to 400 Gbit/s a GPU; --host-link says what yours does"};
}

HostLink parse_host_link(const std::string &verb, const std::string &text) {
    const auto range_of = [&](const std::string &part, double least, double most) {
        const std::size_t dots = part.find("..");
        const auto low = number_of<double>(part.substr(0, dots)),
                   high = dots == std::string::npos ? low : number_of<double>(part.substr(dots + 2));
        if (!low || !high || !(*low >= least) || !(*low <= *high) || !(*high <= most))
            throw UsageError(
                fmt::format("{}: --host-link takes bytes a second of a GPU one way, a number or a "
                            "range, and perhaps seconds of a message, got '{}'. Example: "
                            "--host-link 25e9..50e9,3e-6..10e-6",
                            verb, shortened(text)));
        return std::pair(*low, *high);
    };
    const std::size_t comma = text.find(',');
    HostLink link = usual_host_link();
    const auto [least, most] = range_of(text.substr(0, comma), 1.0, 1e18);
    link.least_bytes_per_s = Bandwidth(least), link.most_bytes_per_s = Bandwidth(most);
    if (comma != std::string::npos) {
        const auto [shortest, longest] = range_of(text.substr(comma + 1), 1e-12, 1.0);
        link.least_latency_s = Seconds(shortest), link.most_latency_s = Seconds(longest);
    }
    link.by = "--host-link";
    return link;
}

DeviceSplit parse_split(const std::string &verb, const std::string &text) {
    const std::vector<std::string> names = names_of(all_splits);
    if (const auto found = std::ranges::find(names, text); found != names.end())
        return all_splits[static_cast<std::size_t>(found - names.begin())];
    throw UsageError(verb + ": unknown split '" + text + "'" + did_you_mean(text, names) +
                     " Known: " + join(names));
}

std::string to_text(DeviceSplit split) {
    return boost::describe::enum_to_string(split, "?");
}

namespace {

/// Makes a case infeasible if its kernels have room for fewer images on a GPU than it gives them.
void refuse_too_many_images(NetworkCase &item, const Ladder &ladder) {
    const auto declared = ladder.splits.find(to_text(*item.split));
    if (item.status == Status::infeasible || declared == ladder.splits.end() || splits_rows(*item.split))
        return;
    const Rung *step = rung_named(ladder, declared->second.step);
    if (const auto most = step->most_images; most && item.shares.front() > *most) {
        item.status = Status::infeasible;
        item.reason = fmt::format("a step has room for {} images on a GPU, and each would have {}", *most,
                                  item.shares.front());
    }
}

} // namespace

std::vector<NetworkCase> scaling_cases(const Network &network, const ScalingQuestion &question) {
    const int each = static_cast<int>(question.devices.size());
    std::set<std::tuple<int, int, std::int64_t>> asked; // hosts, GPUs of all of them, and images of a step
    std::set<std::int64_t> of_one(question.batches.begin(), question.batches.end()); // to compare with
    const auto ask = [&](int hosts, int count, std::int64_t batch) {
        asked.emplace(hosts, count, batch);
        if (const std::int64_t weak = batch * count; question.weak && weak <= most_split_batch) {
            asked.emplace(hosts, count, weak);
            of_one.insert(weak);
        }
    };
    for (const std::int64_t batch : question.batches) {
        for (const int count : question.fewer ? counts_up_to(each) : std::vector{each})
            ask(1, count, batch);
        for (const int hosts : counts_up_to(question.hosts))
            ask(hosts, hosts * each, batch);
    }
    std::vector<NetworkCase> cases;
    for (const std::int64_t batch : of_one)
        cases.push_back(case_of(network, DeviceSplit::one, 1, batch));
    for (const DeviceSplit split : question.splits)
        for (const auto &[hosts, count, batch] : asked) {
            if (hosts > 1 && split != DeviceSplit::batch_nccl)
                continue;
            cases.push_back(case_of(network, split, count, batch));
            if (hosts > 1)
                cases.back().hosts = hosts;
        }
    const Ladder ladder = find_ladder(network);
    for (NetworkCase &item : cases)
        refuse_too_many_images(item, ladder);
    const std::set<std::int64_t> batches(question.batches.begin(), question.batches.end());
    std::erase_if(cases, [&](const NetworkCase &item) { // a whole batch that only splits asked for
        return item.split == DeviceSplit::one && item.status == Status::infeasible &&
               !batches.contains(item.batch);
    });
    return cases;
}

std::optional<NetworkCase> divided_case(const Ladder &ladder, int devices) {
    const std::int64_t batch = ladder.published_images.value_or(1);
    const Rung *rung = ladder.divided_rung ? rung_named(ladder, *ladder.divided_rung) : nullptr;
    if (rung == nullptr || batch < devices)
        return std::nullopt;
    NetworkCase item;
    item.id = rung->id;
    item.title = rung->title;
    item.devices = devices;
    item.batch = batch;
    for (const ImageShare &share : batch_shares(batch, devices))
        item.shares.push_back(share.count);
    return item;
}

std::vector<DeviceSplit> splits_of(const Network &network) {
    const std::vector<std::string> names = networks_with_splits();
    if (std::ranges::find(names, network.id) == names.end() || !is_as_it_ships(network, true))
        return {};
    std::vector<DeviceSplit> splits = all_splits;
    std::erase_if(splits, [ladder = find_ladder(network)](DeviceSplit split) {
        return !ladder.splits.contains(to_text(split));
    });
    return splits;
}

void require_split_kernels(const Network &network) {
    if (splits_of(network).empty())
        throw UsageError("no kernels split the network '" + network.id +
                         "' over GPUs; give one that has such kernels, as it ships: --network " +
                         join(networks_with_splits(), " or --network "));
}

void require_split(const Network &network, DeviceSplit split) {
    require_split_kernels(network);
    const std::vector<DeviceSplit> known = splits_of(network);
    if (split == DeviceSplit::one || std::find(known.begin(), known.end(), split) != known.end())
        return;
    throw UsageError("the network " + network.id + " is not split by " + to_text(split) + "; it is by " +
                     join(names_of(known)));
}

void add_rates(std::vector<NetworkCase> &cases) {
    for (const auto times : {&NetworkCase::forecast, &NetworkCase::measured}) {
        const auto one_gpu = [&](std::int64_t batch) -> std::optional<Seconds> {
            for (const NetworkCase &item : cases)
                if (item.split == DeviceSplit::one && item.batch == batch)
                    return item.*times ? (item.*times)->time_s : std::nullopt;
            return std::nullopt;
        };
        for (NetworkCase &item : cases)
            if (item.*times && (item.*times)->time_s && item.split && item.split != DeviceSplit::one)
                add_rates(*(item.*times), item.devices, one_gpu(item.batch),
                          item.batch % item.devices == 0 ? one_gpu(item.batch / item.devices) : std::nullopt);
    }
}

std::vector<ScalingPoint> scaling_points(const NetworkRun &run, DeviceSplit split, std::int64_t batch,
                                         std::optional<NetworkTimes> NetworkCase::*times) {
    const auto times_of = [&](DeviceSplit wanted, int devices, std::int64_t images) -> const NetworkTimes * {
        const auto found = std::find_if(run.cases.begin(), run.cases.end(), [&](const NetworkCase &c) {
            return c.split == wanted && c.devices == devices && c.batch == images && c.*times &&
                   (c.*times)->call_s() &&
                   (wanted == DeviceSplit::one || (c.*times)->efficiency); // one GPU is compared with nothing
        });
        return found == run.cases.end() ? nullptr : &*((*found).*times);
    };
    std::vector<ScalingPoint> points;
    if (const NetworkTimes *one = times_of(DeviceSplit::one, 1, batch))
        points.push_back({1, *one->call_s(), *one->call_s(), Seconds(0.0)});
    for (int gpus = 2; gpus <= most_split_devices; gpus *= 2) {
        const NetworkTimes *strong = times_of(split, gpus, batch),
                           *weak = times_of(split, gpus, batch * gpus);
        if (strong && weak)
            points.push_back({gpus, *strong->call_s(), *weak->call_s(),
                              strong->communication_s.value_or(Seconds(0.0)), *strong->efficiency,
                              weak->weak_efficiency.value_or(0.0)});
    }
    if (points.size() < 2) // one GPU alone says nothing
        points.clear();
    return points;
}

} // namespace convcast
