// The format of an answer, and cases as a table for other programs and for texts.
#pragma once

#include "cli/answers.hpp"
#include "cli/arguments.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace convcast::cli {

enum class Format { text, json, csv, markdown, schedule };
BOOST_DESCRIBE_ENUM(Format, text, json, csv, markdown, schedule)

/// What the command line asks for. Without --format and --json, -o asks for a document where
/// `output_is_document`, but FILE.csv and FILE.md for these formats.
Format format_of(const Arguments &arguments, bool output_is_document);

/// Cases of questions for several GPUs, numbers of SMs or supposed numbers as one document, each with its GPU
/// and variant; without the trees of their terms.
Run run_of(const std::vector<Row> &rows);

/// Cases as CSV or Markdown, one row each, the same columns for every verb. `total`: below Markdown the
/// fastest of all shapes added up.
std::string cases_sheet(const std::vector<Row> &rows, Format format, bool total);

} // namespace convcast::cli
