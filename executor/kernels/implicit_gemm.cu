// implicit_gemm: a convolution as a matrix product [filters] x [pixels of all images] over (c, r, s), one a
// group. A CTA computes TileK x TilePixels outputs, a thread ThreadK x ThreadPixels of them in registers; a
// step brings SliceChannels channels of both, pixels as im2col would lay them out but straight from the
// image. Everything about the shape is a template argument, so every copy is one instruction: base register +
// constant, zeroed by a bit of a mask where its tap lies in the padding.
//   fetch steps 0 .. Stages-2;  then per step: wait | barrier | fetch step + Stages - 1 | multiply
// Small maps: WarpSplit groups of warps take shares of every step, Split CTAs of a cluster shares of the
// channels; their sums meet in shared memory and are added in the same order each time.
//
// The ladder, microseconds (cold L2, medians) on an H200:
//   a) n32c256h56w56k256r3s3_pad1x1, filters prepared   b) n1c512h7w7k512r5s5
//   c) n1c512h14w14k512r5s5                             d) n1c128h112w112k128r3s3
//                                                                         a     b     c     d
//   1  8 x 8 sums, 4-byte copies; pixels past the last read the last      2338  80.2  137   105
//   2  the rules below                                                    2288  29.0  82.1  90.4
//   3  raw filters by 16 bytes, tiles of any multiple of 16 pixels        2288  22.4  62.1  88.1
// The rules: lanes that copy from one address are served one after another, 33 clocks a copy instead of 2.5,
// so pixels past the last are zeros. Lanes share operands in pairs, so a 128-bit load takes two passes
// through shared memory, not three. Sums do not live in the registers that the last stores want: there they
// shared the bank of the pixels, and most FFMAs took two clocks. a) is 51.7 TFLOP/s of 66.9: 90 % of the
// loop's instructions are FFMAs, an eighth of these still wait for a register bank. 16 x 8 sums reach 52.2
// there, and less on other layers. Small layers wait for 4-byte pixel copies (2.5 to 3.5 clocks each of the
// pipe that also serves the loads), fill and drain. Tried without gain: keeping the CTAs of a cluster on SMs
// of their own (8 % slower in the mean).
#include "executor/kernels/common.cuh"

using namespace convcast;

namespace convcast {

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

/// A float of the shared memory of the cluster's CTA `rank`, at the address that it has in this CTA's.
__device__ __forceinline__ float load_from_cta(const float *at, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(at)), "r"(rank));
    float value;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
    return value;
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

__host__ __device__ constexpr int smaller(int a, int b) {
    return a < b ? a : b;
}
__host__ __device__ constexpr int common_divisor(int a, int b) {
    return b == 0 ? a : common_divisor(b, a % b);
}
/// The largest divisor of `n` up to `most`.
__host__ __device__ constexpr int divisor_up_to(int n, int most) {
    return n % most == 0 ? most : divisor_up_to(n, most - 1);
}

} // namespace convcast

template <int Images, int Channels, int Height, int Width, int Filters, int Groups, int R, int S, int StrideH,
          int StrideW, int PadH, int PadW, int DilationH, int DilationW, int TileK, int TilePixels,
          int ThreadK, int ThreadPixels, int SliceChannels, int SliceRows, int Stages, int WarpSplit,
          int Split, bool Prepared>
