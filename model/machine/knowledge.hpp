// What a forecast is given besides shape and profile: the facts of the kernels, and a calibration. Chosen
// once for a GPU, and passed on from there; nothing looks them up on its own.
#pragma once

#include "model/machine/calibration.hpp"
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// Default: the forecast without counters, with the numbers that are assumed without a fit.
struct Knowledge {
    Facts facts;                            ///< no kernels: without counters
    std::optional<Calibration> calibration; ///< absent: nothing is fitted
    /// A sentence each, for every prediction with a time: what is borrowed from another GPU or lacking, and
    /// what numbers of the profile were supposed.
    std::vector<std::string> assumptions;
};

/// For each of facts and calibration: "" takes that of the profile's folder or else what ships and matches
/// the GPU, "none" takes nothing, anything else is a file, borrowed where it is of another GPU. Facts match a
/// compute capability; a calibration matches a GPU model, which is a profile's name and compute capability,
/// and is borrowed by other models of that capability. Throws InputError.
Knowledge knowledge_for(const GpuProfile &profile, const std::string &facts = "",
                        const std::string &calibration = "");

/// Names facts and calibration by what they are of and a hash of their content; for a Run's conditions.
std::map<std::string, std::string> conditions_of(const Knowledge &knowledge);

/// Hash of the content of facts; empty where there are none.
std::string facts_hash(const Facts &facts);

} // namespace convcast
