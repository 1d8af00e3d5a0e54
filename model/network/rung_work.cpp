#include "model/network/rung_work.hpp"

#include "model/base/divide.hpp"
#include "model/machine/machine.hpp"
#include "model/network/counted_launch.hpp"
#include "model/paper/papers.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace convcast {

CountedLaunch::CountedLaunch(const LadderLaunch &its, const Rung &of, const Network &net,
                             std::int64_t its_images, const Gpu &its_gpu)
    : launch(its), rung(of), network(net), images(its_images), gpu(its_gpu),
      banks(banks_of(its_gpu.profile)) {
    for (const std::string &name : launch.operators)
        for (std::size_t i = 0; i < network.operators.size(); ++i) {
            const Operator &op = network.operators[i];
            if (op.name != name)
                continue;
            const ImageShape input = network.input_shapes(i).front();
            if (const auto shape = as_convolution(op, input, 1))
                (op.kind == OperatorKind::dense ? denses : convolutions).push_back(*shape);
            if (op.kind == OperatorKind::max_pooling)
                poolings.push_back({op.output, (*op.window)[0]});
        }
}

std::int64_t CountedLaunch::threads() const {
    return launch.block[0] * launch.block[1] * launch.block[2];
}

double CountedLaunch::busy_warps(std::int64_t rows, std::int64_t columns) const {
    return static_cast<double>(ceil_div(std::min(rows, launch.block[1]) * launch.block[0], warp_lanes)) *
           (columns > 0 ? 1.0 : 0.0);
}

double CountedLaunch::mean_passes(std::int64_t rows, std::int64_t columns, From from,
                                  const std::function<std::int64_t(std::int64_t, std::int64_t)> &word,
                                  int width) const {
    const std::int64_t warps = ceil_div(std::min(rows, launch.block[1]) * launch.block[0], warp_lanes);
    double all = 0.0;
    for (std::int64_t warp = 0; warp < warps; ++warp) {
        LaneWords words;
        std::set<std::int64_t> different;
        for (std::int64_t lane = 0; lane < warp_lanes; ++lane) {
            const std::int64_t thread = warp * warp_lanes + lane, i = thread / launch.block[0],
                               j = thread % launch.block[0];
            const bool there = i < rows && j < columns;
            words[static_cast<std::size_t>(lane)] = there ? word(i, j) : -1;
            if (there)
                different.insert(word(i, j));
        }
        const double of_banks = warp_passes(from == From::global ? Banks{} : banks, words, width).taken;
        all += from == From::constant ? static_cast<double>(different.size())
               : from == From::global ? l1_passes(lines_met(words), of_banks)
                                      : of_banks;
    }
    return all / static_cast<double>(std::max<std::int64_t>(1, warps));
}

double copy_waits(std::int64_t elements, std::int64_t threads) {
    const std::int64_t each = ceil_div(elements, threads);
    return static_cast<double>(each / copies_at_once + each % copies_at_once);
}

LaunchPhase copy_phase(const CountedLaunch &of, std::int64_t elements, int width) {
    const double each = static_cast<double>(ceil_div(elements, of.threads()));
    LaunchPhase phase;
    phase.name = "copy";
    phase.warps = static_cast<double>(ceil_div(std::min(elements, of.threads()), warp_lanes));
    phase.rounds = copy_waits(elements, of.threads());
    const double at_once = each / phase.rounds;
    phase.instructions = at_once * copy_instructions + round_instructions;
    phase.passes = at_once * 2.0 * width; // loaded, then stored
    phase.l2_waits = 1.0;
    phase.l2_read_bytes = sizeof(float) * static_cast<double>(elements * width) / phase.rounds;
    return phase;
}

