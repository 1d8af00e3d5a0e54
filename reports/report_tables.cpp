#include "reports/report_tables.hpp"

#include "model/regime/words.hpp"

#include <boost/describe.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
namespace {

std::function<Cell(const CaseRow &)> regime_name(std::optional<Regime> CaseRow::*regime) {
    return [regime](const CaseRow &row) {
        return row.*regime ? Cell(boost::describe::enum_to_string(*(row.*regime), "?")) : Cell();
    };
}

} // namespace

std::string cases_csv(const ReportStatistics &statistics) {
    return csv_of<CaseRow>(
        statistics.cases,
        {{{"case", As::number}, &CaseRow::id},
         {{"study"}, &CaseRow::study},
         {{"shape"}, &CaseRow::shape},
         {{"strategy"}, &CaseRow::group},
         {{"knobs"}, &CaseRow::knobs},
         {{"status"}, [](const CaseRow &row) { return boost::describe::enum_to_string(row.status, "?"); }},
         {{"measured", As::time}, &CaseRow::cold_s},
         {{"measured_p05", As::time}, &CaseRow::cold_low_s},
         {{"measured_p95", As::time}, &CaseRow::cold_high_s},
         {{"measured_warm", As::time}, &CaseRow::warm_s},
         {{"forecast", As::time}, &CaseRow::predicted_s},
         {{"error", As::number}, &CaseRow::error},
         {{"speed_of_light", As::time}, &CaseRow::tier0_s},
         {{"roofline", As::time}, &CaseRow::roofline_s},
         {{"mwp_cwp", As::time}, &CaseRow::mwp_cwp_s},
         {{"regime_paper"}, regime_name(&CaseRow::paper)},
         {{"regime_physical"}, regime_name(&CaseRow::physical)},
         {{"regime_forecast"}, regime_name(&CaseRow::tier2)},
         {{"regime_measured"}, regime_name(&CaseRow::measured)},
         {{"limiter"}, &CaseRow::limiter},
         {{"speedup_over_cudnn", As::number}, &CaseRow::speedup},
         {{"relative_l2_error", As::number}, &CaseRow::relative_l2_error},
         {{"reason"}, &CaseRow::reason}});
}

Table times_table(const Accuracy &accuracy) {
    return table_of<TimeAccuracy>(
        accuracy.times, {{{"part"}, &TimeAccuracy::part},
                         {{.title = "time by", .keep = Keep::must, .full = "model"}, &TimeAccuracy::model},
                         {{"cases", As::number}, &TimeAccuracy::n},
                         {{.title = "error", .as = As::share, .keep = Keep::must, .full = "mean |error|"},
                          &TimeAccuracy::mean},
                         {{"symmetric", As::share}, &TimeAccuracy::symmetric},
                         {{"median", As::share}, &TimeAccuracy::median},
                         {{.title = "p90", .as = As::share, .full = "90th percentile"}, &TimeAccuracy::p90},
                         {{"bias", As::ratio}, &TimeAccuracy::bias},
                         {{.title = "in interval", .as = As::share, .full = "inside the 90 % interval"},
                          &TimeAccuracy::coverage}});
}

Table work_table(const Accuracy &accuracy) {
    return table_of<WorkAccuracy>(
        accuracy.work, {{{.title = "work, test part", .full = "quantity"}, &WorkAccuracy::quantity},
                        {{"cases", As::number}, &WorkAccuracy::n},
                        {{"mean |error|", As::share, Keep::must}, &WorkAccuracy::mean},
                        {{"median", As::share}, &WorkAccuracy::median},
                        {{.title = "p90", .as = As::share, .full = "90th percentile"}, &WorkAccuracy::p90},
                        {{"within 1 %", As::share}, &WorkAccuracy::within_1_percent}});
}

Table rankings_table(const Accuracy &accuracy) {
    return table_of<RankingAccuracy>(
        accuracy.rankings,
        {{{.title = "ranking by, test part", .full = "model"}, &RankingAccuracy::model},
         {{"shapes", As::number}, &RankingAccuracy::shapes},
         {{"mean regret", As::share, Keep::must}, &RankingAccuracy::mean_regret},
         {{.title = "first within 5 %", .as = As::share, .full = "first within 5 % of the fastest"},
          &RankingAccuracy::within_5_percent},
         {{.title = "Kendall tau", .as = As::ratio, .full = "Kendall's tau"},
          &RankingAccuracy::kendall_tau}});
}

Table speedups_table(const std::vector<SpeedupStatistics> &speedups) {
    std::vector<SpeedupStatistics> compared = speedups;
    std::erase_if(compared, [](const SpeedupStatistics &s) { return s.n == 0; });
    return table_of<SpeedupStatistics>(
        compared,
        {{{.title = "speed-up in", .full = "study"}, &SpeedupStatistics::study},
         {{.title = "of", .keep = Keep::high}, &SpeedupStatistics::ours},
         {{.title = "over", .keep = Keep::must}, &SpeedupStatistics::against},
         {{"faster", As::number},
          [](const SpeedupStatistics &s) { return std::to_string(s.wins) + " of " + std::to_string(s.n); }},
         {{"least", As::factor}, &SpeedupStatistics::min},
         {{.title = "geomean", .as = As::factor, .keep = Keep::must, .full = "geometric mean"},
          &SpeedupStatistics::geomean},
         {{.title = "most", .as = As::factor}, &SpeedupStatistics::max}});
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
    return table_of<RegimeStatistics>(
        tables.opinions,
        {{{.title = "regimes of", .full = "strategy"}, &RegimeStatistics::group},
         {{.title = "by", .keep = Keep::must, .full = "opinion"}, words_of_opinion},
         {{"cases", As::number}, &RegimeStatistics::n},
         {{"agree", As::share, Keep::must}, share(&RegimeStatistics::agree)},
         {{.title = "always one", .as = As::share, .keep = Keep::must, .full = "always the commonest"},
          share(&RegimeStatistics::commonest_n)},
         {{"kappa", As::ratio, Keep::must}, &RegimeStatistics::kappa},
         {{"balanced", As::share}, &RegimeStatistics::balanced}});
}

Table stalls_table(const RegimeTables &tables) {
    constexpr double worth_a_line = 0.05;
    std::vector<StallStatistics> stalls = tables.stalls;
    std::erase_if(stalls, [](const StallStatistics &s) { return s.share < worth_a_line; });
    return table_of<StallStatistics>(
        stalls, {{{"measured"}, [](const StallStatistics &s) { return words_of(s.measured); }},
                 {{.title = "warps wait for", .keep = Keep::must}, &StallStatistics::reason},
                 {{"cases", As::number}, &StallStatistics::n},
                 {{"share", As::share, Keep::must}, &StallStatistics::share}});
}

} // namespace convcast
