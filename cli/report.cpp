#include "cli/arguments.hpp"
#include "cli/bundle.hpp"
#include "cli/document.hpp"
#include "cli/forecasts.hpp"
#include "cli/own_kernels.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/report_network.hpp"
#include "cli/sheet.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/fit/fit.hpp"
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"
#include "model/record/measured_calls.hpp"
#include "model/record/run_lines.hpp"
#include "model/record/study.hpp"
#include "reports/html.hpp"
#include "reports/page_data.hpp"
#include "reports/paper_figure.hpp"
#include "reports/profile_page.hpp"
#include "reports/regimes.hpp"
#include "reports/report_figures.hpp"
#include "reports/report_tables.hpp"
#include "reports/write_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {

namespace {

std::string files_text(const ReportFiles &files) {
    return "page:    " + files.page.string() + "\nfigures: " + std::to_string(files.figures.size()) +
           " files in " + (files.page.parent_path() / "figures").string() +
           (files.pdf_note.empty() ? "" : "\n" + files.pdf_note) + "\n";
}

/// Writes the figure that --figure names. Throws UsageError for one that there is not.
void write_figure(const std::vector<Figure> &figures, const std::vector<CaseColumns> &cases,
                  const std::string &gpu, const Arguments &arguments) {
    const std::string id = arguments.text("figure", "");
    std::string names;
    const Figure *found = nullptr;
    for (const Figure &figure : figures) {
        if (figure.id == id)
            found = &figure;
        if (figure.point_count() > 0)
            names += (names.empty() ? "" : ", ") + figure.id;
    }
    const std::string there = names.empty() ? "there is none" : "there are " + names;
    if (found == nullptr)
        arguments.refuse("no figure '" + id + "' of this document; " + there);
    if (found->point_count() == 0)
        arguments.refuse("figure '" + id + "' is empty: " + found->no_data + "; " + there);
    if (!arguments.has("output"))
        arguments.refuse("--figure needs -o, a file that ends in .svg, .pdf, .tex or .csv, or a "
                         "folder for all four, for example: --figure " +
                         id + " -o " + id + ".pdf");
    const FigureFiles written = write_paper_figure(
        *found, cases, PaperWidth::parse(arguments.text("width")), arguments.text("output", ""),
        (gpu.empty() ? "" : "On " + gpu + ", by ") + "convcast " + producer().version);
    std::string text;
    for (const std::filesystem::path &file : written.files)
        text += file.string() + "\n";
    write_file_atomically("-", printable(text + (written.note.empty() ? "" : written.note + "\n")));
}

/// Whether the report makes the forecast of a case: a measured one that came without, and every measured one
/// where facts, a calibration or a number were given to forecast with.
bool is_forecast_here(const Case &item, bool anew) {
    return !item.measurements.empty() && (!item.prediction || (anew && item.strategy));
}

/// "", or a table for a terminal below what `above` says of it.
std::string table_below(const std::string &above, const Table &shown) {
    const std::string text = table(shown);
    return text.empty() ? "" : above + text;
}

/// The tables of the report, for a terminal.
std::string tables_text(const ReportStatistics &statistics) {
    Table speedups = speedups_table(statistics.speedups);
    bool papers = false;
    for (std::vector<Cell> &row : speedups.rows) {
        papers = papers || std::get<std::string>(row[1].value).ends_with(", as run");
        if (std::get<std::string>(row[2].value) == "cudnn without Winograd and FFT")
            row[2] = "cudnn, no Winograd, FFT";
        row.pop_back();
    }
    speedups.columns.pop_back(); // as the last cell of each row
    return table_below("\n\nerror: |forecast / measured - 1|; symmetric: max(forecast / measured, measured / "
                       "forecast) - 1\n",
                       times_table(statistics.accuracy)) +
           table_below("\n", work_table(statistics.accuracy)) +
           table_below("\n", rankings_table(statistics.accuracy)) +
           table_below(
               std::string("\ncuDNN in true FP32, its tensors in NCHW; \"NHWC too\": also plans for tensors "
                           "that lay in NHWC\n") +
                   (papers ? "\"as run\": the kernel of the study's paper in this run's settings, by default "
                             "predict's; `convcast\nreproduce` has the paper's own settings beside them\n"
                           : ""),
               speedups) +
           table_below("\n", said_regimes_table(statistics.regimes)) +
           table_below("\n", regimes_table(statistics.regimes)) +
           table_below("\n", stalls_table(statistics.regimes));
}

/// CSV: one row a case. Markdown: the tables.
std::string sheet_text(const ReportStatistics &statistics, Format format) {
    if (format == Format::csv)
        return cases_csv(statistics);
    std::string text;
    for (const Table &table : {times_table(statistics.accuracy), work_table(statistics.accuracy),
                               rankings_table(statistics.accuracy), speedups_table(statistics.speedups)})
        if (const std::string lines = to_markdown(table); !lines.empty())
            text += (text.empty() ? "" : "\n") + lines;
    return text.empty() ? "No case has a forecast beside a measurement.\n" : text;
}

/// Drops the parts of a case that no report shows: its plan, its terms, and counters other than those of
/// stalls. They are most of the memory of a large run.
void keep_what_is_reported(Case &item) {
    if (item.prediction) {
        item.prediction->plan.reset();
        item.prediction->term.reset();
    }
    for (Measurement &measurement : item.measurements)
        if (measurement.counters)
            std::erase_if(*measurement.counters,
                          [](const auto &counter) { return stall_reason(counter.first).empty(); });
}

/// This version's forecasts of measured cases: of those that came without, or of all.
void forecast_here(Run &run, const GpuProfile &profile, const Knowledge &knowledge, bool whole, bool anew) {
    const bool many = !whole && run.cases.size() > most_cases_of_page; // plans are large
    ForecastAgain how{.which = [&](const Case &item) { return is_forecast_here(item, anew); }};
    if (many)
        how.then = keep_what_is_reported;
    forecast_again(run, profile, knowledge, MeasuredCases::renew, how);
}

/// The same of a document of lines, piece by piece into another one that begins as `head`.
void forecast_lines_here(const std::string &file, const std::string &output, const Run &head,
                         const std::optional<GpuProfile> &profile, const std::optional<Knowledge> &knowledge,
                         bool anew) {
    RunLineWriter writer(output, head);
    read_run_pieces(file, check_baseline, [&](Run piece) {
        if (std::ranges::any_of(piece.cases, [&](const Case &item) { return is_forecast_here(item, anew); }))
            forecast_here(piece, *profile, *knowledge, true, anew);
        writer.add(piece);
    });
    writer.finish();
}

/// The run's calls and what forecasts that know less of their kernels say of them.
struct Judged {
    std::vector<MeasuredCall> calls;
    LeaveOneOut of_calls; ///< points into `calls`
};

/// Empty where the run has too few calls to fit four numbers to those of other strategies.
Judged judged_of(const Run &run, const GpuProfile &profile, const Facts &facts) {
    constexpr std::int64_t least_training = 100;
    constexpr std::size_t most_judged = 20000; // the fits would take minutes
    Judged out;
    if (run.cases.size() > most_judged) {
        note("forecasts that know less of their kernels are not fitted anew to more than " +
             std::to_string(most_judged) + " cases");
        return out;
    }
    try {
        out.calls = measured_calls(run, profile, facts, WhichCalls::all);
    } catch (const UsageError &) { // strategies of another version
        return out;
    }
    std::map<std::string, std::int64_t> training;
    std::int64_t all = 0;
    bool test = false;
    for (const MeasuredCall &call : out.calls) {
        training[call.strategy] += call.training ? 1 : 0;
        all += call.training ? 1 : 0;
        test = test || !call.training;
    }
    const bool enough = std::ranges::all_of(
        training, [&](const auto &strategy) { return all - strategy.second >= least_training; });
    if (test && !training.empty() && enough)
        out.of_calls = leave_one_out(out.calls, profile);
    return out;
}

/// The archive of --bundle: `files` and a page with its figures, which `write` writes into a folder.
void write_bundle_of(const Arguments &arguments, BundleFiles files, const TemporaryFolder &folder,
                     const std::function<ReportFiles(const std::string &folder)> &write) {
    const ReportFiles page = write(folder.path());
    for (auto &[name, path] : files_in(folder.path()))
        files[name] = std::move(path);
    const std::string archive = arguments.text("bundle", "");
    write_bundle(archive, files);
    write_file_atomically("-", printable(fmt::format("{}: {} files{}\n", archive, files.size(),
                                                     page.pdf_note.empty() ? "" : "; " + page.pdf_note)));
}

int report_profile(const GpuProfile &profile, const Arguments &arguments) {
    arguments.refuse_options_of("profile");
    const PageReport report = report_on(profile);
    if (arguments.has("bundle") && !arguments.has("figure")) {
        write_bundle_of(arguments, {{"profile.json", write_profile(profile)}}, TemporaryFolder(),
                        [&](const std::string &folder) { return write_report(report, folder); });
        return 0;
    }
    return answer_with_page(report, answer(profile) + "\n\n", write_profile(profile), arguments);
}

} // namespace

