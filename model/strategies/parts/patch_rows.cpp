#include "model/strategies/parts/patch_rows.hpp"

#include <limits>
#include <set>

namespace convcast {

std::vector<std::int64_t> column_reads(const ConvShape &s, std::int64_t rows, bool whole) {
    std::vector<std::int64_t> read;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t tap = 0; tap < s.r; ++tap)
            if (const std::int64_t y = row * s.stride_h + tap * s.dilation_h;
                !whole || (y >= s.pad_h && y < s.pad_h + s.h))
                read.push_back(y);
    return read;
}

std::int64_t distinct(std::vector<std::int64_t> rows) {
    std::ranges::sort(rows);
    return std::unique(rows.begin(), rows.end()) - rows.begin();
}

std::int64_t PatchRows::widest() const {
    std::int64_t elements = 1;
    while (elements * 2 * bytes <= 16 && s.w % (elements * 2) == 0 &&
           columns * s.stride_w % (elements * 2) == 0)
        elements *= 2;
    return elements;
}

std::vector<PatchRows::Load> PatchRows::row_loads() const {
    std::set<std::int64_t> read; // columns of the map that any tap of any output reads
    for (std::int64_t column = 0; column < columns; ++column)
        for (std::int64_t tap = 0; tap < s.s; ++tap)
            read.insert(column * s.stride_w + tap * s.dilation_w - s.pad_w);
    const std::int64_t low = *read.begin(), high = *read.rbegin() + 1;
    std::vector<Load> loads;
    for (std::int64_t at = -round_up(s.pad_w, vector); at < high; at += vector) {
        const auto next = read.lower_bound(at);
        if (next == read.end() || *next >= at + vector)
            continue;
        // A vector at either end may be read in part.
        std::int64_t from = at, elements = vector;
        for (std::int64_t part : {vector / 4, vector / 2}) {
            if (part == 0)
                continue;
            if (low >= at + vector - part) {
                from = at + vector - part, elements = part;
                break;
            }
            if (high <= at + part) {
                elements = part;
                break;
            }
        }
        loads.push_back({from, elements});
    }
    return loads;
}

std::int64_t PatchRows::row_pixels() const {
    std::int64_t pixels = 0;
    for (const Load &load : row_loads())
        pixels += load.elements;
    return pixels;
}

std::int64_t PatchRows::row_words() const {
    std::int64_t words = 0;
    for (const Load &load : row_loads())
        words += ceil_div(load.elements * bytes, 4);
    return words;
}

LookedAt looked_at(std::int64_t patches) {
    constexpr std::int64_t most_warps = 16;
    const std::int64_t warps = std::clamp<std::int64_t>(patches / warp_lanes, 1, most_warps);
    return {warps, std::min(patches, warps * warp_lanes)};
}

std::int64_t PatchRows::place(std::int64_t patch, std::int64_t width, std::int64_t stride_h,
                              std::int64_t stride_w) const {
    return patch / row_patches % row_groups * rows * stride_h * width +
           patch % row_patches * columns * stride_w;
}

double PatchRows::row_passes(std::int64_t patches, std::int64_t plane_pitch, std::int64_t filters) const {
    const auto [warps, lanes] = looked_at(patches);
    double passes = 0.0;
    for (const Load &load : row_loads())
        passes += gathered(
            lanes, int(std::max<std::int64_t>(1, load.elements * bytes / 4)), [&](std::int64_t patch) {
                return (patch / plane_patches / filters * plane_pitch +
                        place(patch, s.w, s.stride_h, s.stride_w) + load.at + s.w * s.pad_h + s.pad_w) *
                       bytes / 4;
            });
    return passes / double(warps);
}

double PatchRows::store_passes(std::int64_t patches, std::int64_t plane_pitch) const {
    const auto [warps, lanes] = looked_at(patches);
    const std::int64_t result = s.result_bytes();
    return gathered(lanes, int(std::max<std::int64_t>(1, columns * result / 4)),
                    [&](std::int64_t patch) {
                        return (patch / plane_patches * plane_pitch + place(patch, s.q(), 1, 1)) * result / 4;
                    }) /
           double(warps);
}

double PatchRows::load_instructions() const {
    const std::int64_t all_rows = loaded_rows(), last_y = (row_groups - 1) * rows * s.stride_h - s.pad_h,
                       guarded_rows =
                           whole ? 0
                                 : all_rows - std::clamp<std::int64_t>(s.h - last_y - s.pad_h, 0, all_rows);
    double all = 0.0;
    for (const Load &load : row_loads()) {
        const bool beside = // it leaves the map in some patch
            load.at < 0 || (row_patches - 1) * columns * s.stride_w + load.at + load.elements > s.w;
        const double zeros = double(ceil_div(load.elements * bytes, 4));
        all += double(all_rows) + double(beside ? all_rows : guarded_rows) * zeros + double(guarded_rows);
    }
    return all;
}

