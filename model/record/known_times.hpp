// Times that recordings have of a shape: what ships of a GPU model, and documents that are given.
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

/// Looks up single shapes. Of a case that several recordings have, the one added last counts, and what is
/// added counts before what ships.
class KnownTimes {
  public:
    /// What ships and was measured on the profile's GPU model with as many SMs; nothing of
    /// other GPUs, and nothing of one with numbers that are supposed.
    explicit KnownTimes(const GpuProfile &profile);

    /// The verified cases of a document that was measured.
    void add(const Run &run, const std::string &recording);

    /// Of a strategy's canonical text or a baseline's name.
    std::optional<KnownTime> find(const std::string &shape, const std::string &name) const;

    /// The fastest of the settings of strategies, by their canonical texts, or of the baselines that are
    /// `wanted`; of baselines what ships has of each shape the fastest in FP32 on NCHW tensors, and
    /// cudnn:tf32.
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
