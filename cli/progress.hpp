// Progress and notes on standard error: one line redrawn on a terminal, plain lines elsewhere, or lines of
// JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

namespace convcast::cli {

/// How all of this stands on standard error: as text, or as a line of JSON each for the logs of schedulers.
enum class Said { text, json };
void say_as(Said said);

class Progress {
  public:
    /// Everywhere from the start, or only on a terminal and where the work takes more than two seconds.
    enum class Where { everywhere, terminal_after_a_while };
    explicit Progress(std::string what, Where where = Where::everywhere)
        : what_(std::move(what)), where_(where) {}
    ~Progress();

    /// `done` of `total`; `doing` is what comes next. Estimates the time left from the time taken.
    void show(std::size_t done, std::size_t total, const std::string &doing);

  private:
    std::string what_;
    Where where_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), last_{};
    std::size_t first_ = 0;
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

/// "convcast: note: ..." on a line of its own.
void note(const std::string &text);

/// On standard error, "convcast: TEXT": escaped, and in lines of the terminal that it goes to.
void say(const std::string &text);

} // namespace convcast::cli
