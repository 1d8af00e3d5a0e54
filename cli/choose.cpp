#include "cli/choose_text.hpp"
#include "cli/device.hpp"
#include "cli/document.hpp"
#include "cli/forecasts.hpp"
#include "cli/interrupt.hpp"
#include "cli/network.hpp"
#include "cli/progress.hpp"
#include "cli/sheet.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/parallel.hpp"
#include "model/record/run_lines.hpp"
#include "model/shape/shape_range.hpp"
#include "reports/choice_figure.hpp"
#include "reports/paper_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// What the command line asks for, checked.
struct Asked {
    ChoiceView view;
    int device = 0;
    std::string no_gpu; ///< why nothing can be timed, where that is asked; "" where it can
    Format format = Format::text;
    std::string output;
    bool is_timed() const { return view.measured > 0; }
};

void add_refusals(Refusals &refusals, const RankedShape &answer) {
    std::vector<Case> cases = answer.choice.refused;
    if (!answer.choice.ranked.empty())
        cases.push_back(answer.choice.ranked.front());
    refusals.add(*answer.question, cases);
}

/// Writes what --figure names, of each ranking that has times. Throws UsageError where there is only one.
void write_choice_figure(const std::vector<RankedShape> &answers, const Arguments &arguments) {
    std::vector<ChoiceAnswer> drawn;
    for (const auto &[question, shape, choice] : answers) {
        if (!has_times(choice))
            continue;
        const Prediction &first = *choice.ranked.front().prediction;
        ChoiceAnswer &answer = drawn.emplace_back();
        answer.shape = shape->shape;
        answer.gpu = question->variant.empty() ? question->profile.name : question->variant;
        answer.longest_tie = first.times.fitted_s ? first.time_high_s : std::nullopt;
        answer.fastest = choice.best;
    }
    if (drawn.size() < 2)
        arguments.refuse(
            "--figure draws how the choice changes and needs two answers at least: run a size "
            "through values with --sweep, or name several --shape, --gpu or --sms, for example: convcast "
            "choose --shape n1c64h56w56k64r3s3 --sweep h=w=28:224:28 --figure who_wins.svg");
    const ChoiceFigure figure = who_wins(drawn);
    const FigureFiles written =
        write_paper_figure(figure.figure, figure.cases, PaperWidth::parse(arguments.text("width")),
                           arguments.text("figure", ""), "Forecast by convcast " + producer().version);
    say_what_is_written(written);
}

/// The `count` first of every ranking, timed as `run` times them; counters are not read. `conditions` are of
/// the measurement. An interrupt ends the program after `answer`, with what was timed until then.
RunEnd time_best(std::vector<RankedShape> &answers, const Question &question, std::int64_t count, int device,
                 std::map<std::string, std::string> &conditions, const std::function<void()> &answer) {
    std::vector<Case *> timed;
    for (auto &[question_of_it, shape, choice] : answers)
        for (std::size_t i = 0; i < choice.ranked.size(); ++i)
            if (choice.ranks[i] <= count)
                timed.push_back(&choice.ranked[i]);
    std::vector<Case> cases;
    cases.reserve(timed.size());
    for (const Case *item : timed)
        cases.push_back(*item);
    Run document = new_run(question, std::move(cases));
    RunRequest request;
    request.device = device;
    request.sms = question.sms;
    request.no_counters = true;
    const auto take = [&](Run &from) {
        for (std::size_t i = 0; i < timed.size(); ++i)
            *timed[i] = std::move(from.cases[i]);
        conditions = std::move(from.conditions);
    };
    request.last_words = [&](Run so_far) {
        take(so_far);
        note("interrupted; what was not timed has no place");
        answer();
    };
    const RunEnd end = run_on_device(document, question.profile, request);
    take(document);
    return end;
}

