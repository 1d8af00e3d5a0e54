// What an earlier run measured, taken over into the document of a later one.
#pragma once

#include "model/record/run.hpp"

#include <string>

namespace convcast::cli {

bool measured(const Run &run);

/// One document holds the numbers of one version of the code, one profile. Throws InputError.
void require_same_origin(const Run &earlier, const Run &now, const std::string &file);

/// Takes over what an earlier run measured, and what it was refused: into the cases asked for, and the others
/// behind them, so that nothing recorded is lost.
void resume(Run &run, const std::string &file);

} // namespace convcast::cli