__global__ void __maxnreg__(REGISTER_CAP)
    implicit_gemm(const float *__restrict__ input, const float *__restrict__ filters,
                  float *__restrict__ output, ConvArgs a) {
    constexpr int P = (Height + 2 * PadH - DilationH * (R - 1) - 1) / StrideH + 1;
    constexpr int Q = (Width + 2 * PadW - DilationW * (S - 1) - 1) / StrideW + 1;
    constexpr int pixels_of_image = P * Q, pixels = Images * pixels_of_image;
    constexpr int plane = Height * Width, values = Channels * R * S;
    constexpr bool padded = PadH > 0 || PadW > 0;
    constexpr bool wide_pixels = R * S == 1 && StrideH * StrideW == 1 && !padded && plane % 4 == 0;
    constexpr bool whole_slices = Channels % SliceChannels == 0, whole_tiles = Filters % TileK == 0;
    constexpr bool whole_pixels = pixels % TilePixels == 0;

    constexpr int taps = SliceRows * S, slice = SliceChannels * taps, depth = slice / WarpSplit;
    constexpr int steps = (Channels + SliceChannels - 1) / SliceChannels * (R / SliceRows);
    constexpr int tile_threads = TileK / ThreadK * (TilePixels / ThreadPixels);
    constexpr int threads = tile_threads * WarpSplit, warps = threads / 32;
    constexpr int lanes_n = common_divisor(8, TilePixels / ThreadPixels), lanes_m = 32 / lanes_n;
    constexpr int warps_n = TilePixels / ThreadPixels / lanes_n;
    // Three ways to bring filters. Prepared: rows of one value, 16 bytes a copy. Raw rows of one filter, 16
    // bytes a copy, where they are aligned; a thread then reads four values of a filter at once. Else 4-byte
    // copies that transpose.
    constexpr bool by_filter =
        !Prepared && SliceRows == R && values % 4 == 0 && slice % 4 == 0 && whole_slices;
    // Rows are padded against bank conflicts: of a filter, for reading 16 bytes of neighbouring filters; of a
    // value, for writing 8 values of 4 filters.
    constexpr int pitch = Prepared ? TileK : by_filter ? slice / 4 % 2 == 1 ? slice : slice + 4 : TileK + 4;
    constexpr int filter_floats = by_filter ? TileK * pitch : slice * pitch;
    constexpr int stage_floats = filter_floats + slice * TilePixels;
    constexpr int filter_tiles = (Filters + TileK - 1) / TileK;
    extern __shared__ __align__(16) float shared[];

    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int part = Split > 1 ? blockIdx.x % Split : 0;
    const int filter0 = blockIdx.x / Split % filter_tiles * TileK;
    const int pixel0 = blockIdx.x / (Split * filter_tiles) * TilePixels;
    const int group = blockIdx.y;
    const int first_step = steps * part / Split, last_step = steps * (part + 1) / Split;
//: fetch_biases(a, group * Filters + filter0, TileK, Groups * Filters - 1);
//: if constexpr (END_ADD) {
//:     constexpr int lines = (TilePixels + 31) / 32;
//:     for (int i = part * threads + tid; i < TileK * lines; i += Split * threads) {
//:         const int m = filter0 + i / lines, pixel = pixel0 + i % lines * 32;
//:         if (m < Filters && pixel < pixels)
//:             fetch_added(a, (pixel / pixels_of_image * (Groups * Filters) + group * Filters + m) *
//:                                    static_cast<long long>(pixels_of_image) +
//:                                pixel % pixels_of_image);
//:     }
//: }

    // ---- what this thread copies of the filters ----
    constexpr int quads = TileK / 4;
    constexpr int warps_k = common_divisor(warps, quads), warps_v = warps / warps_k;
    constexpr int copies_v = (slice + 8 * warps_v - 1) / (8 * warps_v), copies_k = quads / warps_k;
    constexpr int padded_filters = (Filters + 3) / 4 * 4;
    constexpr int filter_rows = threads / quads; // prepared: rows of the slice that one copy of all brings
    constexpr int row_copies = by_filter ? slice / 4 : 1, copied_filters = threads / row_copies; // by filter
    const int copy_value = Prepared    ? tid / quads
                           : by_filter ? tid % row_copies * 4
                                       : 8 * (warp / warps_k) + lane % 8;
    const int copy_filter = Prepared    ? tid % quads * 4
                            : by_filter ? tid / row_copies
                                        : 4 * (warp % warps_k) + lane / 8;
    const float *from_filters;
    int value_offset[copies_v];
    if constexpr (Prepared) {
        from_filters = filters +
                       (static_cast<long long>(group) * steps * slice + first_step * slice + copy_value) *
                           padded_filters +
                       filter0 + copy_filter;
    } else {
        from_filters = filters + static_cast<long long>(group * Filters + filter0 + copy_filter) * values +
                       first_step / (R / SliceRows) * (SliceChannels * R * S) +
                       first_step % (R / SliceRows) * S;
#pragma unroll
        for (int j = 0; j < copies_v; ++j) {
            const int value = copy_value + 8 * warps_v * j;
            value_offset[j] = SliceRows == R ? 0 : value / S * (R * S) + value % S;
        }
        if (SliceRows == R)
            from_filters += copy_value;
    }

    // ---- what this thread copies of the pixels ----
    constexpr int unit = wide_pixels ? 4 : 1;
    constexpr int units = TilePixels / unit;
    constexpr int lanes_p =
        divisor_up_to(units, smaller(threads, units)); // threads side by side along the pixels
    constexpr int per_thread = units / lanes_p;        // units of a thread in a row of the slice
    constexpr int sharers =
        common_divisor(threads / lanes_p, SliceChannels); // threads that share a unit's channels
    const int copy_pixel = tid % lanes_p * unit, copy_channel = tid / lanes_p;
    const float *from_pixels[per_thread];
    const bool copies_pixels = threads == lanes_p * sharers || copy_channel < sharers;
    unsigned long long columns[per_thread], rows[per_thread]; // bit s, bit r: the tap lies inside the image
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        const int pixel = pixel0 + copy_pixel + i * lanes_p * unit;
        const int image = pixel / pixels_of_image, p = pixel % pixels_of_image / Q, q = pixel % Q;
        const int y = (wide_pixels ? 0 : p * StrideH - PadH),
                  x = wide_pixels ? pixel % pixels_of_image : q * StrideW - PadW;
        from_pixels[i] =
            input +
            (static_cast<long long>(image) * Groups + group) * (static_cast<long long>(Channels) * plane) +
            static_cast<long long>(first_step / (R / SliceRows) * SliceChannels + copy_channel) * plane +
            (y + first_step % (R / SliceRows) * DilationH) * Width + x;
        // Pixels past the last one are zeros: copying the last one for them all would be slow, as lanes that
        // copy from one address are served one after another.
        rows[i] = columns[i] = 0;
        if (whole_pixels || pixel < pixels) {
#pragma unroll
            for (int r = 0; r < R; ++r)
                rows[i] |= static_cast<unsigned long long>(
                               !padded || (y + r * DilationH >= 0 && y + r * DilationH < Height))
                           << r;
#pragma unroll
            for (int s = 0; s < S; ++s)
                columns[i] |= static_cast<unsigned long long>(
                                  !padded || (x + s * DilationW >= 0 && x + s * DilationW < Width))
                              << s;
        }
    }
    constexpr bool checked = padded || !whole_pixels || !whole_slices;
    // A tap's bit, where a slice holds whole filters.
    unsigned long long inside[per_thread];
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        inside[i] = 0;
        if constexpr (SliceRows == R) {
#pragma unroll
            for (int r = 0; r < R; ++r)
                inside[i] |= (rows[i] >> r & 1 ? columns[i] : 0) << (r * S);
        }
    }

    int fetched = first_step; // the next step to fetch
    const auto fetch = [&](float *stage) {
        const int channels_left = Channels - fetched / (R / SliceRows) * SliceChannels;
        if constexpr (Prepared) {
            float *to = stage + copy_value * pitch + copy_filter;
            constexpr int copies = (slice + filter_rows - 1) / filter_rows;
            const bool there = whole_tiles || filter0 + copy_filter < padded_filters;
#pragma unroll
            for (int j = 0; j < copies; ++j)
                if (threads % quads != 0 && copy_value >= filter_rows)
                    break;
                else if ((j + 1) * filter_rows <= slice || copy_value + j * filter_rows < slice)
                    copy_async_16(to + j * filter_rows * pitch,
                                  from_filters + j * filter_rows * padded_filters, there);
            from_filters += slice * padded_filters;
        } else if constexpr (by_filter) {
            float *to = stage + copy_filter * pitch + copy_value;
            if (threads % row_copies == 0 || copy_filter < copied_filters) {
#pragma unroll
                for (int i = 0; i < TileK; i += copied_filters)
                    if (i + copied_filters <= TileK || i + copy_filter < TileK)
                        copy_async_16(to + i * pitch, from_filters + static_cast<long long>(i) * values,
                                      whole_tiles || filter0 + copy_filter + i < Filters);
            }
            from_filters += slice;
        } else {
            float *to = stage + copy_value * pitch + copy_filter;
#pragma unroll
            for (int j = 0; j < copies_v; ++j) {
                const int value = copy_value + 8 * warps_v * j;
                if ((j + 1) * 8 * warps_v <= slice || value < slice) {
#pragma unroll
                    for (int i = 0; i < copies_k; ++i) {
                        const bool valid = (whole_slices || value < channels_left * taps) &&
                                           (whole_tiles || filter0 + copy_filter + 4 * warps_k * i < Filters);
                        copy_async_4(to + j * 8 * warps_v * pitch + i * 4 * warps_k,
                                     from_filters + static_cast<long long>(i) * 4 * warps_k * values +
                                         (SliceRows == R ? j * 8 * warps_v : value_offset[j]),
                                     valid);
                    }
                }
            }
            if constexpr (SliceRows == R)
                from_filters += slice;
            else
                from_filters += fetched % R == R - 1 ? SliceChannels * R * S - (R - 1) * S : S;
        }
        if (copies_pixels) {
#pragma unroll
            for (int i = 0; i < per_thread; ++i) {
                float *to = stage + filter_floats + copy_channel * taps * TilePixels + copy_pixel +
                            i * lanes_p * unit;
                unsigned long long bits = inside[i];
                if constexpr (SliceRows != R)
                    bits = rows[i] >> (fetched % R) & 1 ? columns[i] : 0;
                if constexpr (checked)
                    asm volatile("" : "+l"(bits)); // or every tap's bit is kept in a register over all steps
#pragma unroll
                for (int c = 0; c < SliceChannels; c += sharers) {
                    if (!whole_slices && c + copy_channel >= channels_left)
                        bits = 0;
#pragma unroll
                    for (int tap = 0; tap < taps; ++tap) {
                        const float *from =
                            from_pixels[i] + c * plane + tap / S * (DilationH * Width) + tap % S * DilationW;
                        float *there = to + (c * taps + tap) * TilePixels;
                        if constexpr (wide_pixels)
                            copy_async_16(there, from, !checked || bits != 0);
                        else if constexpr (checked)
                            copy_async_4_if(there, from, static_cast<unsigned>(bits >> (tap / 32 * 32)),
                                            1U << tap % 32);
                        else
                            copy_async_4(there, from);
                    }
                }
                if constexpr (SliceRows == R)
                    from_pixels[i] += SliceChannels * plane;
                else
                    from_pixels[i] += fetched % R == R - 1
                                          ? SliceChannels * plane - (R - 1) * DilationH * Width
                                          : DilationH * Width;
            }
        }
        ++fetched;
    };

    // ---- what this thread computes ----
    const int tile_warp = WarpSplit > 1 ? warp % (warps / WarpSplit) : warp;
    const int turn = WarpSplit > 1 ? warp / (warps / WarpSplit) : 0; // which part of each slice
    // Lanes 2 i and 2 i + 1 share filters, lanes i and i + 2 pixels: so a 128-bit load takes two passes, not
    // four.
    const int lane_n =
        lanes_n == 2 ? lane & 1 : (lane & 1) | (lane >> 1 & 2) | (lanes_n == 8 ? lane >> 2 & 4 : 0);
    const int lane_m =
        lanes_n == 2 ? lane >> 1 : (lane >> 1 & 1) | (lane >> 2 & 2) | (lanes_n == 4 ? lane >> 2 & 4 : 0);
    // Filters of a thread: fours that lie side by side, or, read by filter, every lanes_m-th.
    const int m0 = tile_warp / warps_n * (lanes_m * ThreadK) + lane_m * (by_filter ? 1 : 4);
    const auto row_of = [](int i) { return by_filter ? i * lanes_m : i / 4 * (4 * lanes_m) + i % 4; };
    const int n0 = tile_warp % warps_n * (lanes_n * ThreadPixels) + lane_n * 4;
    float sum[ThreadK][ThreadPixels] = {};
    // To and fro, so that each FFMA shares an operand with the one before it: along the shorter side; but
    // along the pixels where a filter's values came four at once, as those of one (c, r, s) then all lie in
    // one register bank.
    constexpr bool along_filters = ThreadK <= ThreadPixels && !by_filter;
    const auto multiply = [&](auto filter_value, auto pixel_value) {
        constexpr int inner = along_filters ? ThreadK : ThreadPixels, outer = ThreadK * ThreadPixels / inner;
#pragma unroll
        for (int o = 0; o < outer; ++o)
#pragma unroll
            for (int n = 0; n < inner; ++n) {
                const int there = o % 2 == 0 ? n : inner - 1 - n;
                const int i = along_filters ? there : o, j = along_filters ? o : there;
                sum[i][j] = fmaf(filter_value(i), pixel_value(j), sum[i][j]);
            }
    };

    float *const end = shared + Stages * stage_floats;
    float *to_stage = shared;
    if constexpr (Prepared)
        wait_for_launch_before();
