// Ratios, as of forecast over measured, and how far they lie from 1.
#pragma once

#include "model/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace convcast {

/// Errors of ratios: |ratio - 1|.
class RatioErrors {
  public:
    void add(double ratio) {
        ratios_.push_back(ratio);
        errors_.push_back(std::abs(ratio - 1.0));
        symmetric_.push_back(std::max(ratio, 1.0 / ratio) - 1.0);
    }
    std::int64_t n() const { return std::ssize(errors_); }
    double last() const { return errors_.back(); }
    double mean() const { return mean_of(errors_); }
    /// Of max(ratio, 1 / ratio) - 1: the same for half and for twice the time. Requires ratios above 0.
    double symmetric() const { return mean_of(symmetric_); }
    double bias() const { return geometric_mean_of(ratios_); }
    /// By nearest rank. Requires a ratio, as the next two do.
    double at(double share) const { return percentile(errors_, share); }
    /// The mean of the middle two of an even number.
    double median() const { return middle_of(errors_); }
    /// The share of the errors that are no larger.
    double within(double error) const {
        return static_cast<double>(
                   std::count_if(errors_.begin(), errors_.end(), [&](double its) { return its <= error; })) /
               static_cast<double>(n());
    }

  private:
    std::vector<double> ratios_, errors_, symmetric_;
};

} // namespace convcast
