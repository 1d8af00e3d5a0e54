// The kernels that train Cibil's network, by their source: what a CTA does between its barriers, and how long
// a launch takes for it (Sc2).
#pragma once

#include "model/machine/machine.hpp"
#include "model/work/shared_access.hpp"

#include <cstdint>
#include <vector>

namespace convcast {

/// Between two barriers. A warp issues `instructions`; `wavefronts` of shared memory are those of a CTA; a
/// warp needs `chain` clocks at least, what it waits for counted in.
struct SplitPhase {
    double instructions = 0.0, warps = 0.0, wavefronts = 0.0, chain = 0.0;
    double bytes = 0.0;    ///< that a CTA reads from L2 or DRAM
    double code = 0.0;     ///< instructions of its text, which a launch fetches once
    double repeated = 0.0; ///< of what is issued, the part whose text was fetched before
};

struct SplitKernel {
    std::vector<SplitPhase> phases;
    double blocks = 1.0, resident = 1.0; ///< CTAs, and those that an SM has room for
};

/// What a GPU has of an image, and threads: one for each of its windows in eight images.
struct WindowShare {
    double rows = 6.0; ///< of windows
    double windows() const;
    double features() const;
    double image_bytes() const; ///< of its rows, with the halo
    double threads() const;
    double warps() const;
    double parameters() const; ///< whose gradient the GPU has: filters, biases, own weights, biases
};

class SplitKernels {
  public:
    SplitKernels(const Machine &machine, const Banks &banks, double l2_bytes)
        : m_(machine), banks_(banks), l2_bytes_(l2_bytes) {}

    SplitKernel step(double images, bool trains) const; ///< mnist_step
    SplitKernel rows_forward(const WindowShare &share, double images, bool sums) const;
    SplitKernel rows_back(const WindowShare &share, double images, double devices, bool sums,
                          bool trains) const;
    SplitKernel sum_of_parts(double numbers, double parts,
                             double at_a_time) const;         ///< gather and mnist_update
    SplitKernel update(double numbers, double devices) const; ///< update_summed and update_rows

    /// Seconds of a launch; `data_bytes` that it reads in all decide whether they are in L2.
    double seconds(const SplitKernel &kernel, double data_bytes) const;

  private:
    double latency() const { return m_.l2_latency_s * m_.clock; }
    double round(const SplitKernel &kernel, double ctas, double data_bytes, bool first) const;
    template <class Word> double passes(double threads, int width, const Word &word) const;
    SplitPhase load(const WindowShare &share, double parameters) const;
    SplitPhase convolution(const WindowShare &share, double copies) const;
    SplitPhase dense_by_three() const;
    double end_of_sum() const;
    SplitPhase dense_by_eight(const WindowShare &share, double features, bool ends) const;
    SplitPhase sums_of_gpus(const WindowShare &share) const;
    SplitPhase logistic() const;
    SplitPhase deltas(const WindowShare &share) const;
    double gradient_passes(double threads, double slopes) const;
    SplitPhase filter_gradient_of_step() const;
    SplitPhase filter_gradient_of_rows(const WindowShare &share) const;
    SplitPhase dense_gradient(const WindowShare &share) const;

    const Machine &m_;
    Banks banks_;
    double l2_bytes_;
};

/// Of the whole network.
inline constexpr double split_all_parameters = 2326.0, split_outputs_count = 10.0,
                        split_convolution_parameters = 156.0;

} // namespace convcast
