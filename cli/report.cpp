#include "cli/arguments.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/described.hpp"
#include "model/errors.hpp"
#include "model/files.hpp"
#include "model/json.hpp"
#include "model/profile.hpp"
#include "model/study.hpp"
#include "reports/page.hpp"
#include "reports/profile_page.hpp"
#include "reports/write_report.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace convcast::cli {

namespace {

std::string files_text(const ReportFiles &files) {
    return "page:    " + files.page.string() + "\nfigures: " + std::to_string(files.figures.size()) +
           " files in " + (files.page.parent_path() / "figures").string() +
           (files.pdf_note.empty() ? "" : "\n" + files.pdf_note) + "\n";
}

std::string share(double value) {
    return fmt::format("{:.1f} %", 100.0 * value);
}

bool forecast_missing(const Case &item) {
    return !item.prediction && !item.measurements.empty();
}

/// The tables on accuracy, for a terminal.
std::string accuracy_text(const Accuracy &accuracy) {
    std::string text;
    std::vector<std::vector<std::string>> rows;
    for (const TimeAccuracy &t : accuracy.times)
        rows.push_back({t.part, t.model, std::to_string(t.n), share(t.mean), share(t.median), share(t.p90),
                        fmt::format("{:.3f}", t.bias), t.coverage ? share(*t.coverage) : "-"});
    if (!rows.empty())
        text += "\n\n" + table({{"part"},
                                {"time by"},
                                {"cases", Align::right},
                                {"mean |error|", Align::right},
                                {"median", Align::right},
                                {"p90", Align::right},
                                {"bias", Align::right},
                                {"in interval", Align::right}},
                               rows, terminal_width());
    rows.clear();
    for (const WorkAccuracy &w : accuracy.work)
        rows.push_back({w.quantity, std::to_string(w.n), share(w.mean), share(w.median), share(w.p90),
                        share(w.within_1_percent)});
    if (!rows.empty())
        text += "\n" + table({{"work, test part"},
                              {"cases", Align::right},
                              {"mean |error|", Align::right},
                              {"median", Align::right},
                              {"p90", Align::right},
                              {"within 1 %", Align::right}},
                             rows, terminal_width());
    rows.clear();
    for (const RankingAccuracy &r : accuracy.rankings)
        rows.push_back({r.model, std::to_string(r.shapes), share(r.mean_regret), share(r.within_5_percent),
                        fmt::format("{:.3f}", r.kendall_tau)});
    if (!rows.empty())
        text += "\n" + table({{"ranking by, test part"},
                              {"shapes", Align::right},
                              {"mean regret", Align::right},
                              {"first within 5 %", Align::right},
                              {"Kendall tau", Align::right}},
                             rows, terminal_width());
    return text;
}

std::string name_of(Regime regime) {
    return boost::describe::enum_to_string(regime, "?");
}

/// The opinions on regimes against the counters, and what warps waited for, for a terminal.
std::string regimes_text(const RegimeTables &tables) {
    std::vector<std::vector<std::string>> rows;
    for (const RegimeStatistics &r : tables.opinions)
        if (r.group == "all")
            for (std::size_t i = 0; i + 2 < r.counts.size(); i += 3)
                rows.push_back({r.opinion, name_of(r.counts[i].measured), std::to_string(r.counts[i].n),
                                std::to_string(r.counts[i + 1].n), std::to_string(r.counts[i + 2].n)});
    if (rows.empty())
        return "";
    std::string text = "\n" + table({{"regime by"},
                                     {"measured"},
                                     {"said compute", Align::right},
                                     {"bulk", Align::right},
                                     {"exposed", Align::right}},
                                    rows, terminal_width());
    rows.clear();
    for (const RegimeStatistics &r : tables.opinions)
        rows.push_back({r.group, r.opinion, std::to_string(r.n),
                        share(static_cast<double>(r.agree) / static_cast<double>(r.n)),
                        r.kappa ? fmt::format("{:.3f}", *r.kappa) : "-", share(*r.balanced)});
    text += "\n" + table({{"regimes of"},
                          {"by"},
                          {"cases", Align::right},
                          {"agree", Align::right},
                          {"kappa", Align::right},
                          {"balanced", Align::right}},
                         rows, terminal_width());
    rows.clear();
    constexpr double worth_a_line = 0.05;
    for (const StallStatistics &s : tables.stalls)
        if (s.share >= worth_a_line)
            rows.push_back({name_of(s.measured), s.reason, std::to_string(s.n), share(s.share)});
    if (!rows.empty())
        text +=
            "\n" + table({{"measured"}, {"warps wait for"}, {"cases", Align::right}, {"share", Align::right}},
                         rows, terminal_width());
    return text;
}

/// By its schema alone; what else may be wrong with it, its reader says.
bool is_profile(const std::string &text, const std::string &name) {
    const JsonValue document = parse_json(text, name);
    const JsonValue *schema = document.find("schema");
    return schema != nullptr && schema->text().value_or("").starts_with("convcast/profile/");
}

int report_profile(const GpuProfile &profile, const Arguments &arguments) {
    if (arguments.has("study"))
        throw UsageError("report: --study is for a run's cases; this is a profile");
    const bool json = arguments.has("json");
    std::string text = write_profile(profile);
    if (!json || arguments.has("output")) {
        const ReportFiles files = write_report(profile, arguments.text("output", "page"));
        if (!json)
            text = printable(answer(profile) + "\n\n" + files_text(files));
    }
    write_file_atomically("-", text);
    return 0;
}

} // namespace

