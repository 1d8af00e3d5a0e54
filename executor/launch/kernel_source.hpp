// Device code as text, and the hashes that tie recorded data to the code that made it.
#pragma once

#include "model/base/embedded.hpp"
#include "model/record/run.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> kernel_sources; ///< executor/kernels/*
extern const std::vector<EmbeddedFile>
    added_kernel_sources; ///< executor/kernels/* too, with a hash of their own: added_code_hash()
extern const std::vector<EmbeddedFile>
    measuring_sources; ///< what verifies, times and counts, in gpu/ and executor/

extern const std::vector<EmbeddedFile>
    conv_end_sources; ///< executor/network/conv_end.cuh, which lines for networks call

/// executor/kernels/<kernel>.cu as one text: its own includes are put in place, once each. With its lines for
/// networks (executor/network/conv_end.cuh) only if it is asked for `in_network`. Throws UsageError if there
/// is no such kernel.
std::string kernel_source(std::string_view kernel, bool in_network = false);

/// Whether a kernel can add a bias and the like before it stores.
bool has_network_lines(std::string_view kernel);

/// XXH3-128 over the lines for networks of kernel_sources and what they call.
std::string ended_code_hash();

/// The __constant__ array of a kernel that reads its filters from there (executor/kernels/row_register.cu).
inline constexpr const char *filter_bank = "filter_bank";

/// "filter_split<3, 3, 4, 4, 2, 1>": the kernel that a launch asks for.
std::string name_expression(const Launch &launch);

/// XXH3-128 over kernel_sources.
std::string device_code_hash();

/// XXH3-128 over added_kernel_sources, kept in a run's conditions if one of its plans launches such a kernel.
std::string added_code_hash();

/// Whether a launch of the plan is of a kernel of added_kernel_sources.
bool launches_added_kernel(const Plan &plan);

/// XXH3-128 over measuring_sources.
std::string measuring_code_hash();

} // namespace convcast
