#include "model/network/scaling_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace convcast {
namespace {

// Sizes of mnist.cu and mnist_devices.cu.
constexpr double filters = 6, taps = 25, pool_pixels = 16, outputs = split_outputs_count, block_images = 8,
                 columns_of_windows = 6, all_features = 216, all_parameters = split_all_parameters, edge = 28,
                 convolution_parameters = split_convolution_parameters;
constexpr double lanes = 32.0, slices = 8.0; // slices: threads that share a sum in gather and mnist_update

/// Clocks to fetch an instruction that no earlier warp of the SM has run: what kernels of one warp a
/// scheduler took for code without loops, rows_forward with its pairs of filters unrolled, on an H200.
constexpr double fetch_clocks = 4.2;
/// Bytes a clock that an SM loads of what other SMs wrote in the launch before: mnist_update and gather from
/// 2,048 parts on, 8 to 12 on an H200.
constexpr double written_bytes_a_clock = 12.0;
/// Of what phases of different bounds could overlap, the part that does once CTAs have drifted apart:
/// mnist_step at 16,384 images on an H200.
constexpr double drifted_overlap = 0.2;

double ceiling(double over, double under) {
    constexpr double rounding = 1e-9;
    return std::ceil(over / under - rounding);
}

/// Warps of the busiest of an SM's schedulers, where each CTA has `warps`: CTAs begin with the same
/// scheduler, and only those of at most half as many warps as there are schedulers lie side by side.
double busiest(double ctas, double warps, double schedulers) {
    const double beside = std::max(1.0, std::floor(schedulers / std::max(1.0, warps)));
    return ceiling(ctas, beside) * ceiling(warps, schedulers);
}

/// CTAs on an SM by their registers a thread, their bytes of shared memory, and the warps that it holds.
double resident_ctas(const WindowShare &share, double registers, double shared_bytes) {
    constexpr double of_sm = 65536.0, most_warps = 64.0, shared_of_sm = 233472.0, reserved = 1024.0;
    return std::floor(std::min({of_sm / (registers * lanes * share.warps()), most_warps / share.warps(),
                                shared_of_sm / (shared_bytes + reserved)}));
}

double image_words(const WindowShare &share) {
    return block_images * share.image_bytes() / 4.0;
}

} // namespace

double WindowShare::windows() const {
    return rows * columns_of_windows;
}
double WindowShare::features() const {
    return filters * windows();
}
double WindowShare::image_bytes() const {
    constexpr double pool_rows = 4.0, halo_rows = 4.0;
    return (rows * pool_rows + halo_rows) * edge * 4.0;
}
double WindowShare::threads() const {
    return block_images * windows();
}
double WindowShare::warps() const {
    return ceiling(threads(), lanes);
}
double WindowShare::parameters() const {
    return convolution_parameters + outputs * features() + outputs;
}

SplitKernel SplitKernels::step(double images, bool trains) const {
    constexpr double resident = 2.0, waits = 7.0, pairs = 3.0; // resident: its launch bounds
    const WindowShare all;
    SplitPhase loads = load(all, all_parameters);
    loads.chain += waits * latency(); // of images one after the other, of parameters by fours
    SplitKernel kernel{{loads, convolution(all, pairs), dense_by_three(), logistic()},
                       ceiling(images, block_images),
                       resident};
    if (trains)
        for (const SplitPhase &phase : {deltas(all), filter_gradient_of_step(), dense_gradient(all)})
            kernel.phases.push_back(phase);
    return kernel;
}

SplitKernel SplitKernels::rows_forward(const WindowShare &share, double images, bool sums) const {
    constexpr double registers = 128.0;
    const double weights = outputs * share.features();
    SplitKernel kernel{
        {load(share, convolution_parameters + (sums ? weights : 0.0)), convolution(share, 1.0)},
        ceiling(images, block_images),
        resident_ctas(
            share, registers,
            4.0 * (image_words(share) + convolution_parameters + weights + block_images * share.features()))};
    if (sums)
        kernel.phases.push_back(dense_by_eight(share, share.features(), false));
    return kernel;
}

