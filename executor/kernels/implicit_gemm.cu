// implicit_gemm: a convolution as a matrix product [filters] x [pixels of all images] over (c, r, s), one product a group.
#include "executor/kernels/common.cuh"

using namespace convcast;

namespace convcast {

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/// Four floats of the shared memory of the cluster's CTA `rank`, at the address that they have in this CTA's.
__device__ __forceinline__ float4 load_from_cta(const float *at, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(at)), "r"(rank));
    float4 v;
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(there)
                 : "memory");
    return v;
}

__host__ __device__ constexpr int smaller(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int common_divisor(int a, int b) { return b == 0 ? a : common_divisor(b, a % b); }
/// The largest divisor of `n` up to `most`.
__host__ __device__ constexpr int divisor_up_to(int n, int most) { return n % most == 0 ? most : divisor_up_to(n, most - 1); }

} // namespace convcast

template <int Channels, int Height, int Width, int Filters, int Groups, int R, int S, int StrideH, int StrideW, int PadH,
          int PadW, int DilationH, int DilationW, int TileK, int TilePixels, int ThreadK, int ThreadPixels,
          int SliceChannels, int SliceRows, int Stages, int WarpSplit, int Split, bool Prepared>
__global__ void __maxnreg__(REGISTER_CAP)
    implicit_gemm(const float *__restrict__ input, const float *__restrict__ filters, float *__restrict__ output,
                  ConvArgs a) {
    constexpr int P = (Height + 2 * PadH - DilationH * (R - 1) - 1) / StrideH + 1;
    constexpr int Q = (Width + 2 * PadW - DilationW * (S - 1) - 1) / StrideW + 1;
    constexpr int pixels_of_image = P * Q, plane = Height * Width, values = Channels * R * S;
    constexpr bool padded = PadH > 0 || PadW > 0;
    constexpr bool wide_pixels = R * S == 1 && StrideH * StrideW == 1 && !padded && plane % 4 == 0;
    constexpr bool whole_slices = Channels % SliceChannels == 0, whole_tiles = Filters % TileK == 0;

    constexpr int taps = SliceRows * S, slice = SliceChannels * taps, depth = slice / WarpSplit;
    constexpr int steps = (Channels + SliceChannels - 1) / SliceChannels * (R / SliceRows);
    constexpr int tile_threads = TileK / ThreadK * (TilePixels / ThreadPixels);
    constexpr int threads = tile_threads * WarpSplit, warps = threads / 32;
    constexpr int lanes_n = smaller(8, TilePixels / ThreadPixels), lanes_m = 32 / lanes_n;
    constexpr int warps_n = TilePixels / ThreadPixels / lanes_n;
    // Rows of the filter tile are padded where 4-byte copies transpose it: 8 values of 4 filters hit 32 banks.
    constexpr int pitch = Prepared ? TileK : TileK + 4;
    constexpr int stage_floats = slice * (pitch + TilePixels);
    constexpr int filter_tiles = (Filters + TileK - 1) / TileK;
    extern __shared__ __align__(16) float shared[];

    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int part = Split > 1 ? blockIdx.x % Split : 0;
    const int filter0 = blockIdx.x / Split % filter_tiles * TileK;
    const int pixel0 = blockIdx.x / (Split * filter_tiles) * TilePixels;
    const int group = blockIdx.y;
    const int pixels = a.n * pixels_of_image;
    const int first_step = steps * part / Split, last_step = steps * (part + 1) / Split;

    // ---- what this thread copies of the filters ----
    constexpr int quads = TileK / 4;
    constexpr int warps_k = smaller(warps, quads), warps_v = warps / warps_k;
    constexpr int copies_v = (slice + 8 * warps_v - 1) / (8 * warps_v), copies_k = quads / warps_k;
    constexpr int padded_filters = (Filters + 3) / 4 * 4;
    constexpr int filter_rows = (threads + quads - 1) / quads; // prepared: rows of the slice that one copy of all brings
    const int copy_value = Prepared ? tid / quads : 8 * (warp / warps_k) + lane % 8;
    const int copy_filter = Prepared ? tid % quads * 4 : 4 * (warp % warps_k) + lane / 8;
    const float *from_filters;
    int value_offset[copies_v];
    if constexpr (Prepared) {
        from_filters = filters + (static_cast<long long>(group) * steps * slice + first_step * slice + copy_value) *
                                     padded_filters +
                       filter0 + copy_filter;
    } else {
        from_filters = filters + static_cast<long long>(group * Filters + filter0 + copy_filter) * values +
                       first_step / (R / SliceRows) * (SliceChannels * R * S) + first_step % (R / SliceRows) * S;
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
    constexpr int lanes_p = smaller(threads, units);            // threads side by side along the pixels
    constexpr int per_thread = units / lanes_p;                 // units of a thread in a row of the slice
    constexpr int sharers = common_divisor(threads / lanes_p, SliceChannels); // threads that share a unit's channels
    const int copy_pixel = tid % lanes_p * unit, copy_channel = tid / lanes_p;
    const bool copies_pixels = threads == lanes_p * sharers || copy_channel < sharers;
    const float *from_pixels[per_thread];
    unsigned long long columns[per_thread], rows[per_thread]; // bit s, bit r: the tap lies inside the image
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        const int pixel = at_most(pixel0 + copy_pixel + i * lanes_p * unit, pixels - unit);
        const int image = pixel / pixels_of_image, p = pixel % pixels_of_image / Q, q = pixel % Q;
        const int y = (wide_pixels ? 0 : p * StrideH - PadH), x = wide_pixels ? pixel % pixels_of_image : q * StrideW - PadW;
        from_pixels[i] = input + (static_cast<long long>(image) * Groups + group) * (static_cast<long long>(Channels) * plane) +
                         static_cast<long long>(first_step / (R / SliceRows) * SliceChannels + copy_channel) * plane +
                         (y + first_step % (R / SliceRows) * DilationH) * Width + x;
        rows[i] = columns[i] = 0;
        if constexpr (padded) {
#pragma unroll
            for (int r = 0; r < R; ++r)
                rows[i] |= static_cast<unsigned long long>(y + r * DilationH >= 0 && y + r * DilationH < Height) << r;
#pragma unroll
            for (int s = 0; s < S; ++s)
                columns[i] |= static_cast<unsigned long long>(x + s * DilationW >= 0 && x + s * DilationW < Width) << s;
        }
    }
    // A tap's bit, where a slice holds whole filters.
    unsigned long long inside[per_thread];
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        inside[i] = 0;
        if constexpr (padded && SliceRows == R) {
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
            const bool mine = (whole_tiles && threads % quads == 0) ||
                              (filter0 + copy_filter < padded_filters && copy_value < filter_rows);
#pragma unroll
            for (int j = 0; j < copies; ++j)
                if ((j + 1) * filter_rows <= slice || copy_value + j * filter_rows < slice)
                    copy_async_16(to + j * filter_rows * pitch, from_filters + j * filter_rows * padded_filters, mine);
            from_filters += slice * padded_filters;
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
                float *to = stage + slice * pitch + copy_channel * taps * TilePixels + copy_pixel + i * lanes_p * unit;
                unsigned long long bits = inside[i];
                if constexpr (padded && SliceRows != R)
                    bits = rows[i] >> (fetched % R) & 1 ? columns[i] : 0;
                if constexpr (padded)
                    asm volatile("" : "+l"(bits)); // or every tap's bit is kept in a register over all steps
#pragma unroll
                for (int c = 0; c < SliceChannels; c += sharers) {
                    const bool there = whole_slices || c + copy_channel < channels_left;
#pragma unroll
                    for (int tap = 0; tap < taps; ++tap) {
                        const float *from =
                            from_pixels[i] + c * plane + tap / S * (DilationH * Width) + tap % S * DilationW;
                        float *there_to = to + (c * taps + tap) * TilePixels;
                        if constexpr (wide_pixels)
                            copy_async_16(there_to, from, there);
                        else
                            copy_async_4(there_to, from, there && (!padded || (bits >> tap & 1)));
                    }
                }
                if constexpr (SliceRows == R)
                    from_pixels[i] += SliceChannels * plane;
                else
                    from_pixels[i] += fetched % R == R - 1 ? SliceChannels * plane - (R - 1) * DilationH * Width
                                                           : DilationH * Width;
            }
        }
        ++fetched;
    };

    // ---- what this thread computes ----
    const int tile_warp = WarpSplit > 1 ? warp % (warps / WarpSplit) : warp;
    const int turn = WarpSplit > 1 ? warp / (warps / WarpSplit) : 0; // which part of each slice
    const int m0 = tile_warp / warps_n * (lanes_m * ThreadK) + lane / lanes_n * 4;
    const int n0 = tile_warp % warps_n * (lanes_n * ThreadPixels) + lane % lanes_n * 4;
    float sum[ThreadK][ThreadPixels] = {};

    float *const end = shared + Stages * stage_floats;
    float *to_stage = shared;
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

        const float *of_filters = stage + turn * depth * pitch + m0;
        const float *of_pixels = stage + slice * pitch + turn * depth * TilePixels + n0;
        float x[2][ThreadPixels], w[2][ThreadK];
        const auto load = [&](int buffer, int row) {
#pragma unroll
            for (int i = 0; i < ThreadK; i += 4) {
                const float4 v = *reinterpret_cast<const float4 *>(of_filters + row * pitch + i * lanes_m);
                w[buffer][i] = v.x, w[buffer][i + 1] = v.y, w[buffer][i + 2] = v.z, w[buffer][i + 3] = v.w;
            }
#pragma unroll
            for (int i = 0; i < ThreadPixels; i += 4) {
                const float4 v = *reinterpret_cast<const float4 *>(of_pixels + row * TilePixels + i * lanes_n);
                x[buffer][i] = v.x, x[buffer][i + 1] = v.y, x[buffer][i + 2] = v.z, x[buffer][i + 3] = v.w;
            }
        };
        constexpr int unroll = divisor_up_to(depth, 18);
        load(0, 0);