namespace {

double number(std::int64_t n) {
    return static_cast<double>(n);
}

/// Loads of a thread and round wait for L2 as often as they do not fit what is under way at once.
double waits_for(double loads) {
    return std::max(1.0, loads / loads_under_way);
}

/// A thread an output, a round an input channel; the sum waits for its last product.
LaunchPhase convolution_phase(const CountedLaunch &of, From pixels, From filters, std::int64_t rounds) {
    const ConvShape &s = of.convolutions.front();
    const double taps = number(s.r * s.s);
    LaunchPhase phase;
    phase.name = "convolution";
    phase.warps = of.busy_warps(s.p(), s.q());
    phase.rounds = number(rounds);
    phase.instructions = 3.0 * taps + round_instructions; // two loads and a multiply-add
    phase.chain = taps;
    const double of_pixels = of.mean_passes(s.p(), s.q(), pixels,
                                            [&](std::int64_t i, std::int64_t j) { return i * s.w + j; }),
                 of_filters = 1.0; // all lanes read the same value
    double from_l2 = 0.0;
    for (const auto &[from, each] : {std::pair{pixels, of_pixels}, std::pair{filters, of_filters}}) {
        (from == From::constant ? phase.constants : phase.passes) += taps * each;
        if (from == From::global)
            from_l2 += taps;
        if (from == From::shared)
            phase.shared_waits = 1.0;
        if (from == From::constant)
            phase.constant_waits = 1.0;
    }
    if (from_l2 > 0.0)
        phase.l2_waits = waits_for(from_l2), phase.l1_waits = 1.0;
    return phase;
}

/// A thread a window.
LaunchPhase pooling_phase(const CountedLaunch &of, From from) {
    const CountedLaunch::Pooling &pool = of.poolings.front();
    const std::int64_t edge = pool.output[2] * pool.window, taps = pool.window * pool.window;
    LaunchPhase phase;
    phase.name = "pooling";
    phase.warps = of.busy_warps(pool.output[1], pool.output[2]);
    phase.instructions = number(taps) * 2.0 + thread_instructions;
    phase.passes = number(taps) *
                   of.mean_passes(pool.output[1], pool.output[2], from, [&](std::int64_t i, std::int64_t j) {
                       return pool.window * (i * edge + j);
                   });
    phase.chain = number(pool.window);
    (from == From::global ? phase.l2_waits : phase.shared_waits) = 1.0;
    return phase;
}

/// Stages what a block reads: a wait, then a barrier.
LaunchPhase staged(const CountedLaunch &of, std::int64_t elements) {
    LaunchPhase phase = copy_phase(of, elements, 1);
    phase.barriers = 1.0 / phase.rounds;
    return phase;
}

using Counter = std::function<void(const CountedLaunch &, LaunchWork &)>;

void conv1(const CountedLaunch &of, LaunchWork &work, From pixels, From filters, bool pools) {
    const ConvShape &s = of.convolutions.front();
    std::int64_t loaded = 0;
    if (filters == From::shared)
        loaded += s.r * s.s;
    if (pixels == From::shared)
        loaded += s.c * s.h * s.w;
    if (loaded > 0)
        work.phases.push_back(staged(of, loaded));
    work.phases.push_back(convolution_phase(of, pixels, filters, s.c));
    if (!pools)
        return;
    work.phases.back().barriers = 1.0;
    work.phases.push_back(pooling_phase(of, From::shared));
}

void pool_global(const CountedLaunch &of, LaunchWork &work) {
    work.phases.push_back(pooling_phase(of, From::global));
}

void pool_shared(const CountedLaunch &of, LaunchWork &work) {
    const CountedLaunch::Pooling &pool = of.poolings.front();
    LaunchPhase load = staged(of, pool.output[1] * pool.output[2] * pool.window * pool.window);
    load.rounds = 1.0, load.barriers = 1.0; // its loads are unrolled
    work.phases.push_back(std::move(load));
    work.phases.push_back(pooling_phase(of, From::shared));
}

void conv2_global(const CountedLaunch &of, LaunchWork &work) {
    work.phases.push_back(convolution_phase(of, From::global, From::global, of.convolutions.front().c));
}

/// The block's filter, then all of its input.
void conv2_copies(const CountedLaunch &of, LaunchWork &work, int width) {
    const ConvShape &s = of.convolutions.front();
    for (const std::int64_t elements : {s.c * s.r * s.s, s.c * s.h * s.w})
        work.phases.push_back(copy_phase(of, elements / width, width));
    work.phases.back().barriers = 1.0 / work.phases.back().rounds;
    work.l2_read_bytes = number(work.ctas * s.c * (s.r * s.s + s.h * s.w)) * sizeof(float);
}

void conv2(const CountedLaunch &of, LaunchWork &work, bool pools) {
    conv2_copies(of, work, 1);
    work.phases.push_back(convolution_phase(of, From::shared, From::shared, of.convolutions.front().c));
    if (!pools)
        return;
    work.phases.push_back(pooling_phase(of, From::shared));
    work.phases.back().barriers = 1.0;
}

/// Groups of threads take a part of the channels each, `barriers` of the block among them; their sums meet in
/// shared memory and are pooled.
void groups_of_channels(const CountedLaunch &of, LaunchWork &work, double barriers) {
    const ConvShape &s = of.convolutions.front();
    const std::int64_t pixels = s.p() * s.q(), groups = of.threads() / pixels;
    LadderLaunch of_group = of.launch; // whose threads lie as those of a block of one group
    of_group.block = {s.q(), s.p(), 1};
    const CountedLaunch one(of_group, of.rung, of.network, of.images, of.gpu);
    LaunchPhase phase = convolution_phase(one, From::shared, From::shared, s.c / groups);
    phase.warps *= number(groups);
    phase.barriers = barriers / phase.rounds;
    work.phases.push_back(phase);
    LaunchPhase sum;
    sum.name = "sum of groups";
    sum.warps = number(ceil_div(pixels, warp_lanes));
    sum.instructions = 2.0 * number(groups) + thread_instructions;
    sum.passes = number(groups) + 1.0;
    sum.chain = number(groups), sum.shared_waits = 1.0, sum.barriers = 1.0;
    work.phases.push_back(sum);
    work.phases.push_back(pooling_phase(one, From::shared));
}

void conv2_wide(const CountedLaunch &of, LaunchWork &work) {
    conv2_copies(of, work, 4);
    groups_of_channels(of, work, 1.0);
}

/// All copies start at once; a round of the convolution waits for a part of them, and only the first for L2.
void conv2_prefetch(const CountedLaunch &of, LaunchWork &work) {
    const ConvShape &s = of.convolutions.front();
    const std::int64_t stages = s.c * s.p() * s.q() / of.threads(), elements = s.c * (s.r * s.s + s.h * s.w);
    constexpr std::int64_t wide = 4;
    LaunchPhase start = copy_phase(of, elements / stages / wide, wide);
    start.instructions += number(stages - 1) * copy_instructions, start.passes *= number(stages);
    start.l2_read_bytes = sizeof(float) * number(elements / stages);
    start.barriers = 1.0;
    work.phases = {start};
    groups_of_channels(of, work, number(stages));
    work.l2_read_bytes = number(work.ctas * elements) * sizeof(float);
}

/// A thread an output: its lanes read rows of weights far apart.
void dense_global(const CountedLaunch &of, LaunchWork &work) {
    const ConvShape &s = of.denses.front();
    const std::int64_t inputs = s.c * s.h * s.w;
    LaunchPhase phase;
    phase.name = "inner products";
    const double at_once = loads_under_way;
    phase.warps = number(ceil_div(of.threads(), warp_lanes));
    phase.rounds = number(inputs) / at_once;
    phase.instructions = 3.0 * at_once + round_instructions;
    const double of_weights = of.mean_passes(of.launch.block[1], of.launch.block[0], From::global,
                                             [&](std::int64_t, std::int64_t j) { return j * inputs; });
    phase.passes = at_once * (of_weights + 1.0);
    phase.chain = at_once;
    phase.l2_waits = waits_for(2.0 * at_once), phase.l1_waits = 1.0;
    work.phases.push_back(phase);
}

/// A block an output: all threads multiply, one adds up.
void dense_shared(const CountedLaunch &of, LaunchWork &work) {
    const ConvShape &s = of.denses.front();
    const std::int64_t inputs = s.c * s.h * s.w;
    LaunchPhase load = staged(of, inputs), product;
    load.instructions += copy_instructions, load.passes *= 2.0; // inputs and weights
    work.phases.push_back(load);
    product.name = "products";
    product.warps = load.warps;
    product.instructions = thread_instructions, product.passes = 3.0;
    product.chain = product.shared_waits = product.barriers = 1.0;
    work.phases.push_back(product);
    LaunchPhase sum;
    sum.name = "sum by one thread";
    constexpr double at_once = 32.0; // the compiler unrolls the loop so often
    sum.rounds = number(inputs) / at_once;
    sum.instructions = 2.0 * at_once + round_instructions;
    sum.passes = sum.chain = at_once;
    sum.shared_waits = 1.0;
    work.phases.push_back(sum);
    work.l2_read_bytes = number(work.ctas * inputs) * 2.0 * sizeof(float);
}

/// Lanes add up by shuffles; of several warps an output, one thread adds their sums.
void dense_tree(const CountedLaunch &of, LaunchWork &work, bool block_an_output) {
    const ConvShape &s = of.denses.front();
    const std::int64_t inputs = s.c * s.h * s.w;
    constexpr double halvings = 5.0;
    LaunchPhase phase;
    phase.name = "products and shuffles";
    phase.warps = number(ceil_div(of.threads(), warp_lanes));
    const double each = number(inputs) / number(block_an_output ? of.threads() : of.threads() / s.k);
    phase.instructions = 2.0 * each + 2.0 * halvings + thread_instructions;
    phase.passes = 2.0 * each + halvings;
    phase.chain = each + halvings, phase.shuffles = halvings;
    phase.l2_waits = 1.0;
    work.phases.push_back(phase);
    if (!block_an_output)
        return;
    work.phases.back().barriers = 1.0;
    LaunchPhase sum;
    sum.name = "sum of warps";
    sum.instructions = 2.0 * phase.warps + thread_instructions;
    sum.passes = sum.chain = phase.warps;
    sum.shared_waits = 1.0;
    work.phases.push_back(sum);
    work.l2_read_bytes = number(work.ctas * inputs) * 2.0 * sizeof(float);
}

const std::map<std::string, Counter> &counters() {
    static const std::map<std::string, Counter> all = [] {
        std::map<std::string, Counter> list = counters_of_fused_kernels();
        list.merge(counters_of_the_thesis());
        list.merge(counters_of_training());
        const auto first = [&](const char *name, From pixels, From filters, bool pools) {
            list[name] = [=](const CountedLaunch &of, LaunchWork &work) {
                conv1(of, work, pixels, filters, pools);
            };
        };
        first("conv1_global", From::global, From::constant, false);
        first("conv1_shared", From::constant, From::shared, false);
        first("conv1_constant", From::constant, From::constant, false);
        first("conv1_pool1", From::constant, From::constant, true);
        first("conv1_pool1_shared", From::shared, From::shared, true);
        for (const char *name : {"pool1_global", "pool2_global"})
            list[name] = pool_global;
        for (const char *name : {"pool1_shared", "pool2_shared"})
            list[name] = pool_shared;
        list["conv2_global"] = conv2_global;
        list["conv2_shared"] = [](const CountedLaunch &of, LaunchWork &work) { conv2(of, work, false); };
        list["conv2_pool2"] = [](const CountedLaunch &of, LaunchWork &work) { conv2(of, work, true); };
        list["conv2_pool2_wide"] = conv2_wide;
        list["conv2_pool2_prefetch"] = conv2_prefetch;
        for (const char *name : {"dense1_global", "dense2_global"})
            list[name] = dense_global;
        for (const char *name : {"dense1_shared", "dense2_shared"})
            list[name] = dense_shared;
        list["dense1_tree"] = [](const CountedLaunch &of, LaunchWork &work) { dense_tree(of, work, true); };
        list["dense2_tree"] = [](const CountedLaunch &of, LaunchWork &work) { dense_tree(of, work, false); };
        return list;
    }();
    return all;
}

/// Tensors of the network that a launch reads and writes: the last operand is written, parameters count too.
void count_tensors(const CountedLaunch &of, LaunchWork &work) {
    for (std::size_t i = 0; i < of.launch.operands.size(); ++i) {
        const double bytes =
            sizeof(float) *
            number(operand_floats(of.network, of.rung, of.launch.operands[i], of.images).value_or(0));
        (i + 1 == of.launch.operands.size() ? work.written_bytes : work.read_bytes) += bytes;
    }
}

} // namespace

