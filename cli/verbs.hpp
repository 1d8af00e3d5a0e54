// The verbs. Each parses its words, calls a room and prints; it returns the exit code of a run that went well
// (0, or 1 where a check failed) and throws for everything else. main holds the only catch.
#pragma once

#include <string>
#include <vector>

namespace convcast::cli {

using Words = std::vector<std::string>;

int choose(const Words &words);
int compare(const Words &words);
int compile(const Words &words);
int doctor(const Words &words);
int explain(const Words &words);
int list(const Words &words);
int measure(const Words &words);
int facts(const Words &words);
int fit(const Words &words);
int merge(const Words &words);
int predict(const Words &words);
int report(const Words &words);
int reproduce(const Words &words);
int run(const Words &words);

/// Words that `convcast list` takes.
std::vector<std::string> kinds_to_list();

/// What `convcast --help` says, in parts.
struct VerbLine {
    std::string name, summary;
};
std::vector<VerbLine> verb_lines();
std::string program_summary();
std::string exit_codes();

/// docs/cli/<verb>.md, which is also the verb's --help.
std::string help_text(const std::string &verb);

} // namespace convcast::cli