SplitKernel SplitKernels::rows_back(const WindowShare &share, double images, double devices, bool sums,
                                    bool trains) const {
    constexpr double registers = 104.0, slope_words = 2.0;
    SplitPhase loads = load(share, sums ? outputs * share.features() : outputs * all_features);
    loads.bytes += block_images * 4.0 * (share.features() + (sums ? 0.0 : all_features));
    // Behind the weights: features of one GPU after the other, images and own features.
    loads.chain += ((sums ? 0.0 : devices - 1.0) + (trains ? 2.0 : 0.0)) * latency();
    const double words = image_words(share) + outputs * all_features +
                         block_images * (all_features + share.features() + outputs + convolution_parameters) +
                         filters * share.threads() * slope_words;
    SplitKernel kernel{{loads}, ceiling(images, block_images), resident_ctas(share, registers, 4.0 * words)};
    kernel.phases.push_back(sums ? sums_of_gpus(share) : dense_by_eight(share, all_features, true));
    if (!trains)
        return kernel;
    SplitPhase places = deltas(share);
    places.chain += latency();
    kernel.phases.push_back(places);
    kernel.phases.push_back(filter_gradient_of_rows(share));
    kernel.phases.push_back(dense_gradient(share));
    return kernel;
}

// Every eighth part one after the other, some loads at a time, or as fast as an SM gets what other SMs just
// wrote; then the eight sums.
SplitKernel SplitKernels::sum_of_parts(double numbers, double parts, double at_a_time) const {
    constexpr double instructions = 8.0, resident = 8.0, code = 100.0;
    const double rounds = ceiling(ceiling(parts, slices), at_a_time), blocks = ceiling(numbers, lanes),
                 bytes = numbers * parts * 4.0 / blocks;
    return {{{instructions * at_a_time * rounds, slices, 0.0,
              std::max(rounds * latency(), bytes / written_bytes_a_clock) + 2.0 * latency() +
                  slices * (m_.shared_latency + m_.ffma_latency),
              0.0, code}},
            blocks,
            resident};
}

SplitKernel SplitKernels::update(double numbers, double devices) const {
    constexpr double threads = 128.0, instructions = 40.0, each = 6.0, resident = 8.0, code = 100.0,
                     waits = 3.0;
    return {{{instructions + each * devices, threads / lanes, 0.0, waits * latency(), threads * 4.0 * devices,
              code}},
            ceiling(numbers, threads),
            resident};
}

// Sc2: rounds of CTAs.
double SplitKernels::seconds(const SplitKernel &kernel, double data_bytes) const {
    const double per_sm = ceiling(kernel.blocks, static_cast<double>(m_.sm_count)),
                 first = std::min(per_sm, kernel.resident), later = per_sm - first,
                 full = std::floor(later / kernel.resident), rest = later - full * kernel.resident;
    return m_.launch_s + round(kernel, first, data_bytes, true) +
           full * round(kernel, kernel.resident, data_bytes, false) +
           (rest > 0.0 ? round(kernel, rest, data_bytes, false) : 0.0);
}

// Sc2: a phase takes as long as the issue of its busiest scheduler, its wavefronts, its chain or its bytes.
// CTAs begin with the same scheduler. In later rounds CTAs have drifted apart: bytes arrive while others
// compute, and what bounds one phase overlaps in part with what bounds another.
double SplitKernels::round(const SplitKernel &kernel, double ctas, double data_bytes, bool first) const {
    const double rate =
        (data_bytes > l2_bytes_ ? m_.read_bw : m_.l2_bw) / static_cast<double>(m_.sm_count) / m_.clock;
    double clocks = 0.0, issue = 0.0, wavefronts = 0.0, bytes = 0.0;
    for (const SplitPhase &phase : kernel.phases) {
        const double its_issue = busiest(ctas, phase.warps, m_.schedulers) * phase.instructions,
                     its_wavefronts = ctas * phase.wavefronts, its_bytes = ctas * phase.bytes / rate;
        const double fetched = first ? phase.code * fetch_clocks + phase.repeated * its_issue : 0.0;
        clocks += std::max({its_issue, its_wavefronts, phase.chain + fetched, first ? its_bytes : 0.0}) +
                  m_.barrier_s * m_.clock;
        issue += its_issue, wavefronts += its_wavefronts, bytes += its_bytes;
    }
    if (!first)
        clocks = std::max(clocks - drifted_overlap * (clocks - std::max(issue, wavefronts)), bytes);
    return clocks / m_.clock;
}

