#include "cli/report_sheets.hpp"

#include <boost/describe.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace convcast::cli {
namespace {

SheetCell regime_cell(const std::optional<Regime> &regime) {
    return regime ? SheetCell(std::string(boost::describe::enum_to_string(*regime, "?"))) : SheetCell();
}

SheetCell percent_cell(double share) {
    return 100.0 * share;
}

Sheet case_rows(const ReportStatistics &statistics) {
    Sheet sheet;
    sheet.columns = {{"case", ""},
                     {"study", ""},
                     {"shape", ""},
                     {"strategy", ""},
                     {"knobs", ""},
                     {"status", ""},
                     {"measured", "s"},
                     {"measured_p05", "s"},
                     {"measured_p95", "s"},
                     {"measured_warm", "s"},
                     {"forecast", "s"},
                     {"error", ""},
                     {"speed_of_light", "s"},
                     {"roofline", "s"},
                     {"mwp_cwp", "s"},
                     {"regime_paper", ""},
                     {"regime_physical", ""},
                     {"regime_forecast", ""},
                     {"regime_measured", ""},
                     {"limiter", ""},
                     {"speedup_over_cudnn", ""},
                     {"relative_l2_error", ""},
                     {"reason", ""}};
    for (const CaseRow &row : statistics.cases) {
        const std::size_t colon = row.baseline ? std::string::npos : row.name.find(':');
        sheet.rows.push_back(
            {row.id,
             cell(row.study),
             row.shape,
             row.name.substr(0, colon),
             colon == std::string::npos ? SheetCell() : SheetCell(row.name.substr(colon + 1)),
             std::string(boost::describe::enum_to_string(row.status, "?")),
             cell(row.cold_s),
             cell(row.cold_low_s),
             cell(row.cold_high_s),
             cell(row.warm_s),
             cell(row.predicted_s),
             cell(row.error),
             cell(row.tier0_s),
             cell(row.roofline_s),
             cell(row.mwp_cwp_s),
             regime_cell(row.paper),
             regime_cell(row.physical),
             regime_cell(row.tier2),
             regime_cell(row.measured),
             cell(row.limiter),
             cell(row.speedup),
             cell(row.relative_l2_error),
             cell(row.reason)});
    }
    return sheet;
}

Sheet time_rows(const ReportStatistics &statistics) {
    Sheet sheet;
    sheet.columns = {{"part", ""},    {"time by", ""}, {"cases", ""}, {"mean error", "%"}, {"symmetric", "%"},
                     {"median", "%"}, {"p90", "%"},    {"bias", ""},  {"in interval", "%"}};
    for (const TimeAccuracy &t : statistics.accuracy.times)
        sheet.rows.push_back({t.part, t.model, t.n, percent_cell(t.mean), percent_cell(t.symmetric),
                              percent_cell(t.median), percent_cell(t.p90), t.bias,
                              t.coverage ? percent_cell(*t.coverage) : SheetCell()});
    return sheet;
}

Sheet ranking_rows(const ReportStatistics &statistics) {
    Sheet sheet;
    sheet.columns = {{"ranking by", ""},
                     {"shapes", ""},
                     {"mean regret", "%"},
                     {"first within 5 %", "%"},
                     {"Kendall tau", ""}};
    for (const RankingAccuracy &r : statistics.accuracy.rankings)
        sheet.rows.push_back({r.model, r.shapes, percent_cell(r.mean_regret),
                              percent_cell(r.within_5_percent), r.kendall_tau});
    return sheet;
}

Sheet speedup_rows(const ReportStatistics &statistics) {
    Sheet sheet;
    sheet.columns = {{"speed-up in", ""}, {"of", ""},      {"over", ""}, {"shapes", ""},
                     {"faster", ""},      {"geomean", ""}, {"min", ""},  {"max", ""}};
    for (const SpeedupStatistics &s : statistics.speedups)
        if (s.n > 0)
            sheet.rows.push_back(
                {s.study, s.ours, s.against, s.n, s.wins, cell(s.geomean), cell(s.min), cell(s.max)});
    return sheet;
}

} // namespace

std::string report_sheets(const ReportStatistics &statistics, Format format) {
    if (format == Format::csv)
        return as_csv(case_rows(statistics));
    std::string text;
    for (const Sheet &sheet : {time_rows(statistics), ranking_rows(statistics), speedup_rows(statistics)})
        if (const std::string table = as_markdown(sheet); !table.empty())
            text += (text.empty() ? "" : "\n") + table;
    return text.empty() ? "No case has a forecast beside a measurement.\n" : text;
}

} // namespace convcast::cli
