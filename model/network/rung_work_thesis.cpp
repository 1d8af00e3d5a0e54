// The work of the kernels of Cibil's thesis, naive and data-oriented, forward and back: mnist_thesis.cu of
// executor/network. Where a count depends on the images, every pixel and every maximum is taken to be other
// than zero and a window's maximum to lie at any of its pixels equally often.
#include "model/base/divide.hpp"
#include "model/network/counted_launch.hpp"
#include "model/paper/papers.hpp"
#include "model/plan/occupancy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace convcast {
namespace {

constexpr double sector_floats = 8.0, sector_size = 32.0, line_floats = 32.0;
constexpr double shuffles_of_a_sum = 5.0; ///< of 32 lanes, each halving adds once

double as_real(std::int64_t n) {
    return static_cast<double>(n);
}

/// The shapes of mnist.
struct Thesis {
    explicit Thesis(const CountedLaunch &of)
        : row(28), map_edge(24), filters(6), taps(25), pool(4), pooled_edge(6), classes(10),
          map(map_edge * map_edge), pooled(pooled_edge * pooled_edge), features(filters * pooled),
          weights_at(filters * (taps + 1)), image(row * row),
          parameters(weights_at + classes * (features + 1)), images(as_real(of.images)) {}
    std::int64_t row, map_edge, filters, taps, pool, pooled_edge, classes;
    std::int64_t map, pooled, features, weights_at, image, parameters;
    double images; ///< of the launch
};

LaunchPhase thesis_phase(const CountedLaunch &of, const char *name) {
    LaunchPhase phase;
    phase.name = name;
    phase.warps = as_real(ceil_div(of.threads(), warp_lanes));
    phase.instructions = thread_instructions;
    phase.l2_waits = 1.0;
    return phase;
}

/// Passes through L1 of a warp of the block's on average, where thread t touches word(t) of global memory.
double thread_passes(std::int64_t threads, const std::function<std::int64_t(std::int64_t)> &word) {
    return gathered(threads, 1, word) / as_real(ceil_div(threads, warp_lanes));
}

/// Sectors of `count` neighbouring floats that warps touch, the first of them at float `first` of a sector.
double sectors_of_run(std::int64_t first, std::int64_t count) {
    constexpr std::int64_t floats = 8;
    double all = 0.0;
    for (std::int64_t begin = 0; begin < count; begin += warp_lanes) {
        const std::int64_t last = std::min(count, begin + warp_lanes) - 1;
        all += as_real((first + last) / floats - (first + begin) / floats + 1);
    }
    return all;
}

void of_bytes(LaunchWork &work, double read_floats, double written_floats) {
    work.read_bytes = sizeof(float) * read_floats;
    work.written_bytes = sizeof(float) * written_floats;
}

// ---- both ways ----

void thesis_clear(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    LaunchPhase phase = thesis_phase(of, "zeroes");
    phase.passes = 1.0, phase.l2_waits = 0.0;
    work.phases = {phase};
    of_bytes(work, 0.0, as_real(s.parameters));
}

void thesis_update(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    LaunchPhase phase = thesis_phase(of, "update");
    phase.instructions += 10.0, phase.passes = 8.0, phase.chain = 5.0; // 6 loads, 2 stores
    phase.l2_waits = 2.0; // the rate is read when the velocity has been stored
    work.phases = {phase};
    of_bytes(work, 3.0 * as_real(s.parameters), 2.0 * as_real(s.parameters));
}

// ---- naive: a block an image ----

/// A thread a pixel of the map, a round a filter: 25 pixels and 25 weights, each from L1.
void naive_convolve(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    LaunchPhase phase = thesis_phase(of, "convolution");
    const double taps = as_real(s.taps), filters = as_real(s.filters);
    phase.rounds = filters;
    phase.instructions = 3.0 * taps + round_instructions;
    phase.passes =
        taps *
            (thread_passes(s.map, [&](std::int64_t t) { return t / s.map_edge * s.row + t % s.map_edge; }) +
             1.0) +
        1.0;
    phase.chain = taps;
    const double waits = 2.0 * taps / loads_under_way;
    phase.l2_waits = waits / filters; // the first filter brings the image
    phase.l1_waits = waits * (filters - 1.0) / filters;
    work.phases = {phase};
    of_bytes(work, s.images * as_real(s.image), s.images * filters * as_real(s.map));
}

void naive_relu(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    const double filters = as_real(s.filters), all = s.images * filters * as_real(s.map);
    LaunchPhase phase = thesis_phase(of, "bias and ReLU");
    phase.instructions += filters * 5.0, phase.passes = filters * 3.0;
    work.phases = {phase};
    of_bytes(work, all, all);
}

/// Of a load or store of each window's same pixel.
double window_passes(const Thesis &s) {
    return thread_passes(s.pooled, [&](std::int64_t t) {
        return t / s.pooled_edge * s.pool * s.map_edge + t % s.pooled_edge * s.pool;
    });
}

/// A round a filter: 16 pixels, then the maximum once more.
LaunchPhase largest_phase(const CountedLaunch &of, const char *name) {
    const Thesis s(of);
    constexpr double each = 4.0,
                     of_place = 6.0; // load, comparison, two choices; row and column of the largest
    const double pixels = as_real(s.pool * s.pool);
    LaunchPhase phase = thesis_phase(of, name);
    phase.rounds = as_real(s.filters);
    phase.instructions = each * pixels + of_place + 2.0 + round_instructions;
    phase.passes = (pixels + 1.0) * window_passes(s) + 1.0;
    phase.chain = pixels;
    phase.l1_waits = 1.0;
    return phase;
}

void naive_pool(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    work.phases = {largest_phase(of, "maxima")};
    of_bytes(work, s.images * as_real(s.filters * s.map), s.images * as_real(s.features + s.classes));
}

/// All threads of a block add to the same address, output by output.
void naive_dense(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    const double classes = as_real(s.classes);
    LaunchPhase phase = thesis_phase(of, "products and adds");
    phase.instructions += classes * 3.0, phase.passes = 1.0 + 2.0 * classes;
    phase.l2_waits = 1.0, phase.l1_waits = classes; // no load passes an add that may have changed it
    work.phases = {phase};
    work.atomics = s.images * as_real(s.features) * classes;
    const double resident = as_real(resident_ctas(of.gpu, work.threads, work.registers, work.shared_bytes)) *
                            of.gpu.limits.sm_count;
    work.atomic_lines = std::min(as_real(work.ctas), resident) * classes / line_floats;
    of_bytes(work, s.images * as_real(s.features) + as_real(s.parameters), s.images * classes);
}

LaunchPhase outputs_phase(const CountedLaunch &of) {
    constexpr double exponential = 40.0; // with the quotient and the gradient of the loss
    LaunchPhase phase = thesis_phase(of, "outputs");
    phase.instructions += exponential, phase.passes = 5.0, phase.chain = exponential / 2.0;
    return phase;
}

void naive_outputs(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    work.phases = {outputs_phase(of)};
    of_bytes(work, s.images * as_real(s.classes), 2.0 * s.images * as_real(s.classes));
}

void naive_dense_back(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    const double classes = as_real(s.classes);
    LaunchPhase phase = thesis_phase(of, "products and adds");
    phase.instructions += classes * 6.0, phase.passes = 3.0 + classes * 3.0;
    phase.l2_waits = 1.0, phase.l1_waits = classes, phase.chain = classes;
    work.phases = {phase};
    double sectors = sectors_of_run(s.parameters - s.classes, s.classes);
    for (std::int64_t output = 0; output < s.classes; ++output)
        sectors += sectors_of_run(s.weights_at + output * s.features, s.features);
    work.atomics = s.images * sectors;
    work.atomic_lines = as_real(s.classes * (s.features + 1)) / line_floats;
    of_bytes(work, s.images * as_real(s.features + s.classes) + as_real(s.parameters),
             s.images * as_real(s.features));
}

/// Zeroes for 16 pixels a window, which fill their sectors in turn, so that L2 gets them whole; the maxima do
/// not.
void naive_pool_back(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    LaunchPhase phase = largest_phase(of, "zeroes and maxima");
    const double pixels = as_real(s.pool * s.pool);
    phase.instructions += pixels + 2.0, phase.passes += (pixels + 1.0) * window_passes(s);
    work.phases = {phase};
    work.partial_bytes = s.images * as_real(s.features) * sector_size;
    of_bytes(work, s.images * as_real(s.filters * s.map + s.features), s.images * as_real(s.filters * s.map));
}

/// Of the maps about half is positive: hardly a sector is all zero or has none.
void naive_relu_back(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    const double filters = as_real(s.filters), all = s.images * filters * as_real(s.map);
    LaunchPhase phase = thesis_phase(of, "ReLU");
    phase.instructions += filters * 4.0, phase.passes = filters * 2.0;
    work.phases = {phase};
    work.partial_bytes = sizeof(float) * all;
    of_bytes(work, all, 0.0);
}

/// A thread a weight: 576 pixels one after the other, four at a time.
void naive_convolve_back(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    constexpr double at_once = 4.0, each = 12.0; // two loads, a product, row and column
    LaunchPhase phase = thesis_phase(of, "sums over the map");
    const double map = as_real(s.map);
    phase.warps = as_real(ceil_div(s.weights_at, warp_lanes));
    phase.rounds = map / at_once;
    phase.instructions = at_once * each + round_instructions;
    const double pixels = thread_passes(s.filters * s.taps,
                                        [&](std::int64_t t) {
                                            const std::int64_t tap = t % s.taps;
                                            return tap / 5 * s.row + tap % 5;
                                        }),
                 gradients =
                     thread_passes(s.filters * s.taps, [&](std::int64_t t) { return t / s.taps * s.map; });
    phase.passes = at_once * (pixels + gradients);
    phase.chain = at_once;
    // A round waits for L2 where a line of the image or of the gradient begins.
    const double lines = (map + as_real(s.image)) / line_floats;
    phase.l2_waits = lines / phase.rounds, phase.l1_waits = 1.0 - phase.l2_waits;
    work.phases = {phase};
    work.atomics = s.images * sectors_of_run(0, s.weights_at);
    work.atomic_lines = std::ceil(as_real(s.weights_at) / line_floats);
    of_bytes(work, s.images * as_real(s.image + s.filters * s.map), 0.0);
}

// ---- data-oriented: the images of a stream ----

void oriented_clear(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    LaunchPhase phase = thesis_phase(of, "zeroes");
    phase.passes = 2.0, phase.l2_waits = 0.0;
    work.phases = {phase};
    of_bytes(work, 0.0, s.images * as_real(s.filters * s.map + s.classes));
}

/// A thread a pixel of the map: a load, then an add for each filter.
void oriented_convolve(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    const double filters = as_real(s.filters), pixels = s.images * as_real(s.map);
    LaunchPhase weights = thesis_phase(of, "weights");
    weights.warps = weights.barriers = 1.0, weights.passes = 2.0;
    LaunchPhase phase = thesis_phase(of, "products and adds");
    phase.instructions += filters * 5.0, phase.passes = 1.0 + 2.0 * filters;
    phase.shared_waits = 1.0;
    work.phases = {weights, phase};
    work.atomics = pixels * filters / sector_floats;
    work.atomic_lines = pixels * filters / line_floats;
    of_bytes(work, pixels, pixels * filters);
}

void oriented_relu(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    const double all = s.images * as_real(s.filters * s.map);
    LaunchPhase phase = thesis_phase(of, "bias and ReLU, laid out anew");
    constexpr double division = 25.0; // by a number of images that the compiler does not know
    phase.instructions += division + 20.0, phase.passes = 3.0;
    work.phases = {phase};
    of_bytes(work, all, all);
}

void oriented_pool(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    const double pixels = as_real(s.pool * s.pool), all = s.images * as_real(s.features);
    LaunchPhase phase = thesis_phase(of, "maxima");
    phase.instructions += pixels * 5.0, phase.passes = pixels + 2.0, phase.chain = pixels;
    work.phases = {phase};
    of_bytes(work, all * pixels, 2.0 * all);
}

void oriented_dense(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    const double classes = as_real(s.classes), all = s.images * as_real(s.features);
    LaunchPhase weights = thesis_phase(of, "weights");
    weights.warps = weights.barriers = 1.0, weights.passes = 2.0;
    LaunchPhase phase = thesis_phase(of, "products and adds");
    phase.instructions += classes * 5.0, phase.passes = 1.0 + 2.0 * classes;
    phase.shared_waits = 1.0;
    work.phases = {weights, phase};
    work.atomics = all * classes / sector_floats;
    work.atomic_lines = s.images * classes / line_floats;
    of_bytes(work, all + as_real(s.parameters), s.images * classes);
}

void oriented_outputs(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    LaunchPhase phase = outputs_phase(of);
    phase.passes += line_floats / 3.0; // image x output: each lane a line
    work.phases = {phase};
    const double all = s.images * as_real(s.classes);
    work.partial_bytes = all * sector_size;
    of_bytes(work, all, all);
}

/// An output after the other: two sums of a warp, which lane 0 adds.
void oriented_dense_back(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    LaunchPhase phase = thesis_phase(of, "sums of warps and adds");
    const double classes = as_real(s.classes), all = s.images * as_real(s.features);
    phase.rounds = classes;
    // Loads, products, and both sums, whose shuffles take turns.
    phase.instructions = 4.0 * shuffles_of_a_sum + 10.0;
    phase.passes = 3.0 + 2.0 * shuffles_of_a_sum;
    phase.shuffles = shuffles_of_a_sum, phase.chain = 2.0;
    work.phases = {phase};
    const double warps = as_real(work.ctas) * phase.warps;
    work.atomics = warps * classes * (1.0 + 1.0 / as_real(s.features));
    work.atomic_lines = as_real(s.classes * (s.features + 1)) / line_floats;
    of_bytes(work, all + s.images * classes + as_real(s.parameters), all);
}

/// A place of the filter after the other; lanes read different pixels of their images.
void oriented_convolve_back(const CountedLaunch &of, LaunchWork &work) {
    const Thesis s(of);
    LaunchPhase first = thesis_phase(of, "where the maxima lie");
    first.passes = 2.0;
    LaunchPhase phase = thesis_phase(of, "sums of warps and adds");
    const double taps = as_real(s.taps), places = as_real(s.pool * s.pool), lanes = as_real(warp_lanes);
    phase.rounds = taps;
    phase.instructions = 2.0 * shuffles_of_a_sum + 10.0;
    const double lines = places * (1.0 - std::pow(1.0 - 1.0 / places, lanes)); // that 32 images' maxima meet
    phase.passes = l1_passes(lines, 1.0) + shuffles_of_a_sum + 1.0;
    phase.shuffles = shuffles_of_a_sum, phase.chain = 1.0;
    phase.l2_waits = 1.0;
    work.phases = {first, phase};
    const double warps = as_real(work.ctas) * phase.warps;
    work.atomics = warps * (taps + 1.0);
    work.atomic_lines = std::ceil(as_real(s.weights_at) / line_floats);
    const double window = as_real((s.pool + 4) * (s.pool + 4)); // pixels under a window's filters
    work.l2_read_bytes = sizeof(float) * as_real(s.features) * s.images * (window + 2.0);
    of_bytes(work, s.images * as_real(s.image + 2 * s.features), 0.0);
}

} // namespace

std::map<std::string, std::function<void(const CountedLaunch &, LaunchWork &)>> counters_of_the_thesis() {
    return {{"thesis_clear", thesis_clear},
            {"thesis_update", thesis_update},
            {"naive_convolve", naive_convolve},
            {"naive_relu", naive_relu},
            {"naive_pool", naive_pool},
            {"naive_dense", naive_dense},
            {"naive_outputs", naive_outputs},
            {"naive_dense_back", naive_dense_back},
            {"naive_pool_back", naive_pool_back},
            {"naive_relu_back", naive_relu_back},
            {"naive_convolve_back", naive_convolve_back},
            {"oriented_clear", oriented_clear},
            {"oriented_convolve", oriented_convolve},
            {"oriented_relu", oriented_relu},
            {"oriented_pool", oriented_pool},
            {"oriented_dense", oriented_dense},
            {"oriented_outputs", oriented_outputs},
            {"oriented_dense_back", oriented_dense_back},
            {"oriented_convolve_back", oriented_convolve_back}};
}

} // namespace convcast
