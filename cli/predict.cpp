#include "model/predict.hpp"
#include "cli/answers.hpp"
#include "cli/diagram.hpp"
#include "cli/document.hpp"
#include "cli/forecast_text.hpp"
#include "cli/ladder.hpp"
#include "cli/network.hpp"
#include "cli/own_kernels.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/scaling.hpp"
#include "cli/sheet.hpp"
#include "cli/terminal.hpp"
#include "cli/timelines.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "cli/what_if.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/record/run_lines.hpp"

#include <boost/describe.hpp>

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

void add_timelines(std::vector<Case> &cases, const GpuProfile &profile, const Knowledge &knowledge) {
    check_timeline_count("predict", cases);
    for (Case &item : cases)
        add_forecast_timeline(item, profile, knowledge);
}

/// Gives a document, or a piece of one, today's forecasts beside what was measured.
void forecast_document(Run &given, const std::string &file, const Arguments &arguments,
                       const std::function<void(std::size_t)> &progress = {}) {
    const GpuProfile profile = document_profile("predict", given, arguments, file);
    const Knowledge knowledge = read_knowledge(arguments, profile);
    given.profile_id = profile.id;
    given.profile_hash = profile_hash(profile);
    given.conditions["forecast"] = "again, by version " + producer().version;
    const bool given_work = arguments.has("given");
    if (given_work && arguments.text("given", "") != "work")
        throw UsageError("predict: --given " + arguments.text("given", "") +
                         ": expected 'work', the counters of a document's cases");
    if (given_work)
        given.conditions["given"] = "work as counted";
    note_knowledge(given, knowledge);
    add_elsewhere(given.cases, arguments, &profile);
    forecast_again(given, profile, knowledge,
                   given_work ? MeasuredCases::renew_given_work : MeasuredCases::renew, progress);
    if (arguments.has("timeline"))
        add_timelines(given.cases, profile, knowledge);
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
int predict_lines(const Question &question, bool compiled, const std::string &output) {
    Run piece = new_run(question.profile, question.knowledge, question.sms, {});
    piece.own_kernels = question.own_kernels;
    RunLineWriter writer(output, piece);
    Refusals refusals;
    predict_in_pieces(question, [&](std::vector<Case> cases) {
        refusals.add(question, cases);
        piece.cases = std::move(cases);
        writer.add(piece);
    });
    writer.finish();
    refusals.say(true);
    return refusals.any() || !compiled ? 1 : 0;
}

/// An answer that is not written as it comes is held in memory.
void check_held(const std::vector<Question> &questions) {
    std::size_t cases = 0;
    for (const Question &question : questions)
        cases += most_cases_of(question);
    if (cases > most_held)
        throw UsageError(
            fmt::format("predict: up to {} forecasts are asked, and an answer as a table or as JSON "
                        "has at most {}; name a strategy with --strategy, or write lines{}, of "
                        "which there may be any number: -o forecast.jsonl",
                        cases, most_held, questions.size() > 1 ? " for one GPU at a time" : ""));
}

/// The cases of an answer that is held, without their terms where there are too many.
std::vector<Case> held_cases(const Question &question, bool with_terms) {
    std::vector<Case> all;
    predict_in_pieces(question, [&](std::vector<Case> piece) {
        for (Case &item : piece) {
            if (!with_terms && item.prediction)
                item.prediction->term.reset();
            all.push_back(std::move(item));
        }
    });
    return all;
}

/// What of the answer is asked for besides the verdict or the table.
struct Behind {
    bool terms = false, rules = false;
    int depth = 0;

    explicit Behind(const Arguments &arguments)
        : terms(arguments.has("explain")), rules(arguments.has("rules")),
          depth(arguments.integer("explain", 100, 1, 100)) {}
};

/// Without the assumptions that all cases have in common, which stand once below them.
std::string behind(const Case &item, const Question &question, const Behind &asked) {
    std::string out;
    const bool timed = item.prediction && item.prediction->time_s;
    const std::optional<Rules> &rules = item.prediction ? item.prediction->rules : item.rules;
    if (asked.terms)
        out += explained(item, asked.depth);
    if (rules && (asked.rules || (!timed && !item.baseline && item.status == Status::ok)))
        out += rules_text(*rules, question.profile);
    out += timeline_text(item);
    if (!item.prediction)
        return out;
    const std::vector<std::string> &common = question.knowledge.assumptions;
    for (const std::string &assumption : item.prediction->assumptions)
        if (std::find(common.begin(), common.end(), assumption) == common.end())
            out += headed("  assumed: ", assumption, 11, terminal_width());
    return out;
}

/// The first of the ranking, where its forecast is shorter by more than a little; else an empty case. Absent
/// where there is no time to compare.
std::optional<Case> faster_than(const Case &item, const Question &question) {
    constexpr double little = 1.02;
    if (!item.prediction || !item.prediction->time_s || !item.strategy)
        return std::nullopt;
    std::vector<Case> first =
        choose(ConvShape::parse(item.shape), question.profile, question.knowledge, {}, 1);
    if (!first.empty() && first.front().status == Status::ok && first.front().prediction->time_s &&
        *item.prediction->time_s / *first.front().prediction->time_s > little)
        return std::move(first.front());
    return Case{};
}

/// The cases of one of the questions.
struct Answered {
    const Question *question = nullptr;
    std::vector<Case> cases;
};

/// The fastest first where one shape is asked of many strategies, a time from elsewhere where it belongs;
/// else in the order of the question.
void sort_by_time(std::vector<Case> &cases) {
    const bool one = std::all_of(cases.begin(), cases.end(),
                                 [&](const Case &item) { return item.shape == cases.front().shape; });
    const auto time = [](const Case &item) {
        const Measurement *cold = item.measured(L2State::cold);
        return item.prediction && item.prediction->time_s ? item.prediction->time_s->value
               : cold                                     ? cold->time_s.value
                                                          : 1e300;
    };
    if (one)
        std::stable_sort(cases.begin(), cases.end(),
                         [&](const Case &a, const Case &b) { return time(a) < time(b); });
}

std::string blocks(const std::vector<Answered> &answers, const Behind &asked) {
    std::string out;
    for (const Answered &answer : answers)
        for (const Case &item : answer.cases) {
            const Question &question = *answer.question;
            std::string block = behind(item, question, asked);
            if (item.status != Status::ok)
                block = headed("  ",
                               std::string(boost::describe::enum_to_string(item.status, "?")) + ": " +
                                   item.reason.value_or(""),
                               2, terminal_width()) +
                        block;
            if ((asked.terms || asked.rules) && !block.empty())
                out += "\n" +
                       bold(headed("",
                                   item.shape + " on " +
                                       (question.variant.empty() ? question.profile.id : question.variant) +
                                       ", " + item.strategy.value_or(item.baseline.value_or("")),
                                   0, terminal_width())) +
                       block;
        }
    return out;
}

std::string many(const std::vector<Answered> &answers, const Arguments &arguments, const Behind &asked) {
    std::vector<Row> rows;
    std::vector<KnownTimes> known;
    for (const Answered &answer : answers)
        known.push_back(known_times(arguments, *answer.question));
    for (std::size_t i = 0; i < answers.size(); ++i)
        for (const Case &item : answers[i].cases)
            rows.push_back({&item, answers[i].question, &known[i]});
    const Question &first = *answers.front().question;
    const bool one_shape = std::all_of(rows.begin(), rows.end(), [&](const Row &row) {
        return row.item->shape == rows.front().item->shape;
    });
    std::string out =
        rows.empty()
            ? ""
            : bold((one_shape
                        ? rows.front().item->shape + " (" + output_words(rows.front().item->shape) + ") on "
                        : std::string("on ")) +
                   (answers.size() > 1 ? std::to_string(answers.size()) + " GPUs or settings of one"
                                       : first.gpu) +
                   first.images + "\n");
    const bool total = !arguments.has("sweep");
    out += cases_text(rows, total);
    out += blocks(answers, asked);
    const bool timed = std::any_of(rows.begin(), rows.end(), [](const Row &row) {
        return row.item->prediction && row.item->prediction->time_s;
    });
    if (timed && one_shape && answers.size() == 1 && !asked.terms)
        out += hanging("more: --strategy NAME for one of them; `convcast choose` searches their knobs too");
    if (timed && !one_shape && total)
        out += hanging("knobs are those that each strategy takes of itself; `convcast choose` searches them");
    return out;
}

std::string one(const Case &item, const Question &question, const Arguments &arguments, const Behind &asked) {
    std::string out = verdict(item, question, known_times(arguments, question),
                              item.status == Status::ok ? faster_than(item, question) : std::nullopt);
    out += behind(item, question, asked);
    if (const std::string calls = calls_words(item); !calls.empty())
        out += verdict_line("total", calls);
    if (item.status == Status::ok && item.prediction->time_s && !asked.terms && !asked.rules)
        out += verdict_line("more", "--explain: the time term by term; --rules: the papers' rules");
    return out;
}

std::string text_of(const std::vector<Answered> &answers, const Arguments &arguments) {
    const Behind asked(arguments);
    std::string out;
    if (answers.size() == 1 && answers.front().cases.size() == 1)
        out = one(answers.front().cases.front(), *answers.front().question, arguments, asked);
    else
        out = many(answers, arguments, asked);
    std::vector<const Question *> timed;
    for (const Answered &answer : answers)
        if (std::any_of(answer.cases.begin(), answer.cases.end(),
                        [](const Case &item) { return item.prediction && item.prediction->time_s; }))
            timed.push_back(answer.question);
    return printable(out + all_assumptions(timed, asked.terms, "--explain, --json, or one GPU alone"));
}

/// As a table for other programs or for texts.
std::string sheet_text(const std::vector<Answered> &answers, const Arguments &arguments, Format format) {
    std::vector<SheetRow> rows;
    std::vector<Row> totals;
    std::vector<KnownTimes> known;
    known.reserve(answers.size());
    for (const Answered &answer : answers) {
        known.push_back(known_times(arguments, *answer.question));
        for (const Case &item : answer.cases) {
            rows.push_back(sheet_row(item, *answer.question, known.back()));
            totals.push_back({&item, answer.question, &known.back()});
        }
    }
    if (format == Format::csv)
        return to_csv(case_sheet(rows));
    const std::string total = arguments.has("sweep") ? "" : total_text(totals);
    return to_markdown(case_sheet(rows)) + (total.empty() ? "" : "\n" + total);
}

/// The forecasts of a document's cases beside their measurements.
std::string sheet_text(const Run &document, Format format) {
    std::vector<SheetRow> rows;
    for (const Case &item : document.cases)
        rows.push_back({&item, document.profile_id, "", std::nullopt, std::nullopt, std::nullopt});
    return format == Format::csv ? to_csv(case_sheet(rows)) : to_markdown(case_sheet(rows));
}

/// Whether the word is a shape and no file.
bool names_shape(const std::string &word) {
    try {
        return !ConvShape::parse(word).id().empty();
    } catch (const UsageError &) {
        return false;
    }
}

} // namespace

