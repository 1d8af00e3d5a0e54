// compare for two Run documents: what became faster and what slower.
#pragma once

#include "cli/arguments.hpp"

#include <string>

namespace convcast::cli {

/// Compares the documents, whose texts these are, and writes the answer. Returns the exit code.
int compare_run_documents(const Arguments &arguments, const std::string &before, const std::string &after);

} // namespace convcast::cli
