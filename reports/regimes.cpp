#include "reports/regimes.hpp"

#include "reports/lists.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr std::array<Regime, 3> all_regimes = {Regime::compute_hidden, Regime::bulk_hidden, Regime::exposed};
constexpr std::size_t index_of(Regime regime) {
    return static_cast<std::size_t>(regime);
}
static_assert(index_of(Regime::compute_hidden) == 0 && index_of(Regime::exposed) == 2);

/// One of the ways to forecast a regime.
struct Opinion {
    const char *name; ///< RegimeStatistics::opinion
    std::optional<Regime> Regimes::*member;
};
constexpr std::array<Opinion, 3> opinions = {
    {{"paper", &Regimes::paper}, {"physical", &Regimes::physical}, {"forecast", &Regimes::tier2}}};

/// A case of ours that has a forecast, and a regime by the counters of its cold measurement.
struct CountedCase {
    const Case *item;
    const Measurement *cold;
    std::string group; ///< the strategy without its knobs
};

/// How often an opinion agrees with the counters, over the cases of a strategy or of "all". Cohen's kappa is
/// (agreement - chance) / (1 - chance), where chance is the agreement if both said their regimes at random,
/// each as often as it does. n is 0 where the opinion said nothing.
RegimeStatistics agreement(const Opinion &opinion, const std::string &group,
                           const std::vector<CountedCase> &cases) {
    std::array<std::array<double, 3>, 3> table{}; // cases by [measured regime][forecast regime]
    RegimeStatistics out;
    out.opinion = opinion.name;
    out.group = group;
    for (const CountedCase &counted : cases) {
        const std::optional<Regimes> &regimes = counted.item->prediction->regimes;
        if ((group != "all" && counted.group != group) || !regimes || !((*regimes).*opinion.member))
            continue;
        table[index_of(*counted.cold->regime)][index_of(*((*regimes).*opinion.member))] += 1.0;
        ++out.n;
    }
    if (out.n == 0)
        return out;
    const auto n = static_cast<double>(out.n);
    double agree = 0.0, chance = 0.0, recalls = 0.0, measured_regimes = 0.0;
    for (const Regime one : all_regimes) {
        const std::size_t i = index_of(one);
        double row = 0.0, column = 0.0;
        for (const Regime other : all_regimes) {
            const std::size_t j = index_of(other);
            row += table[i][j];
            column += table[j][i];
            out.counts.push_back({one, other, static_cast<std::int64_t>(table[i][j])});
        }
        if (row > static_cast<double>(out.commonest_n)) {
            out.commonest = one;
            out.commonest_n = static_cast<std::int64_t>(row);
        }
        agree += table[i][i];
        chance += row / n * column / n;
        if (row > 0.0) {
            recalls += table[i][i] / row;
            measured_regimes += 1.0;
        }
    }
    out.agree = static_cast<std::int64_t>(agree);
    out.balanced = recalls / measured_regimes;
    if (chance < 1.0)
        out.kappa = (agree / n - chance) / (1.0 - chance);
    return out;
}

/// A warp with this reason issued its instruction, so it did not stall.
constexpr const char *issued = "selected";

/// What warps waited for in the cases measured as `regime`, the largest share first.
std::vector<StallStatistics> stalls_of(Regime regime, const std::vector<CountedCase> &cases) {
    std::map<std::string, double> shares; // of each reason, summed over the cases
    std::int64_t n = 0;
    for (const CountedCase &counted : cases) {
        if (*counted.cold->regime != regime || !counted.cold->counters)
            continue;
        std::map<std::string, double> waiting;
        double total = 0.0;
        for (const auto &[name, value] : *counted.cold->counters)
            if (const std::string reason = stall_reason(name); !reason.empty() && reason != issued) {
                waiting[reason] = value;
                total += value;
            }
        if (!(total > 0.0))
            continue;
        ++n;
        for (const auto &[reason, value] : waiting)
            shares[reason] += value / total;
    }
    std::vector<StallStatistics> out;
    for (const auto &[reason, sum] : shares)
        out.push_back({regime, reason, n, sum / static_cast<double>(n)});
    std::ranges::stable_sort(out, std::greater(), &StallStatistics::share);
    return out;
}

} // namespace

std::string words_of_opinion(const RegimeStatistics &statistics) {
    return statistics.opinion == "forecast" ? "forecast"
           : statistics.opinion == "paper"  ? "paper's rule"
                                            : "physical rule";
}

std::string stall_reason(const std::string &counter) {
    constexpr std::string_view before = "smsp__average_warps_issue_stalled_",
                               after = "_per_issue_active.ratio";
    if (!counter.starts_with(before) || !counter.ends_with(after) ||
        counter.size() <= before.size() + after.size())
        return "";
    return counter.substr(before.size(), counter.size() - before.size() - after.size());
}

std::string worth_of(const RegimeStatistics &row) {
    return (row.kappa ? fmt::format("kappa {:.3f}", *row.kappa)
                      : std::string("no kappa, as chance explains all")) +
           fmt::format("; always saying {} agrees on {}", boost::describe::enum_to_string(row.commonest, "?"),
                       row.commonest_n);
}

const RegimeStatistics *over_all(const RegimeTables &tables, const std::string &opinion) {
    return first_where(tables.opinions, [&](const RegimeStatistics &row) {
        return row.group == "all" && row.opinion == opinion && row.n > 0;
    });
}

RegimeTables regimes_of(const Run &run) {
    std::vector<CountedCase> cases;
    std::vector<std::string> groups = {"all"};
    for (const Case &item : run.cases) {
        const Measurement *cold = item.measured(L2State::cold);
        if (!item.strategy || item.status != Status::ok || !item.prediction || !cold || !cold->regime)
            continue;
        cases.push_back({&item, cold, item.kernel()});
        add_once(groups, cases.back().group);
    }
    RegimeTables out;
    for (const std::string &group : groups)
        for (const Opinion &opinion : opinions) {
            RegimeStatistics statistics = agreement(opinion, group, cases);
            if (statistics.n > 0 && (group == "all" || statistics.n >= least_regime_cases))
                out.opinions.push_back(std::move(statistics));
        }
    for (const Regime regime : all_regimes)
        append(out.stalls, stalls_of(regime, cases));
    return out;
}

} // namespace convcast
