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

/// What the command line asks for. Without --format and --json, -o asks for a document where
/// `output_is_document`, but FILE.csv and FILE.md for these formats.
Format format_of(const Arguments &arguments, bool output_is_document);

/// "+9 %", by how much a forecast is off, and a time with its unit; empty where a time is absent.
Cell error_cell(const std::optional<Seconds> &forecast, const std::optional<Seconds> &measured);
Cell time_cell(const std::optional<Seconds> &time);

/// What tells a question from others: "h200, 64 SMs"; its GPU's id where it is the only one.
std::string variant_of(const Question &question);

/// What stands for a long name in a table: "A", "B", ..., "Z", "A2", ...
std::string letter_of(std::size_t at);

/// Whether a strategy's text names one that computes on tensor cores.
bool on_tensor_cores(const std::string &strategy);
/// Its text, with the mark * behind it if it does.
std::string marked(const std::string &strategy);
/// What the mark * behind such a strategy means, as a line.
extern const char *const tensor_core_remark;

/// Whether the forecast is of a kernel of the user's own by the work that its launch file declares.
bool of_declared_work(const Case &item);
/// What the mark ! behind such a kernel means, as a line.
extern const char *const declared_work_remark;

/// The mark of a case, behind its name: " *", " !" or "".
std::string mark_of(const Case &item);

/// Lines of a verdict: the time with its interval and how far it is from the bound, the regime with the
/// shares that make it one, and what so many of the largest terms add to the time (V1).
std::string time_lines(const Prediction &prediction, const GpuProfile &profile, std::size_t terms);

/// What recordings have of a case, as lines of a verdict: its time and the forecast's error, the fastest
/// setting of the strategies that are `wanted` if that is faster, and the libraries'; "" if nothing.
std::string known_lines(const Case &item, const Question &question,
                        const std::function<bool(const std::string &)> &wanted);

/// "31.2 us for 3 calls" of a layer that stands more than once in its list; "" of others.
std::string calls_words(const Case &item);

/// A paragraph whose further lines are indented.
std::string hanging(const std::string &text);

/// "conv1, n1c64h56w56k64r3s3 (output 54 x 54)" of a shape as text, with its name unless that is empty.
std::string shape_words(const std::string &name, const std::string &shape);

/// A line of a verdict: its label in a column of its own; "" without a text.
std::string verdict_line(const std::string &label, const std::string &text);

/// "  unsupported: the stride is 2", of a case that is not ok.
std::string refusal_line(const Case &item);

/// A case in about five lines. `faster`: the first of the ranking, where it is another and was looked for.
std::string verdict(const Case &item, const Question &question, const std::optional<Case> &faster);

/// What a table says of a case, one that has a time or not.
struct Row {
    const Case *item = nullptr;
    const Question *question = nullptr;
    std::optional<std::int64_t> rank{}; ///< in a ranking
    std::optional<Seconds> best{};      ///< the time of the first of that ranking

    /// What was measured of it: its own time where it has one, as one measured elsewhere does, or a
    /// recording's.
    std::optional<Seconds> measured() const;
    /// How often the list has its shape.
    std::int64_t calls() const;
    /// Its time over that of the first of the ranking.
    std::optional<double> over_best() const;
};

/// Rows of a question's cases.
void add_rows(std::vector<Row> &rows, const Question &question, const std::vector<Case> &cases);

/// A table of cases: shape, what of the question varies, strategy, time, interval, regime, limiter, distance
/// to the speed of light, and the measured time where a recording has it. Of a list of layers on a few GPUs
/// or settings of one, with `total`, a row a layer instead, and their times beside each other. Cases that are
/// refused stand in one line below, with their reasons where no strategy does the shape. Long names of GPUs
/// and what is supposed of them become letters with a legend. `total`: adds up the fastest of every shape, as
/// often as a network has it.
std::string cases_text(const std::vector<Row> &rows, bool total);

/// What is assumed of each GPU with a forecast: all of it where `whole`, of one GPU, or where it is short,
/// else a line for each GPU and `where` to read the rest.
std::string all_assumptions(const std::vector<Row> &rows, bool whole, const std::string &where);

/// Writes cases in a format: as a document where each has its GPU and variant; as CSV or Markdown, one row
/// each, the same columns for every verb, and with `total` below Markdown the fastest of all shapes added up;
/// or what `text` says.
void write_cases(const std::string &output, Format format, const std::vector<Row> &rows, bool total,
                 const std::function<std::string()> &text);

/// "filter_split, map_split: the single-channel divisions need c = 1": strategies by their common reason.
std::string refused_words(const std::vector<const Case *> &refused);

} // namespace convcast::cli
