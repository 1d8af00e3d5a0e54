// How long L2 takes for atomic adds that nobody waits for. Equation N10 of docs/equations.md.
#pragma once

#include "model/machine/profile.hpp"

namespace convcast {

/// Lines of the busiest of `slices` slices of L2, where `lines` lines are spread over them at random.
double busiest_slice(double lines, double slices);

/// N10, with two numbers of the profile: adds to one address, and to the most addresses that were measured.
class AtomicAdds {
  public:
    explicit AtomicAdds(const GpuProfile &profile);
    /// Whether the profile has both numbers.
    bool known() const { return slices_ > 0.0; }
    double slices() const { return slices_; }
    /// Of `adds` to so many lines at the same time.
    Seconds time(double adds, double lines) const;

  private:
    double one_ = 0.0; ///< seconds of an add where all go to one address
    double slices_ = 0.0;
};

} // namespace convcast