//: if constexpr (!Prepared)
//:     wait_for_launch_before();
#pragma unroll
    for (int i = 0; i < Stages - 1; ++i) {
        if (first_step + i < last_step)
            fetch(to_stage);
        copy_async_commit();
        to_stage += stage_floats;
    }
    const float *stage = shared;
    for (int step = first_step; step < last_step; ++step) {
        copy_async_wait<Stages - 2>();
        __syncthreads();
        if (step + Stages - 1 < last_step)
            fetch(to_stage);
        copy_async_commit();
        to_stage = to_stage + stage_floats == end ? shared : to_stage + stage_floats;

        if constexpr (by_filter) {
            constexpr int quads_of_slice = slice / 4;
            const int first = quads_of_slice * turn / WarpSplit,
                      last = quads_of_slice * (turn + 1) / WarpSplit;
            const float *of_filters = stage + m0 * pitch + first * 4;
            const float *of_pixels = stage + filter_floats + first * 4 * TilePixels + n0;
#pragma unroll 1 // unrolled, ptxas lets more FFMAs read two registers of one bank
            for (int quad = first; quad < last; ++quad) {
                float w[ThreadK][4];
#pragma unroll
                for (int i = 0; i < ThreadK; ++i)
                    load_group(w[i], of_filters + i * lanes_m * pitch);
#pragma unroll
                for (int v = 0; v < 4; ++v) {
                    float x[ThreadPixels];
#pragma unroll
                    for (int j = 0; j < ThreadPixels; j += 4)
                        load_group(*reinterpret_cast<float(*)[4]>(x + j),
                                   of_pixels + v * TilePixels + j * lanes_n);
                    multiply([&](int i) { return w[i][v]; }, [&](int j) { return x[j]; });
                }
                of_filters += 4, of_pixels += 4 * TilePixels;
            }
        } else {
            const float *of_filters = stage + turn * depth * pitch + m0;
            const float *of_pixels = stage + filter_floats + turn * depth * TilePixels + n0;
            float x[2][ThreadPixels], w[2][ThreadK];
            const auto load = [&](int buffer, int row) {
#pragma unroll
                for (int i = 0; i < ThreadK; i += 4) {
                    const float4 v =
                        *reinterpret_cast<const float4 *>(of_filters + row * pitch + i * lanes_m);
                    w[buffer][i] = v.x, w[buffer][i + 1] = v.y, w[buffer][i + 2] = v.z,
                    w[buffer][i + 3] = v.w;
                }
#pragma unroll
                for (int i = 0; i < ThreadPixels; i += 4) {
                    const float4 v =
                        *reinterpret_cast<const float4 *>(of_pixels + row * TilePixels + i * lanes_n);
                    x[buffer][i] = v.x, x[buffer][i + 1] = v.y, x[buffer][i + 2] = v.z,
                    x[buffer][i + 3] = v.w;
                }
            };
            // Without a next step to wait for, ptxas would load all rows of a long body before the first FFMA.
            constexpr int unroll = divisor_up_to(depth, steps > 1 ? 18 : depth <= 9 ? 9 : 8);
            load(0, 0);
#pragma unroll 1
            for (int row0 = 0; row0 < depth; row0 += unroll) {
#pragma unroll
                for (int u = 0; u < unroll; ++u) {
                    if (u + 1 < unroll)
                        load((u + 1) % 2, u + 1);
                    else if (unroll < depth && row0 + unroll < depth)
                        load((u + 1) % 2, u + 1);
                    multiply([&](int i) { return w[u % 2][i]; }, [&](int j) { return x[u % 2][j]; });
                }
                if constexpr (unroll < depth && unroll % 2 == 1) {
#pragma unroll
                    for (int i = 0; i < ThreadK; ++i)
                        w[0][i] = w[1][i];
#pragma unroll
                    for (int i = 0; i < ThreadPixels; ++i)
                        x[0][i] = x[1][i];
                }
                of_filters += unroll * pitch, of_pixels += unroll * TilePixels;
            }
        }
        stage = stage + stage_floats == end ? shared : stage + stage_floats;
    }

    // ---- results ----
    // Stores want four sums in neighbouring registers. Sums that lived there from the start would share the
    // register bank of the pixels they are multiplied by, at a clock an FFMA; so they get there by an
    // operation that changes nothing.
    const int zero = a.n >> 31;