int answer_with_page(const PageReport &report, const std::string &text, const std::string &json,
                     const Arguments &arguments) {
    if (arguments.has("figure"))
        return write_figure(report.figures, report.cases, report.gpu, arguments), 0;
    const bool as_json = format_of(arguments, false) == Format::json;
    std::string files;
    if (!as_json || arguments.has("output"))
        files = files_text(write_report(report, arguments.text("output")));
    write_file_atomically("-", as_json ? json : printable(text + files));
    return 0;
}

int report(const Arguments &arguments) {
    (void)PaperWidth::parse(arguments.text("width"));
    const Format format = format_of(arguments, false);
    const bool sheet = format == Format::csv || format == Format::markdown;
    if (arguments.has("bundle"))
        check_bundle_name(arguments.text("bundle"));
    if (arguments.has("figure") && arguments.has("output"))
        refuse_overwriting_by_figure(arguments.text("figure", ""), arguments);
    else if (sheet || arguments.has("bundle"))
        refuse_overwriting(arguments);
    else if (arguments.has("output") || format != Format::json)
        refuse_overwriting_in(arguments.text("output"), arguments);
    if (!arguments.has("figure") && !sheet)
        refuse_file_name(arguments, "-o", arguments.text("output"), "a page and its figures",
                         "--figure NAME -o NAME.svg, --format csv -o FILE.csv, --json > FILE.json or "
                         "--bundle FILE.tar.gz");
    if (arguments.has("network"))
        return report_of_forecast(arguments);
    const std::string file = arguments.positional().front();
    NamedDocument given = look_at(file);
    const std::string shown = given.shown;
    const auto is_a = [&](const char *kind) { return given.is_a(kind); };
    if (is_a("profile"))
        return report_profile(given.profile(), arguments);
    for (const char *kind : {"network_run", "ladder_run", "scaling", "training", "network_forecast"})
        if (is_a(kind)) // all but the first of version 0.1
            return report_of_network(*given.text, shown, arguments);
    // An archive holds the document as it is: of very many cases as lines, which are never all in memory.
    const bool as_lines = arguments.has("bundle") && file_holds_lines(file) &&
                          cases_in_lines(file) > most_cases_of_page && !arguments.has("time") &&
                          !arguments.has("times");
    const bool whole = arguments.has("bundle") && !as_lines;
    Run run = given.run([&](Run &piece, std::size_t of) {
        if (!whole && of > most_cases_of_page)
            std::ranges::for_each(piece.cases, keep_what_is_reported);
    });
    given.text.reset();
    const std::vector<std::string> profiles = shipped_profiles();
    std::optional<GpuProfile> profile;  // absent where it is not at hand
    std::optional<Knowledge> knowledge; // that the forecasts are made with here
    // Data ships without forecasts: this version makes them. The others stay as they are.
    const bool anew = arguments.has("facts") || arguments.has("calibration") || arguments.has("assume");
    if (std::ranges::any_of(run.cases, [&](const Case &item) { return is_forecast_here(item, anew); })) {
        profile = document_profile(run, arguments, file);
        knowledge = read_knowledge(arguments, *profile);
        forecast_here(run, *profile, *knowledge, whole, anew);
        run.conditions["forecast"] = (anew ? "again, by version " : "by version ") + producer().version;
        note_knowledge(run, *knowledge);
    } else if (anew) {
        arguments.refuse(shown + " has no measured case to forecast with --facts, --calibration or " +
                         "--assume; `convcast predict " + file + "` makes the forecasts of any case anew");
    } else if (arguments.has("gpu")) {
        profile = document_profile(run, arguments, file);
    } else if (std::ranges::find(profiles, run.profile_id) != profiles.end()) {
        try {
            profile = document_profile(run, arguments, file);
        } catch (const UsageError &) {
            profile.reset(); // the one that ships is another one
        }
    }

    add_elsewhere(run.cases, arguments, profile ? &*profile : nullptr);

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
        if (item.study && std::ranges::find(shipped, *item.study) != shipped.end())
            add(*item.study);

    const bool json = format == Format::json;
    std::string text;
    const Judged judged =
        profile ? judged_of(run, *profile, (knowledge ? *knowledge : knowledge_for(*profile)).facts)
                : Judged{};
    Progress progress("report", Progress::Where::terminal_after_a_while);
    const ReportProgress show = [&](std::size_t done, std::size_t of, const std::string &next) {
        progress.show(done + 1, of + 1, next);
    };
    show(0, 1, "statistics");
    const ReportStatistics statistics = summarize(run, studies, judged.of_calls.calls);
    if (arguments.has("figure")) {
        write_figure(figures_of(run, statistics, studies), case_columns(statistics),
                     gpu_name(run.conditions, run.profile_id), arguments);
        return code_of(run);
    }
    if (sheet) {
        write_file_atomically(arguments.text("output", "-"), sheet_text(statistics, format));
        return code_of(run);
    }
    if (arguments.has("bundle")) {
        if (profile && !knowledge)
            knowledge = knowledge_for(*profile);
        const TemporaryFolder of_page, of_lines;
        std::optional<std::filesystem::path> lines;
        if (as_lines) {
            lines = std::filesystem::path(of_lines.path()) / "run.jsonl";
            forecast_lines_here(file, lines->string(), run, profile, knowledge, anew);
        }
        write_bundle_of(arguments, documents_of(run, lines, profile, knowledge, studies, arguments.words()),
                        of_page, [&](const std::string &folder) {
                            return write_report(report_on(run, studies, statistics, producer()), folder,
                                                show);
                        });
        return code_of(run);
    }
    if (!json || arguments.has("output")) {
        const ReportFiles files =
            write_report(report_on(run, studies, statistics, producer()), arguments.text("output"), show);
        text = answer(statistics) + tables_text(statistics) + "\n" + files_text(files);
    }
    write_file_atomically("-", json ? to_text(described::write(statistics)) : printable(text));
    return code_of(run);
}

} // namespace convcast::cli
