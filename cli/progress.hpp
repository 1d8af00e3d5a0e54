// Progress and notes on standard error: one line redrawn on a terminal, plain lines elsewhere, or lines of
// JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

namespace convcast::cli {

/// How notes and progress stand on standard error: as text, or as lines of JSON for logs of schedulers.
enum class Said { text, json };
/// Sets that for the whole program; at first it is text.
void say_as(Said said);

/// A line of progress on standard error, "cases 3/40, 5 min left  n1c64...". A terminal shows it in place,
/// until this object ends; a log gets a line at most every ten seconds.
class Progress {
  public:
    /// Shown everywhere from the start, or only on a terminal once the work has taken two seconds.
    enum class Where { everywhere, terminal_after_a_while };
    /// `what` is counted: "cases".
    explicit Progress(std::string what, Where where = Where::everywhere)
        : what_(std::move(what)), where_(where) {}
    ~Progress();

    /// `done` of `total`; `doing` is what comes next. Estimates the time left from the time taken.
    void show(std::size_t done, std::size_t total, const std::string &doing);

  private:
    std::string what_;
    Where where_;
    /// When show() was first called, and when a line was last shown.
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), last_{};
    std::size_t first_ = 0; ///< `done` of the first call
    bool began_ = false, drawn_ = false;
};

/// Says, for as long as it lives, that something which shows no progress still goes on: after ten seconds,
/// and then each time that it has taken twice as long.
class Patience {
  public:
    explicit Patience(const std::string &what); ///< "own:mine is being compiled"

  private:
    std::jthread thread_;
};

/// ", 5 min left", where `done` pieces of work took `taken_s` and `left` are to come; "" while there is too
/// little to judge by: the first pieces are rarely like the others.
std::string time_left(double taken_s, std::size_t done, std::size_t left);

/// Prints "convcast: note: TEXT" on standard error, as say does.
void note(const std::string &text);

/// Prints "convcast: TEXT" on standard error, without control characters, in a terminal wrapped.
void say(const std::string &text);

} // namespace convcast::cli