std::optional<LaunchWork> work_of(const LadderLaunch &launch, const Rung &rung, const Network &network,
                                  std::int64_t images, const Gpu &gpu) {
    const auto counter = counters().find(launch.kernel);
    const auto compiled =
        std::find_if(compiled_kernels().begin(), compiled_kernels().end(),
                     [&](const CompiledKernel &kernel) { return kernel.name == launch.kernel; });
    if (counter == counters().end() || compiled == compiled_kernels().end())
        return std::nullopt;
    const CountedLaunch of(launch, rung, network, images, gpu);
    LaunchWork work;
    const auto grid = grid_of(launch, images, gpu.limits.sm_count);
    work.ctas = grid[0] * grid[1] * grid[2];
    work.threads = of.threads();
    work.registers = compiled->registers;
    work.shared_bytes = compiled->static_shared_bytes + launch.shared_bytes.value_or(0);
    work.cluster = launch.cluster.value_or(1);
    work.code = compiled->code;
    count_tensors(of, work);
    counter->second(of, work);
    work.l2_read_bytes = std::max(work.l2_read_bytes, work.read_bytes);
    return work;
}

const std::vector<CompiledKernel> &compiled_kernels() {
    static const std::vector<CompiledKernel> list = {
        {"conv1_global", 120, 32, 0},
        {"conv1_shared", 112, 30, 100},
        {"conv1_constant", 112, 29, 0},
        {"conv1_pool1", 136, 29, 2304},
        {"conv1_pool1_shared", 152, 30, 5540},
        {"pool1_global", 48, 14, 0},
        {"pool1_shared", 48, 16, 2304},
        {"pool2_global", 48, 14, 0},
        {"pool2_shared", 48, 14, 256},
        {"conv2_global", 128, 30, 0},
        {"conv2_shared", 472, 32, 21632},
        {"conv2_pool2", 496, 32, 21888},
        {"conv2_pool2_wide", 448, 38, 23680},
        {"conv2_pool2_prefetch", 536, 32, 23680},
        {"dense1_global", 96, 30, 0},
        {"dense2_global", 224, 32, 0},
        {"dense1_shared", 104, 22, 12288},
        {"dense2_shared", 136, 24, 768},
        {"dense1_tree", 80, 16, 32},
        {"dense2_tree", 56, 16, 0},
        {"one_kernel", 1432, 32, 18944},
        {"pairs_batch", 2192, 160, 0},
        {"dense_batch", 1128, 78, 0},
        {"mnist_step", 4192, 96, 0},
        {"mnist_update", 184, 32, 1024},
        {"thesis_clear", 24, 8, 0},
        {"thesis_update", 40, 16, 0},
        {"naive_convolve", 120, 30, 0},
        {"naive_relu", 56, 16, 0},
        {"naive_pool", 112, 32, 0},
        {"naive_dense", 72, 22, 0},
        {"naive_outputs", 232, 18, 0},
        {"naive_dense_back", 120, 32, 0},
        {"naive_pool_back", 120, 32, 0},
        {"naive_relu_back", 40, 10, 0},
        {"naive_convolve_back", 120, 23, 0},
        {"oriented_clear", 32, 8, 0},
        {"oriented_convolve", 96, 30, 24},
        {"oriented_relu", 88, 20, 0},
        {"oriented_pool", 112, 32, 0},
        {"oriented_dense", 80, 32, 40},
        {"oriented_outputs", 240, 18, 0},
        {"oriented_dense_back", 632, 32, 0},
        {"oriented_convolve_back", 760, 22, 0},
        {"train_forward", 1976, 102, 0},
        {"train_dense_parts", 328, 32, 0},
        {"train_dense_back", 1456, 32, 0},
        {"train_inputs_back", 1288, 113, 0},
        {"train_filters_back", 1448, 149, 0},
        {"train_update", 944, 32, 0},
    };
    return list;
}

} // namespace convcast