template <class Word> double SplitKernels::passes(double threads, int width, const Word &word) const {
    return shared_passes(banks_, static_cast<std::int64_t>(threads), width, word).taken;
}

/// Images and parameters into shared memory, four words of an image at a time.
SplitPhase SplitKernels::load(const WindowShare &share, double parameters) const {
    constexpr double instructions = 5.0, words_at_a_time = 4.0;
    const double vectors = ceiling(image_words(share) / words_at_a_time, share.threads()),
                 words = ceiling(parameters, share.threads());
    constexpr double code = 80.0;
    return {instructions * (vectors + words),
            share.warps(),
            share.warps() * (words_at_a_time * vectors + words),
            2.0 * latency() + 2.0 * m_.shared_latency,
            4.0 * (image_words(share) + parameters),
            code};
}

/// FFMAs of an outer product, comparisons, and what reads pixels and filters. `copies` of the code of a pair
/// of filters.
SplitPhase SplitKernels::convolution(const WindowShare &share, double copies) const {
    constexpr double comparison = 3.0, others = 130.0, pixel_loads = 16.0, filter_loads = 75.0, stores = 12.0,
                     pairs = 3.0;
    const double products = filters * taps * pool_pixels,
                 comparisons = filters * (pool_pixels - 1.0) * comparison;
    const auto corner = [](std::int64_t thread) {
        constexpr std::int64_t columns = 6, window_rows = 112, window_columns = 4; // of windows, in words
        return thread / columns * window_rows + thread % columns * window_columns;
    };
    return {products * (lanes * m_.schedulers / m_.outer_rate) + comparisons + pixel_loads + filter_loads +
                others,
            share.warps(),
            pixel_loads * passes(share.threads(), 4, corner) + share.warps() * (filter_loads + stores),
            0.0,
            0.0,
            copies / pairs * (products + comparisons + filter_loads) + pixel_loads + others,
            1.0 - copies / pairs};
}

/// Three threads an output, two sums each.
SplitPhase SplitKernels::dense_by_three() const {
    constexpr double turns = 36.0, loads_a_turn = 2.0, instructions = 7.0, code = 60.0;
    constexpr std::int64_t threads = 240, a_sum = 3, sums = 10, features = 216;
    return {
        turns * instructions,
        ceiling(threads, lanes),
        turns * loads_a_turn *
            (passes(threads, 1, [](std::int64_t t) { return t / a_sum % sums * features + t % a_sum; }) +
             passes(threads, 1, [](std::int64_t t) { return t / (a_sum * sums) * features + t % a_sum; })),
        turns * m_.ffma_latency + m_.shared_latency,
        0.0,
        code};
}

/// Bias and label come from L2, one after the other; exponential, quotient and slope wait for each other.
double SplitKernels::end_of_sum() const {
    constexpr double clocks = 150.0;
    return 2.0 * latency() + clocks;
}

/// Eight lanes an output, which also end it where that is asked.
SplitPhase SplitKernels::dense_by_eight(const WindowShare &share, double features, bool ends) const {
    constexpr double instructions = 5.0, text_a_turn = 3.0, others = 20.0, shuffles = 3.0,
                     shuffle_clocks = 25.0, clocks_a_turn = 10.0, places = 200.0, of_end = 250.0;
    constexpr std::int64_t a_sum = 8, sums = 10;
    const double warps = std::floor(share.threads() / lanes),
                 groups = warps * lanes / static_cast<double>(a_sum),
                 visits = ceiling(block_images * outputs, groups),
                 turns = ceiling(features, static_cast<double>(a_sum));
    const auto words = static_cast<std::int64_t>(features);
    const double a_turn =
        passes(warps * lanes, 1, [&](std::int64_t t) { return t / a_sum % sums * words + t % a_sum; }) +
        passes(warps * lanes, 1, [&](std::int64_t t) { return t / (a_sum * sums) * words + t % a_sum; });
    return {visits * (turns * instructions + (ends ? others + of_end : others)),
            warps,
            visits * turns * a_turn,
            visits * (turns * clocks_a_turn + m_.shared_latency + shuffles * shuffle_clocks + places +
                      (ends ? end_of_sum() : 0.0)),
            0.0,
            turns * text_a_turn + others};
}