Asked asked_choice(const Arguments &arguments) {
    Asked asked;
    asked.device = arguments.integer("device");
    ChoiceView &view = asked.view;
    view.measured = arguments.integer("measure");
    const auto top = view.measured > 0 ? view.measured : arguments.integer("top");
    view.extent = {static_cast<std::size_t>(top), arguments.has("why"), arguments.texts("place"),
                   arguments.has("tensor-cores"), arguments.has("figure")};
    view.blocks = arguments.has("top") || arguments.has("why") || arguments.has("place") || asked.is_timed();
    if (arguments.has("sweep"))
        view.sweep = ShapeRange::parse(arguments.texts("sweep").back()).values.size();
    for (const std::string &text : view.extent.placed)
        parse_strategy(text); // refuse early, before any work
    for (const std::string &text : arguments.texts("strategy"))
        if (is_baseline(text) || text.find(':') != std::string::npos)
            arguments.refuse("it tries the knobs itself; --strategy takes a strategy's name, one of " +
                             join(strategy_names()) + ", got '" + text + "'");
    asked.format = format_of(arguments, true);
    asked.output = arguments.text("output", "-");
    if (asked.is_timed()) {
        if (asked.output != "-")
            check_writable(asked.output); // found before the work
        asked.no_gpu = why_not_run(asked.device).value_or("");
    }
    return asked;
}

std::vector<Question> questions_of(const Arguments &arguments, const Asked &asked) {
    std::vector<Question> questions;
    if (asked.is_timed())
        questions = {read_question(
            arguments, [&](int sms) { return asked.no_gpu.empty() ? sms_given(asked.device, sms) : sms; })};
    else
        questions = read_questions(arguments, asked.format != Format::json);
    for (const Question &question : questions)
        require_times(question.profile, "choose");
    return questions;
}

std::size_t shapes_of(const std::vector<Question> &questions) {
    std::size_t total = 0;
    for (const Question &question : questions)
        total += question.shapes.size();
    return total;
}

/// The cases of a ranking that keep the tree of terms: trees of very many cases would fill the memory.
enum class Terms { of_all, of_the_first, of_none };

RankedShape answer_of(const AskedShape &shape, const Question &question, const Extent &extent, Terms terms) {
    RankedShape answer{
        &question, &shape,
        choice_of(shape.shape, question.profile, question.knowledge, question.strategies, extent)};
    for (std::vector<Case> *cases : {&answer.choice.ranked, &answer.choice.refused})
        for (Case &item : *cases)
            label(item, shape);
    for (std::size_t i = 0; i < answer.choice.ranked.size() && terms != Terms::of_all; ++i)
        if (Case &item = answer.choice.ranked[i]; item.prediction && (i > 0 || terms == Terms::of_none))
            item.prediction->term.reset();
    return answer;
}

/// Ranks a question's shapes, of `total` after `done`, and gives `take` the answers for some at a time, in
/// order. Where there are as many of them as cores, each core has shapes of its own; fewer are ranked one
/// after another, each by all cores.
void rank_pieces(const Question &question, const Extent &extent, Terms terms, std::size_t done,
                 std::size_t total, const std::function<void()> &ranked_one,
                 const std::function<void(std::vector<RankedShape>)> &take) {
    constexpr std::size_t piece = 256;
    const std::vector<AskedShape> &shapes = question.shapes;
    const bool many = shapes.size() >= usable_cores();
    const std::size_t at_once = many ? std::max(piece, usable_cores()) : 1;
    Progress progress("choose", Progress::Where::terminal_after_a_while);
    for (std::size_t begin = 0; begin < shapes.size(); begin += at_once) {
        progress.show(done + begin, total, shapes[begin].shape.id());
        std::vector<RankedShape> answers(std::min(at_once, shapes.size() - begin));
        const auto find_answer = [&](std::size_t i) {
            answers[i] = answer_of(shapes[begin + i], question, extent, terms);
            ranked_one();
        };
        if (answers.size() >= usable_cores())
            in_parallel(answers.size(), find_answer);
        else
            for (std::size_t i = 0; i < answers.size(); ++i)
                find_answer(i);
        for (const RankedShape &answer : answers)
            if (const std::vector<Case> &ranked = answer.choice.ranked;
                !ranked.empty() && !has_times(answer.choice))
                note("not ranked: " + ranked.front().prediction->reason.value_or("no times"));
        take(std::move(answers));
    }
}

