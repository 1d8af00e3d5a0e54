#include "reports/report_tables.hpp"

#include "model/regime/words.hpp"
#include "reports/explained.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

std::string cases_csv(const ReportStatistics &statistics) {
    return csv_of<CaseRow>(statistics.cases,
                           explained_fields<CaseRow>("cases_csv", {{"knobs", &CaseRow::knobs}}));
}

Table times_table(const Accuracy &accuracy) {
    return explained_table<TimeAccuracy>("times", accuracy.times);
}

Table work_table(const Accuracy &accuracy) {
    return explained_table<WorkAccuracy>("work", accuracy.work);
}

Table rankings_table(const Accuracy &accuracy) {
    return explained_table<RankingAccuracy>("rankings", accuracy.rankings);
}

Table speedups_table(const std::vector<SpeedupStatistics> &speedups) {
    std::vector<SpeedupStatistics> compared = speedups;
    std::erase_if(compared, [](const SpeedupStatistics &s) { return s.n == 0; });
    return explained_table<SpeedupStatistics>(
        "speedups", compared,
        {{"faster", [](const auto &s) { return std::to_string(s.wins) + " of " + std::to_string(s.n); }}});
}

Table said_regimes_table(const RegimeTables &tables) {
    Table table{{{.title = "regime by", .full = "opinion, all strategies"},
                 {.title = "measured", .keep = Keep::must},
                 {"said compute", As::number},
                 {"memory", As::number},
                 {"exposed", As::number}}};
    for (const RegimeStatistics &opinion : tables.opinions)
        if (opinion.group == "all")
            for (std::size_t i = 0; i + 2 < opinion.counts.size(); i += 3)
                table.rows.push_back({words_of_opinion(opinion), words_of(opinion.counts[i].measured),
                                      opinion.counts[i].n, opinion.counts[i + 1].n, opinion.counts[i + 2].n});
    return table;
}

Table regimes_table(const RegimeTables &tables) {
    const auto share = [](std::int64_t RegimeStatistics::*cases) {
        return [cases](const RegimeStatistics &r) {
            return static_cast<double>(r.*cases) / static_cast<double>(r.n);
        };
    };
    return explained_table<RegimeStatistics>("regimes", tables.opinions,
                                             {{"opinion", words_of_opinion},
                                              {"agree", share(&RegimeStatistics::agree)},
                                              {"always one", share(&RegimeStatistics::commonest_n)}});
}

Table stalls_table(const RegimeTables &tables) {
    constexpr double worth_a_line = 0.05;
    std::vector<StallStatistics> stalls = tables.stalls;
    std::erase_if(stalls, [](const StallStatistics &s) { return s.share < worth_a_line; });
    return explained_table<StallStatistics>(
        "stalls", stalls, {{"measured", [](const StallStatistics &s) { return words_of(s.measured); }}});
}

} // namespace convcast