/// Of each output what the GPUs sent, then its end.
SplitPhase SplitKernels::sums_of_gpus(const WindowShare &share) const {
    constexpr double instructions = 80.0;
    const double turns = ceiling(block_images * outputs, share.threads());
    return {turns * instructions,
            ceiling(std::min(block_images * outputs, share.threads()), lanes),
            0.0,
            turns * (latency() + end_of_sum()),
            0.0,
            instructions};
}

/// Sum, exponential, quotient, slope: a few warps, each instruction waits for the one before.
SplitPhase SplitKernels::logistic() const {
    constexpr double instructions = 60.0, clocks = 250.0;
    return {instructions, ceiling(block_images * outputs, lanes), 0.0, clocks, 0.0, instructions};
}

/// Of each own feature by ten slopes and weights.
SplitPhase SplitKernels::deltas(const WindowShare &share) const {
    constexpr double instructions = 3.2, others = 12.0, stores = 2.0;
    const auto windows = static_cast<std::int64_t>(share.windows());
    constexpr std::int64_t slopes = 10;
    const double product = passes(share.threads(), 1, [&](std::int64_t t) { return t / windows * slopes; }) +
                           passes(share.threads(), 1, [&](std::int64_t t) { return t % windows; });
    return {filters * (outputs * instructions + others),
            share.warps(),
            filters * (outputs * product + stores * share.warps()),
            outputs * m_.ffma_latency + m_.shared_latency,
            0.0,
            filters * (outputs * instructions + others)};
}

/// Where a tap lies in an image, and the slopes of its filter: the lanes of a warp have neighbouring taps.
double SplitKernels::gradient_passes(double threads, double slopes) const {
    constexpr std::int64_t of_filter = 25, filter_edge = 5, of_all = 150, row = 28;
    const auto stride = static_cast<std::int64_t>(2.0 * slopes);
    return passes(threads, 1,
                  [](std::int64_t t) { return t % of_filter / filter_edge * row + t % filter_edge; }) +
           passes(threads, 2, [&](std::int64_t t) { return t % of_all / of_filter * stride; });
}

/// A thread a number, four slopes at a time.
SplitPhase SplitKernels::filter_gradient_of_step() const {
    constexpr double instructions = 4.3, at_a_time = 4.0, issue = 16.0, code = 60.0;
    const WindowShare all;
    const double slopes = all.threads();
    return {slopes * instructions,
            ceiling(convolution_parameters, lanes),
            slopes * gradient_passes(convolution_parameters, slopes),
            slopes / at_a_time * (2.0 * m_.shared_latency + m_.ffma_latency + issue),
            0.0,
            code};
}

/// A thread a number of an image, six slopes at a time.
SplitPhase SplitKernels::filter_gradient_of_rows(const WindowShare &share) const {
    constexpr double instructions = 4.6, at_a_time = 6.0, issue = 24.0, others = 175.0, code = 100.0,
                     places = 150.0;
    const double rounds = ceiling(convolution_parameters * block_images, share.threads());
    return {rounds * (share.windows() * instructions + others),
            share.warps(),
            rounds * share.windows() * gradient_passes(share.threads(), share.threads()),
            rounds *
                (places + share.windows() / at_a_time * (2.0 * m_.shared_latency + m_.ffma_latency + issue)),
            0.0,
            code};
}

SplitPhase SplitKernels::dense_gradient(const WindowShare &share) const {
    constexpr double instructions = 25.0, a_product = 3.0, loads = 2.0, clocks = 4.0, code = 60.0,
                     places = 100.0;
    const double rounds = ceiling(outputs * share.features() + outputs, share.threads());
    return {rounds * (block_images * a_product + instructions),
            share.warps(),
            rounds * block_images * loads * share.warps(),
            rounds * (places + m_.shared_latency + block_images * clocks),
            0.0,
            code};
}

} // namespace convcast
