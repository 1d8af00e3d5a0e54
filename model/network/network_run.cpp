#include "model/network/network_run.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/statistics.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling.hpp"

#include <boost/describe/enum_to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// A problem unless a time is above 0, which only those of LaunchKind::placed may be.
void check_takes_time(const std::string &field, Seconds time, const FieldProblem &problem) {
    if (time.value < time_above_zero.low)
        problem(field, "expected a number from 1e-12 to 1e+06");
}

/// A problem if a launch ends before it begins.
template <class Launch> void check_span(const Launch &launch, const FieldProblem &problem) {
    if (launch.begins_s && launch.ends_s && !(*launch.begins_s <= *launch.ends_s))
        problem("ends_s", "expected at least begins_s");
}

} // namespace

void TimeSpread::check(const FieldProblem &problem) const {
    if (!(p05_s <= median_s))
        problem("p05_s", "expected at most median_s");
    if (!(median_s <= p95_s))
        problem("p95_s", "expected at least median_s");
}

TimeSpread time_spread(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const auto quantile = [&](double share) { return Seconds(interpolated_quantile(samples, share)); };
    return {quantile(0.5), quantile(0.05), quantile(0.95), std::ssize(samples)};
}

void LaunchMeasurement::check(const FieldProblem &problem) const {
    check_span(*this, problem);
}

void TracedTimes::check(const FieldProblem &problem) const {
    const auto check_time = [&](const char *field, const std::optional<TimeSpread> &time) {
        if (time)
            check_takes_time(std::string(field) + "/median_s", time->median_s, problem);
    };
    check_time("graph_s", graph_s);
    check_time("graph_cold_s", graph_cold_s);
    check_time("stream_s", stream_s);
}

void NetworkLaunch::check(const FieldProblem &problem) const {
    if (kind != LaunchKind::placed) {
        check_takes_time("time_s", time_s, problem);
        if (light_s)
            check_takes_time("light_s", *light_s, problem);
        if (measured)
            check_takes_time("measured/time_s/median_s", measured->time_s.median_s, problem);
        if (nodes && *nodes < 1)
            problem("nodes", "expected an integer from 1");
    }
    if (operators.empty()) // the first names it
        problem("operators", "expected the operators that the launch computes, for example [\"conv1\", "
                             "\"relu1\"]");
    check_span(*this, problem);
}

std::string NetworkLaunch::name() const {
    const std::string names = join(operators, "+");
    return kind == LaunchKind::to_columns ? names + " to columns"
           : kind == LaunchKind::to_rows  ? names + " to rows"
                                          : names;
}

std::string NetworkLaunch::label() const {
    const std::string &first = operators.front();
    std::string text = kind == LaunchKind::to_columns || kind == LaunchKind::to_rows ? name() : first;
    for (std::size_t i = 1; i < operators.size(); ++i) {
        const std::string &other = operators[i];
        const std::size_t same = static_cast<std::size_t>(
            std::mismatch(first.begin(), first.end(), other.begin(), other.end()).first - first.begin());
        const std::size_t slash = first.rfind('/', same); // only whole folders are left out
        text += "+" + other.substr(same == first.size() ? same : slash == std::string::npos ? 0 : slash + 1);
    }
    return text;
}

void NetworkTimes::check(const FieldProblem &problem) const {
    if (low_s && high_s && !(*low_s <= *high_s))
        problem("low_s", "expected at most high_s");
    if (samples && time_s && low_s && high_s && !(*low_s <= *time_s && *time_s <= *high_s))
        problem("time_s", "expected from low_s to high_s");
}

void KernelTime::check(const FieldProblem &problem) const {
    if (!(begins_s <= ends_s))
        problem("ends_s", "expected at least begins_s");
}

void Training::check(const FieldProblem &problem) const {
    if (checked > test_images)
        problem("checked", "expected at most test_images");
}

void NetworkCase::check(const FieldProblem &problem) const {
    check_error_of_status(status, output_error, "output_error", problem);
    check_error_of_status(status, gradient_error, "gradient_error", problem);
    check_error_of_status(status, parameter_error, "parameter_error", problem);
    if (is_whole()) {
        const auto required = [&](bool there, const char *place) {
            if (!there)
                problem(place, "expected what the forecast of the whole network says, for example 1e-4");
        };
        required(forecast && forecast->time_s, "forecast/time_s");
        required(light_s.has_value(), "light_s");
        required(convolutions_s && dense_s && others_s, "convolutions_s");
        required(nodes.has_value(), "nodes");
    }
    if (hosts && (split != DeviceSplit::batch_nccl || devices % *hosts != 0))
        problem("hosts", "expected that the split is batch_nccl and that each host has as many GPUs");
    if (split && split != DeviceSplit::batch_nccl && devices > most_split_devices)
        problem("devices", fmt::format("expected at most {}, or the split batch_nccl", most_split_devices));
    if (training && disagreements && *disagreements > training->checked)
        problem("disagreements", "expected at most training/checked");
}

std::optional<Seconds> NetworkCase::measured_s() const {
    if (measured && measured->time_s)
        return measured->time_s;
    return traced ? std::optional(traced->graph_s.median_s) : std::nullopt;
}

std::string NetworkCase::name() const {
    if (!split)
        return id.value_or("the network") + (devices > 1 ? fmt::format(" over {} GPUs", devices) : "");
    return fmt::format("{} over {} GPU{}{}, {} images", boost::describe::enum_to_string(*split, "?"), devices,
                       devices == 1 ? "" : "s", hosts ? fmt::format(" of {} hosts", *hosts) : "", batch);
}

void HostLink::check(const FieldProblem &problem) const {
    if (least_bytes_per_s > most_bytes_per_s)
        problem("most_bytes_per_s", "expected at least least_bytes_per_s");
    if (least_latency_s > most_latency_s)
        problem("most_latency_s", "expected at least least_latency_s");
}

void NetworkRun::check(const FieldProblem &problem) const {
    if (cases.empty())
        problem("cases", "expected at least one case");
    if (std::any_of(cases.begin(), cases.end(),
                    [](const NetworkCase &item) { return item.id || item.split || item.training; }))
        if (const auto why = why_no_ladder(network))
            return problem("network", *why);
    std::set<std::string> seen;
    std::optional<Network> shipped; // the document's network: read if a case is split
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const NetworkCase &item = cases[i];
        if (item.id && !seen.insert(*item.id).second)
            problem(fmt::format("cases/{}/id", i), "\"" + shortened(*item.id) +
                                                       "\" stands there twice; expected each "
                                                       "implementation once");
        if (!item.split)
            continue;
        if (!shipped)
            shipped = find_network(network);
        if (item.hosts && item.status != Status::infeasible && !host_link)
            problem("host_link",
                    fmt::format("expected what the network between the hosts of cases/{} does", i));
        // What a case costs to forecast grows with its shares: a document with others is refused.
        if (const auto why = why_other_shares(item, *shipped))
            problem(fmt::format("cases/{}/shares", i), *why);
    }
}

int NetworkRun::most_hosts() const {
    int most = 1;
    for (const NetworkCase &item : cases)
        most = std::max(most, item.hosts.value_or(1));
    return most;
}

int code_of(const NetworkRun &run) {
    const bool wrong = std::any_of(run.cases.begin(), run.cases.end(), [](const NetworkCase &item) {
        return item.status == Status::wrong_result || item.status == Status::failed ||
               item.status == Status::not_run || (item.training && item.disagreements.value_or(0) > 0);
    });
    return wrong ? 1 : 0;
}

template const described::Type &described::type_of<NetworkRun>();

} // namespace convcast
