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

/// By default a forecast uses neither counters nor a fit (FittedNumbers has what is assumed then).
struct Knowledge {
    Facts facts;                            ///< no kernels: forecasts without counters
    std::optional<Calibration> calibration; ///< absent: nothing is fitted
    /// Sentences for every prediction with a time: what is borrowed from another GPU, what is lacking, and
    /// which numbers of the profile were supposed.
    std::vector<std::string> assumptions;
};

/// The facts and the calibration for a GPU. Each of the two texts says which: "" takes that of the profile's
/// folder or else what ships and matches the GPU; "none" takes nothing; anything else is the path of a file,
/// which is borrowed if it is of another GPU. Facts match a compute capability. A calibration matches a GPU
/// model, which is a profile's name and compute capability, and is borrowed by other models of that
/// capability. Throws InputError for a file that cannot be read.
Knowledge knowledge_for(const GpuProfile &profile, const std::string &facts = "",
                        const std::string &calibration = "");

/// The conditions "facts" and "calibration" of a Run: which GPU each is of, and the hash of its content.
std::map<std::string, std::string> conditions_of(const Knowledge &knowledge);

/// Hash of the content of facts; "" if they have no kernels.
std::string facts_hash(const Facts &facts);

} // namespace convcast