std::vector<RankedShape> rank_all(const std::vector<Question> &questions, Asked &asked,
                                  const Arguments &arguments) {
    std::vector<RankedShape> answers;
    const std::size_t total = shapes_of(questions);
    if (total > 1 && !asked.view.blocks && asked.format != Format::json)
        asked.view.extent.top = 1; // a line for each shape
    if (total * asked.view.extent.top > most_held)
        arguments.refuse(fmt::format(
            "{} shapes with the first {} of each are asked, and an answer as a "
            "table or as JSON has at most {} cases; ask for --top 1, or write lines{}, "
            "of which there may be any number: -o chosen.jsonl",
            total, asked.view.extent.top, most_held, questions.size() > 1 ? " for one GPU at a time" : ""));
    constexpr std::size_t most_trees = 2000; // cases
    const Terms terms = asked.view.extent.why || total * asked.view.extent.top <= most_trees ? Terms::of_all
                        : asked.format == Format::text && total == 1 ? Terms::of_the_first // the verdict's
                                                                     : Terms::of_none;
    std::atomic<std::size_t> ranked = 0;
    const OnInterrupt on_interrupt([&] {
        note(fmt::format("interrupted after {} of {} shapes; nothing is kept{}", ranked.load(), total,
                         asked.output == "-" ? "" : ", and " + asked.output + " is as it was before"));
    });
    for (const Question &question : questions)
        rank_pieces(
            question, asked.view.extent, terms, answers.size(), total, [&] { ++ranked; },
            [&](std::vector<RankedShape> piece) {
                std::move(piece.begin(), piece.end(), std::back_inserter(answers));
            });
    return answers;
}

/// Writes what an earlier, interrupted answer to the same question has, and takes its shapes from the
/// question.
void go_on_with(const Arguments &arguments, const Run &head, RunLineWriter &writer, Question &question) {
    const std::string file = arguments.text("resume");
    std::set<std::pair<std::string, std::string>> there; // shapes and their studies
    read_document_pieces(file, [&](Run piece, std::size_t) {
        if (piece.profile_hash != head.profile_hash || piece.conditions != head.conditions)
            arguments.refuse(file + " was chosen with another profile, other facts or another "
                                    "calibration; give what it was made with, or leave out --resume");
        for (const Case &item : piece.cases)
            there.emplace(item.shape, item.study.value_or(""));
        writer.add(piece);
    });
    std::erase_if(question.shapes, [&](const AskedShape &asked) {
        return there.contains({asked.shape.id(), asked.study.value_or("")});
    });
}

/// Into a document of lines, some shapes at a time: however many there are, a piece is in memory, and an
/// interrupt keeps the pieces before it. Returns the exit code.
int choose_lines(Question question, const Asked &asked, const Arguments &arguments) {
    Run piece = new_run(question, {});
    const std::size_t all = question.shapes.size();
    RunLineWriter writer(asked.output, piece);
    if (arguments.has("resume"))
        go_on_with(arguments, piece, writer, question);
    std::atomic<std::size_t> kept = all - question.shapes.size();
    std::mutex writing; // guards the writer and whether it is done
    bool finished = false;
    const OnInterrupt keep([&] {
        writing.lock(); // for good: the program ends
        if (finished)
            return;
        if (kept > 0)
            writer.finish();
        note(fmt::format("interrupted after {} of {} shapes; {}", kept.load(), all,
                         kept > 0 ? asked.output + " has them, and the same question with --resume " +
                                        asked.output + " goes on"
                                  : "nothing is kept, and " + asked.output + " is as it was before"));
    });
    Refusals refusals;
    const auto write = [&](std::vector<RankedShape> answers) {
        for (RankedShape &answer : answers) {
            add_refusals(refusals, answer);
            std::move(answer.choice.ranked.begin(), answer.choice.ranked.end(),
                      std::back_inserter(piece.cases));
        }
        const std::scoped_lock lock(writing);
        writer.add(piece);
        kept += answers.size();
        piece.cases.clear();
    };
    rank_pieces(
        question, asked.view.extent, Terms::of_none, kept, all, [] {}, write);
    const std::scoped_lock lock(writing);
    writer.finish();
    finished = true;
    refusals.say(true);
    return refusals.any() ? 1 : 0;
}

