// implicit_gemm_rows: the product of implicit_gemm, [filters] x [pixels] over (c, r, s), from rows of the
// image: a step brings every input row of its channels S times, moved by a pixel each time, and the R taps of
// a filter column share one of them, where implicit_gemm lays out a copy for each tap. A thread's pixels are
// ThreadPixels neighbours of one output row (a unit). A CTA takes TilePixels / ThreadPixels units that follow
// one another over (image, row, unit of the row), where a row is a block of Columns units. Filters come as
// they lie, 16 bytes a load where that is aligned, and are turned on their way to shared memory through
// registers, so that a tap of four filters is one load.
//   first step; then per step: pixels of the next by asynchronous copies | Parts x (load some filters of the
//   next | multiply | write them to shared memory) | barrier
// Rows once, with the S taps in a window of registers, would need a third of the copies, but from one tap to
// the next a pixel then changes its register bank, and every other FFMA waits for two operands of one bank.
//
// Microseconds (cold L2, medians) on an H200, best of the settings tried, beside copies for each tap in the
// same run:
//   n1c64h56w56k64r1s1 3.6 (4.4), n1c128h112w112k128r1s1 13.6 (15.4), n1c256h28w28k256r5s5 61.4 (76.0),
//   n1c128h28w28k128r5s5 19.9 (27.6), n1c512h7w7k512r3s3_pad1x1 21.8 (27.4); slower: n1c512h7w7k512r3s3 19.2
//   (14.0)
#include "executor/kernels/common.cuh"

using namespace convcast;

namespace convcast {

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

/// 4 bytes from global to shared memory; zero instead when `bits` has no bit of `mask`.
__device__ __forceinline__ void copy_async_4_if(float *to, const float *from, unsigned bits, unsigned mask) {
    asm volatile("{\n\t"
                 ".reg .pred outside;\n\t"
                 ".reg .b32 its;\n\t"
                 "and.b32 its, %2, %3;\n\t"
                 "setp.eq.b32 outside, its, 0;\n\t"
                 "cp.async.ca.shared.global [%0], [%1], 4, outside;\n\t"
                 "}" ::"r"(shared_address(to)),
                 "l"(from), "r"(bits), "r"(mask));
}

__device__ __forceinline__ void add(float4 &to, const float4 &v) {
    to.x += v.x, to.y += v.y, to.z += v.z, to.w += v.w;
}

/// Four floats of the shared memory of the cluster's CTA `rank`, at the address that they have in this CTA's.
__device__ __forceinline__ float4 load_four_from_cta(const float *at, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(at)), "r"(rank));
    float4 v;
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(there)
                 : "memory");
    return v;
}

/// Asks for bytes, a multiple of 16, to be brought to L2.
__device__ __forceinline__ void prefetch_to_l2(const float *from, int bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

__host__ __device__ constexpr int smaller(int a, int b) {
    return a < b ? a : b;
}
__host__ __device__ constexpr int larger(int a, int b) {
    return a < b ? b : a;
}
__host__ __device__ constexpr int quotient_up(int a, int b) {
    return (a + b - 1) / b;
}
__host__ __device__ constexpr int common_divisor(int a, int b) {
    return b == 0 ? a : common_divisor(b, a % b);
}
/// The largest divisor of `n` up to `most`.
__host__ __device__ constexpr int divisor_up_to(int n, int most) {
    return n <= most ? n : n % most == 0 ? most : divisor_up_to(n, most - 1);
}
__host__ __device__ constexpr int power_up_to(int n) {
    return n < 2 ? 1 : 2 * power_up_to(n / 2);
}

} // namespace convcast

template <int Images, int Channels, int Height, int Width, int Filters, int Groups, int R, int S, int StrideH,
          int StrideW, int PadH, int PadW, int DilationH, int DilationW, int TileK, int TilePixels,
          int ThreadK, int ThreadPixels, int SliceChannels, int Columns, int Parts, int WarpSplit, int Split>
