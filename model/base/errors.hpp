// A broken world throws one of these. A domain answer (no feasible plan, a wrong result) is a value instead.
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

/// Does `part`, whose UsageError becomes a problem at `place`.
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

/// The closest of `known` to `word` by edit distance, or those few that begin with it or contain it, as
/// "; did you mean 'x' or 'y'?", or "." if nothing is close: a sentence's end either way. Nothing is close to
/// a word of more than 64 bytes, nor what differs from it in digits alone.
std::string did_you_mean(const std::string &word, const std::vector<std::string> &known);

/// What a message quotes of a text: all of it, or its first bytes and "... (20971520 bytes)". Never ends
/// within a character of UTF-8.
std::string shortened(std::string_view text, std::size_t most = 120);

/// Whether a text may have switches of weight, which are ours, in it.
enum class Emphasis { ours, none };

/// For a terminal: control characters other than line breaks and tabs as \x1b, so that no file and no word of
/// the command line can write commands to it. C1 control characters are named as well.
std::string printable(std::string_view text, Emphasis allowed = Emphasis::ours);

/// "a, b, c"
std::string join(const std::vector<std::string> &words, const std::string &separator = ", ");
/// "a, b, c and 3 more": at most the first `most` of them.
std::string join_some(const std::vector<std::string> &words, std::size_t most);

} // namespace convcast
