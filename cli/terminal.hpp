// Text for people: lines that fit a window, tables, colour where the terminal has it.
#pragma once

#include "model/base/readable.hpp"
#include "reports/table.hpp"

#include <boost/describe.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {

/// Columns of the terminal on standard output, or else of the variable COLUMNS, or else 100.
std::size_t terminal_width();

/// The same for pages of help and lists, which are never narrower than 40 columns.
std::size_t page_width();

/// A page of help whose longest line is wider than `width`, wrapped: paragraphs, commands, and the texts of
/// options beside their names, or below them where no room is left. Any other page as it is.
std::string fitted(const std::string &page, std::size_t width);

/// How many columns a text of UTF-8 takes on the screen; escape sequences for bold letters take none.
std::size_t shown_width(const std::string &text);

/// Whether a terminal or COLUMNS gives the output a width; a pipe without one gets whole lines.
bool width_is_known();

/// A text in pieces of at most `width` columns, cut behind blanks, commas and the colon of a strategy.
std::vector<std::string> pieces(const std::string &text, std::size_t width);

/// Words in lines of at most `width` columns, of which `indent` are blank; a longer word stands alone and,
/// in a window, is cut behind commas.
std::string wrapped(const std::string &text, std::size_t indent = 0, std::size_t width = terminal_width());

/// The same with `lead` in the first line's indent, or on a line of its own if it does not fit there.
std::string headed(const std::string &lead, const std::string &text, std::size_t indent,
                   std::size_t width = terminal_width());

/// A table for a terminal of `width` columns. Where it is too wide, the columns that may be cut or wrapped
/// give way first, then columns are left out, those of the lowest Keep first, and named below the table. The
/// first column and those that must stay are always there: where they do not fit side by side, a row goes on
/// in lines below it, texts before numbers. A pipe that nobody gave a width has no edge: it gets all columns,
/// whole.
std::string table(const Table &table, std::size_t width = terminal_width());

/// Adds a name unless it is among them.
void add_once(std::vector<std::string> &names, const std::string &name);

/// Reasons, each with the names of what it holds for (kernels, fields, rows), both in the order in which they
/// were added: printed as "a, b: reason".
using ByReason = std::vector<std::pair<std::string, std::vector<std::string>>>;
/// Adds `name` to those of `reason`, unless it is among them.
void add_name_for_reason(ByReason &reasons, const std::string &reason, const std::string &name);

/// A value of an enumeration as documents spell it: "infeasible"; "?" for none of its values.
template <class Enum> std::string name_of(Enum value) {
    return boost::describe::enum_to_string(value, "?");
}

/// A text in bold on a terminal, or as NO_COLOR and CLICOLOR_FORCE say; a line end stays behind it.
std::string bold(const std::string &text);

} // namespace convcast::cli
