// Samples of the GPU at hand, and what they are called.
#pragma once

#include "cli/device.hpp"
#include "microbench/samples.hpp"

#include <string>

namespace convcast::cli {

/// "NVIDIA GeForce RTX 4090" -> "rtx_4090", the id of its profile.
std::string profile_id_of(std::string gpu_name);

/// Takes samples, and writes them to `file`, "" for none, after each probe and at the end.
RawSamples kept_samples(SamplesRequest request, const std::string &file);

/// Reads samples. Throws InputError.
RawSamples samples_of_file(const std::string &file);

} // namespace convcast::cli