std::string assumptions_of(const std::vector<Question> &questions) {
    std::vector<const Question *> all;
    for (const Question &question : questions)
        all.push_back(&question);
    return all_assumptions(all, false, "--json, or one GPU alone");
}

/// The answer as a document.
std::string document_of(const std::vector<RankedShape> &answers, const std::vector<Question> &questions,
                        const std::map<std::string, std::string> &conditions, const std::string &output) {
    if (questions.size() > 1)
        return write_run(run_of(choice_rows(answers)));
    std::vector<Case> chosen;
    for (const RankedShape &answer : answers)
        chosen.insert(chosen.end(), answer.choice.ranked.begin(), answer.choice.ranked.end());
    Run document = new_run(questions.front(), std::move(chosen));
    document.conditions.insert(conditions.begin(), conditions.end());
    return names_lines(output) ? write_run_lines(document) : write_run(document);
}

} // namespace

int choose(const Arguments &arguments) {
    refuse_overwriting(arguments, Documents::filled);
    (void)PaperWidth::parse(arguments.text("width")); // found before the work
    if (arguments.has("network"))
        return choose_network(arguments);
    Asked asked = asked_choice(arguments);
    const std::vector<Question> questions = questions_of(arguments, asked);
    if (asked.format == Format::json && names_lines(asked.output) && questions.size() == 1 &&
        !asked.is_timed() && !asked.view.extent.regimes)
        return choose_lines(questions.front(), asked, arguments);
    if (arguments.has("resume"))
        arguments.refuse("--resume goes on with a document of lines of one GPU; give -o FILE.jsonl too");
    std::vector<RankedShape> answers = rank_all(questions, asked, arguments);
    if (asked.view.extent.regimes)
        write_choice_figure(answers, arguments);
    std::map<std::string, std::string> conditions;
    ChoiceView view = asked.view;
    if (!asked.no_gpu.empty())
        view.measured = 0; // the forecast's ranking is the answer
    const auto write_answer = [&] {
        std::string text;
        if (asked.format == Format::json)
            text = document_of(answers, questions, conditions, asked.output);
        else if (asked.format == Format::text)
            text = printable(choice_text(answers, view) + assumptions_of(questions));
        else
            text = cases_sheet(choice_rows(answers), asked.format, !view.sweep);
        write_file_atomically(asked.output, text);
    };
    RunEnd end = RunEnd::finished;
    if (asked.is_timed() && asked.no_gpu.empty())
        end = time_best(answers, questions.front(), asked.view.measured, asked.device, conditions,
                        write_answer);
    write_answer();
    if (end == RunEnd::device_lost)
        throw GpuError("the GPU stopped answering; what was not timed has no place");
    if (!asked.no_gpu.empty())
        throw GpuError(
            "nothing was measured, so the ranking is the forecast's; this command times its first on "
            "a machine with a usable GPU: " +
            asked.no_gpu);
    Refusals refusals;
    for (const RankedShape &answer : answers)
        add_refusals(refusals, answer);
    refusals.say(asked.format != Format::text);
    const bool failed = refusals.any() || std::ranges::any_of(answers, [](const RankedShape &answer) {
                            return wrong_cases(answer.choice.ranked) > 0;
                        });
    return failed ? 1 : 0;
}

} // namespace convcast::cli
