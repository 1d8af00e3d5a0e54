// Measured times of a shape on a GPU model, from recordings that ship and documents that the user gives.
#pragma once

#include "model/base/units.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// A case that was measured: the median of one call with a cold L2, filter preparation included.
struct KnownTime {
    std::string name; ///< a strategy's canonical text, or a baseline
    Seconds time_s;
    std::string recording; ///< "sweep of 2026-11-22"
};

/// Where several recordings have a case, the one added last counts; what ships counts least.
class KnownTimes {
  public:
    /// Takes the times that ship and were measured on the profile's GPU model with as many SMs; none where
    /// the profile has numbers that the user supposed, as there is no such GPU.
    explicit KnownTimes(const GpuProfile &profile);

    /// Adds the ok cases of a document that were measured with a cold L2, but no times from elsewhere.
    void add(const Run &run, const std::string &recording);

    /// The time of a shape by a strategy's canonical text or a baseline's name; absent where none is known.
    std::optional<KnownTime> find(const std::string &shape, const std::string &name) const;

    /// The fastest of a shape's settings, or of its baselines, whose names are `wanted`. The table that ships
    /// has of the baselines only the fastest in FP32 on NCHW tensors, and cudnn:tf32.
    enum class Of { settings, baselines };
    std::optional<KnownTime> fastest(Of of, const std::string &shape,
                                     const std::function<bool(const std::string &)> &wanted) const;

  private:
    struct OfShape {
        std::vector<KnownTime> times; ///< what was added last stands last
        bool canonical = false;       ///< the names in `times` are as this version writes them
    };
    const std::vector<KnownTime> &of(const std::string &shape) const;

    mutable std::map<std::string, OfShape> times_; ///< by shape
};

} // namespace convcast