#pragma unroll 1
        for (int row0 = 0; row0 < depth; row0 += unroll) {
#pragma unroll
            for (int u = 0; u < unroll; ++u) {
                if (u + 1 < unroll)
                    load((u + 1) % 2, u + 1);
                else if (unroll < depth && row0 + unroll < depth)
                    load((u + 1) % 2, u + 1);
#pragma unroll
                for (int i = 0; i < ThreadK; ++i)
#pragma unroll
                    for (int j = 0; j < ThreadPixels; ++j) {
                        const int jj = i % 2 == 0 ? j : ThreadPixels - 1 - j;
                        sum[i][jj] = fmaf(w[u % 2][i], x[u % 2][jj], sum[i][jj]);
                    }
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
        stage = stage + stage_floats == end ? shared : stage + stage_floats;
    }

    // ---- results ----
    output += (static_cast<long long>(group) * Filters + filter0) * pixels_of_image;
    constexpr long long image_floats = static_cast<long long>(Groups) * Filters * pixels_of_image;
    if constexpr (WarpSplit * Split == 1 && pixels_of_image % 4 == 0) {
#pragma unroll
        for (int j = 0; j < ThreadPixels; j += 4) {
            const int pixel = pixel0 + n0 + j * lanes_n;
            if (pixel < pixels) {
                float *to = output + pixel / pixels_of_image * image_floats + pixel % pixels_of_image;
#pragma unroll
                for (int i = 0; i < ThreadK; ++i) {
                    const int m = m0 + i / 4 * (4 * lanes_m) + i % 4;
                    if (whole_tiles || filter0 + m < Filters)
                        *reinterpret_cast<float4 *>(to + static_cast<long long>(m) * pixels_of_image) =
                            make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
                }
            }
        }
    } else {
        // Partial sums meet in shared memory, [turn][TileK][TilePixels]; every CTA of the cluster adds up its share of the
        // tile's rows in the same order each time.
        copy_async_wait<0>();
        __syncthreads();
        constexpr int tile = TileK * TilePixels;
#pragma unroll
        for (int i = 0; i < ThreadK; ++i)
#pragma unroll
            for (int j = 0; j < ThreadPixels; j += 4)
                *reinterpret_cast<float4 *>(shared + turn * tile + (m0 + i / 4 * (4 * lanes_m) + i % 4) * TilePixels + n0 +
                                            j * lanes_n) =
                    make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
        if constexpr (Split > 1)
            cluster_sync();
        else
            __syncthreads();
        constexpr int share = tile / Split;
        const int begin = part * share;
        for (int at = begin + tid * 4; at < begin + share; at += threads * 4) {
            float4 total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
            for (int from = 0; from < Split; ++from)
#pragma unroll
                for (int t = 0; t < WarpSplit; ++t) {
                    const float4 v = Split > 1 ? load_from_cta(shared + t * tile + at, from)
                                               : *reinterpret_cast<const float4 *>(shared + t * tile + at);
                    total.x += v.x, total.y += v.y, total.z += v.z, total.w += v.w;
                }
            const int m = at / TilePixels;
            if (!whole_tiles && filter0 + m >= Filters)
                continue;
            const float of[4] = {total.x, total.y, total.z, total.w};
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int pixel = pixel0 + at % TilePixels + j;
                if (pixel < pixels)
                    output[pixel / pixels_of_image * image_floats + static_cast<long long>(m) * pixels_of_image +
                           pixel % pixels_of_image] = of[j];
            }
        }
        if constexpr (Split > 1)
            cluster_sync(); // no CTA ends while others read its sums
    }
}
