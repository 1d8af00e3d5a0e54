// A launch with the shapes of what it computes, for those who count its work (rung_work.cpp).
#pragma once

#include "model/network/rung_work.hpp"
#include "model/work/shared_access.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace convcast {

// How the compiler orders what the source leaves to it, read off PTX and the ladders' times.
inline constexpr double loads_under_way = 16.0;   ///< of a thread, before it waits for the first of them
inline constexpr std::int64_t copies_at_once = 4; ///< a loop of copies is unrolled so often, its rest is not

// Instructions beside loads and arithmetic.
inline constexpr double thread_instructions = 20.0, ///< addresses and comparisons of a thread
    round_instructions = 7.0,                       ///< of an iteration of a loop
    copy_instructions = 5.0;                        ///< of an element from global to shared memory

enum class From : std::uint8_t { global, shared, constant };

struct CountedLaunch {
    CountedLaunch(const LadderLaunch &its, const Rung &of, const Network &net, std::int64_t its_images,
                  const Gpu &its_gpu);

    struct Pooling {
        ImageShape output;
        std::int64_t window;
    };

    const LadderLaunch &launch;
    const Rung &rung;
    const Network &network;
    std::int64_t images;
    const Gpu &gpu;
    Banks banks;
    std::vector<ConvShape> convolutions, denses; ///< of one image
    std::vector<Pooling> poolings;

    std::int64_t threads() const; ///< of a block
    /// Warps that hold the first `rows` rows of threads of a block.
    double busy_warps(std::int64_t rows, std::int64_t columns) const;
    /// Passes of one load by a warp on average, where thread (i, j) of `rows` x `columns` reads word(i, j).
    /// Of constant memory: different addresses.
    double mean_passes(std::int64_t rows, std::int64_t columns, From from,
                       const std::function<std::int64_t(std::int64_t, std::int64_t)> &word,
                       int width = 1) const;
};

/// Times that a loop of copies waits, in which all threads of a block share `elements`.
double copy_waits(std::int64_t elements, std::int64_t threads);

/// Such a loop from global to shared memory, `width` words an element.
LaunchPhase copy_phase(const CountedLaunch &of, std::int64_t elements, int width);

/// Kernels that compute several layers or many images: one_kernel, pairs_batch, dense_batch, mnist_step,
/// mnist_update.
std::map<std::string, std::function<void(const CountedLaunch &, LaunchWork &)>> counters_of_fused_kernels();

/// The kernels of Cibil's thesis (mnist_thesis.cu), and those of a step of training of fashion_mnist.
std::map<std::string, std::function<void(const CountedLaunch &, LaunchWork &)>> counters_of_the_thesis();
std::map<std::string, std::function<void(const CountedLaunch &, LaunchWork &)>> counters_of_training();

} // namespace convcast
