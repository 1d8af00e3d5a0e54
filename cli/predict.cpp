#include "model/predict.hpp"
#include "cli/answers.hpp"
#include "cli/document.hpp"
#include "cli/forecasts.hpp"
#include "cli/network.hpp"
#include "cli/own_kernels.hpp"
#include "cli/predict_text.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/sheet.hpp"
#include "cli/terminal.hpp"
#include "cli/timelines.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/record/run_lines.hpp"
#include "model/record/shards.hpp"
#include "reports/paper_figure.hpp"
#include "reports/partition_diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// Gives a document, or a piece of one, today's forecasts beside what was measured.
void forecast_document(Run &given, const std::string &file, const Arguments &arguments,
                       const std::function<void(std::size_t)> &progress = {}) {
    const GpuProfile profile = document_profile(given, arguments, file);
    const Knowledge knowledge = read_knowledge(arguments, profile);
    given.profile_id = profile.id;
    given.profile_hash = profile_hash(profile);
    given.conditions["forecast"] = "again, by version " + producer().version;
    const bool given_work = arguments.has("given");
    if (given_work)
        given.conditions["given"] = "work as counted";
    note_knowledge(given, knowledge);
    add_elsewhere(given.cases, arguments, &profile);
    forecast_again(given, profile, knowledge,
                   given_work ? MeasuredCases::renew_given_work : MeasuredCases::renew,
                   {.progress = progress});
    if (arguments.has("timeline"))
        add_forecast_timelines(given.cases, profile, knowledge, arguments);
}

/// From lines to lines, piece by piece: however large the document, a piece is in memory. Returns the exit
/// code.
int forecast_lines(const std::string &file, const std::string &output, const Arguments &arguments) {
    Progress progress("forecast", Progress::Where::terminal_after_a_while);
    std::optional<RunLineWriter> writer;
    std::size_t done = 0;
    int code = 0;
    read_document_pieces(file, [&](Run piece, std::size_t of) {
        forecast_document(piece, file, arguments, [&](std::size_t in_piece) {
            progress.show(std::min(done + in_piece, of), of, "cases");
        });
        for (Case &item : piece.cases) // which lines do not have
            if (item.prediction)
                item.prediction->term.reset();
        if (!writer)
            writer.emplace(output, piece);
        writer->add(piece);
        done += piece.cases.size();
        code = std::max(code, code_of(piece));
    });
    writer->finish();
    return code;
}

/// Forecasts into a document of lines, some shapes at a time. `compiled`: all of the question's own kernels.
int predict_lines(const Question &question, bool compiled, const std::string &output,
                  const std::optional<AskedPart> &part) {
    Run piece = new_run(question, {}, part);
    RunLineWriter writer(output, piece);
    Refusals refusals;
    forecast_pieces(question, {}, [&](std::vector<Case> cases) {
        refusals.add(question, cases);
        piece.cases = std::move(cases);
        writer.add(piece);
    });
    writer.finish();
    refusals.say(true);
    return refusals.any() || !compiled ? 1 : 0;
}

/// How many cases there may be. An answer that is not written as it comes is held in memory: throws
/// UsageError where they are too many for that.
std::size_t most_cases_held(const std::vector<Question> &questions, const Arguments &arguments) {
    std::size_t cases = 0;
    for (const Question &question : questions)
        cases += most_cases_of(question);
    if (cases > most_held)
        arguments.refuse(fmt::format("up to {} forecasts are asked, and an answer as a table or as JSON "
                                     "has at most {}; name a strategy with --strategy, or write lines{}, of "
                                     "which there may be any number: -o forecast.jsonl",
                                     cases, most_held, questions.size() > 1 ? " for one GPU at a time" : ""));
    return cases;
}

/// The fastest first where one shape is asked of many strategies, a time from elsewhere where it belongs;
/// else in the order of the question.
void sort_by_time(std::vector<Case> &cases) {
    const bool one =
        std::ranges::all_of(cases, [&](const Case &item) { return item.shape == cases.front().shape; });
    const auto time = [](const Case &item) {
        const Measurement *cold = item.measured(L2State::cold);
        return item.prediction && item.prediction->time_s ? item.prediction->time_s->value
               : cold                                     ? cold->time_s.value
                                                          : 1e300;
    };
    if (one)
        std::ranges::stable_sort(cases, [&](const Case &a, const Case &b) { return time(a) < time(b); });
}

