// The exceptions of the program, and words of their messages. What cannot be carried out throws one of these.
// An answer about a convolution, such as that no plan is feasible or a result is wrong, is a value instead.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// The command line cannot be carried out as written. Exit code 2.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One thing that is wrong with an input file.
struct InputProblem {
    std::string place;   ///< "profiles/x.json:12: /memory/latency", or "standard input:3: /cases/0"
    std::string message; ///< what was found, what was expected, an example
};

/// A file that cannot be read, parsed or written; carries every problem found in it. Exit code 3.
struct InputError : std::runtime_error {
    std::vector<InputProblem> problems;
    explicit InputError(std::vector<InputProblem> found);
    InputError(std::string place, std::string message);
};

/// Calls `part()`, and adds a UsageError that it throws to `problems`, at `place`.
template <class Part>
void or_problem(std::vector<InputProblem> &problems, const std::string &place, Part part) {
    try {
        part();
    } catch (const UsageError &error) {
        problems.push_back({place, error.what()});
    }
}

/// Nobody reads standard output any more, as after `| head -1`: the reader has what it wanted.
struct ClosedPipe : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// No usable GPU, driver or library, or a call to one that failed. Exit code 4.
struct GpuError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The GPU works but its performance counters are closed to us. Exit code 5.
struct CounterPermissionError : GpuError {
    using GpuError::GpuError;
};

/// The end of a sentence about an unknown `word`: "; did you mean 'x' or 'y'?", or "." if none of `known` is
/// close. Close are the one with the smallest edit distance, and a few that begin with the word or contain
/// it. Not close are names that differ from it in digits alone (h100 is no misspelt h200), nor anything to a
/// word of more than 64 bytes.
std::string did_you_mean(const std::string &word, const std::vector<std::string> &known);

/// A text as a message quotes it: all of it, or its first `most` bytes and "... (20971520 bytes)". Does not
/// end within a character of UTF-8.
std::string shortened(std::string_view text, std::size_t most = 120);

/// Whether the two escape sequences by which the program itself switches bold on and off stay in a text.
enum class Emphasis { ours, none };

/// A text for a terminal. Control characters (C0, DEL and C1), other than line breaks and tabs, are written
/// out as "\x1b", so that no file and no word of the command line can send commands to the terminal.
std::string printable(std::string_view text, Emphasis allowed = Emphasis::ours);

/// "a, b, c"
std::string join(const std::vector<std::string> &words, const std::string &separator = ", ");
/// "a, b, c and 3 more": all words, or the first `most` of them and how many more there are.
std::string join_some(const std::vector<std::string> &words, std::size_t most);

} // namespace convcast
