// Ratios, as of forecast over measured, and how far they lie from 1.
#pragma once

#include "model/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace convcast {

/// Collects ratios, forecast over measured, and says how far they are off. An error is |ratio - 1|.
class RatioErrors {
  public:
    void add(double ratio) {
        ratios_.push_back(ratio);
        errors_.push_back(std::abs(ratio - 1.0));
        symmetric_.push_back(std::max(ratio, 1.0 / ratio) - 1.0);
    }
    std::int64_t n() const { return std::ssize(errors_); }
    double last() const { return errors_.back(); } ///< the error that was added last
    double mean() const { return mean_of(errors_); }
    /// The mean of max(ratio, 1 / ratio) - 1, the same for half and for twice the time. Ratios are above 0.
    double symmetric() const { return mean_of(symmetric_); }
    double bias() const { return geometric_mean_of(ratios_); } ///< the geometric mean of the ratios
    /// The error that this share (0 to 1) does not exceed, by nearest rank. Needs a ratio, as the next two.
    double at(double share) const { return percentile(errors_, share); }
    /// The median error; of an even number the mean of the middle two.
    double median() const { return middle_of(errors_); }
    /// The share (0 to 1) of the errors that are at most `error`.
    double within(double error) const {
        return static_cast<double>(
                   std::count_if(errors_.begin(), errors_.end(), [&](double its) { return its <= error; })) /
               static_cast<double>(n());
    }

  private:
    std::vector<double> ratios_, errors_, symmetric_;
};

} // namespace convcast