/// Writes the diagram of the one case, forecast for `profile`, to the file of --diagram, as wide as --width
/// says, with its caption and the references beside it. Throws UsageError where there is not one case with a
/// plan that can be drawn.
void write_diagram(const std::vector<Case> &cases, const GpuProfile &profile, const Arguments &arguments) {
    if (cases.size() != 1 || !cases.front().strategy)
        arguments.refuse("--diagram draws one shape by one strategy, for example: convcast predict "
                         "--shape n1c64h56w56k64r3s3 --strategy stride_fixed_block --diagram partition.svg");
    const Case &item = cases.front();
    if (!item.prediction || !item.prediction->plan)
        arguments.refuse("nothing to draw of " + item.shape + " by " + *item.strategy + ": " +
                         item.reason.value_or("it has no plan"));
    if (const std::string problem = cannot_draw(*item.strategy); !problem.empty())
        arguments.refuse("--diagram: " + problem);
    const PaperWidth width = PaperWidth::parse(arguments.text("width"));
    const FigureFiles written = write_paper_drawing(partition_diagram(item, profile, width), "partition",
                                                    partition_caption(item), arguments.text("diagram", ""));
    say_what_is_written(written);
}

} // namespace

int predict(const Arguments &arguments) {
    refuse_overwriting(arguments);
    const Format format = format_of(arguments, true);
    if (arguments.has("network"))
        return arguments.has("ladder") || arguments.has("training")
                   ? predict_ladder(arguments, asked_schedule(arguments))
                   : predict_network(arguments);
    if (!arguments.positional().empty()) {
        const bool as_sheet = format == Format::csv || format == Format::markdown;
        const std::string file = arguments.positional().front(), output = arguments.text("output", "-");
        if (!file_exists(file) && names_shape(file))
            arguments.refuse("a shape stands behind --shape: predict --shape " + file);
        const bool adds = arguments.has("time") || arguments.has("times");
        if (names_lines(output) && file_holds_lines(file) && !adds && !as_sheet)
            return forecast_lines(file, output, arguments);
        Run document = read_document(file);
        forecast_document(document, file, arguments);
        if (as_sheet) {
            Question asked; // what a document says of it
            asked.profile.id = document.profile_id;
            std::vector<Row> rows;
            add_rows(rows, asked, document.cases);
            write_file_atomically(output, cases_sheet(rows, format, false));
        } else {
            write_run_file(output, document);
        }
        return code_of(document);
    }
    const bool document = format == Format::json, sheet = format == Format::csv || format == Format::markdown;
    std::vector<Question> questions = read_questions(arguments, !document);
    const std::string output = arguments.text("output", "-");
    const bool drawn = arguments.has("timeline") || arguments.has("diagram");
    std::optional<AskedPart> part;
    if (arguments.has("shard") || arguments.has("only")) {
        if (questions.size() != 1 || !document)
            arguments.refuse(
                "--shard and --only are of a document for one GPU: write it with -o, or print it "
                "with --json");
        part = keep_part_of(questions.front(), arguments);
        if (!part->kept)
            arguments.refuse(
                "--shard " + part->shard +
                ": there are fewer shapes than shards; take a smaller number of shards, for example 1/2");
    }
    if (document && names_lines(output) && questions.size() == 1 && !drawn && !arguments.has("time") &&
        !arguments.has("times")) {
        Question &question = questions.front();
        const bool compiled = compile_for_forecasts(question.own_kernels, question.shapes, question.profile);
        return predict_lines(question, compiled, output, part);
    }
    const bool with_terms = most_cases_held(questions, arguments) <= most_with_terms;
    if (!with_terms && (document || arguments.has("explain")))
        note("terms are left out of answers of more than " + std::to_string(most_with_terms) + " cases");
    std::vector<ForecastCases> answers;
    Refusals refusals;
    bool compiled = true;
    for (Question &question : questions) {
        compiled = compile_for_forecasts(question.own_kernels, question.shapes, question.profile) && compiled;
        ForecastCases &answer =
            answers.emplace_back(ForecastCases{&question, held_cases(question, {}, with_terms)});
        add_elsewhere(answer.cases, arguments, &question.profile, &question.shapes);
        if (arguments.has("timeline"))
            add_forecast_timelines(answer.cases, question.profile, question.knowledge, arguments);
        if (arguments.has("diagram"))
            write_diagram(answer.cases, question.profile, arguments);
        refusals.add(question, answer.cases);
        if (!document && !answer.cases.empty())
            sort_by_time(answer.cases);
    }
    refusals.say(document || sheet);
    const int code = refusals.any() || !compiled ? 1 : 0;
    std::string text;
    if (sheet) {
        text = cases_sheet(rows_of(answers), format, !arguments.has("sweep"));
    } else if (!document) {
        text = forecasts_text(answers, arguments);
    } else if (answers.size() == 1) {
        const Run run = new_run(questions.front(), std::move(answers.front().cases), part);
        return write_run_file(arguments.text("output", "-"), run), code;
    } else {
        text = write_run(run_of(rows_of(answers)));
    }
    write_file_atomically(arguments.text("output", "-"), text);
    return code;
}

} // namespace convcast::cli