double PatchRows::bytes_under(double threads) const {
    const double read_rows = std::max(1.0, threads / double(row_patches)) * double(rows * s.stride_h) +
                             double(reach_h - s.stride_h),
                 width = std::min(double(s.w),
                                  std::min(threads, double(row_patches)) * double(columns * s.stride_w) +
                                      double(reach_w - s.stride_w));
    const double planes = std::max(1.0, threads / double(plane_patches));
    return std::min(read_rows * spanned_bytes(width * double(bytes), vector * bytes),
                    planes * double(s.h * s.w * bytes));
}

std::string PatchRows::too_many_loads() const {
    const std::int64_t loads = window_h * (ceil_div(window_w, vector) + 1);
    if (window_h <= most_window && loads <= most_loads)
        return "";
    return fmt::format(
        "patches of {} x {} outputs reach over {} rows and {} loads: at most {} and {} are built", rows,
        columns, window_h, loads, most_window, most_loads);
}

std::string outside_patches(const ConvShape &s) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    for (const std::int64_t size :
         {s.h + 2 * s.pad_h, s.w + 2 * s.pad_w, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w, s.c, s.k})
        if (size > most)
            return fmt::format("a size of {} exceeds 32 bits", size);
    const std::int64_t reach_h = (s.r - 1) * s.dilation_h + 1, reach_w = (s.s - 1) * s.dilation_w + 1;
    if (reach_h > PatchRows::most_window || reach_h * reach_w > PatchRows::most_loads)
        return fmt::format(
            "a filter that reaches over {} x {} pixels: at most {} rows and {} pixels are built", reach_h,
            reach_w, PatchRows::most_window, PatchRows::most_loads);
    if (s.r * s.dilation_h > most || s.s * s.dilation_w > most ||
        (s.h + 2 * s.pad_h + s.r * s.dilation_h) * (s.w + 2 * s.pad_w) > most ||
        s.k * s.p() * s.q() > most / 2)
        return "an image exceeds 32 bits";
    return "";
}

int widest_divisor(std::int64_t total, int most) {
    while (total % most != 0)
        most /= 2;
    return most;
}

std::string settle_patch(int &rows, int &columns, int &threads, const ConvShape &s, std::int64_t usual_rows,
                         int usual_threads) {
    if (columns == 0)
        columns = widest_divisor(s.q(), 4);
    if (rows == 0)
        rows = int(rows_of_patch(s, usual_rows));
    rows = int(std::min<std::int64_t>(rows, s.p()));
    if (threads == 0)
        threads = usual_threads;
    if (!power_of_two_in(columns, 1, 4))
        return fmt::format("columns must be 1, 2 or 4, got {}", columns);
    if (s.q() % columns != 0)
        return fmt::format("columns = {} does not divide the {} outputs of a row", columns, s.q());
    return threads % warp_lanes == 0 ? "" : fmt::format("threads must be a multiple of 32, got {}", threads);
}

Partition patch_launch(const char *kernel, const PatchRows &patch, const std::array<std::int64_t, 3> &grid,
                       const CtaSize &cta, std::initializer_list<std::int64_t> further, std::int64_t patches,
                       const Gpu &gpu) {
    const ConvShape &s = patch.s;
    Partition part = launch_of_ctas(kernel, grid, cta, gpu);
    part.template_arguments = {s.r,     s.s,     s.h,          s.w,          s.stride_h, s.stride_w,
                               s.pad_h, s.pad_w, s.dilation_h, s.dilation_w, patch.rows, patch.columns};
    part.template_arguments.insert(part.template_arguments.end(), further);
    add_element_type(part, s);
    part.barriers = 0; // of a step
    part.filter_count = s.k;
    part.copy_passes = 1.0;
    part.busy_warps = ceil_div(std::min(part.threads, patches), warp_lanes);
    return part;
}

void fill_patch_traffic(Partition &part, const PatchRows &patch, const Gpu &gpu) {
    const ConvShape &s = patch.s;
    part.work.l2_write_bytes = written_bytes_of_patches(s, patch.rows, patch.columns);
    // The share of rows' ends whose rest of a sector another warp writes, later.
    const double apart = 1.0 - rows_meet_in_a_warp(s, patch.rows, patch.columns);
    fill_dram(part.work, s, gpu);
    const double output = double(s.output_bytes());
    part.partial_write_bytes =
        *part.work.dram_write_bytes / output * apart * written_in_part(*part.work.l2_write_bytes, output);
}

std::int64_t rows_of_patch(const ConvShape &s, std::int64_t most) {
    return least_surplus(s.p(), std::min(most, s.p()));
}

} // namespace convcast
