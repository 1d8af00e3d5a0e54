#include "model/network/compare_networks.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Launches of both networks that compute the same.
struct Match {
    std::array<std::vector<std::size_t>, 2> launches; ///< by network, their indices; one of both may be empty
};

std::string name_of(LaunchKind kind) {
    return boost::describe::enum_to_string(kind, "?");
}

bool is_measured(const NetworkLaunch &launch) {
    return launch.measured.has_value();
}

bool changes_layout(const NetworkLaunch &launch) {
    return launch.kind == LaunchKind::to_columns || launch.kind == LaunchKind::to_rows;
}

/// Kind and shape, or kind and bytes: launches of equal texts may compute the same where no name says so.
std::string likeness(const NetworkLaunch &launch) {
    return name_of(launch.kind) + " " +
           (launch.shape   ? *launch.shape
            : launch.bytes ? fmt::format("{:.0f} bytes", *launch.bytes)
                           : "");
}

/// Matches of launches whose first operator the other network has too: such a launch and the one with that
/// operator belong together, and with them all that belong to either.
std::vector<Match> matched_by_name(const std::array<const NetworkCase *, 2> &cases) {
    std::array<std::map<std::string, std::size_t>, 2> launch_of; // by each operator that it computes
    for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t i = 0; i < cases[side]->launches.size(); ++i)
            for (const std::string &op : cases[side]->launches[i].operators)
                launch_of[side].emplace(op, i);
    const std::size_t first = cases[0]->launches.size(), all = first + cases[1]->launches.size();
    std::vector<std::size_t> group(all); // number of the group of each launch, one network behind the other
    std::iota(group.begin(), group.end(), std::size_t{0});
    for (std::size_t i = 0; i < all; ++i) {
        const std::size_t side = i < first ? 0 : 1;
        const NetworkLaunch &launch = cases[side]->launches[side == 0 ? i : i - first];
        const auto found = launch_of[1 - side].find(launch.operators.front());
        // A launch that only changes a layout names an operator that it does not compute.
        if (found != launch_of[1 - side].end() &&
            changes_layout(launch) == changes_layout(cases[1 - side]->launches[found->second]))
            std::replace(group.begin(), group.end(), std::size_t{group[i]},
                         std::size_t{group[side == 0 ? first + found->second : found->second]});
    }
    std::map<std::size_t, Match> groups;
    for (std::size_t i = 0; i < all; ++i)
        groups[group[i]].launches[i < first ? 0 : 1].push_back(i < first ? i : i - first);
    std::vector<Match> matches;
    for (auto &[id, match] : groups)
        if (!match.launches[0].empty() && !match.launches[1].empty())
            matches.push_back(std::move(match));
    return matches;
}

/// The launches of network number `side` that are in no match, in order.
std::vector<std::size_t> left_of(const NetworkCase &run, const std::vector<Match> &matches,
                                 std::size_t side) {
    std::set<std::size_t> taken;
    for (const Match &match : matches)
        taken.insert(match.launches[side].begin(), match.launches[side].end());
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < run.launches.size(); ++i)
        if (!taken.contains(i))
            left.push_back(i);
    return left;
}

/// Adds matches of the launches that are in none: the longest common subsequence by likeness.
void match_in_order(const std::array<const NetworkCase *, 2> &cases, std::vector<Match> &matches) {
    const std::vector<std::size_t> a = left_of(*cases[0], matches, 0), b = left_of(*cases[1], matches, 1);
    const auto alike = [&](std::size_t i, std::size_t j) {
        return likeness(cases[0]->launches[a[i]]) == likeness(cases[1]->launches[b[j]]);
    };
    // By i and j, the length of the longest common subsequence of a from i on and b from j on.
    std::vector<std::vector<std::size_t>> longest(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
    for (std::size_t i = a.size(); i-- > 0;)
        for (std::size_t j = b.size(); j-- > 0;)
            longest[i][j] =
                alike(i, j) ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();)
        if (alike(i, j))
            matches.push_back({{{{a[i++]}, {b[j++]}}}});
        else
            longest[i][j + 1] >= longest[i + 1][j] ? ++j
                                                   : ++i; // equal: keeps the first network's earlier launch
}