__global__ void __maxnreg__(REGISTER_CAP)
    implicit_gemm_rows(const float *__restrict__ input, const float *__restrict__ filters,
                       float *__restrict__ output, ConvArgs a) {
    constexpr int P = (Height + 2 * PadH - DilationH * (R - 1) - 1) / StrideH + 1;
    constexpr int Q = (Width + 2 * PadW - DilationW * (S - 1) - 1) / StrideW + 1;
    constexpr int plane = Height * Width, taps = R * S, values = Channels * taps,
                  slice = SliceChannels * taps;
    constexpr int steps = Channels / SliceChannels;
    constexpr bool several = steps > Split; // steps of a CTA
    // Where a filter has one row, rows that a stride jumps over are not brought.
    constexpr int row_step = R == 1 ? StrideH : 1, stride_h = R == 1 ? 1 : StrideH;

    // ---- pixels: units, tiles of them, and the input rows that a tile needs ----
    constexpr int units = Images * P * Columns, tile_units = TilePixels / ThreadPixels;
    constexpr int unit_tiles = quotient_up(units, tile_units);
    constexpr int column_blocks = quotient_up(Q, Columns * ThreadPixels);
    constexpr int image_rows = (P - 1) * stride_h + (R - 1) * DilationH + 1;
    constexpr int unit_grid = common_divisor(tile_units, Columns); // tiles start at multiples of it
    constexpr int out_rows = smaller(Images * P, quotient_up(Columns - unit_grid + tile_units, Columns));
    constexpr int row_grid = tile_units % Columns == 0 ? common_divisor(out_rows, P) : 1;
    constexpr int further_images = smaller(Images - 1, (P - row_grid + out_rows - 1) / P);
    constexpr int stage_rows = (out_rows - 1) * stride_h + (R - 1) * DilationH + 1 +
                               further_images * larger(0, image_rows - P * stride_h);
    constexpr int pitch = Columns * ThreadPixels,
                  copy_floats = stage_rows * pitch; // of a row, of a moved copy
    constexpr int channel_floats = S * copy_floats, pixel_floats = SliceChannels * channel_floats;

    // ---- threads ----
    constexpr int lanes_n = common_divisor(8, tile_units), lanes_m = 32 / lanes_n;
    constexpr int warps_n = tile_units / lanes_n;
    constexpr int threads = TileK / ThreadK * tile_units * WarpSplit, warps = threads / 32;
    constexpr int filter_pitch = TileK + 4; // turning writes four values of 8 filters free of conflicts
    constexpr int filter_floats = slice * filter_pitch, stage_floats = filter_floats + pixel_floats;
    constexpr int filter_tiles = quotient_up(Filters, TileK);
    constexpr bool whole_tiles = Filters % TileK == 0;
    extern __shared__ __align__(16) float shared[];

    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int part = Split > 1 ? blockIdx.x % Split : 0;
    const int filter0 = blockIdx.x / Split % filter_tiles * TileK;
    const int tile = blockIdx.x / (Split * filter_tiles), unit0 = tile % unit_tiles * tile_units;
    const int column0 = tile / unit_tiles * (Columns * ThreadPixels); // in the output
    const int group = blockIdx.y;
    const int first_step = steps * part / Split, last_step = steps * (part + 1) / Split;
//: fetch_biases(a, group * Filters + filter0, TileK, Groups * Filters - 1);
    const auto staged_row = [](int unit) { // of a unit's first filter row, over all images
        const int row = unit / Columns;
        return row / P * image_rows + row % P * stride_h;
    };
    const int row0 = staged_row(unit0);

    // ---- filters on their way ----
    constexpr int copiers = power_up_to(threads);
    constexpr bool wide_filters = values % 4 == 0 && slice % 4 == 0;
    // Wide: a warp takes 16 filters x 2 quads of values; else 4 filters x 8 values.
    constexpr int quad = wide_filters ? 4 : 1, row_quads = slice / quad;
    constexpr int side = wide_filters ? 2 : 8; // lanes side by side along the values
    constexpr int at_once = copiers / side;    // filters
    constexpr int turns = larger(1, TileK / at_once), run = side * larger(1, at_once / TileK);
    constexpr int runs = quotient_up(row_quads, run), part_runs = quotient_up(runs, Parts);
    constexpr bool whole_runs = part_runs * Parts * run == row_quads;
    const int copy_filter = tid / side % TileK, copy_quad = tid % side + tid / side / TileK * side;
    const bool copies_filters = threads == copiers || tid < copiers;
    filters += static_cast<long long>(group * Filters + filter0 + copy_filter) * values + first_step * slice +
               copy_quad * quad;
    // Loads runs [first, first + Count) of the step's values for all of the tile's filters, and stores them.
    const auto load_filters = [&](auto &kept, int first) {
        constexpr int count = sizeof(kept) / sizeof(kept[0]);
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const float *from = filters + (first + i) * (run * quad);
            const bool there = copies_filters && (whole_runs || (first + i) * run + copy_quad < row_quads);
#pragma unroll
            for (int t = 0; t < turns; ++t) {
#pragma unroll
                for (int j = 0; j < quad; ++j)
                    kept[i][t][j] = 0.0f;
                if (there && (whole_tiles || filter0 + copy_filter + t * at_once < Filters)) {
                    const float *its = from + static_cast<long long>(t * at_once) * values;
                    if constexpr (wide_filters)
                        load_group(kept[i][t], its);
                    else
                        kept[i][t][0] = *its;
                }
            }
        }
    };
    const auto store_filters = [&](float *stage, const auto &kept, int first) {
        constexpr int count = sizeof(kept) / sizeof(kept[0]);
        float *to = stage + (copy_quad + first * run) * (quad * filter_pitch) + copy_filter;
#pragma unroll
        for (int i = 0; i < count; ++i)
            if (copies_filters && (whole_runs || (first + i) * run + copy_quad < row_quads)) {
#pragma unroll
                for (int t = 0; t < turns; ++t)
#pragma unroll
                    for (int j = 0; j < quad; ++j)
                        to[(i * run * quad + j) * filter_pitch + t * at_once] = kept[i][t][j];
            }
    };

    // ---- pixels on their way: a thread copies the same places of a map for every channel ----
    constexpr bool wide_pixels = S == 1 && StrideW == 1 && PadW == 0 && Width % 4 == 0;
    constexpr int width = wide_pixels ? 4 : 1, place_count = copy_floats / width;
    constexpr int places = quotient_up(place_count, threads);                         // of a thread
    constexpr int sharers = larger(1, smaller(SliceChannels, threads / place_count)); // channels at once
    const int copy_channel = sharers > 1 ? tid / place_count : 0;
    int offset[places];
    unsigned long long inside[places]; // bit s: the pixel that tap s wants lies inside the image
    bool copies_place[places];
