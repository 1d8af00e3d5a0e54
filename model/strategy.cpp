#include "model/strategy.hpp"

#include "model/papers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

bool uses_tensor_cores(const Plan &plan) {
    return std::any_of(plan.launches.begin(), plan.launches.end(),
                       [](const Partition &part) { return part.step.tensor_fmas.has_value(); });
}

int resident_ctas(const GpuLimits &limits, std::int64_t threads, std::int64_t registers,
                  std::int64_t shared_bytes) {
    // Registers are given to a warp in units of 256 from the file of its scheduler; shared memory in units of
    // 128 bytes, plus what the system reserves in each CTA.
    constexpr std::int64_t register_unit = 256, shared_unit = 128;
    if (threads < 1 || registers < 1 || threads > limits.max_threads_per_cta ||
        shared_bytes > limits.shared_bytes_per_cta)
        return 0;
    const std::int64_t warps = ceil_div(threads, papers::warp_threads);
    const std::int64_t per_warp = round_up(registers * papers::warp_threads, register_unit);
    const std::int64_t schedulers = limits.schedulers_per_sm;
    const std::int64_t warps_by_registers = limits.registers_per_sm / schedulers / per_warp * schedulers;
    const std::int64_t shared = round_up(shared_bytes + limits.shared_bytes_reserved_per_cta, shared_unit);
    std::int64_t ctas = limits.max_ctas_per_sm;
    ctas = std::min(ctas, limits.max_threads_per_sm / (warps * papers::warp_threads));
    ctas = std::min(ctas, warps_by_registers / warps);
    if (shared > 0)
        ctas = std::min(ctas, limits.shared_bytes_per_sm / shared);
    return static_cast<int>(ctas);
}

void fill_schedule(Partition &partition, const GpuLimits &limits) {
    partition.ctas = partition.grid[0] * partition.grid[1] * partition.grid[2];
    const std::int64_t slots = limits.sm_count * partition.ctas_per_sm;
    partition.waves = ceil_div(partition.ctas, slots);
    const std::int64_t last = partition.ctas - (partition.waves - 1) * slots;
    partition.tail = static_cast<double>(std::min<std::int64_t>(last, limits.sm_count)) / limits.sm_count;
}

void average_step(Partition &partition) {
    const double ctas = static_cast<double>(partition.ctas - partition.idle_ctas);
    const double full = ctas * static_cast<double>(partition.steps) * partition.step.instructions;
    if (!partition.work.instructions || !(full > 0.0))
        return;
    const double share =
        std::clamp((*partition.work.instructions - ctas * partition.drain.instructions) / full, 0.0, 1.0);
    StepWork &step = partition.step;
    for (double *value : {&step.fmas, &step.instructions, &step.copying, &step.shared_wavefronts, &step.turns,
                          &step.constant_lines, &step.load_bytes, &step.store_bytes})
        *value *= share;
}

Rules table1_rules(const GpuProfile &profile) {
    Rules rules;
    if (papers::missing_for_table1(profile).empty()) {
        const papers::LatencyHiding table = papers::table1(profile);
        rules.n_fma = table.n_fma;
        rules.v_s_bytes = table.v_s_bytes;
        rules.threads_per_sm = table.threads_per_sm;
        rules.warps_per_sm = table.warps_per_sm;
    }
    return rules;
}

double spanned_bytes(double bytes, std::int64_t grain) {
    const double whole = std::ceil(bytes / static_cast<double>(grain)) * static_cast<double>(grain);
    return (grain > 4 ? whole : bytes) + static_cast<double>(32 - grain);
}

std::int64_t row_grain(const ConvShape &shape, std::int64_t step, std::int64_t pad) {
    const std::int64_t element = shape.element_bytes();
    return std::gcd(std::int64_t{32}, element * std::gcd(std::gcd(shape.w, step), pad));
}

