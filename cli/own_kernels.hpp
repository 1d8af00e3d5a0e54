// Kernels of the user's own and times measured elsewhere, as the command line names them.
#pragma once

#include "cli/arguments.hpp"
#include "cli/device.hpp"
#include "cli/question.hpp"
#include "model/record/run.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// Reads the kernels of --kernel with the launches of --launch. Throws UsageError for a kernel that cannot be
/// read, two of one name, and a launch whose expressions have no value for one of `shapes` on the GPU.
std::vector<OwnKernel> read_own_kernels(const Arguments &arguments, const std::vector<AskedShape> &shapes,
                                        const GpuProfile &profile);

/// Compiles the kernels for each shape, so that forecasts know their registers: OwnKernel::compiled. Says
/// each problem once on standard error. Compiles nothing, and returns true, where there is no compiler, where
/// the GPU is too old for it, or where kernels times shapes are too many (most_compiled_for_forecasts).
/// Returns false where a kernel does not compile.
bool compile_for_forecasts(std::vector<OwnKernel> &kernels, const std::vector<AskedShape> &shapes,
                           const GpuProfile &profile);

/// A task for each shape and kernel, shape by shape. It points at the kernel, which must outlive it.
std::vector<OwnTask> own_tasks(const std::vector<OwnKernel> &kernels, const std::vector<AskedShape> &shapes);

/// Forecasts the user's own kernels that were counted in this run again, with the counted work instead of an
/// assumed one. A kernel whose launch file declares its work keeps that forecast, unless `all`.
void forecast_from_counters(Run &run, const GpuProfile &profile, const Knowledge &knowledge, bool all);

/// Adds a case "elsewhere:NAME" for each time of --time and --times, which were measured outside convcast.
/// One of the same shape and name that is in `cases` already is replaced. With a profile each gets the speed
/// of light; nullptr: none. `asked` are the shapes of the question, whose cases stand in `cases` in that
/// order: a time goes behind the other cases of its shape and gets the layer's name and count; times of other
/// shapes are left out, and standard error says so. nullptr, for a document: every time is added at the end.
void add_external_times(std::vector<Case> &cases, const Arguments &arguments, const GpuProfile *profile,
                        const std::vector<AskedShape> *asked = nullptr);

} // namespace convcast::cli
