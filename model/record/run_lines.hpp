// Run documents of any size in files: as JSON, or as lines, of which the first is a Run without cases and
// each other is a case. Lines are read and written in pieces.
#pragma once

#include "model/base/files.hpp"
#include "model/record/run.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace convcast {

/// Whether a file of this name is written as lines: it ends in .jsonl or .jsonl.gz.
bool names_lines(const std::string &file);

/// Whether a text is a document of lines, by its first line.
bool are_run_lines(std::string_view text);

/// Writes a document as its name says: as JSON, or as lines, which lack Prediction::term.
void write_run_file(const std::string &file, const Run &run);

/// A document of lines as a text.
std::string write_run_lines(const Run &run);

/// Writes a document of lines piece by piece; the file appears under its name only with finish().
class RunLineWriter {
  public:
    /// Writes everything of `head` but its cases. Throws InputError, as add() does.
    RunLineWriter(const std::string &file, const Run &head);
    /// Writes the cases and unread cases of a piece, in their order.
    void add(const Run &piece);
    void finish() { file_.finish(); }

  private:
    OutputFile file_;
};

/// Whether a file, packed by gzip or not, is a document of lines that can be read in pieces.
bool file_holds_lines(const std::string &file);

/// How many cases it has, an empty line counted as one. Throws InputError.
std::size_t cases_in_lines(const std::string &file);

/// Calls `take` with each piece of a document of lines in a file, in order: a Run of its head with the cases,
/// read and unread, of that piece. Holds no more of the file at once than a piece. Throws as read_run does.
void read_run_pieces(const std::string &file, const BaselineCheck &check_baseline,
                     const std::function<void(Run piece)> &take);

/// Adds the cases of a piece behind those of `run`; an absent run becomes the piece.
void append(std::optional<Run> &run, Run piece);

/// Reads a text that is a document of lines. Throws as read_run does.
Run read_run_lines(const std::string &text, const std::string &file, const BaselineCheck &check_baseline);

} // namespace convcast