double covered(std::int64_t tiles, std::int64_t window, std::int64_t step, std::int64_t pad,
               std::int64_t size) {
    const std::int64_t end = (tiles - 1) * step - pad + window;
    const std::int64_t cut = std::min(pad, window) + std::clamp<std::int64_t>(end - size, 0, window);
    return static_cast<double>(std::max(tiles * window - cut, std::min(tiles * window, size)));
}

double written_bytes(const ConvShape &shape, StoredAlong along) {
    constexpr std::int64_t sector = 32, lanes = 32;
    const std::int64_t element = shape.result_bytes();
    const std::int64_t line = shape.q() * (along == StoredAlong::planes ? shape.p() : 1) * element;
    const double run = static_cast<double>(lanes * element);
    return static_cast<double>(shape.output_bytes()) * spanned_bytes(run, std::gcd(line, sector)) / run;
}

double written_bytes_of_columns(const ConvShape &shape, std::int64_t rows) {
    const std::int64_t q = shape.q(), groups = papers::ceil_div(shape.p(), rows);
    return static_cast<double>(shape.n * shape.k * shape.p()) / static_cast<double>(groups) *
           stored_bytes({q, q, groups, rows * q}, q, shape.result_bytes());
}

double written_bytes_of_flat_rows(const ConvShape &shape, std::int64_t rows) {
    const std::int64_t q = shape.q();
    return static_cast<double>(shape.n * shape.k * shape.p()) / static_cast<double>(rows) *
           stored_bytes({shape.w, q, rows, q}, std::gcd(shape.p() * q, rows * q), shape.result_bytes());
}

double footprint_bytes(const ConvShape &s, std::int64_t outputs) {
    return footprint_bytes(s, outputs, s.r, s.s);
}

double footprint_bytes(const ConvShape &s, std::int64_t outputs, std::int64_t tap_rows,
                       std::int64_t tap_columns) {
    const double q = static_cast<double>(s.q()), w = static_cast<double>(s.w);
    if (const std::int64_t plane = s.p() * s.q(); outputs > plane)
        return static_cast<double>(outputs) / static_cast<double>(plane) *
               footprint_bytes(s, plane, tap_rows, tap_columns);
    const double count = static_cast<double>(outputs), taps_w = static_cast<double>(tap_columns);
    const double reach_h = static_cast<double>(s.dilation_h * (tap_rows - 1) + 1),
                 reach_w = static_cast<double>(s.dilation_w * (tap_columns - 1) + 1);
    const double stride_h = static_cast<double>(s.stride_h), stride_w = static_cast<double>(s.stride_w);
    constexpr double sector = 32.0;
    if (outputs < s.q()) { // part of a row, or the end of one and the start of the next
        const double runs = row_runs(outputs, s.q());
        const double columns = std::min(runs * w, (count - runs) * stride_w + runs * reach_w);
        return static_cast<double>(std::min(tap_rows, s.h)) *
               std::min(columns * 4.0 +
                            runs * spanned_bytes(
                                       0.0, row_grain(s, std::gcd(outputs, s.q()) * s.stride_w, s.pad_w)),
                        count * taps_w * sector);
    }
    const double rows = std::min({static_cast<double>(s.h), count / q * static_cast<double>(tap_rows),
                                  (count / q - 1.0) * stride_h + reach_h});
    const double span = (q - 1.0) * stride_w + reach_w;
    if (span >= w && rows >= reach_h) // whole rows lie one after another
        return spanned_bytes(rows * w * 4.0, row_grain(s, 0));
    return rows * std::min(spanned_bytes(std::min(span, w) * 4.0, row_grain(s, 0)), q * taps_w * sector);
}

double row_runs(std::int64_t count, std::int64_t length) {
    return 1.0 + static_cast<double>(count - std::gcd(count, length)) / static_cast<double>(length);
}

double input_read_bytes(const ConvShape &s) {
    std::set<std::int64_t> read; // of the rows of a stride
    for (std::int64_t row = 0; row < s.r; ++row)
        read.insert(row * s.dilation_h % s.stride_h);
    constexpr double unit = 64.0;
    const double least = static_cast<double>(s.element_bytes());
    const double row = static_cast<double>(s.w) * least;
    return static_cast<double>(s.input_bytes()) *
           std::min(1.0, static_cast<double>(read.size()) * (row + unit - least) /
                             (static_cast<double>(s.stride_h) * row));
}

