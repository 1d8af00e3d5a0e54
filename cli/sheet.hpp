// The format of an answer, and cases as a table for other programs and for texts.
#pragma once

#include "cli/answers.hpp"
#include "cli/arguments.hpp"
#include "cli/question.hpp"
#include "reports/table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

enum class Format { text, json, csv, markdown, schedule };

/// What the command line asks for. Without --format and --json, -o asks for a document where
/// `output_is_document`, but FILE.csv and FILE.md for these formats.
Format format_of(const std::string &verb, const Arguments &arguments, bool output_is_document);

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
Table case_sheet(const std::vector<SheetRow> &rows);

} // namespace convcast::cli
