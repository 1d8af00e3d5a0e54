// compare for two Run documents: what became faster and what slower.
#pragma once

#include "cli/arguments.hpp"
#include "model/record/run.hpp"

namespace convcast::cli {

/// Compares the two documents that the words name, and writes the answer. Returns the exit code.
int compare_run_documents(const Arguments &arguments, const Run &first, const Run &second);

} // namespace convcast::cli