void fill_dram(Work &work, const ConvShape &shape, const GpuLimits &limits) {
    work.dram_read_bytes = input_read_bytes(shape) + static_cast<double>(shape.filter_bytes());
    // Since Ampere L2 has two halves that keep copies of each other's lines: half of it holds distinct data.
    work.dram_write_bytes = static_cast<double>(std::max<std::int64_t>(
        0, shape.output_bytes() - limits.l2_bytes / static_cast<std::int64_t>(hopper::l2_copies.value)));
}

std::int64_t first_tap_of(const ConvShape &s, std::int64_t pixel) {
    return pixel / (s.p() * s.q()) * (s.c * s.h * s.w) + pixel / s.q() % s.p() * s.stride_h * s.w +
           pixel % s.q() * s.stride_w;
}

double lines_touched(double run_bytes, double rows, double pitch_bytes) {
    constexpr double line = 128.0, least = 4.0;
    const double all = (rows - 1.0) * pitch_bytes + run_bytes;
    return std::min(rows * ((run_bytes - least) / line + 1.0), (all - least) / line + 1.0);
}

double lost_from_l2(double bytes, const GpuLimits &limits) {
    // Read from end to end again and again, as counted on an H200: a quarter comes from DRAM again where the
    // data is as large as the half of L2 that holds distinct lines, all where it is a quarter larger.
    const double fill = bytes / (static_cast<double>(limits.l2_bytes) / hopper::l2_copies.value);
    return std::clamp((fill - hopper::l2_losing.value) / hopper::l2_lost.value, 0.0, 1.0);
}

void fill_dram(Work &work, const ConvShape &shape, const GpuLimits &limits, double passes) {
    fill_dram(work, shape, limits);
    const double image = static_cast<double>(shape.input_bytes()) / static_cast<double>(shape.n);
    *work.dram_read_bytes +=
        std::max(0.0, passes - 1.0) * input_read_bytes(shape) * lost_from_l2(image, limits);
    if (work.l2_read_bytes) // which every byte from DRAM passes
        work.dram_read_bytes =
            std::min(*work.dram_read_bytes,
                     std::max(*work.l2_read_bytes,
                              input_read_bytes(shape) + static_cast<double>(shape.filter_bytes())));
}

std::string cached_remark(const std::string &whose, std::int64_t bytes, const GpuLimits &limits) {
    const std::int64_t room = static_cast<std::int64_t>(limits.sm_count) * limits.shared_bytes_per_sm;
    return whose + " " + std::to_string(bytes) + " bytes " + (bytes < room ? "stay" : "do not stay") +
           " cached: N_sm * S_shared = " + std::to_string(room);
}

std::string outside_papers(const ConvShape &s, Elements elements) {
    if (s.dtype != DataType::f32 && elements == Elements::floats)
        return "only FP32 is built for this strategy";
    if (s.stride_h != 1 || s.stride_w != 1)
        return "the papers' kernels have stride 1";
    if (s.pad_h != 0 || s.pad_w != 0)
        return "the papers' kernels have no padding";
    if (s.dilation_h != 1 || s.dilation_w != 1)
        return "the papers' kernels have no dilation";
    if (s.groups != 1)
        return "the papers' kernels have one group";
    // The kernels count rows, pixels and filter values of one image in 32 bits.
    constexpr std::int64_t most = std::int64_t{1} << 30;
    if (s.fmas().value > 1e17)
        return "more than 1e17 multiply-adds: days on any GPU, and beyond the rules' 64-bit integers";
    if (s.h * s.w > most || s.c * s.r * s.s > most || s.k > most || s.n > 65535 || s.r > 32 || s.s > 32)
        return "an image, filter set or batch is too large for 32-bit indices inside an image";
    return "";
}

} // namespace convcast
