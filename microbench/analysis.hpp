// Makes a profile from samples, without a GPU. The same raw file always gives the same profile.
#pragma once

#include "microbench/samples.hpp"
#include "model/machine/profile.hpp"

#include <string>
#include <vector>

namespace convcast {

/// A sample at less than this part of the SM clock under load counts as throttled: reported, never dropped.
constexpr double throttled_below = 0.9;

/// The profile that the samples give, under the name `id`. A value is the median of its samples; of several
/// configurations of one probe the best counts, and their samples are never mixed. A field without good
/// samples is absent, with the reason in `missing`. Numbers that must agree are in `checks`; configurations
/// not chosen, separate populations, throttled samples and how well formulas fit are in `notes`. read_profile
/// accepts the profile; throws InputError, which names the fields, if no profile may have these limits or
/// this id.
GpuProfile analyze(const RawSamples &raw, const std::string &id);

/// Checks that numbers of `profile`, which was made from `raw`, agree with each other and with what the
/// driver states. A check is left out if a number for it is missing.
std::vector<ProfileCheck> cross_checks(const RawSamples &raw, const GpuProfile &profile);

/// Whether only published profiles have the field: a measured profile has a curve in its place.
bool is_of_published_profiles(const std::string &field);

} // namespace convcast
