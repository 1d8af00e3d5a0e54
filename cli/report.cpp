#include "cli/answers.hpp"
#include "cli/arguments.hpp"
#include "cli/bundle.hpp"
#include "cli/document.hpp"
#include "cli/forecasts.hpp"
#include "cli/network.hpp"
#include "cli/own_kernels.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/describe.hpp"
#include "model/base/described.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/fit/fit.hpp"
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling_forecast.hpp"
#include "model/record/measured_calls.hpp"
#include "model/record/run_lines.hpp"
#include "model/record/study.hpp"
#include "reports/html.hpp"
#include "reports/network_page.hpp"
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

// ---- what every report writes ----

/// Lines that say where the page and its figures were written.
std::string files_text(const ReportFiles &files) {
    return "page:    " + files.page.string() + "\nfigures: " + std::to_string(files.figures.size()) +
           " files in " + (files.page.parent_path() / "figures").string() +
           (files.pdf_note.empty() ? "" : "\n" + files.pdf_note) + "\n";
}

/// Writes the figure that --figure names to -o, and its files' names to standard output. Throws UsageError
/// for a figure that the document does not have or that has no points, and without -o.
void write_figure(const std::vector<Figure> &figures, const std::vector<CaseColumns> &cases,
                  const std::string &gpu, const Arguments &arguments) {
    const std::string id = arguments.text("figure", "");
    std::string names; // of the figures that have points
    const Figure *found = nullptr;
    for (const Figure &figure : figures) {
        if (figure.id == id)
            found = &figure;
        if (figure.point_count() > 0)
            names += (names.empty() ? "" : ", ") + figure.id;
    }
    const std::string others = "figures with points: " + (names.empty() ? "none" : names);
    if (found == nullptr)
        arguments.refuse("no figure '" + id + "' of this document; " + others);
    if (found->point_count() == 0)
        arguments.refuse("figure '" + id + "' is empty: " + found->no_data + "; " + others);
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

/// Writes what the options ask for. --figure: that figure. --bundle: an archive of the page and of `files`.
/// Else the page to -o and `text` to standard output, or, by --json, `json` there, and a page only with -o.
void write_answer(PageReport report, const Arguments &arguments, const std::function<std::string()> &text,
                  const std::function<std::string()> &json, const std::function<BundleFiles()> &files = {},
                  const ReportProgress &progress = {}) {
    if (arguments.has("figure"))
        return write_figure(report.figures, report.cases, report.gpu, arguments);
    if (arguments.has("bundle")) {
        BundleFiles all = files();
        const TemporaryFolder folder;
        const ReportFiles page = write_report(std::move(report), folder.path(), progress);
        for (auto &[name, path] : files_in(folder.path()))
            all[name] = std::move(path);
        const std::string archive = arguments.text("bundle", "");
        write_bundle(archive, all);
        return write_file_atomically(
            "-", printable(fmt::format("{}: {} files{}\n", archive, all.size(),
                                       page.pdf_note.empty() ? "" : "; " + page.pdf_note)));
    }
    const bool as_json = format_of(arguments, false) == Format::json;
    std::string page;
    if (!as_json || arguments.has("output"))
        page = files_text(write_report(std::move(report), arguments.text("output"), progress));
    write_file_atomically("-", as_json ? json() : printable(text() + page));
}

// ---- of a network ----

/// The profile to forecast a network's document from: that of --gpu, or the shipped one that the document
/// names, or, where it names none, that of the GPU that it was measured on. Absent where none ships.
std::optional<GpuProfile> profile_of(const NetworkRun &run, const Arguments &arguments) {
    if (arguments.has("gpu"))
        return find_profile(arguments.text("gpu", ""));
    const auto gpu = run.conditions.find("gpu");
    for (const std::string &name : shipped_profiles()) {
        GpuProfile profile = find_profile(name);
        if (!run.profile_id.empty() ? profile.id == run.profile_id
                                    : gpu != run.conditions.end() && profile.name == gpu->second)
            return profile;
    }
    return std::nullopt;
}

/// Says on standard error which of a document's rungs the ladder does not have. `shown` names the document.
void note_foreign_rungs(const NetworkRun &run, const Ladder &ladder, const std::string &shown) {
    std::vector<std::string> ids, foreign;
    for (const Rung &rung : ladder.rungs)
        ids.push_back(rung.id);
    std::string close;
    for (const NetworkCase &item : run.cases)
        if (item.id && std::ranges::find(ids, *item.id) == ids.end()) {
            foreign.push_back("\"" + shortened(*item.id) + "\"");
            close += close.empty() ? did_you_mean(*item.id, ids) : "";
        }
    if (!foreign.empty())
        note(fmt::format(
            "{}: the ladder of {} has no implementation {}{} What the document says of it is shown, "
            "without a forecast",
            shown, run.network, join(foreign), close.empty() ? "." : close));
}

/// Says so if a document's network does not ship: it is the user's own, or had another name then.
void note_foreign_network(const std::string &network, const std::string &shown) {
    const std::vector<std::string> names = shipped_networks();
    if (std::ranges::find(names, network) == names.end())
        note(fmt::format("{}: no network \"{}\" ships{} It is shown as the document says", shown,
                         shortened(network), did_you_mean(network, names)));
}

/// Replaces the forecasts of a ladder's run, or of steps on several GPUs, by this version's. Returns the
/// forecast of the same batch on several GPUs for the page, if the profile has times of copies between them.
/// Without a profile the forecasts stay as they are, and the result is empty.
BesideNetwork forecast_here(NetworkRun &run, const std::string &shown, const Arguments &arguments) {
    BesideNetwork beside;
    const Network network = find_network(run.network);
    note_foreign_rungs(run, find_ladder(network), shown);
    const auto profile = profile_of(run, arguments);
    if (!profile)
        return beside;
    run = forecast_anew(std::move(run), network, *profile);
    run.conditions["forecast"] = "by version " + producer().version;
    const std::vector<DeviceSplit> splits = splits_of(network);
    const auto by_images = std::ranges::find_if_not(splits, splits_rows);
    if (run.first().id && by_images != splits.end() && !profile->peers.empty()) {
        ScalingQuestion question{.devices = {}, .splits = {*by_images}, .batches = {run.first().batch}};
        for (int device = 0; device < most_split_devices; ++device)
            question.devices.push_back(device);
        beside.scaling =
            scaling_points(forecast_scaling(network, *profile, question), *by_images, run.first().batch);
    }
    return beside;
}

/// Seconds of PyTorch for a network and batch, in each setting, as tests/gpu/torch_networks.py writes them.
struct TorchTime {
    std::string network;
    std::int64_t batch = 1;
    Seconds contiguous, channels_last;                       ///< eager, FP32, tensors in NCHW and in NHWC
    std::optional<Seconds> compiled, compiled_channels_last; ///< by torch.compile, FP32
    std::optional<Seconds> tf32, tf32_channels_last, tf32_compiled_channels_last;
    CONVCAST_MEMBERS(TorchTime, network, batch, contiguous, channels_last, compiled, compiled_channels_last,
                     tf32, tf32_channels_last, tf32_compiled_channels_last)

    Seconds fastest_fp32() const {
        Seconds time = std::min(contiguous, channels_last);
        for (const std::optional<Seconds> &other : {compiled, compiled_channels_last})
            time = std::min(time, other.value_or(time));
        return time;
    }
};
struct TorchTimes {
    std::string torch, gpu;
    std::int64_t cudnn = 0; ///< 91900 is 9.19.0
    std::optional<std::string> date;
    std::vector<TorchTime> times_s;
    CONVCAST_MEMBERS(TorchTimes, torch, cudnn, gpu, date, times_s)
};

/// PyTorch's time of the same network on the same GPU, where a recording has it: pytorch.json beside the run.
std::optional<OtherTime> time_of_pytorch(const NetworkRun &run, const std::string &shown,
                                         const std::string &gpu) {
    const std::string file = (std::filesystem::path(shown).parent_path() / "pytorch.json").string();
    if (!file_exists(shown) || !file_exists(file)) // a run from standard input has no folder
        return std::nullopt;
    TorchTimes times;
    try {
        times = described::read_document<TorchTimes>(read_file(file), file);
    } catch (const InputError &error) {
        note("PyTorch's time is left out: " + std::string(error.what()));
        return std::nullopt;
    }
    if (times.gpu != gpu)
        return std::nullopt;
    for (const TorchTime &time : times.times_s)
        if (time.network == run.network && time.batch == run.first().batch)
            return OtherTime{fmt::format("PyTorch {} with cuDNN {}.{}, FP32",
                                         times.torch.substr(0, times.torch.find('+')), times.cudnn / 10000,
                                         times.cudnn / 100 % 100),
                             time.fastest_fp32()};
    return std::nullopt;
}

/// Reports a run or forecast of a network, whole or by its ladder or on several GPUs, or its training.
void report_network(NetworkRun run, const std::string &shown, const Arguments &arguments) {
    const NetworkCase &first = run.first();
    if (first.training)
        arguments.refuse_options_of("training");
    BesideNetwork beside;
    std::string text;
    const std::string name = gpu_name(run.conditions, run.profile_id);
    if (first.is_whole()) {
        if (!arguments.has("network")) // else it is no document, but a forecast just made
            note_foreign_network(run.network, shown);
        if (first.ran())
            beside.other = time_of_pytorch(run, shown, name);
        text = bold(first.ran() ? fmt::format("{} on {}, batch {}", run.network, name, first.batch)
                                : fmt::format("{}, forecast for {}", run.network, run.profile_id)) +
               ": ";
    } else if (!first.training) {
        beside = forecast_here(run, shown, arguments);
        text = cases_text(run, gpu_name(run.conditions, run.profile_id)) + "\n";
    }
    write_answer(
        report_on(run, beside), arguments, [&] { return text + judgement_of(run, beside.other) + "\n\n"; },
        [&] { return to_text(described::write(run)); });
}

// ---- of a run ----

/// Whether the report itself forecasts a case: a measured one that came without a forecast, and with `anew`
/// every measured one of a strategy. `anew` is true where --facts, --calibration or --assume is given.
bool is_forecast_here(const Case &item, bool anew) {
    return !item.measurements.empty() && (!item.prediction || (anew && item.strategy));
}

/// A table for a terminal with the text `above` it; "" where the table is empty.
std::string table_below(const std::string &above, const Table &shown) {
    const std::string text = table(shown);
    return text.empty() ? "" : above + text;
}

/// The tables of the report, for a terminal.
std::string tables_text(const ReportStatistics &statistics) {
    Table speedups = speedups_table(statistics.speedups); // by study, ours, against, ..., max
    bool papers = false; // a kernel "..., as run" needs a line of explanation
    for (std::vector<Cell> &row : speedups.rows) {
        papers = papers || std::get<std::string>(row[1].value).ends_with(", as run");
        if (std::get<std::string>(row[2].value) == "cudnn without Winograd and FFT") // too wide here
            row[2] = "cudnn, no Winograd, FFT";
        row.pop_back(); // the largest one: the page has it
    }
    speedups.columns.pop_back();
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

/// By --format csv a row for each case, by --format markdown the tables.
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

/// Forecasts the cases of is_forecast_here. Unless `whole`, a large run loses what no report shows.
void forecast_here(Run &run, const GpuProfile &profile, const Knowledge &knowledge, bool whole, bool anew) {
    const bool many = !whole && run.cases.size() > most_cases_of_page; // their plans would fill the memory
    ForecastAgain how{.which = [&](const Case &item) { return is_forecast_here(item, anew); }};
    if (many)
        how.then = keep_what_is_reported;
    forecast_again(run, profile, knowledge, MeasuredCases::renew, how);
}

/// The same for a document of lines, piece by piece, into another one, `output`, that begins as `head`.
/// Profile and knowledge must be there if a case of the document is forecast here.
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

/// The run's measured calls, and what forecasts that know less of their kernels say of them: without
/// counters, with nothing fitted, or with the strategy left out of the fit.
struct Judged {
    std::vector<MeasuredCall> calls;
    LeaveOneOut of_calls; ///< points into `calls`; empty where nothing was fitted
};

/// Without fits where the run has more than `most_judged` cases, or where leaving out a strategy leaves fewer
/// than `least_training` calls of the training part to fit the four numbers of a calibration to.
Judged judged_of(const Run &run, const GpuProfile &profile, const Facts &facts) {
    constexpr std::int64_t least_training = 100; // calls: chosen
    constexpr std::size_t most_judged = 20000;   // cases; the fits of more would take minutes
    Judged out;
    if (run.cases.size() > most_judged) {
        note("forecasts that know less of their kernels are not fitted anew to more than " +
             std::to_string(most_judged) + " cases");
        return out;
    }
    try {
        out.calls = measured_calls(run, profile, facts, WhichCalls::all);
    } catch (const UsageError &) { // its strategies are those of another version
        return out;
    }
    std::map<std::string, std::int64_t> training; // calls of the training part, by strategy
    std::int64_t all = 0;                         // of all strategies
    bool test = false;                            // there are calls of the other part
    for (const MeasuredCall &call : out.calls) {
        training[call.strategy] += call.training ? 1 : 0;
        all += call.training ? 1 : 0;
        test = test || !call.training;
    }
    const bool enough = std::ranges::all_of(
        training, [&](const auto &strategy) { return all - strategy.second >= least_training; });
    if (test && !training.empty() && enough)
        out.of_calls = leave_one_out(out.calls, profile, facts);
    return out;
}

/// Reports a Run document. Returns the exit code.
int report_run(NamedDocument given, const Arguments &arguments) {
    // An archive holds the whole document. One of very many cases goes in as lines, never all in memory.
    const bool as_lines = arguments.has("bundle") && file_holds_lines(given.name) &&
                          cases_in_lines(given.name) > most_cases_of_page && !arguments.has("time") &&
                          !arguments.has("times");
    const bool whole = arguments.has("bundle") && !as_lines;
    Run run = given.run([&](Run &piece, std::size_t of) {
        if (!whole && of > most_cases_of_page)
            std::ranges::for_each(piece.cases, keep_what_is_reported);
    });
    given.text.reset();
    const std::vector<std::string> profiles = shipped_profiles();
    std::optional<GpuProfile> profile;  // absent where it is not at hand
    std::optional<Knowledge> knowledge; // absent where nothing is forecast here
    // Recordings ship without forecasts: this version makes them. Others stay as they are, unless `anew`.
    const bool anew = arguments.has("facts") || arguments.has("calibration") || arguments.has("assume");
    if (std::ranges::any_of(run.cases, [&](const Case &item) { return is_forecast_here(item, anew); })) {
        profile = document_profile(run, arguments, given.name);
        knowledge = read_knowledge(arguments, *profile);
        forecast_here(run, *profile, *knowledge, whole, anew);
        run.conditions["forecast"] = (anew ? "again, by version " : "by version ") + producer().version;
        note_knowledge(run, *knowledge);
    } else if (anew) {
        arguments.refuse(given.shown + " has no measured case to forecast with --facts, --calibration or " +
                         "--assume; `convcast predict " + given.name +
                         "` makes the forecasts of any case anew");
    } else if (arguments.has("gpu")) {
        profile = document_profile(run, arguments, given.name);
    } else if (std::ranges::find(profiles, run.profile_id) != profiles.end()) {
        try {
            profile = document_profile(run, arguments, given.name);
        } catch (const UsageError &) {
            profile.reset(); // the one that ships has changed since
        }
    }

    add_external_times(run.cases, arguments, profile ? &*profile : nullptr);

    std::vector<Study> studies;
    std::set<std::string> added;
    const auto add = [&](const std::string &name) {
        if (added.insert(name).second)
            studies.push_back(find_study(name));
    };
    for (const std::string &name : arguments.texts("study"))
        add(name);
    const std::vector<std::string> shipped = shipped_studies();
    for (const Case &item : run.cases) // cases of a study that does not ship stay ungrouped
        if (item.study && std::ranges::find(shipped, *item.study) != shipped.end())
            add(*item.study);

    const Judged judged =
        profile ? judged_of(run, *profile, (knowledge ? *knowledge : knowledge_for(*profile)).facts)
                : Judged{};
    Progress progress("report", Progress::Where::terminal_after_a_while);
    const ReportProgress show = [&](std::size_t done, std::size_t of, const std::string &next) {
        progress.show(done + 1, of + 1, next);
    };
    show(0, 1, "statistics");
    const ReportStatistics statistics = summarize(run, studies, judged.of_calls.calls);
    if (const Format format = format_of(arguments, false);
        !arguments.has("figure") && (format == Format::csv || format == Format::markdown)) {
        write_file_atomically(arguments.text("output", "-"), sheet_text(statistics, format));
        return code_of(run);
    }
    std::optional<TemporaryFolder> of_lines; // there where lines are written, until the archive is
    const auto files = [&] {
        if (profile && !knowledge)
            knowledge = knowledge_for(*profile);
        std::optional<std::filesystem::path> lines;
        if (as_lines) {
            lines = std::filesystem::path(of_lines.emplace().path()) / "run.jsonl";
            forecast_lines_here(given.name, lines->string(), run, profile, knowledge, anew);
        }
        return documents_of(run, lines, profile, knowledge, studies, arguments.words());
    };
    write_answer(
        report_on(run, studies, statistics, producer()), arguments,
        [&] { return answer(statistics) + tables_text(statistics) + "\n"; },
        [&] { return to_text(described::write(statistics)); }, files, show);
    return code_of(run);
}

} // namespace

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
    if (arguments.has("network")) {
        arguments.refuse_options_of("network");
        GpuProfile profile = find_profile(arguments.text("gpu", "h200"));
        const std::string gpu = profile.name;
        report_network(
            forecast_of_network(
                arguments, {.profile = std::move(profile), .sms = std::nullopt, .variant = "", .title = gpu}),
            shown_name(arguments.text("network", "")), arguments);
        return 0;
    }
    NamedDocument given = look_at(arguments.positional().front());
    if (given.is_a("profile")) {
        arguments.refuse_options_of("profile");
        const GpuProfile profile = given.profile();
        const auto json = [&] { return write_profile(profile); };
        write_answer(
            report_on(profile), arguments, [&] { return answer(profile) + "\n\n"; }, json,
            [&] {
                return BundleFiles{{"profile.json", json()}};
            });
        return 0;
    }
    for (const char *kind : {"network_run", "ladder_run", "scaling", "training", "network_forecast"})
        if (given.is_a(kind)) { // the others are kinds of version 0.1: the reader says how to renew them
            arguments.refuse_options_of("network");
            report_network(described::read_document<NetworkRun>(*given.text, given.shown), given.shown,
                           arguments);
            return 0;
        }
    return report_run(std::move(given), arguments);
}

} // namespace convcast::cli
