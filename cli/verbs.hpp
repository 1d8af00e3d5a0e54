// The verbs. Each is given its words, parsed, calls a room and prints; it returns the exit code of a run that
// went well (0, or 1 where a check failed) and throws for everything else. main holds the only catch.
#pragma once

#include "cli/arguments.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

// Each does what its verb asks, writes the answer, and returns the exit code of main.cpp. They throw
// UsageError, InputError or GpuError, which main.cpp turns into messages and exit codes.
int adapt(const Arguments &arguments);
int choose(const Arguments &arguments);
int compare(const Arguments &arguments);
int compile(const Arguments &arguments);
int doctor(const Arguments &arguments);
int explain(const Arguments &arguments);
int import(const Arguments &arguments);
int list(const Arguments &arguments);
int measure(const Arguments &arguments);
int facts(const Arguments &arguments);
int fit(const Arguments &arguments);
int merge(const Arguments &arguments);
int predict(const Arguments &arguments);
int report(const Arguments &arguments);
int reproduce(const Arguments &arguments);
int run(const Arguments &arguments);
/// As run, with -o FILE, but without the table that `run` prints.
int run_into_file(const Arguments &arguments);

/// Words that `convcast list` takes.
std::vector<std::string> kinds_to_list();

/// "profile", "run", ...: the documents that have a JSON Schema.
std::vector<std::string> schema_names();

/// A verb, and what `convcast --help` says of it.
struct Verb {
    std::string name, summary;
    int (*run)(const Arguments &);
};
const std::vector<Verb> &verbs();
std::string program_summary();
std::string exit_codes();

} // namespace convcast::cli
