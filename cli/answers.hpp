// The first thing that an answer says: a verdict of one case, a table of many.
#pragma once

#include "cli/question.hpp"
#include "model/record/run.hpp"
#include "reports/table.hpp"

#include <boost/describe.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

enum class Format { text, json, csv, markdown, schedule };
BOOST_DESCRIBE_ENUM(Format, text, json, csv, markdown, schedule)

/// The format that the command line asks for by --format, --json or -o. `output_is_document`: of this verb -o
/// FILE asks for JSON, FILE.csv and FILE.md for these formats; of other verbs -o says nothing of the format.
Format format_of(const Arguments &arguments, bool output_is_document);

/// Cells: "+9 %", how far a forecast is off the measured time; and a time. Empty where a time is absent.
Cell error_cell(const std::optional<Seconds> &forecast, const std::optional<Seconds> &measured);
Cell time_cell(const std::optional<Seconds> &time);

/// What tells a question from the others of a command, "h200, 64 SMs"; of the only one its GPU's id.
std::string variant_of(const Question &question);

/// A letter that stands for a long name in a table: "A" for 0, "B", ..., "Z", "A2" for 26, ...
std::string letter_of(std::size_t at);

/// Whether a strategy's text names one that computes on tensor cores.
bool on_tensor_cores(const std::string &strategy);
/// The strategy's text, with the mark " *" behind it if it computes on tensor cores.
std::string marked(const std::string &strategy);
/// A line that says what the mark * behind a strategy means.
extern const char *const tensor_core_remark;

/// Whether the forecast is of a kernel of the user's own by the work that its launch file declares.
bool of_declared_work(const Case &item);
/// A line that says what the mark ! behind such a kernel means.
extern const char *const declared_work_remark;

/// The mark of a case, behind its name: " *", " !" or "".
std::string mark_of(const Case &item);

/// Lines of a verdict on a prediction with a time: the time with its interval and distance from the bound,
/// the regime with the busy shares that decide it, and what the `terms` largest terms add (equation V1).
std::string time_lines(const Prediction &prediction, const GpuProfile &profile, std::size_t terms);

/// Lines of a verdict with what recordings have of a case: its measured time and the forecast's error, the
/// fastest setting of the strategies that are `wanted` if that is faster, and the times of libraries. "" if
/// nothing was recorded. question.known must be there, as read_questions makes it.
std::string known_lines(const Case &item, const Question &question,
                        const std::function<bool(const std::string &)> &wanted);

/// "31.2 us for 3 calls" for a layer that stands more than once in its list; "" for other layers.
std::string calls_words(const Case &item);

/// A paragraph whose further lines are indented.
std::string hanging(const std::string &text);

/// "conv1, n1c64h56w56k64r3s3 (output 54 x 54)"; without the layer's name where `name` is "".
std::string shape_words(const std::string &name, const std::string &shape);

/// A line of a verdict, with its label in a column of its own; "" where the text is "".
std::string verdict_line(const std::string &label, const std::string &text);

/// "  unsupported: the stride is 2", for a case whose status is not ok.
std::string refusal_line(const Case &item);

/// A case in about five lines. `faster`: the first case of the ranking, which is named; an empty case: it is
/// said that nothing is faster; absent: nothing is said, as nobody looked.
std::string verdict(const Case &item, const Question &question, const std::optional<Case> &faster);

/// A row of a table of cases. It points at a case and its question, which must outlive it.
struct Row {
    const Case *item = nullptr;
    const Question *question = nullptr;
    std::optional<std::int64_t> rank{}; ///< in a ranking, from 1
    std::optional<Seconds> best{};      ///< the time of the first of that ranking

    /// The measured time from a cold L2: the case's own, or else that of a recording of this case.
    std::optional<Seconds> measured() const;
    /// How often the asked list has the case's shape.
    std::int64_t calls() const;
    /// The forecast time over that of the first of the ranking.
    std::optional<double> over_best() const;
};

void add_rows(std::vector<Row> &rows, const Question &question, const std::vector<Case> &cases);

/// A table of cases: shape, what of the question varies, strategy, time, interval, regime, limiter, distance
/// to the speed of light, recorded time. `total` adds up the fastest case of every shape, as often as the
/// list has it; with it layers on two to five GPUs or settings become a row each with their times side by
/// side. Refused cases stand in a line below, with reasons where no strategy does the shape.
std::string cases_text(const std::vector<Row> &rows, bool total);

/// What is assumed of each GPU with a forecast. All of it is shown where `whole`, where there is one GPU, or
/// where it is short; else a line for each GPU, and `where` says what to type to read the rest.
std::string all_assumptions(const std::vector<Row> &rows, bool whole, const std::string &where);

/// Writes cases to the file `output`, "-" for standard output. Format::json: one document, each case with its
/// GPU and variant. Format::csv and markdown: a row for each case, the same columns for every verb; with
/// `total` the sum of the fastest stands below Markdown. Other formats: what `text` returns.
void write_cases(const std::string &output, Format format, const std::vector<Row> &rows, bool total,
                 const std::function<std::string()> &text);

/// "filter_split, map_split: the single-channel divisions need c = 1": strategies grouped by their reason.
std::string refused_words(const std::vector<const Case *> &refused);

} // namespace convcast::cli
