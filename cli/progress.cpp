#include "cli/progress.hpp"

#include "cli/terminal.hpp"
#include "model/base/describe.hpp"
#include "model/base/described.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace convcast::cli {
namespace {

Said said_as = Said::text; // like the terminal, there is one standard error

bool on_terminal() {
    return said_as == Said::text && isatty(STDERR_FILENO) != 0;
}

/// A line of --progress json: of progress with all members but `says`, else with `time` and `says`.
struct SaidLine {
    std::string time;                        ///< "2026-11-27T13:56:09Z"
    std::optional<std::string> progress;     ///< what is counted: "cases"
    std::optional<std::int64_t> done, total; ///< how many of how many
    std::optional<double> left_s;            ///< absent also where there is too little to judge by
    std::optional<std::string> next, says;   ///< what comes next; the text of a note
    CONVCAST_MEMBERS(SaidLine, time, progress, done, total, left_s, next, says)
};

void write_line(SaidLine line) {
    line.time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    std::fputs(to_line(described::write(line)).c_str(), stderr);
}

/// Columns of the terminal on standard error; 80 where it does not say a width that is of use.
std::size_t width() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
}

} // namespace

/// Absent before 10 pieces or 10 s, both chosen: the first pieces are rarely like the others.
std::optional<double> seconds_left(double taken_s, std::size_t done, std::size_t left) {
    constexpr std::size_t least_done = 10;
    constexpr double least_s = 10.0;
    if (done < least_done && taken_s < least_s)
        return std::nullopt;
    return taken_s / static_cast<double>(done) * static_cast<double>(left);
}

std::string time_left(double taken_s, std::size_t done, std::size_t left) {
    const std::optional<double> known = seconds_left(taken_s, done, left);
    if (!known)
        return "";
    const double seconds = *known;
    constexpr double minute = 60.0, hour = 3600.0, day = 86400.0;
    return seconds < 1.5 * minute ? fmt::format(", {:.0f} s left", seconds)
           : seconds < 2.0 * hour ? fmt::format(", {:.0f} min left", seconds / minute)
           : seconds < 2.0 * day  ? fmt::format(", {:.0f} h left", seconds / hour)
                                  : fmt::format(", {:.0f} days left", seconds / day);
}

Progress::~Progress() {
    if (drawn_)
        std::fputs("\r\x1b[K", stderr);
}

void Progress::show(std::size_t done, std::size_t total, const std::string &doing) {
    const auto now = std::chrono::steady_clock::now();
    if (!began_) {
        began_ = true;
        first_ = done;
        begin_ = now;
    }
    if (where_ == Where::terminal_after_a_while && (!on_terminal() || now - begin_ < std::chrono::seconds(2)))
        return;
    // A terminal bears ten lines a second, a log one every ten seconds.
    const auto pause = std::chrono::milliseconds(on_terminal() ? 100 : 10000);
    if (done != total && done != first_ && now - last_ < pause)
        return;
    last_ = now;
    const double taken_s = std::chrono::duration<double>(now - begin_).count();
    const bool counts = done > first_ && done < total;
    if (said_as == Said::json) {
        SaidLine line;
        line.progress = what_, line.next = doing;
        line.done = static_cast<std::int64_t>(done), line.total = static_cast<std::int64_t>(total);
        if (counts)
            line.left_s = seconds_left(taken_s, done - first_, total - done);
        return write_line(line);
    }
    const std::string left = counts ? time_left(taken_s, done - first_, total - done) : "";
    std::string line =
        printable(fmt::format("{} {}/{}{}  {}", what_, done, total, left, doing), Emphasis::none);
    if (!on_terminal()) {
        std::fprintf(stderr, "%s\n", line.c_str());
        return;
    }
    line = line.substr(0, width() - 1);
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    std::fflush(stderr);
    drawn_ = true;
}

void say_as(Said said) {
    said_as = said;
}

void say(const std::string &text) {
    if (said_as == Said::json) {
        SaidLine line;
        line.says = text;
        return write_line(line);
    }
    const std::string shown = "convcast: " + printable(text, Emphasis::none);
    if (!on_terminal()) {
        std::fprintf(stderr, "%s\n", shown.c_str());
        return;
    }
    std::string out;
    for (std::size_t at = 0; at <= shown.size();) {
        const std::size_t end = std::min(shown.find('\n', at), shown.size());
        const std::string line = shown.substr(at, end - at);
        out += shown_width(line) <= width() ? line + "\n" : wrapped(line, 0, width());
        at = end + 1;
    }
    std::fprintf(stderr, "\r\x1b[K%s", out.c_str());
}

Patience::Patience(const std::string &what)
    : thread_([what](const std::stop_token &stop) {
          std::mutex mutex;
          std::condition_variable_any wake;
          std::unique_lock lock(mutex);
          std::chrono::seconds taken(0);
          for (std::chrono::seconds more(10);; more = taken) {
              if (wake.wait_for(lock, stop, more, [&] { return stop.stop_requested(); }))
                  return;
              taken += more;
              note(fmt::format("{}, for {} s now; Ctrl-C ends it", what, taken.count()));
          }
      }) {}

void note(const std::string &text) {
    say("note: " + text);
}

} // namespace convcast::cli
