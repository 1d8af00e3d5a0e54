// An answer as rows: CSV for other programs, Markdown for texts. No colours, no width, nothing is left out
// for want of room.
#pragma once

#include "cli/answers.hpp"
#include "cli/arguments.hpp"
#include "cli/question.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast::cli {

enum class Format { text, json, csv, markdown, schedule };

/// What the command line asks for. Without --format and --json, -o asks for a document where
/// `output_is_document`, but FILE.csv and FILE.md for these formats.
Format format_of(const std::string &verb, const Arguments &arguments, bool output_is_document);

/// A column. In CSV the unit is part of the name, "time_s"; in Markdown a column of seconds gets a unit that
/// fits, "time (us)".
struct SheetColumn {
    std::string name;
    std::string unit; ///< "s", "FLOP/s"; "" of texts and counts
};

using SheetCell = std::variant<std::monostate, std::string, std::int64_t, double>;

struct Sheet {
    std::vector<SheetColumn> columns;
    std::vector<std::vector<SheetCell>> rows;
};

/// A cell that is empty where there is nothing.
SheetCell cell(const std::optional<Seconds> &time);
SheetCell cell(const std::optional<double> &number);
SheetCell cell(const std::optional<std::string> &text);

/// RFC 4180 but for line ends, which are \n: a header with units in the names, numbers in their shortest
/// exact form.
std::string as_csv(const Sheet &sheet);

/// A table as GitHub and others draw it, numbers with four digits; columns that are empty in every row are
/// left out.
std::string as_markdown(const Sheet &sheet);

/// A case of a sheet: what is known of it besides.
struct SheetRow {
    const Case *item = nullptr;
    std::string gpu;                        ///< the profile's id
    std::string variant;                    ///< what of several questions this one has of its own
    std::optional<Seconds> measured;        ///< where a recording has it
    std::optional<std::int64_t> rank;       ///< in a ranking
    std::optional<double> over_best;        ///< time over that of the first
    std::optional<std::int64_t> count = {}; ///< calls, where the case does not say
};

SheetRow sheet_row(const Case &item, const Question &question, const KnownTimes &known);

/// One row a case, the same columns for every verb.
Sheet case_sheet(const std::vector<SheetRow> &rows);

} // namespace convcast::cli
