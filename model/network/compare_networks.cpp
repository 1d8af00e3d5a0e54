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
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Launches of both networks that compute the same, by their indices.
struct Match {
    std::array<std::vector<std::size_t>, 2> launches;
};

std::string name_of(LaunchKind kind) {
    return boost::describe::enum_to_string(kind, "?");
}

bool turns(const NetworkLaunch &launch) {
    return launch.kind == LaunchKind::to_columns || launch.kind == LaunchKind::to_rows;
}

/// Launches that may compute the same where no name says so.
std::string likeness(const NetworkLaunch &launch) {
    return name_of(launch.kind) + " " +
           (launch.shape   ? *launch.shape
            : launch.bytes ? fmt::format("{:.0f} bytes", *launch.bytes)
                           : "");
}

/// The launches of each network with a name of the other one at their beginning, in groups that have all of
/// each other's.
std::vector<Match> matched_by_name(const std::array<const NetworkRun *, 2> &runs) {
    std::array<std::map<std::string, std::size_t>, 2> launch_of; // by each operator that it computes
    for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t i = 0; i < runs[side]->launches.size(); ++i)
            for (const std::string &op : runs[side]->launches[i].operators)
                launch_of[side].emplace(op, i);
    std::vector<Match> groups;
    std::array<std::map<std::size_t, std::size_t>, 2> group_of; // of each launch
    const auto join = [&](std::size_t a, std::size_t b) {       // of the first and of the second network
        const auto found_a = group_of[0].find(a), found_b = group_of[1].find(b);
        const bool has_a = found_a != group_of[0].end(), has_b = found_b != group_of[1].end();
        const std::size_t into = has_a ? found_a->second : has_b ? found_b->second : groups.size();
        if (into == groups.size())
            groups.emplace_back();
        if (has_a && has_b && found_b->second != into) {
            const std::size_t from = found_b->second;
            for (std::size_t side = 0; side < 2; ++side)
                for (const std::size_t i : std::exchange(groups[from].launches[side], {})) {
                    groups[into].launches[side].push_back(i);
                    group_of[side][i] = into;
                }
        }
        if (!has_a)
            groups[into].launches[0].push_back(a), group_of[0][a] = into;
        if (!has_b)
            groups[into].launches[1].push_back(b), group_of[1][b] = into;
    };
    for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t i = 0; i < runs[side]->launches.size(); ++i) {
            const NetworkLaunch &launch = runs[side]->launches[i];
            const auto found = launch_of[1 - side].find(launch.operators.front());
            if (found == launch_of[1 - side].end())
                continue;
            const NetworkLaunch &other = runs[1 - side]->launches[found->second];
            // A launch that only turns a tensor is named by what it turns.
            if (turns(launch) == turns(other))
                side == 0 ? join(i, found->second) : join(found->second, i);
        }
    std::erase_if(groups, [](const Match &match) { return match.launches[0].empty(); });
    for (Match &match : groups)
        for (std::vector<std::size_t> &launches : match.launches)
            std::sort(launches.begin(), launches.end());
    return groups;
}

/// The launches in neither list of matches, in order.
std::vector<std::size_t> left_of(const NetworkRun &run, const std::vector<Match> &matches, std::size_t side) {
    std::set<std::size_t> taken;
    for (const Match &match : matches)
        taken.insert(match.launches[side].begin(), match.launches[side].end());
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < run.launches.size(); ++i)
        if (!taken.contains(i))
            left.push_back(i);
    return left;
}

/// The longest common subsequence of what is left of both, by kind and shape.
void match_in_order(const std::array<const NetworkRun *, 2> &runs, std::vector<Match> &matches) {
    const std::vector<std::size_t> a = left_of(*runs[0], matches, 0), b = left_of(*runs[1], matches, 1);
    const auto alike = [&](std::size_t i, std::size_t j) {
        return likeness(runs[0]->launches[a[i]]) == likeness(runs[1]->launches[b[j]]);
    };
    std::vector<std::vector<std::size_t>> longest(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
    for (std::size_t i = a.size(); i-- > 0;)
        for (std::size_t j = b.size(); j-- > 0;)
            longest[i][j] =
                alike(i, j) ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();)
        if (alike(i, j))
            matches.push_back({{{{a[i++]}, {b[j++]}}}});
        else
            longest[i + 1][j] >= longest[i][j + 1] ? ++i : ++j;
}

