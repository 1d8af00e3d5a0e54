// Kernels of the user's own and times measured elsewhere, as the command line names them.
#pragma once

#include "cli/arguments.hpp"
#include "cli/device.hpp"
#include "cli/question.hpp"
#include "model/record/run.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// The kernels of --kernel. Throws UsageError, also where an expression of a launch is none for `shapes`.
std::vector<OwnKernel> read_own_kernels(const Arguments &arguments, const std::vector<AskedShape> &shapes,
                                        const GpuProfile &profile);

/// Compiles the kernels for each shape and fills in OwnKernel::compiled; each problem is said once, on
/// standard error. Nothing is compiled where there is no compiler, or where kernels times shapes are more
/// than most_compiled_for_forecasts, which would take long. Returns false where a kernel does not compile.
bool compile_for_forecasts(std::vector<OwnKernel> &kernels, const std::vector<AskedShape> &shapes,
                           const GpuProfile &profile);

/// Tasks of every kernel and shape.
std::vector<OwnTask> own_tasks(const std::vector<OwnKernel> &kernels, const std::vector<AskedShape> &shapes);

/// Forecasts anew, from the counters of their calls, the own cases whose work nobody declared; with `all`
/// those too whose work is declared.
void forecast_from_counters(Run &run, const GpuProfile &profile, const Knowledge &knowledge, bool all);

/// Adds the cases of --time and --times, with the speed of light where there is a profile. `asked`: each
/// stands behind the others of its shape, with the layer's name and count; a shape that is not asked is left
/// out, and that is said on standard error.
void add_elsewhere(std::vector<Case> &cases, const Arguments &arguments, const GpuProfile *profile,
                   const std::vector<AskedShape> *asked = nullptr);

} // namespace convcast::cli
