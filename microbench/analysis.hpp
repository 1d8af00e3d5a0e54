// Samples to profile, without a GPU: the same raw file always gives the same profile.
#pragma once

#include "microbench/samples.hpp"
#include "model/machine/profile.hpp"

#include <string>
#include <vector>

namespace convcast {

/// A sample that ran below this part of the SM clock under load is reported, never dropped.
constexpr double throttled_below = 0.9;

/// A value is the median of its samples; of several configurations of one probe the best counts, and they are
/// never mixed. A field without good samples is absent, with the reason in `missing`. Numbers that must agree
/// are in `checks`; configurations not chosen, separate populations, throttled samples and how well formulas
/// fit are in `notes`. What comes out is a profile that read_profile accepts; throws InputError, with the
/// places, if the limits or the id in it cannot be those of one.
GpuProfile analyze(const RawSamples &raw, const std::string &id);

/// Numbers of `profile`, which came from `raw`, that must agree with each other or with what the driver
/// states. A check that lacks a number is not there.
std::vector<ProfileCheck> cross_checks(const RawSamples &raw, const GpuProfile &profile);

/// Whether only published profiles have the field, since a measured one has a curve in its place.
bool is_of_published_profiles(const std::string &field);

} // namespace convcast
