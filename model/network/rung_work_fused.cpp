// The work of kernels that compute several layers or many images: one_kernel, pairs_batch, dense_batch,
// mnist_step and mnist_update, as executor/network has them.
#include "model/base/divide.hpp"
#include "model/network/counted_launch.hpp"
#include "model/paper/papers.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace convcast {
namespace {

double real(std::int64_t n) {
    return static_cast<double>(n);
}

double warps_for(std::int64_t threads) {
    return real(ceil_div(threads, warp_lanes));
}

/// Lanes that read the same 16 bytes take two passes (W3).
constexpr double uniform_wide_passes = 2.0;
constexpr double halvings_of_warp = 5.0;

LaunchPhase named(const char *name, double warps, double rounds = 1.0) {
    LaunchPhase phase;
    phase.name = name;
    phase.warps = warps, phase.rounds = rounds;
    return phase;
}

/// A window of the pooled map by a thread: the pixels under it stay in registers for `filters` filters, whose
/// values lie in shared memory `filters_at_once` beside each other.
LaunchPhase window_phase(const ConvShape &s, std::int64_t window, double warps, double rounds,
                         std::int64_t filters, std::int64_t filters_at_once, std::int64_t pixel_width) {
    LaunchPhase phase = named("convolution and pooling", warps, rounds);
    const std::int64_t patch = window + s.r - 1, taps = s.r * s.s;
    const double pixel_loads = real(patch * ceil_div(patch, pixel_width)),
                 filter_loads = real(taps * filters / filters_at_once);
    phase.products = real(taps * filters * window * window);
    const double comparisons = real(filters * window * window);
    phase.instructions =
        phase.products + comparisons + pixel_loads + filter_loads + 2.0 * thread_instructions;
    phase.passes = pixel_loads * real(pixel_width) +
                   filter_loads * (filters_at_once == 4 ? uniform_wide_passes : 1.0) + real(filters);
    phase.chain = real(taps); // each sum's products wait for each other
    phase.shared_waits = 1.0;
    return phase;
}

/// 16 clusters of 8 blocks an image; a block has 4 channels of the first pair and the cluster 4 filters of
/// the second (fashion_mnist.cu).
void one_kernel(const CountedLaunch &of, LaunchWork &work) {
    const ConvShape &first = of.convolutions[0], &second = of.convolutions[1];
    const std::int64_t blocks = of.launch.grid[0], cluster = *of.launch.cluster, clusters = blocks / cluster,
                       threads = of.threads(), channels = first.k / cluster, filters = second.k / clusters,
                       pixels = second.p() * second.q(), outputs = filters * pixels / cluster,
                       units = of.denses[0].k;
    const std::int64_t windows = channels * of.poolings[0].output[1] * of.poolings[0].output[2];
    const double warps = warps_for(threads);
    LaunchPhase load = named("copy", warps);
    for (const std::int64_t elements : // image, filters, weights of both dense layers, biases
         {first.h * first.w / 4, channels * first.r * first.s, filters * channels * second.r * second.s,
          units * outputs / 4 / 4, of.denses[1].k * units / 2, units, channels + filters})
        load.rounds += copy_waits(elements, threads);
    load.rounds -= 1.0;
    load.instructions = copy_instructions + round_instructions, load.passes = 3.0, load.l2_waits = 1.0;
    load.barriers = 1.0 / load.rounds;
    LaunchPhase pair =
        window_phase(first, of.poolings[0].window, warps, real(ceil_div(windows, threads)), 1, 1, 2);
    pair.products = 0.0; // one factor of each product is the same: two registers
    pair.barriers = 1.0 / pair.rounds;
    const double taps = real(second.r * second.s);
    LaunchPhase sums = named("second convolution", warps_for(channels * pixels));
    sums.instructions = taps * (2.0 + real(filters)) + thread_instructions;
    LadderLaunch map = of.launch; // neighbouring threads have neighbouring pixels
    map.block = {second.q(), second.p(), 1};
    const CountedLaunch of_map(map, of.rung, of.network, of.images, of.gpu);
    const double of_pixels =
        of_map.mean_passes(second.p(), second.q(), From::shared,
                           [&](std::int64_t i, std::int64_t j) { return i * second.w + j; });
    sums.passes = taps * (of_pixels + uniform_wide_passes) + real(filters);
    sums.chain = taps, sums.shared_waits = sums.barriers = 1.0;
    LaunchPhase meet = named("sum of the cluster", warps_for(cluster * outputs));
    constexpr double halvings = 3.0; // of eight lanes
    meet.instructions = 2.0 * thread_instructions, meet.passes = real(channels) + 2.0;
    meet.chain = real(channels) + halvings, meet.shuffles = halvings, meet.shared_waits = 2.0;
    meet.cluster_meets = 2.0, meet.cluster_waits = 1.0, meet.barriers = 3.0;
    LaunchPhase columns = named("first dense layer", warps_for(units));
    columns.instructions = 2.0 * thread_instructions, columns.passes = 2.0 * 4.0 + 2.0;
    columns.chain = real(outputs / 4), columns.shared_waits = 1.0;
    columns.grid_meets = 1.0, columns.barriers = 2.0;
    work.phases = {load, pair, sums, meet, columns};
    LaunchPhase last = named("last layers", warps);
    last.l2_waits = real(blocks / 4) / loads_under_way;
    last.instructions = real(blocks / 4) * 2.0 + 3.0 * thread_instructions;
    last.passes = real(blocks / 4) + 8.0, last.chain = real(blocks / 4) + 4.0 + halvings_of_warp;
    last.shuffles = halvings_of_warp, last.shared_waits = 2.0, last.barriers = 2.0;
    work.last = {last};
    const double block_bytes = sizeof(float) * real(first.h * first.w + channels * first.r * first.s +
                                                    filters * channels * second.r * second.s +
                                                    units * outputs / 4 + of.denses[1].k * units);
    work.l2_read_bytes = real(work.ctas) * block_bytes;
}

/// A block stays on its SM with half of the second filters and takes four images at a time
/// (fashion_mnist_batch.cu).
void pairs_batch(const CountedLaunch &of, LaunchWork &work) {
    const ConvShape &first = of.convolutions[0], &second = of.convolutions[1];
    const std::int64_t threads = of.threads(), at_once = *of.launch.group_images, halves = of.launch.grid[0],
                       groups = ceil_div(of.images, at_once), neighbours = work.ctas / halves,
                       rounds = ceil_div(groups, neighbours);
    const double warps = warps_for(threads), turns = real(rounds);
    LaunchPhase filters = copy_phase(of, second.k * second.c * second.r * second.s / halves / 4, 4),
                others = copy_phase(of, first.k * first.r * first.s, 1),
                images = copy_phase(of, at_once * first.h * first.w / 4, 4);
    images.rounds = turns; // fetched while the images before are computed
    images.l2_waits = 1.0 / turns, images.shared_waits = 1.0, images.barriers = 1.0;
    constexpr std::int64_t thread_channels = 8, thread_filters = 4;
    const std::int64_t windows = at_once * of.poolings[0].output[1] * of.poolings[0].output[2];
    LaunchPhase pair = window_phase(first, of.poolings[0].window, warps,
                                    turns * real(ceil_div(windows * first.k / thread_channels, threads)),
                                    thread_channels, 4, 2);
    pair.barriers = turns / pair.rounds;
    LaunchPhase sums = named("second convolution", warps, turns * real(second.c));
    const double taps = real(second.r * second.s), pixel_loads = real(second.r * second.w / 4);
    sums.products = taps * real(thread_filters * second.q());
    sums.instructions = sums.products + taps + pixel_loads + round_instructions;
    sums.passes = taps * uniform_wide_passes + pixel_loads * 4.0;
    sums.chain = taps, sums.shared_waits = 1.0;
    LaunchPhase end = named("second pooling", warps, turns);
    end.instructions = real(thread_filters * second.q()) * 4.0, end.passes = 4.0 * real(thread_filters);
    end.shuffles = real(thread_filters), end.l2_waits = 1.0;
    work.phases = {filters, others, images, pair, sums, end};
}

/// Both dense layers of 16 images a block: a warp an eighth of the inputs, a lane two units of all images.
void dense_batch(const CountedLaunch &of, LaunchWork &work) {
    const std::int64_t threads = of.threads(), images = *of.launch.group_images,
                       inputs = of.denses[0].c * of.denses[0].h * of.denses[0].w, units = of.denses[0].k,
                       outputs = of.denses[1].k, slices = threads / warp_lanes;
    const double warps = warps_for(threads);
    LaunchPhase load = copy_phase(of, images * inputs / 4, 4), others = copy_phase(of, outputs * units, 1);
    others.barriers = 1.0 / others.rounds;
    constexpr double at_once = 16.0; // inputs of an iteration
    LaunchPhase slice = named("first dense layer", warps, real(inputs / slices) / at_once);
    slice.products = 0.0; // a lane's weights are in registers, an input comes to all lanes
    slice.instructions = at_once * (2.0 * real(images) + 1.0 + real(images) / 4.0) + round_instructions;
    slice.passes = at_once * 2.0 + at_once * real(images) / 4.0 * uniform_wide_passes;
    slice.chain = at_once, slice.l2_waits = 1.0, slice.shared_waits = 1.0,
    slice.barriers = 1.0 / slice.rounds;
    LaunchPhase sum = named("sum of slices", warps);
    const double each = real(images * units / threads), parts = real(slices);
    sum.instructions = 2.0 * each * parts + real(images) * 2.0 + thread_instructions;
    sum.passes = each * parts + 2.0 * real(images) + each, sum.chain = parts, sum.shared_waits = 1.0;
    sum.barriers = 3.0;
    LaunchPhase second = named("second dense layer", warps);
    second.instructions = 3.0 * real(units) + thread_instructions;
    second.passes = 2.0 * real(units), second.chain = real(units), second.shared_waits = 4.0;
    work.phases = {load, others, slice, sum, second};
    work.l2_read_bytes = sizeof(float) * real(work.ctas) * real(inputs * (images + units));
}

/// The gradient of a block's images, from its slopes: write_gradient of mnist.cu.
void add_backward(const CountedLaunch &of, LaunchWork &work) {
    const ConvShape &conv = of.convolutions[0];
    const std::int64_t threads = of.threads(), images = *of.launch.group_images, outputs = of.denses[0].k,
                       windows = threads / images, inputs = conv.k * windows;
    const double warps = warps_for(threads), each_output = real(outputs);
    LaunchPhase slope = named("slopes of outputs", warps_for(images * outputs));
    slope.instructions = 2.0 * thread_instructions, slope.passes = 3.0, slope.chain = 4.0;
    slope.l2_waits = 1.0, slope.barriers = 1.0;
    LaunchPhase back = named("slopes of maxima", warps);
    back.instructions = real(conv.k) * (3.0 * each_output + 6.0);
    back.passes = real(conv.k) * (2.0 * each_output + 3.0), back.chain = each_output;
    back.shared_waits = real(conv.k), back.barriers = 1.0;
    constexpr double slopes_at_once = 4.0;
    const std::int64_t taps = conv.r * conv.s;
    LaunchPhase filters =
        named("gradient of filters", warps_for(conv.k * taps + conv.k), real(threads) / slopes_at_once);
    LadderLaunch row = of.launch; // neighbouring threads have neighbouring taps
    row.block = {taps, 1, 1};
    const CountedLaunch of_taps(row, of.rung, of.network, of.images, of.gpu);
    const double pixels = of_taps.mean_passes(1, taps, From::shared, [&](std::int64_t, std::int64_t tap) {
        return tap / conv.s * conv.w + tap % conv.s;
    });
    constexpr double filters_of_warp = 2.0; // 32 lanes have taps of two filters, whose slopes lie apart
    filters.instructions = slopes_at_once * 4.0 + round_instructions;
    filters.passes = slopes_at_once * (2.0 + filters_of_warp * pixels);
    filters.chain = 1.0, filters.shared_waits = 2.0;
    LaunchPhase weights =
        named("gradient of weights", warps, real(ceil_div(outputs * inputs + outputs, threads)));
    weights.instructions = 3.0 * real(images) + thread_instructions;
    weights.passes = 2.0 * real(images), weights.chain = real(images), weights.shared_waits = 1.0;
    work.phases.insert(work.phases.end(), {slope, back, filters, weights});
    work.written_bytes +=
        sizeof(float) * real(work.ctas) * real(conv.k * (taps + 1) + outputs * (inputs + 1));
}

/// Eight images a block, a thread a window of the pooled map for all filters; a step of training goes on
/// backward.
void mnist_step(const CountedLaunch &of, LaunchWork &work) {
    const ConvShape &conv = of.convolutions[0], &dense = of.denses[0];
    const std::int64_t threads = of.threads(), images = *of.launch.group_images, outputs = dense.k,
                       inputs = dense.c * dense.h * dense.w, window = of.poolings[0].window,
                       parameters = conv.k * (conv.r * conv.s + 1) + outputs * (inputs + 1);
    const double warps = warps_for(threads);
    const bool trains = of.launch.operands.back() != "none";
    LaunchPhase load = copy_phase(of, images * conv.h * conv.w / 4, 4),
                others = copy_phase(of, parameters, 1);
    others.barriers = 1.0 / others.rounds;
    LaunchPhase turned = named("filters side by side", warps);
    turned.instructions = 2.0 * thread_instructions, turned.passes = 4.0, turned.shared_waits = 1.0;
    turned.barriers = 1.0;
    LaunchPhase sums = window_phase(conv, window, warps, 1.0, conv.k, 2, 4);
    // Beyond products, loads and comparisons: where the maxima lie, one for each input of a window, and what
    // the source does not show. That is the rest of the 409 instructions more that a counter finds of each
    // thread with 6 filters and windows of 4 x 4.
    constexpr double unseen = 310.0;
    sums.instructions += real(conv.k * window * window) + unseen;
    sums.barriers = 1.0;
    constexpr std::int64_t dense_threads = 3, at_once = 8;
    LadderLaunch three = of.launch; // threads share an output
    three.block = {dense_threads, outputs, 1};
    const CountedLaunch of_dense(three, of.rung, of.network, of.images, of.gpu);
    LaunchPhase product = named("dense layer", warps_for(images * outputs * dense_threads),
                                real(inputs / dense_threads) / real(at_once));
    product.passes = real(at_once) * (1.0 + of_dense.mean_passes(outputs, dense_threads, From::shared,
                                                                 [&](std::int64_t output, std::int64_t part) {
                                                                     return output * inputs + part;
                                                                 }));
    product.instructions = 3.0 * real(at_once) + round_instructions;
    product.chain = real(at_once / 2), product.shared_waits = 1.0, product.barriers = 1.0 / product.rounds;
    LaunchPhase out = named("outputs", warps_for(images * outputs));
    out.instructions = 2.0 * thread_instructions, out.passes = 5.0, out.chain = 8.0;
    out.shared_waits = 1.0, out.barriers = 1.0;
    work.phases = {load, others, turned, sums, product, out};
    const double all = work.code;
    constexpr double forward_code = 1700.0; // instructions before the slopes
    work.code = trains ? all : forward_code;
    work.written_bytes = sizeof(float) * real(of.images * outputs);
    if (trains)
        add_backward(of, work);
    work.l2_read_bytes = sizeof(float) * real(work.ctas) * real(images * conv.h * conv.w + parameters);
}

/// Parts of the gradient added up in order by eight rows of threads.
void mnist_update(const CountedLaunch &of, LaunchWork &work) {
    std::int64_t parts = of.images;
    for (const LadderLaunch &other : of.rung.launches)
        if (other.group_images)
            parts = ceil_div(of.images, *other.group_images);
    const std::int64_t rows = of.launch.block[1];
    const double warps = warps_for(of.threads());
    LaunchPhase sum = named("sum of parts", warps, copy_waits(parts, rows));
    sum.instructions = 15.0, sum.passes = real(copies_at_once), sum.chain = real(copies_at_once);
    sum.l2_waits = 1.0, sum.barriers = 1.0 / sum.rounds;
    LaunchPhase end = named("update", warps_for(of.launch.block[0]));
    end.instructions = 3.0 * thread_instructions, end.passes = real(rows), end.chain = real(rows);
    end.shared_waits = end.l2_waits = 1.0;
    work.phases = {sum, end};
    work.l2_read_bytes = sizeof(float) * real(parts) * real(work.ctas * of.launch.block[0]);
    work.read_bytes = work.l2_read_bytes;
}

} // namespace

std::map<std::string, std::function<void(const CountedLaunch &, LaunchWork &)>> counters_of_fused_kernels() {
    return {{"one_kernel", one_kernel},
            {"pairs_batch", pairs_batch},
            {"dense_batch", dense_batch},
            {"mnist_step", mnist_step},
            {"mnist_update", mnist_update}};
}

} // namespace convcast
