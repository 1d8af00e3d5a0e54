// Text for people: aligned tables, short numbers, colour where the terminal has it.
#pragma once

#include "model/base/units.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// Columns of a terminal on standard output; 100 where there is none.
std::size_t terminal_width();

/// A page of help whose longest line is wider than `width`, wrapped: paragraphs, commands, and the texts of
/// options beside their names, or below them where no room is left. Any other page as it is.
std::string fitted(const std::string &page, std::size_t width);

/// "12.3 us", "4.56 ms": three digits with a unit.
std::string short_time(Seconds time);
/// The unit of a column of times, of which the shortest is given, and a time in it: "12.3".
struct TimeUnit {
    double seconds = 1e-6;
    std::string name = "us";
};
TimeUnit time_unit(Seconds shortest);
std::string number_in(const TimeUnit &unit, Seconds time);
/// "12.3 KiB"
std::string short_bytes(double bytes);
/// "66,048"
std::string grouped(long long number);

/// Characters on the screen: the bytes of UTF-8 after a character's first and switches of weight take no
/// place.
std::size_t shown_width(const std::string &text);

/// Words in lines of at most `width` columns, of which `indent` are blank; a longer word stands alone and,
/// in a window, is cut behind commas.
std::string wrapped(const std::string &text, std::size_t indent, std::size_t width);

/// The same with `lead` in the blank of the first line, or on a line of its own if it does not fit there.
std::string headed(const std::string &lead, const std::string &text, std::size_t indent, std::size_t width);

enum class Align { left, right };
/// How long a column stays when a window is too narrow for all: `low` goes first, `must` never.
enum class Keep { low, normal, high, must };
/// What a cell may lose: nothing; `knobs`: a strategy its knobs, but not its name; `cut`: a text its end;
/// `wrap`: nothing, but it goes on in lines below. An ellipsis stands for what is lost.
enum class Fit { whole, knobs, cut, wrap };
struct Column {
    std::string title;
    Align align = Align::left;
    Keep keep = Keep::normal;
    Fit fit = Fit::whole;
};

/// A table for a terminal of `width` columns. Where it is too wide, the columns that may be cut or wrapped
/// give way first, then columns are left out, those of the lowest Keep first, and named below the table. The
/// first column and those that must stay are always there: where they do not fit side by side, a row goes on
/// in lines below it, texts before numbers. A pipe that nobody gave a width has no edge: it gets all columns,
/// whole.
std::string table(const std::vector<Column> &columns, const std::vector<std::vector<std::string>> &rows,
                  std::size_t width);

/// Emphasis by NO_COLOR, CLICOLOR_FORCE and whether standard output is a terminal.
std::string bold(const std::string &text);

} // namespace convcast::cli