#pragma unroll
    for (int i = 0; i < places; ++i) {
        const int at = (sharers > 1 ? tid % place_count : tid + i * threads) * width;
        const int row = row0 + at / pitch, image = Images == 1 ? 0 : row / image_rows;
        const int y = (row - image * image_rows) * row_step - PadH;
        const int x = (column0 + at % pitch) * StrideW - PadW;
        offset[i] = image * (Groups * Channels * plane) + copy_channel * plane + y * Width + x;
        inside[i] = 0;
        if (image < Images && y >= 0 && y < Height) {
#pragma unroll
            for (int s = 0; s < S; ++s)
                inside[i] |=
                    static_cast<unsigned long long>(x + s * DilationW >= 0 && x + s * DilationW < Width) << s;
        }
        copies_place[i] = sharers > 1 ? sharers * place_count == threads || copy_channel < sharers
                                      : (i + 1) * threads <= place_count || tid + i * threads < place_count;
    }
    input += static_cast<long long>(group * Channels + first_step * SliceChannels) * plane;
    const auto fetch_pixels = [&](float *stage) {
        float *to = stage + filter_floats + copy_channel * (channel_floats - copy_floats) + tid * width;
#pragma unroll
        for (int i = 0; i < places; ++i)
            if (copies_place[i]) {
                const float *from = input + offset[i];
                unsigned long long bits = inside[i];
                asm volatile("" : "+l"(bits)); // or every tap's bit is kept in a register over all steps
#pragma unroll
                for (int c = 0; c < SliceChannels; c += sharers)
                    if (c + sharers <= SliceChannels || c + copy_channel < SliceChannels) {
#pragma unroll
                        for (int s = 0; s < S; ++s) {
                            float *there = to + c * channel_floats + s * copy_floats + i * threads * width;
                            if constexpr (wide_pixels)
                                copy_async_16(there, from + c * plane, bits != 0);
                            else
                                copy_async_4_if(there, from + c * plane + s * DilationW,
                                                static_cast<unsigned>(bits >> (s / 32 * 32)), 1U << s % 32);
                        }
                    }
            }
        copy_async_commit();
        input += SliceChannels * plane;
    };

    // ---- the first step: everything is asked for before anything is waited for ----
    if constexpr (several && wide_filters && unit_tiles * column_blocks <= 4) {
        // Few CTAs read a filter: have all of this one's on its way.
        if (tid < TileK && (whole_tiles || filter0 + tid < Filters))
            prefetch_to_l2(filters + static_cast<long long>(tid - copy_filter) * values - copy_quad * quad,
                           (last_step - first_step) * slice * 4);
    }
    {
        float kept[runs][turns][quad];
        load_filters(kept, 0);
//: wait_for_launch_before(); // filters are no launch's
        fetch_pixels(shared);
        store_filters(shared, kept, 0);
    }

    // ---- what this thread computes ----
    constexpr int group_warps = warps / WarpSplit;
    const int tile_warp = WarpSplit > 1 ? warp % group_warps : warp,
              turn = WarpSplit > 1 ? warp / group_warps : 0;
    // Lanes 2 i and 2 i + 1 share filters, lanes i and i + 2 pixels: so a 128-bit load takes two passes, not
    // four.
    const int lane_n =
        lanes_n == 2 ? lane & 1 : (lane & 1) | (lane >> 1 & 2) | (lanes_n == 8 ? lane >> 2 & 4 : 0);
    const int lane_m =
        lanes_n == 2 ? lane >> 1 : (lane >> 1 & 1) | (lane >> 2 & 2) | (lanes_n == 4 ? lane >> 2 & 4 : 0);
    const int m0 = tile_warp / warps_n * (lanes_m * ThreadK) + lane_m * 4;
    const auto row_of = [](int i) { return i / 4 * (4 * lanes_m) + i % 4; };
    const int tile_unit = tile_warp % warps_n * lanes_n + lane_n;
    const int unit = units % tile_units == 0 ? unit0 + tile_unit : smaller(unit0 + tile_unit, units - 1);
    constexpr int group_channels = SliceChannels / WarpSplit, part_channels = group_channels / Parts;
    const int of_filters = turn * group_channels * taps * filter_pitch + m0;
    const int of_pixels = filter_floats + turn * group_channels * channel_floats +
                          (staged_row(unit) - row0) * pitch + unit % Columns * ThreadPixels;
    float sum[ThreadK][ThreadPixels] = {};
    constexpr int row_fmas = S * ThreadK * ThreadPixels;
    // As much of the loop as one look: with less, loads are waited for; with more, instructions are, and
    // ptxas finds fewer free register banks.
    constexpr int unroll_rows = R * row_fmas <= 640 ? R : 1;
    constexpr int unroll = taps > 1 ? 1 : divisor_up_to(part_channels, larger(1, smaller(4, 128 / row_fmas)));
    const auto multiply = [&](const float *stage, int part_of_step) {
        const float *w_at = stage + of_filters + part_of_step * (part_channels * taps * filter_pitch);
        const float *x_at = stage + of_pixels + part_of_step * (part_channels * channel_floats);
#pragma unroll 1
        for (int c = 0; c < part_channels; c += unroll) {
#pragma unroll
            for (int u = 0; u < unroll; ++u) {
#pragma unroll unroll_rows
                for (int r = 0; r < R; ++r) {
#pragma unroll
                    for (int s = 0; s < S; ++s) {
                        float x[ThreadPixels], w[ThreadK];
                        load_group(x, x_at + u * channel_floats + s * copy_floats + r * (DilationH * pitch));
#pragma unroll
                        for (int i = 0; i < ThreadK; i += 4)
                            load_group(*reinterpret_cast<float(*)[4]>(w + i),
                                       w_at + (u * taps + r * S + s) * filter_pitch + i * lanes_m);
                        constexpr bool along_pixels = ThreadPixels <= ThreadK;
                        constexpr int inner = along_pixels ? ThreadPixels : ThreadK;
                        constexpr int outer = along_pixels ? ThreadK : ThreadPixels;
                        // To and fro, so that each FFMA shares an operand with the one before it.
#pragma unroll
                        for (int o = 0; o < outer; ++o)
#pragma unroll
                            for (int n = 0; n < inner; ++n) {
                                const int there = o % 2 == 0 ? n : inner - 1 - n;
                                const int i = along_pixels ? o : there, j = along_pixels ? there : o;
                                sum[i][j] = fmaf(w[i], x[j], sum[i][j]);
                            }
                    }
                }
            }
            w_at += unroll * taps * filter_pitch, x_at += unroll * channel_floats;
        }
    };

    copy_async_wait<0>();
    __syncthreads();
    int now = 0;