int report(const Words &words) {
    const Arguments arguments(
        "report", words,
        {{"gpu", Option::text}, {"study", Option::texts}, {"json", Option::flag}, {"output,o", Option::text}},
        1);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("report")), 0;
    if (arguments.positional().empty())
        throw UsageError("report: no Run document or profile given, for example: convcast report "
                         "data/recorded/h200/chang.json.gz -o page; - reads standard input");
    const std::string file = arguments.positional().front();
    const std::string shown = file == "-" ? "standard input" : file;
    const std::vector<std::string> profiles = shipped_profiles();
    if (!file_exists(file) && std::find(profiles.begin(), profiles.end(), file) != profiles.end())
        return report_profile(find_profile(file), arguments);
    const std::string document = read_file(file);
    if (is_profile(document, shown))
        return report_profile(read_profile(document, shown), arguments);
    Run run = read_run(document, shown);
    // Data ships without forecasts: this version makes them. The others stay as they are.
    if (std::any_of(run.cases.begin(), run.cases.end(), forecast_missing)) {
        const GpuProfile profile = document_profile("report", run, arguments, file);
        std::vector<Case> open;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < run.cases.size(); ++i)
            if (forecast_missing(run.cases[i])) {
                open.push_back(std::move(run.cases[i]));
                places.push_back(i);
            }
        forecast_again(open, profile, file, MeasuredCases::renew);
        for (std::size_t i = 0; i < places.size(); ++i)
            run.cases[places[i]] = std::move(open[i]);
        run.conditions["forecast"] = "by version " + producer().version;
    }

    std::vector<Study> studies;
    std::set<std::string> named;
    const auto add = [&](const std::string &name) {
        if (named.insert(name).second)
            studies.push_back(find_study(name));
    };
    for (const std::string &name : arguments.texts("study"))
        add(name);
    const std::vector<std::string> shipped = shipped_studies();
    for (const Case &item :
         run.cases) // a study of the user's own that is not at hand leaves its cases ungrouped
        if (item.study && std::find(shipped.begin(), shipped.end(), *item.study) != shipped.end())
            add(*item.study);

    const bool json = arguments.has("json");
    std::string text;
    if (!json || arguments.has("output")) {
        const ReportFiles files = write_report(run, studies, arguments.text("output", "page"), producer());
        const ReportStatistics statistics = summarize(run, studies);
        text = answer(statistics) + accuracy_text(statistics.accuracy) + regimes_text(statistics.regimes) +
               "\n" + files_text(files);
    }
    write_file_atomically("-", json ? to_text(described::write(summarize(run, studies))) : printable(text));
    return 0;
}

} // namespace convcast::cli
