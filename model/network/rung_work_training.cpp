// The work of a step of training of fashion_mnist: the kernels of fashion_mnist_train.cu of executor/network.
// Where a count depends on the images, every pooled maximum is taken to be positive.
#include "model/base/divide.hpp"
#include "model/network/counted_launch.hpp"
#include "model/paper/papers.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace convcast {
namespace {

constexpr double uniform_wide = 2.0; ///< passes of a load of the same 16 bytes by all lanes (W3)
constexpr double choice = 6.0;       ///< instructions of a switch over the four pixels of a window
/// Waits of a thread for eight loads under way, of which the slowest counts: by the clocks of train_update.
constexpr double slowest_of_eight = 1.5;
/// Multiply-adds that take as long as the switch's chain: comparison, jump, first instruction behind it. By
/// the stalls of train_inputs_back and train_filters_back 110 clocks.
constexpr double choice_chain = 27.0;
constexpr double maximum_of_four = 16.0; ///< comparisons, which pixel it was, bias, ReLU, and three stores
constexpr double float4_width = 4.0;

double count_of(std::int64_t n) {
    return static_cast<double>(n);
}

double warps_of(std::int64_t threads) {
    return count_of(ceil_div(threads, warp_lanes));
}

/// The shapes of fashion_mnist.
struct Step {
    static constexpr std::int64_t row = 28, image = 784, taps = 25, channels1 = 32, pooled_edge1 = 12,
                                  pooled1 = 144, channels2 = 64, edge2 = 8, pooled2 = 16, inputs = 1024,
                                  units = 64, classes = 10;
    static constexpr std::int64_t map = channels1 * pooled1, filters1 = channels1 * taps,
                                  filters2 = channels2 * channels1 * taps, part1 = filters1 + channels1,
                                  part2 = filters2 + channels2, small = units + classes * (units + 1),
                                  parameters = part1 + part2 + units * inputs + small;
    static constexpr std::int64_t stages = 4, slices = 16, dense_images = 16;
};

LaunchPhase part_of(const char *name, double warps, double rounds = 1.0) {
    LaunchPhase phase;
    phase.name = name;
    phase.warps = warps, phase.rounds = rounds;
    return phase;
}

/// Passes through shared memory of a warp whose lane l touches `width` words from word(l) on.
double lane_passes(const CountedLaunch &of, int width,
                   const std::function<std::int64_t(std::int64_t)> &word) {
    return shared_passes(of.banks, warp_lanes, width, word).taken;
}

/// The second filters by asynchronous copies of 16 bytes: they are asked for first, and a warp's other loads
/// wait behind them.
LaunchPhase filters_phase(const CountedLaunch &of, double instructions) {
    const double copies = count_of(ceil_div(Step::filters2 / 4 / Step::stages, of.threads())) * Step::stages;
    LaunchPhase phase = part_of("second filters", warps_of(of.threads()));
    phase.instructions = copies * instructions + thread_instructions;
    phase.passes = copies * float4_width;
    phase.l2_read_bytes = sizeof(float) * count_of(Step::filters2);
    return phase;
}

/// A loop of copies by all threads, as copy_phase, whose stores take `store_passes` each.
LaunchPhase copied(const CountedLaunch &of, std::int64_t elements, int width, double store_passes) {
    LaunchPhase phase = copy_phase(of, elements, width);
    const double at_once = count_of(ceil_div(elements, of.threads())) / phase.rounds;
    phase.passes = at_once * (width + store_passes);
    return phase;
}

void bytes_of(LaunchWork &work, double read_floats, double written_floats) {
    work.read_bytes = sizeof(float) * read_floats;
    work.written_bytes = sizeof(float) * written_floats;
}

/// Both convolutions with pooling, a block an image: a thread a window and four channels, then eight filters,
/// a row of eight pixels and an eighth of the channels.
void train_forward(const CountedLaunch &of, LaunchWork &work) {
    using S = Step;
    const std::int64_t threads = of.threads();
    const double warps = warps_of(threads);
    LaunchPhase filters = filters_phase(of, copy_instructions);
    LaunchPhase image = copied(of, S::image / 4, 4, float4_width);
    LaunchPhase first = copied(of, S::filters1, 1, lane_passes(of, 1, [](std::int64_t lane) {
                                   return lane % S::taps * S::channels1 + lane / S::taps;
                               }));
    first.barriers = 1.0 / first.rounds;
    constexpr std::int64_t channels = 4, patch = 6;
    constexpr double pixels = patch * patch / 2.0, products = 4.0 * S::taps * channels;
    LaunchPhase pair = part_of("first convolution and pooling", warps);
    pair.products = products;
    pair.instructions = products + pixels + S::taps + maximum_of_four * channels + 2.0 * thread_instructions;
    pair.passes =
        pixels * lane_passes(of, 2,
                             [](std::int64_t lane) {
                                 return lane / S::pooled_edge1 * 2 * S::row + lane % S::pooled_edge1 * 2;
                             }) +
        S::taps * uniform_wide + 3.0 * channels;
    pair.chain = count_of(S::taps), pair.shared_waits = 1.0;
    constexpr double float_and_place = 5.0; // bytes of a maximum and of where it lies
    pair.l2_written_bytes = float_and_place * count_of(channels * threads);
    const std::int64_t tasks = S::map / channels;
    pair.rounds = count_of(tasks / threads);
    LaunchPhase rest = pair;
    rest.rounds = 1.0, rest.warps = warps_of(tasks % threads);
    rest.l2_written_bytes *= count_of(tasks % threads) / count_of(threads);
    constexpr std::int64_t filters_of_thread = 8, filter_rows = 5;
    LaunchPhase sums = part_of("second convolution", warps, count_of(S::stages * filter_rows));
    sums.products = count_of(filter_rows * filters_of_thread * S::edge2);
    sums.instructions = sums.products + 3.0 + 2.0 * filter_rows + round_instructions;
    sums.passes =
        3.0 * lane_passes(of, 4, [](std::int64_t lane) { return lane % S::edge2 * S::pooled_edge1; }) +
        2.0 * filter_rows *
            lane_passes(of, 4, [](std::int64_t lane) { return lane / S::edge2 * filters_of_thread; });
    sums.chain = count_of(filter_rows), sums.shared_waits = 1.0;
    sums.barriers = 1.0 / count_of(filter_rows); // one a stage
    LaunchPhase parts = part_of("sums to shared memory", warps);
    constexpr double stores = filters_of_thread * S::edge2 / 4.0; // of four numbers
    parts.instructions = stores + thread_instructions;
    parts.passes =
        stores * lane_passes(of, 4, [](std::int64_t lane) {
            return lane / S::edge2 * filters_of_thread * S::edge2 * S::edge2 + lane % S::edge2 * S::edge2;
        });
    parts.barriers = 2.0;
    LaunchPhase pool = part_of("second pooling", warps, count_of(S::inputs / threads));
    constexpr double groups = 8.0; // of channels
    pool.instructions = groups * (2.0 + 4.0) + maximum_of_four + thread_instructions;
    pool.passes = 2.0 * groups *
                      lane_passes(of, 2,
                                  [](std::int64_t lane) {
                                      return lane / S::pooled2 * S::edge2 * S::edge2 +
                                             lane % S::pooled2 / 4 * 2 * S::edge2 + lane % 4 * 2;
                                  }) +
                  3.0;
    pool.chain = groups, pool.shared_waits = 1.0, pool.l2_waits = 1.0;
    work.phases = {filters, image, first, pair, rest, sums, parts, pool};
    work.l2_read_bytes = sizeof(float) * count_of(work.ctas * (S::image + S::part1 + S::part2));
    constexpr double places = 0.25; // of a byte each
    bytes_of(work, count_of(of.images * S::image + S::part1 + S::part2),
             count_of(of.images * (S::map + S::inputs)) * (1.0 + places));
}

/// Inputs and weights of a slice of the first dense layer.
std::vector<LaunchPhase> slice_loads(const CountedLaunch &of) {
    std::vector<LaunchPhase> loads;
    for (const std::int64_t rows : {Step::dense_images, Step::units}) {
        const std::int64_t elements = rows * Step::inputs / Step::slices;
        loads.push_back(copy_phase(of, elements, 1));
        loads.back().l2_read_bytes = sizeof(float) * count_of(elements) / loads.back().rounds;
    }
    return loads;
}

double slice_floats() {
    return count_of((Step::dense_images + Step::units) * Step::inputs / Step::slices);
}

void train_dense_parts(const CountedLaunch &of, LaunchWork &work) {
    using S = Step;
    work.phases = slice_loads(of);
    work.phases.back().barriers = 1.0 / work.phases.back().rounds;
    constexpr double at_once = 8.0, images = 4.0; // inputs of an iteration, images of a thread
    LaunchPhase sums = part_of("products", warps_of(of.threads()), count_of(S::inputs / S::slices) / at_once);
    sums.instructions = at_once * (1.0 + images) + at_once * images / float4_width + round_instructions;
    sums.passes = at_once + at_once * images / float4_width * uniform_wide;
    sums.chain = at_once, sums.shared_waits = 1.0;
    LaunchPhase store = part_of("stores", sums.warps);
    store.instructions = 4.0 * images, store.passes = images;
    store.l2_written_bytes = sizeof(float) * images * count_of(of.threads());
    work.phases.push_back(sums);
    work.phases.push_back(store);
    work.l2_read_bytes = sizeof(float) * count_of(work.ctas) * slice_floats();
    bytes_of(work, count_of(of.images * S::inputs + S::units * S::inputs),
             count_of(of.images * S::slices * S::units));
}

/// Every block adds the parts up again, then goes forward, to the loss and back.
void train_dense_back(const CountedLaunch &of, LaunchWork &work) {
    using S = Step;
    const std::int64_t threads = of.threads(), numbers = S::dense_images * S::units;
    const double warps = warps_of(threads), each = count_of(numbers / threads), slices = count_of(S::slices),
                 classes = count_of(S::classes), units = count_of(S::units);
    work.phases = slice_loads(of);
    LaunchPhase hidden = part_of("sums of slices", warps, each);
    hidden.instructions = 2.0 * slices + thread_instructions, hidden.passes = slices + 2.0;
    hidden.chain = slices, hidden.l2_waits = (slices + 1.0) / loads_under_way;
    hidden.l2_read_bytes = sizeof(float) * slices * count_of(threads);
    LaunchPhase weights = copy_phase(of, S::classes * S::units, 1);
    weights.barriers = 1.0 / weights.rounds;
    const double few = warps_of(S::dense_images * S::classes);
    LaunchPhase outs = part_of("second dense layer", few);
    outs.instructions = 3.0 * units + thread_instructions;
    outs.passes =
        units * (lane_passes(of, 1, [](std::int64_t lane) { return lane % S::classes * (S::units + 1); }) +
                 lane_passes(of, 1, [](std::int64_t lane) { return lane / S::classes * (S::units + 1); }));
    outs.chain = units / 4.0 + 3.0, outs.shared_waits = 2.0 * units / loads_under_way;
    outs.l2_waits = outs.barriers = 1.0;
    constexpr double exponential = 10.0, quotient = 20.0;
    LaunchPhase loss = part_of("softmax and loss", few);
    loss.instructions = classes * (3.0 + exponential) + exponential + quotient + thread_instructions;
    loss.passes = classes / 2.0 + 2.0;
    loss.chain = 2.0 * classes + exponential + quotient;
    loss.shared_waits = loss.l2_waits = loss.barriers = 1.0;
    LaunchPhase slopes = part_of("slopes of units", warps, each);
    slopes.instructions = 2.5 * classes + 3.0 + thread_instructions;
    constexpr std::int64_t padded_images = S::dense_images + 4;
    slopes.passes =
        1.5 * classes + 2.0 + lane_passes(of, 1, [](std::int64_t lane) { return lane * padded_images; });
    slopes.chain = classes, slopes.shared_waits = 2.0, slopes.barriers = 1.0 / each;
    constexpr double units_at_once = 8.0, images = 4.0;
    LaunchPhase back = part_of("gradient by inputs", warps, units / units_at_once);
    back.instructions = units_at_once * (2.0 + images) + round_instructions;
    back.passes = units_at_once * (1.0 + uniform_wide), back.chain = units_at_once, back.shared_waits = 1.0;
    LaunchPhase stores = part_of("its stores", warps);
    stores.instructions = 4.0 * images, stores.passes = images;
    stores.l2_written_bytes = sizeof(float) * images * count_of(threads);
    constexpr double images_at_once = 4.0;
    const double its_units = units * count_of(S::inputs / S::slices) / count_of(threads);
    LaunchPhase by_weights =
        part_of("gradient by weights", warps, count_of(S::dense_images) / images_at_once);
    by_weights.instructions = images_at_once * (1.0 + its_units * 1.25) + round_instructions;
    by_weights.passes = images_at_once * (1.0 + its_units / float4_width * uniform_wide);
    by_weights.chain = images_at_once, by_weights.shared_waits = 1.0;
    LaunchPhase end = part_of("its stores and the small gradients", warps);
    const double sums = count_of(S::dense_images);
    end.instructions = 2.0 * its_units + 3.0 * sums + thread_instructions;
    end.passes = its_units + 2.0 * sums, end.chain = sums, end.shared_waits = 2.0;
    end.l2_written_bytes = sizeof(float) * its_units * count_of(threads);
    for (const LaunchPhase &phase : {hidden, weights, outs, loss, slopes, back, stores, by_weights, end})
        work.phases.push_back(phase);
    const double parts = count_of(numbers * S::slices);
    work.l2_read_bytes =
        sizeof(float) * count_of(work.ctas) * (slice_floats() + parts + count_of(S::classes * S::units));
    const double groups = count_of(ceil_div(of.images, S::dense_images));
    bytes_of(work, count_of(of.images * (S::inputs + S::slices * S::units) + S::units * S::inputs),
             count_of(of.images * S::inputs) + groups * count_of(S::units * S::inputs + S::small));
}

/// Back through the second convolution to its inputs, from there to the filters of the first, a block an
/// image: a warp a row of windows and a quarter of the filters, a lane a channel.
void train_inputs_back(const CountedLaunch &of, LaunchWork &work) {
    using S = Step;
    const double warps = warps_of(of.threads());
    LaunchPhase filters = filters_phase(of, 2.0 * copy_instructions);
    LaunchPhase image = copied(of, S::image / 4, 4, float4_width), places = copied(of, S::map / 4, 1, 1.0),
                slopes = copied(of, S::inputs / 4, 4, float4_width);
    constexpr std::int64_t quarters = 4, windows = 4;
    const double taps = count_of(S::taps), filters_of_warp = count_of(S::channels2 / quarters);
    LaunchPhase back = part_of("back through the second convolution", warps, filters_of_warp);
    back.instructions = taps + 2.0 + windows * (1.0 + choice + taps) + round_instructions;
    back.passes = taps + uniform_wide + 1.0;
    back.chain = taps / 5.0 + windows * choice_chain, back.shared_waits = 1.0;
    back.barriers = (S::stages + 1.0) / filters_of_warp;
    constexpr std::int64_t strip = 6 * S::pooled_edge1; // pixels under a row of windows
    LaunchPhase strips = part_of("strips to shared memory", warps);
    strips.instructions = count_of(strip) + thread_instructions, strips.passes = count_of(strip);
    strips.barriers = 1.0;
    LaunchPhase first = part_of("back through the first pooling", warps, count_of(S::pooled1) / warps);
    constexpr double rows = 2.0; // of windows over a pixel, on average: 1, 2 or 3
    first.instructions = 2.0 * taps + rows * quarters * 2.0 + 2.0 * thread_instructions + round_instructions;
    first.passes = lane_passes(of, 1, [](std::int64_t lane) { return lane * (S::pooled1 / 4); }) +
                   rows * quarters + taps;
    first.chain = rows * quarters + 2.0, first.shared_waits = 2.0 + rows;
    LaunchPhase parts = part_of("sums of warps", warps);
    const double each = count_of(ceil_div(S::part1, of.threads()));
    parts.instructions = taps + 1.0 + each * (2.0 * warps + thread_instructions);
    parts.passes = taps + 1.0 + each * (warps + 1.0);
    parts.chain = each * warps, parts.shared_waits = each, parts.barriers = 1.0;
    work.phases = {filters, image, places, slopes, back, strips, first, parts};
    constexpr std::int64_t bytes_a_float = 4; // places are of a byte
    const std::int64_t of_image = S::image + S::inputs + (S::inputs + S::map) / bytes_a_float;
    work.l2_read_bytes = sizeof(float) * count_of(work.ctas * (S::filters2 + of_image));
    bytes_of(work, count_of(S::filters2 + of.images * of_image), count_of(of.images * S::part1));
}

/// To the filters of the second convolution, 16 of them and four images a block: a warp four filters and a
/// third of the windows, a lane a channel.
void train_filters_back(const CountedLaunch &of, LaunchWork &work) {
    using S = Step;
    constexpr std::int64_t images = 4, filters = 16, warp_filters = 4, item_slices = 3;
    const std::int64_t threads = of.threads();
    const double warps = warps_of(threads), taps = count_of(S::taps);
    constexpr std::int64_t at_once = 8; // loads of a thread: the loop is unrolled so often
    constexpr double place = 15.0;      // instructions for image, channel and pixel of an element
    const std::int64_t elements = images * S::map;
    LaunchPhase maps = part_of("maps", warps, count_of(ceil_div(elements, threads * at_once)));
    maps.instructions = at_once * (copy_instructions + place), maps.passes = at_once * 2.0,
    maps.l2_waits = slowest_of_eight;
    maps.l2_read_bytes = sizeof(float) * count_of(elements) / maps.rounds;
    LaunchPhase slopes = copied(of, images * filters * S::pooled2, 1, 1.0);
    slopes.instructions *= 2.0,
        slopes.passes *= 2.0; // and where the maximum lies, without which none is read
    slopes.l2_waits = 2.0, slopes.barriers = 1.0 / slopes.rounds;
    LaunchPhase windows = part_of("back through the second convolution", warps,
                                  count_of(ceil_div(images * S::pooled2, item_slices)));
    constexpr double pixels = 36.0; // under a window
    windows.instructions = pixels + warp_filters * (2.0 + choice + taps) + round_instructions;
    windows.passes = pixels + 2.0 * warp_filters;
    windows.chain = warp_filters * choice_chain, windows.shared_waits = count_of(warp_filters);
    windows.barriers = 1.0 / windows.rounds;
    LaunchPhase parts = part_of("sums to shared memory", warps);
    parts.instructions = warp_filters * taps + thread_instructions, parts.passes = warp_filters * taps;
    parts.barriers = 1.0;
    const std::int64_t numbers = filters * S::taps * S::channels1;
    LaunchPhase sums = part_of("sums of slices", warps, copy_waits(numbers, threads));
    const double each = count_of(ceil_div(numbers, threads)) / sums.rounds;
    sums.instructions = each * (2.0 * item_slices + 1.0) + round_instructions;
    sums.passes = each * (item_slices + 1.0), sums.chain = count_of(item_slices), sums.shared_waits = 1.0;
    sums.l2_written_bytes = sizeof(float) * count_of(numbers) / sums.rounds;
    LaunchPhase biases = part_of("biases", 1.0, count_of(images));
    biases.instructions = 1.25 * count_of(S::pooled2) + round_instructions;
    biases.passes = count_of(S::pooled2), biases.chain = count_of(S::pooled2), biases.shared_waits = 1.0;
    work.phases = {maps, slopes, windows, parts, sums, biases};
    const double groups = count_of(ceil_div(of.images, images)), of_images = count_of(of.images);
    constexpr double with_places = 1.25; // of a byte each
    work.l2_read_bytes = sizeof(float) * (count_of(S::channels2 / filters) * of_images * count_of(S::map) +
                                          of_images * count_of(S::inputs) * with_places);
    bytes_of(work, of_images * (count_of(S::map) + count_of(S::inputs) * with_places),
             groups * count_of(S::part2));
}

/// A thread a parameter: parts of the gradient eight at a time, those of the first filters the most.
void train_update(const CountedLaunch &of, LaunchWork &work) {
    using S = Step;
    constexpr std::int64_t at_once = 8;
    const double warps = warps_of(of.threads());
    LaunchPhase sum = part_of("sums of parts", warps, count_of(of.images / at_once + of.images % at_once));
    const double each = count_of(of.images) / sum.rounds;
    sum.instructions = each * 4.0 + round_instructions;

    sum.chain = 1.0, sum.l2_waits = slowest_of_eight;
    const double parts2 = count_of(ceil_div(of.images, 4)),
                 dense = count_of(ceil_div(of.images, S::dense_images)),
                 read = count_of(of.images * S::part1) + parts2 * count_of(S::part2) +
                        dense * count_of(S::units * S::inputs + S::small);
    // Of the block with most; on average a block has fewer, and only these passes are counted.
    const double mean = read / count_of(S::parameters);
    sum.passes = mean / sum.rounds, sum.instructions *= mean / count_of(of.images);
    sum.l2_read_bytes = sizeof(float) * mean * count_of(of.threads()) / sum.rounds;
    LaunchPhase end = part_of("update", warps);
    constexpr double accesses = 6.0; // of parameter, velocity and gradient, and both copies of the filters
    // Neighbouring threads have neighbouring channels, whose filters lie apart.
    const double apart = gather_passes(warp_lanes, 1, [](std::int64_t lane) { return lane * S::taps; });
    end.instructions = 3.0 * thread_instructions, end.passes = accesses * apart + 2.0;
    end.chain = 5.0, end.l2_waits = 2.0;
    work.phases = {sum, end};
    constexpr double four_ways = 4.0; // the sum is there for each kind of parameter, a warp runs one
    work.code /= four_ways;
    work.l2_read_bytes = sizeof(float) * read;
    constexpr double scattered = 4.0, sector = 32.0; // stores of the second filters that fill no sector
    work.partial_bytes = scattered * sector * count_of(S::filters2);
    bytes_of(work, read + 2.0 * count_of(S::parameters),
             3.0 * count_of(S::parameters - S::filters2) + count_of(S::filters2));
}

} // namespace

std::map<std::string, std::function<void(const CountedLaunch &, LaunchWork &)>> counters_of_training() {
    return {{"train_forward", train_forward},           {"train_dense_parts", train_dense_parts},
            {"train_dense_back", train_dense_back},     {"train_inputs_back", train_inputs_back},
            {"train_filters_back", train_filters_back}, {"train_update", train_update}};
}

} // namespace convcast