/// All launches of both, each in one match; what only the second has stands behind what it follows there.
std::vector<Match> all_matches(const std::array<const NetworkRun *, 2> &runs) {
    std::vector<Match> matches = matched_by_name(runs);
    match_in_order(runs, matches);
    std::map<std::size_t, std::size_t> partner; // of a launch of the second network
    for (const Match &match : matches)
        for (const std::size_t j : match.launches[1])
            partner[j] = match.launches[0].front();
    const std::vector<std::size_t> first = left_of(*runs[0], matches, 0),
                                   second = left_of(*runs[1], matches, 1);
    for (const std::size_t i : first)
        matches.push_back({{{{i}, {}}}});
    for (const std::size_t j : second)
        matches.push_back({{{{}, {j}}}});
    const auto place = [&](const Match &match) {
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

/// A median of samples that are spread as a normal distribution's, with its 95 % interval.
ComparedValue compared_time(const TimeSpread &time) {
    constexpr double deviations_of_90_percent = 3.29, half_width = 1.96 * 1.2533;
    const double deviation = (time.p95_s - time.p05_s).value / deviations_of_90_percent,
                 half = half_width * deviation / std::sqrt(static_cast<double>(time.samples));
    ComparedValue value;
    value.value = time.median_s.value;
    value.low = time.median_s.value - half, value.high = time.median_s.value + half;
    value.samples = time.samples;
    return value;
}

ComparedValue compared_time(Seconds forecast) {
    ComparedValue value;
    value.value = value.low = value.high = forecast.value;
    return value;
}

ComparedValue compared_time(const NetworkRun &run, const std::vector<std::size_t> &launches, bool measured) {
    ComparedValue all;
    for (const std::size_t i : launches) {
        const NetworkLaunch &launch = run.launches[i];
        const ComparedValue one =
            measured ? compared_time(launch.measured->time_s) : compared_time(launch.time_s);
        if (!all.value) {
            all = one;
        } else {
            *all.value += *one.value;
            *all.low += *one.low;
            *all.high += *one.high;
        }
        const std::string by = launch.strategy().empty() ? name_of(launch.kind) : launch.strategy();
        all.by = all.by ? *all.by + ", " + by : by;
    }
    return all;
}

std::string both(const std::string &before, const std::string &after) {
    return before.empty() || before == after ? after : after.empty() ? before : before + " -> " + after;
}

ComparedRow row_of(const std::array<const NetworkRun *, 2> &runs, const Match &match, bool measured,
                   double tolerance) {
    std::array<std::string, 2> names, shapes;
    ComparedRow row;
    for (std::size_t side = 0; side < 2; ++side) {
        for (const std::size_t i : match.launches[side]) {
            const NetworkLaunch &launch = runs[side]->launches[i];
            names[side] += (names[side].empty() ? "" : ", ") + launch.label();
            if (launch.shape && shapes[side].empty())
                shapes[side] = *launch.shape;
        }
        row.values.push_back(compared_time(*runs[side], match.launches[side], measured));
        if (match.launches[side].empty())
            row.only = static_cast<std::int64_t>(1 - side);
    }
    const bool one_name = match.launches[0].size() > 1 || match.launches[1].size() > 1;
    row.name = one_name ? names[match.launches[0].size() > match.launches[1].size() ? 1 : 0]
                        : both(names[0], names[1]);
    if (const std::string shape = both(shapes[0], shapes[1]); !shape.empty())
        row.shape = shape;
    row.unit = "s";
    row.tolerance = tolerance;
    judge_row(row, true);
    return row;
}

std::string gpu_of(const NetworkRun &run) {
    const std::string gpu = condition_of(run.conditions, "gpu");
    return gpu.empty() ? run.profile_id : gpu;
}

} // namespace

ComparedFiles compare_networks(const NetworkRun &before, const std::string &before_file,
                               const NetworkRun &after, const std::string &after_file, double tolerance) {
    const std::array<const NetworkRun *, 2> runs = {&before, &after};
    ComparedFiles out;
    out.of = Compared::networks;
    bool measured = true;
    for (const NetworkRun *run : runs) {
        measured = measured && run->measured_s() != nullptr &&
                   std::all_of(run->launches.begin(), run->launches.end(),
                               [](const NetworkLaunch &launch) { return launch.measured.has_value(); });
        out.files.push_back({run == &before ? before_file : after_file,
                             fmt::format("{}, batch {}, on {}", run->network, run->batch, gpu_of(*run)),
                             condition_of(run->conditions, "date")});
    }
    out.values = measured ? "measured" : "forecast";
    add_difference(out.differences, "network", {before.network, after.network});
    add_difference(out.differences, "batch", {std::to_string(before.batch), std::to_string(after.batch)});
    add_difference(out.differences, "profile", {before.profile_id, after.profile_id});
    add_conditions(out.differences, {&before.conditions, &after.conditions});
    for (const Match &match : all_matches(runs))
        out.rows.push_back(row_of(runs, match, measured, tolerance));
    ComparedRow total;
    total.name = "total";
    total.unit = "s";
    total.tolerance = tolerance;
    for (const NetworkRun *run : runs)
        total.values.push_back(measured ? compared_time(*run->measured_s()) : compared_time(run->time_s));
    judge_row(total, true);
    out.total = std::move(total);
    conclude(out);
    return out;
}

} // namespace convcast