/// All launches of both, each in one match, in the order of the first network. A launch that only the second
/// network has stands behind the partner of the one before it there.
std::vector<Match> all_matches(const std::array<const NetworkCase *, 2> &cases) {
    std::vector<Match> matches = matched_by_name(cases);
    match_in_order(cases, matches);
    std::map<std::size_t, std::size_t> partner; // by launch of the second network, that of the first
    for (const Match &match : matches)
        for (const std::size_t j : match.launches[1])
            partner[j] = match.launches[0].front();
    const std::vector<std::size_t> first = left_of(*cases[0], matches, 0),
                                   second = left_of(*cases[1], matches, 1);
    for (const std::size_t i : first)
        matches.push_back({{{{i}, {}}}});
    for (const std::size_t j : second)
        matches.push_back({{{{}, {j}}}});
    const auto place =
        [&](const Match &match) { // what matches are sorted by: halves lie between two launches
            if (!match.launches[0].empty())
                return std::pair(static_cast<double>(match.launches[0].front()), std::size_t{0});
            const std::size_t j = match.launches[1].front();
            const auto behind = partner.lower_bound(j);
            return std::pair(
                behind == partner.begin() ? -1.0 : static_cast<double>(std::prev(behind)->second) + 0.5, j);
        };
    std::sort(matches.begin(), matches.end(),
              [&](const Match &one, const Match &other) { return place(one) < place(other); });
    return matches;
}

/// A median with its 95 % interval, as if the samples were of a normal distribution.
ComparedValue compared_time(const TimeSpread &time) {
    // Standard deviations from the 5th to the 95th percentile; 1.96 of them are half a 95 % interval, and a
    // median varies 1.2533 = sqrt(pi / 2) times as much as a mean.
    constexpr double deviations_of_90_percent = 3.29, half_width = 1.96 * 1.2533;
    const double deviation = (time.p95_s - time.p05_s).value / deviations_of_90_percent,
                 half = half_width * deviation / std::sqrt(static_cast<double>(time.samples));
    ComparedValue value;
    value.value = time.median_s.value;
    value.low = time.median_s.value - half, value.high = time.median_s.value + half;
    value.samples = time.samples;
    return value;
}

/// The sum of the times of a row's launches, by whose strategies or kinds `by` says; absent without launches.
std::optional<ComparedValue> compared_time(const NetworkCase &run, const std::vector<std::size_t> &launches,
                                           bool measured) {
    std::optional<ComparedValue> all;
    for (const std::size_t i : launches) {
        const NetworkLaunch &launch = run.launches[i];
        ComparedValue one =
            measured ? compared_time(launch.measured->time_s) : sure_value(launch.time_s.value);
        one.by = launch.strategy().empty() ? name_of(launch.kind) : launch.strategy();
        if (!all) {
            all = std::move(one);
            continue;
        }
        for (const auto sum : {&ComparedValue::value, &ComparedValue::low, &ComparedValue::high})
            *((*all).*sum) += *(one.*sum);
        *all->by += ", " + *one.by;
    }
    return all;
}

/// "before -> after"; one of them if they are equal or the other is empty.
std::string both(const std::string &before, const std::string &after) {
    return before.empty() || before == after ? after : after.empty() ? before : before + " -> " + after;
}

/// The measured or forecast time of a case. Absent for nullptr; without a number if it has no time.
std::optional<ComparedValue> compared_time(const NetworkCase *item, bool measured) {
    if (item == nullptr)
        return std::nullopt;
    if (!measured)
        return item->forecast_s() ? sure_value(item->forecast_s()->value) : ComparedValue{};
    if (!item->measured || !item->measured->time_s)
        return item->traced ? compared_time(item->traced->graph_s) : ComparedValue{};
    const NetworkTimes &times = *item->measured;
    if (times.low_s && times.high_s && times.samples)
        return compared_time(TimeSpread{*times.time_s, *times.low_s, *times.high_s, *times.samples});
    ComparedValue value; // without samples nothing says how sure it is
    value.value = times.time_s->value;
    return value;
}

