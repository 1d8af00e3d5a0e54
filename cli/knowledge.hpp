// --facts, --calibration and --assume: what a forecast is given besides the profile.
#pragma once

#include "cli/arguments.hpp"
#include "model/machine/knowledge.hpp"
#include "model/record/run.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// By --facts and --calibration; by default what ships and matches the GPU. Throws InputError for a file that
/// cannot be read.
Knowledge read_knowledge(const Arguments &arguments, const GpuProfile &profile);

/// Supposes what --assume names. Throws UsageError.
void supply_assumed(GpuProfile &profile, const Arguments &arguments);

/// Throws InputError, with what to do on this GPU, where the profile lacks a number that times need. `what`
/// needs them.
void require_times(const GpuProfile &profile, const std::string &what);

/// Names in the document what its forecasts were made with.
void note_knowledge(Run &run, const Knowledge &knowledge);

/// The assumptions of all forecasts that were made with it, a paragraph each, for a terminal.
std::string assumptions_text(const Knowledge &knowledge);

/// What the answer of `facts` and `fit` is for, on stderr: `option` is the option that takes the file
/// `output`.
void note_how_to_use(const std::string &option, const std::string &output);

} // namespace convcast::cli