#pragma unroll
    for (int i = 0; i < ThreadK; ++i)
#pragma unroll
        for (int j = 0; j < ThreadPixels; ++j)
            sum[i][j] = __int_as_float(__float_as_int(sum[i][j]) ^ zero);
//: const float *const outputs = output;
    output += (static_cast<long long>(group) * Filters + filter0) * pixels_of_image;
    constexpr long long image_floats = static_cast<long long>(Groups) * Filters * pixels_of_image;
    if constexpr (WarpSplit * Split == 1 && pixels_of_image % 4 == 0) {
//: #pragma unroll
//: for (int j = 0; j < ThreadPixels; j += 4) {
//:     const int pixel = pixel0 + n0 + j * lanes_n;
//:     const long long at = output - outputs + pixel / pixels_of_image * image_floats + pixel % pixels_of_image;
//: #pragma unroll
//:     for (int i = 0; i < ThreadK; ++i)
//:         if (pixel < pixels && (whole_tiles || filter0 + m0 + row_of(i) < Filters))
//:             end_four(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3], a, group * Filters + filter0 + m0 + row_of(i),
//:                      at + static_cast<long long>(m0 + row_of(i)) * pixels_of_image);
//: }
#pragma unroll
        for (int j = 0; j < ThreadPixels; j += 4) {
            const int pixel = pixel0 + n0 + j * lanes_n;
            if (pixel < pixels) {
                float *to = output + pixel / pixels_of_image * image_floats + pixel % pixels_of_image;
#pragma unroll
                for (int i = 0; i < ThreadK; ++i) {
                    const int m = m0 + row_of(i);
                    if (whole_tiles || filter0 + m < Filters)
                        store_four(to + static_cast<long long>(m) * pixels_of_image, sum[i][j], sum[i][j + 1],
                                   sum[i][j + 2], sum[i][j + 3]);
                }
            }
        }
    } else {
        // Partial sums meet in shared memory, [turn][TileK][TilePixels]; every CTA of the cluster adds up its
        // share of the tile's rows in the same order each time.
        copy_async_wait<0>();
        __syncthreads();
        constexpr int tile = TileK * TilePixels;
#pragma unroll
        for (int i = 0; i < ThreadK; ++i)
#pragma unroll
            for (int j = 0; j < ThreadPixels; j += 4)
                *reinterpret_cast<float4 *>(shared + turn * tile + (m0 + row_of(i)) * TilePixels + n0 +
                                            j * lanes_n) =
                    make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
        if constexpr (Split > 1)
            cluster_sync();
        else
            __syncthreads();
        constexpr int share = tile / Split;
        const int begin = part * share;
        constexpr int under_way = 16; // loads of a thread at once
        constexpr int at_once = divisor_up_to(under_way, smaller(under_way, Split * WarpSplit));
#pragma unroll under_way / at_once
        for (int at = begin + tid; at < begin + share; at += threads) {
//: const int its_m = at / TilePixels, its_pixel = pixel0 + at % TilePixels;
//: float terms = 0.0f;
//: if ((whole_tiles || filter0 + its_m < Filters) && its_pixel < pixels)
//:     terms = end_terms(a, group * Filters + filter0 + its_m,
//:                       output - outputs + its_pixel / pixels_of_image * image_floats +
//:                           static_cast<long long>(its_m) * pixels_of_image + its_pixel % pixels_of_image);
            float total = 0.0f;
#pragma unroll under_way / WarpSplit
            for (int from = 0; from < Split; ++from)
#pragma unroll
                for (int t = 0; t < WarpSplit; ++t)
                    total += Split > 1 ? load_from_cta(shared + t * tile + at, from) : shared[t * tile + at];
            const int m = at / TilePixels, pixel = pixel0 + at % TilePixels;
//: total = ended(total, terms);
            if ((whole_tiles || filter0 + m < Filters) && pixel < pixels)
                output[pixel / pixels_of_image * image_floats + static_cast<long long>(m) * pixels_of_image +
                       pixel % pixels_of_image] = total;
        }
        if constexpr (Split > 1)
            cluster_sync(); // no CTA ends while others read its sums
    }
}