/// The row of a match. Where it has several launches of a network it has the name of the side with fewer.
ComparedRow row_of(const std::array<const NetworkCase *, 2> &cases, const Match &match, bool measured,
                   double tolerance) {
    std::array<std::string, 2> names, shapes;
    std::array<std::optional<ComparedValue>, 2> times;
    for (std::size_t side = 0; side < 2; ++side) {
        times[side] = compared_time(*cases[side], match.launches[side], measured);
        for (const std::size_t i : match.launches[side]) {
            const NetworkLaunch &launch = cases[side]->launches[i];
            names[side] += (names[side].empty() ? "" : ", ") + launch.label();
            if (launch.shape && shapes[side].empty())
                shapes[side] = *launch.shape;
        }
    }
    const std::size_t first = match.launches[0].size(), second = match.launches[1].size();
    ComparedRow row = time_row(
        first > 1 || second > 1 ? names[first > second ? 1 : 0] : both(names[0], names[1]), times, tolerance);
    if (const std::string shape = both(shapes[0], shapes[1]); !shape.empty())
        row.shape = shape;
    return row;
}

/// The row of a case; nullptr for a document that has none of the name.
ComparedRow row_of(const std::string &name, const std::array<const NetworkCase *, 2> &cases, bool measured,
                   double tolerance) {
    return time_row(name, {compared_time(cases[0], measured), compared_time(cases[1], measured)}, tolerance);
}

/// A row for each name of a case, in the order of the first document.
std::vector<ComparedRow> rows_of_cases(const std::array<const NetworkRun *, 2> &runs, bool measured,
                                       double tolerance) {
    std::vector<std::string> names;
    std::map<std::string, std::array<const NetworkCase *, 2>> cases;
    for (std::size_t side = 0; side < 2; ++side)
        for (const NetworkCase &item : runs[side]->cases) {
            const auto [found, is_new] = cases.try_emplace(item.name());
            if (is_new)
                names.push_back(item.name());
            found->second[side] = &item;
        }
    std::vector<ComparedRow> rows;
    for (const std::string &name : names)
        rows.push_back(row_of(name, cases.at(name), measured, tolerance));
    return rows;
}

/// The GPU that a document was measured on, or else the profile of its forecasts.
std::string gpu_of(const NetworkRun &run) {
    const std::string gpu = condition_of(run.conditions, "gpu");
    return gpu.empty() ? run.profile_id : gpu;
}

} // namespace

ComparedFiles compare_networks(const NetworkRun &before, const std::string &before_file,
                               const NetworkRun &after, const std::string &after_file, double tolerance) {
    const std::array<const NetworkRun *, 2> runs = {&before, &after};
    const std::array<const NetworkCase *, 2> first = {&before.first(), &after.first()};
    const bool by_node = first[0]->is_whole() && first[1]->is_whole();
    const bool measured = std::ranges::all_of(runs, [&](const NetworkRun *run) {
        if (by_node)
            return run->first().measured_s() && std::ranges::all_of(run->first().launches, is_measured);
        return std::ranges::any_of(run->cases,
                                   [](const auto &item) { return item.measured_s().has_value(); });
    });
    ComparedFiles out;
    out.of = Compared::networks;
    out.values = measured ? "measured" : "forecast";
    for (const NetworkRun *run : runs)
        out.files.push_back(
            {run == &before ? before_file : after_file,
             fmt::format("{}, batch {}, on {}", run->network, run->first().batch, gpu_of(*run)),
             condition_of(run->conditions, "date")});
    add_difference(out.differences, "network", {before.network, after.network});
    add_difference(out.differences, "batch",
                   {std::to_string(first[0]->batch), std::to_string(first[1]->batch)});
    add_difference(out.differences, "profile", {before.profile_id, after.profile_id});
    add_conditions(out.differences, {&before.conditions, &after.conditions});
    if (by_node) {
        for (const Match &match : all_matches(first))
            out.rows.push_back(row_of(first, match, measured, tolerance));
        out.total = row_of("total", first, measured, tolerance);
    } else {
        out.rows = rows_of_cases(runs, measured, tolerance);
    }
    conclude(out);
    return out;
}

} // namespace convcast