int predict(const Words &words) {
    std::vector<Option> options = what_if_options();
    options.push_back({"given", Option::text});
    options.push_back({"timeline", Option::flag});
    options.push_back({"explain", Option::number});
    options.push_back({"rules", Option::flag});
    options.push_back(recorded_option());
    options.push_back(format_option());
    options.push_back({"diagram", Option::text});
    options.push_back({"width", Option::text});
    options.push_back({"ladder", Option::flag});
    options.push_back({"training", Option::flag});
    for (const std::vector<Option> &more :
         {own_options(), elsewhere_options(), network_options(), scaling_options()})
        options.insert(options.end(), more.begin(), more.end());
    const Arguments arguments("predict", words, options, 1);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("predict")), 0;
    refuse_overwriting("predict", arguments);
    const Format format = format_of("predict", arguments, true);
    for (const char *rungs : {"ladder", "training"})
        if (arguments.has(rungs) && !(arguments.has("network") && arguments.positional().empty()))
            throw UsageError(fmt::format(
                "predict: --{0} is of a network, for example --network fashion_mnist --{0}", rungs));
    if (arguments.has("ladder") && arguments.has("training"))
        throw UsageError(
            "predict: --ladder and --training were both given; a step of training is a part of the ladder");
    if (asks_network("predict", arguments) && (arguments.positional().empty() || arguments.has("devices")))
        return arguments.has("ladder") || arguments.has("training")
                   ? predict_ladder(arguments, asked_schedule("predict", arguments))
                   : predict_network(arguments);
    if (!arguments.positional().empty()) {
        refuse_question_beside_document("predict", arguments);
        if (format == Format::text && arguments.has("format"))
            throw UsageError("predict: --format text is of shapes; a Run document has json, csv or markdown");
        const bool as_sheet = format == Format::csv || format == Format::markdown;
        const std::string file = arguments.positional().front(), output = arguments.text("output", "-");
        if (!file_exists(file) && names_shape(file))
            throw UsageError("predict: a shape stands behind --shape: predict --shape " + file);
        const bool adds = arguments.has("time") || arguments.has("times");
        if (names_lines(output) && holds_lines(file) && !adds && !as_sheet)
            return forecast_lines(file, output, arguments);
        Run document = read_document(file);
        forecast_document(document, file, arguments);
        if (as_sheet)
            write_file_atomically(output, sheet_text(document, format));
        else
            write_run_file(output, document);
        return code_of(document);
    }
    if (arguments.has("given"))
        throw UsageError("predict: --given needs a Run document with counters, for example "
                         "`convcast predict run.json --given work`");
    const bool document = format == Format::json, sheet = format == Format::csv || format == Format::markdown;
    std::vector<Question> questions = read_questions("predict", arguments, !document);
    const std::string output = arguments.text("output", "-");
    const bool drawn = arguments.has("timeline") || arguments.has("diagram");
    if (document && names_lines(output) && questions.size() == 1 && !drawn && !arguments.has("time") &&
        !arguments.has("times")) {
        Question &question = questions.front();
        const bool compiled = compile_for_forecasts(question.own_kernels, question.shapes, question.profile);
        return predict_lines(question, compiled, output);
    }
    check_held(questions);
    std::size_t asked = 0;
    for (const Question &question : questions)
        asked += most_cases_of(question);
    const bool with_terms = asked <= most_with_terms;
    if (!with_terms && (document || arguments.has("explain")))
        note("terms are left out of answers of more than " + std::to_string(most_with_terms) + " cases");
    std::vector<Answered> answers;
    Refusals refusals;
    bool compiled = true;
    for (Question &question : questions) {
        compiled = compile_for_forecasts(question.own_kernels, question.shapes, question.profile) && compiled;
        Answered &answer = answers.emplace_back(Answered{&question, held_cases(question, with_terms)});
        add_elsewhere(answer.cases, arguments, &question.profile, &question.shapes);
        if (arguments.has("timeline"))
            add_timelines(answer.cases, question.profile, question.knowledge);
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
        text = sheet_text(answers, arguments, format);
    } else if (!document) {
        text = text_of(answers, arguments);
    } else if (answers.size() == 1) {
        const Question &question = questions.front();
        Run run =
            new_run(question.profile, question.knowledge, question.sms, std::move(answers.front().cases));
        run.own_kernels = question.own_kernels;
        return write_run_file(arguments.text("output", "-"), run), code;
    } else {
        WhatIf rows;
        for (const Answered &answer : answers)
            for (const Case &item : answer.cases)
                rows.rows.push_back(what_if_row(item, *answer.question));
        text = write_what_if(rows);
    }
    write_file_atomically(arguments.text("output", "-"), text);
    return code;
}

} // namespace convcast::cli