#pragma unroll 1
    for (int step = first_step; step < last_step; ++step) {
        const bool more = several && step + 1 < last_step;
        const float *stage = shared + now * stage_floats;
        now ^= 1;
        float *next = shared + now * stage_floats;
        if (more) {
            filters += slice;
            fetch_pixels(next);
        }
#pragma unroll 1
        for (int p = 0; p < Parts; ++p) {
            float kept[part_runs][turns][quad];
            if (more)
                load_filters(kept, p * part_runs);
            multiply(stage, p);
            if (more)
                store_filters(next, kept, p * part_runs);
        }
        copy_async_wait<0>();
        __syncthreads();
    }

    // ---- results ----
    // Stores want four sums in neighbouring registers. Sums that lived there from the start would share the
    // register bank of the operand they are read with, at a clock an FFMA; so they get there by an operation
    // that changes nothing.
    const int zero = a.n >> 31;
#pragma unroll
    for (int i = 0; i < ThreadK; ++i)
#pragma unroll
        for (int j = 0; j < ThreadPixels; ++j)
            sum[i][j] = __int_as_float(__float_as_int(sum[i][j]) ^ zero);
//: const float *const outputs = output;
    output += static_cast<long long>(group * Filters + filter0) * (P * Q);
    const auto output_of = [&](int unit_of_tile, int pixel) -> float * { // null where there is none
        const int its = unit0 + unit_of_tile, row = its / Columns,
                  q = column0 + its % Columns * ThreadPixels + pixel;
        if ((units % tile_units != 0 && its >= units) || q >= Q)
            return nullptr;
        return output +
               static_cast<long long>(row / P) * (static_cast<long long>(Groups) * Filters * (P * Q)) +
               row % P * Q + q;
    };
    if constexpr (WarpSplit * Split == 1 && Q % 4 == 0 && ThreadPixels == 8 && lanes_n % 2 == 0) {
        // A thread's two fours are halves of a sector. Of two lanes side by side each takes one half of both, so that
        // together they store whole sectors: the first lane's, then the second's.
        const bool second = lane & 1;
        float *to_first = output_of(tile_unit & ~1, second ? 4 : 0), *to_second = output_of(tile_unit | 1, second ? 4 : 0);
#pragma unroll
        for (int i = 0; i < ThreadK; ++i) {
            const int m = m0 + row_of(i);
            float theirs[4];
#pragma unroll
            for (int j = 0; j < 4; ++j)
                theirs[j] = __shfl_xor_sync(0xFFFFFFFF, second ? sum[i][j] : sum[i][j + 4], 1);
            if (!whole_tiles && filter0 + m >= Filters)
                continue;
            const long long at = static_cast<long long>(m) * (P * Q);
//: float of_first[4], of_second[4];
//: #pragma unroll
//: for (int j = 0; j < 4; ++j) {
//:     of_first[j] = second ? theirs[j] : sum[i][j];
//:     of_second[j] = second ? sum[i][j + 4] : theirs[j];
//: }
//: if (to_first)
//:     end_group(of_first, a, group * Filters + filter0 + m, to_first + at - outputs);
//: if (to_second)
//:     end_group(of_second, a, group * Filters + filter0 + m, to_second + at - outputs);
//: #pragma unroll
//: for (int j = 0; j < 4; ++j) {
//:     theirs[j] = second ? of_first[j] : of_second[j];
//:     sum[i][j] = of_first[j], sum[i][j + 4] = of_second[j]; // a lane stores only its half of them
//: }
            if (to_first)
                store_four(to_first + at, second ? theirs[0] : sum[i][0], second ? theirs[1] : sum[i][1],
                           second ? theirs[2] : sum[i][2], second ? theirs[3] : sum[i][3]);
            if (to_second)
                store_four(to_second + at, second ? sum[i][4] : theirs[0], second ? sum[i][5] : theirs[1],
                           second ? sum[i][6] : theirs[2], second ? sum[i][7] : theirs[3]);
        }
    } else if constexpr (WarpSplit * Split == 1 && Q % 4 == 0) {
#pragma unroll
        for (int j = 0; j < ThreadPixels; j += 4)
            if (float *to = output_of(tile_unit, j)) {
#pragma unroll
                for (int i = 0; i < ThreadK; ++i) {
                    const int m = m0 + row_of(i);
//: if (whole_tiles || filter0 + m < Filters)
//:     end_four(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3], a, group * Filters + filter0 + m,
//:              to + static_cast<long long>(m) * (P * Q) - outputs);
                    if (whole_tiles || filter0 + m < Filters)
                        store_four(to + static_cast<long long>(m) * (P * Q), sum[i][j], sum[i][j + 1],
                                   sum[i][j + 2], sum[i][j + 3]);
                }
            }
    } else {
        // Sums meet in shared memory, [turn][TileK][TilePixels]; every CTA of the cluster adds up its share
        // of the tile's filters, in the same order each time.
        constexpr int tile_floats = TileK * TilePixels;
#pragma unroll
        for (int i = 0; i < ThreadK; ++i)
#pragma unroll
            for (int j = 0; j < ThreadPixels; j += 4)
                *reinterpret_cast<float4 *>(shared + turn * tile_floats + (m0 + row_of(i)) * TilePixels +
                                            tile_unit * ThreadPixels + j) =
                    make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
        __syncthreads();
        if constexpr (Split > 1) {
            if constexpr (WarpSplit > 1) {
#pragma unroll 1
                for (int at = tid * 4; at < tile_floats; at += threads * 4) {
                    float4 total = *reinterpret_cast<const float4 *>(shared + at);
#pragma unroll
                    for (int t = 1; t < WarpSplit; ++t)
                        add(total, *reinterpret_cast<const float4 *>(shared + t * tile_floats + at));
                    *reinterpret_cast<float4 *>(shared + at) = total;
                }
            }
            cluster_sync();
        }
        if constexpr (WarpSplit * Split == 1) { // nothing to add up: one pixel after the other, side by side
            constexpr int row_threads = smaller(threads, TilePixels), rows_at_once = threads / row_threads;
            const int first_row = tid / row_threads;
            if (threads % row_threads == 0 || first_row < rows_at_once) {
#pragma unroll 1
                for (int pixel = tid % row_threads; pixel < TilePixels; pixel += row_threads) {
                    float *to = output_of(pixel / ThreadPixels, pixel % ThreadPixels);
                    if (to == nullptr)
                        continue;
#pragma unroll 2
                    for (int m = first_row; m < TileK; m += rows_at_once) {
                        if (!whole_tiles && filter0 + m >= Filters)
                            break;
//: shared[m * TilePixels + pixel] =
//:     end_of_convolution(shared[m * TilePixels + pixel], a, group * Filters + filter0 + m,
//:                        to + static_cast<long long>(m) * (P * Q) - outputs);
                        to[static_cast<long long>(m) * (P * Q)] = shared[m * TilePixels + pixel];
                    }
                }
            }
        } else {
            constexpr int row_items = TilePixels / 4, items = TileK * row_items;
            const int last_item = items * (part + 1) / Split;
#pragma unroll 1
            for (int item = items * part / Split + tid; item < last_item; item += threads) {
                const int m = item / row_items, pixel = item % row_items * 4;
                float *to = output_of(pixel / ThreadPixels, pixel % ThreadPixels);
                if (to == nullptr || (!whole_tiles && filter0 + m >= Filters))
                    continue;
                to += static_cast<long long>(m) * (P * Q);
                const float *at = shared + m * TilePixels + pixel;
//: const int channel = group * Filters + filter0 + m;
//: float4 terms = {0.0f, 0.0f, 0.0f, 0.0f};
//: if constexpr (Q % 4 == 0)
//:     terms = end_terms_of_four(a, channel, to - outputs);
                float4 total = {0.0f, 0.0f, 0.0f, 0.0f};
                if constexpr (Split > 1) {
#pragma unroll
                    for (int from = 0; from < Split; ++from)
                        add(total, load_four_from_cta(at, from));
                } else {
#pragma unroll
                    for (int t = 0; t < WarpSplit; ++t)
                        add(total, *reinterpret_cast<const float4 *>(at + t * tile_floats));
                }
//: if constexpr (Q % 4 == 0)
//:     end_four(total.x, total.y, total.z, total.w, terms);
                if constexpr (Q % 4 == 0) {
                    *reinterpret_cast<float4 *>(to) = total;
                } else {
                    const int left = Q - (column0 + (unit0 + pixel / ThreadPixels) % Columns * ThreadPixels +
                                          pixel % ThreadPixels);
//: total.x = end_of_convolution(total.x, a, channel, to - outputs);
//: if (left > 1)
//:     total.y = end_of_convolution(total.y, a, channel, to - outputs + 1);
//: if (left > 2)
//:     total.z = end_of_convolution(total.z, a, channel, to - outputs + 2);
//: if (left > 3)
//:     total.w = end_of_convolution(total.w, a, channel, to - outputs + 3);
                    to[0] = total.x;
                    if (left > 1)
                        to[1] = total.y;
                    if (left > 2)
                        to[2] = total.z;
                    if (left > 3)
                        to[3] = total.w;
                }
            }
        }
        if constexpr (Split > 1)
            cluster_sync(); // no CTA ends while others read its sums
    }
}
