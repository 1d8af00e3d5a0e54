// winograd: the products of Winograd's algorithm, one of matrices for every point: [k][c] of transformed
// filters times [c][tile] of transformed pixels. A CTA computes TileK x TilePixels sums of one point, a
// thread ThreadK x ThreadPixels of them in registers; a step brings SliceChannels channels of both by 16-byte
// copies.
//   fetch steps 0 .. Stages-2;  then per step: wait | barrier | fetch step + Stages - 1 | multiply
// What a CTA reads past the last filter or tile belongs to other rows and spoils only sums that are not
// stored. winograd_filters and winograd_input run before it, winograd_output after it.
//
// The ladder, microseconds (cold L2, medians, the best products tried, filters transformed in the time) on an
// H200:
//   a) n1c64h512w512k64r3s3, tile=4   b) n1c128h112w112k128r5s5, tile=4   c) n1c64h56w56k64r3s3, tile=4
//                                                                         a     b     c
//   1  four launches one after another, timed by records that serialise   277   95.7  33.3
//   2  all loads of the filters' launch under way at once                 276   83.6  28.1
//   3  launches start early; warps of the transforms start at lines       255   63.6  10.2
//   4  factors of the transform back are constants, not function calls    225   55.9  9.0
// implicit_gemm takes 415, 286 and 13.9 there. a) with tile=6 takes 184: under a profiler 51 for the pixels,
// 92 for the products, 46 for the transform back; the transforms move 3.1 and 3.6 TB/s of DRAM. The products
// of n32c256h56w56k256r3s3_pad1x1, tile=4, run at 50 TFLOP/s, the FMA pipe busy for 76 %. Tried without gain:
// other orders of the 64 FMAs; chunks whose data stays in L2, as each costs three more launches that fill and
// drain. CTAs of small products that started early crowded on few SMs (n1c256h28w28k256r3s3, tile=4,
// tile_k=64, tile_pixels=32: 48.6, evenly spread 23.9), hence the shared memory that the plan adds.
#include "executor/kernels/winograd.cuh"

using namespace convcast;

template <int TileK, int TilePixels, int ThreadK, int ThreadPixels, int SliceChannels, int Stages>
__global__ void __maxnreg__(REGISTER_CAP)
    winograd(const float *__restrict__ pixels, const float *__restrict__ filters,
             float *__restrict__ products, ConvArgs a) {
    constexpr int threads = TileK / ThreadK * (TilePixels / ThreadPixels);
    constexpr int lanes_n = TilePixels / ThreadPixels < 8 ? TilePixels / ThreadPixels : 8,
                  lanes_m = 32 / lanes_n;
    constexpr int warps_n = TilePixels / ThreadPixels / lanes_n;
    constexpr int filter_floats = SliceChannels * TileK,
                  stage_floats = filter_floats + SliceChannels * TilePixels;
    extern __shared__ __align__(16) float shared[];

    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int steps = ceil_div(a.c, SliceChannels), channels = steps * SliceChannels;
    const int filter_pitch = line_pitch(a.k), pitch = line_pitch(a.tile_count);
    const int filter_tiles = ceil_div(a.k, TileK), point = blockIdx.y;
    const int filter0 = blockIdx.x % filter_tiles * TileK, pixel0 = blockIdx.x / filter_tiles * TilePixels;

    // ---- what this thread copies: quads of a row of the slice, rows a fixed distance apart ----
    constexpr int quads_k = TileK / 4, quads_n = TilePixels / 4;
    constexpr int rows_k = threads / quads_k, rows_n = threads / quads_n; // rows that one copy of all brings
    const int row_k = tid / quads_k, row_n = tid / quads_n;
    const float *from_filters = filters + (static_cast<long long>(point) * channels + row_k) * filter_pitch +
                                filter0 + tid % quads_k * 4;
    const float *from_pixels =
        pixels + (static_cast<long long>(point) * channels + row_n) * pitch + pixel0 + tid % quads_n * 4;
    float *const to_filters = shared + row_k * TileK + tid % quads_k * 4;
    float *const to_pixels = shared + filter_floats + row_n * TilePixels + tid % quads_n * 4;
    const auto fetch = [&](int stage_offset) {
#pragma unroll
        for (int i = 0; i < SliceChannels; i += rows_k)
            if (rows_k <= SliceChannels || row_k < SliceChannels)
                copy_async_16(to_filters + stage_offset + i * TileK,
                              from_filters + static_cast<long long>(i) * filter_pitch);
#pragma unroll
        for (int i = 0; i < SliceChannels; i += rows_n)
            if (rows_n <= SliceChannels || row_n < SliceChannels)
                copy_async_16(to_pixels + stage_offset + i * TilePixels,
                              from_pixels + static_cast<long long>(i) * pitch);
        from_filters += static_cast<long long>(SliceChannels) * filter_pitch;
        from_pixels += static_cast<long long>(SliceChannels) * pitch;
    };

    // ---- what this thread computes ----
    // Lanes 2 i and 2 i + 1 share filters, lanes i and i + 2 pixels: so a 128-bit load takes two passes, not
    // four.
    const int lane_n = (lane & 1) | (lane >> 1 & 2) | (lanes_n == 8 ? lane >> 2 & 4 : 0);
    const int lane_m = (lane >> 1 & 1) | (lane >> 2 & (lanes_n == 4 ? 6 : 2));
    const int m0 = warp / warps_n * (lanes_m * ThreadK) + lane_m * 4;
    const int n0 = warp % warps_n * (lanes_n * ThreadPixels) + lane_n * 4;
    float sum[ThreadK][ThreadPixels] = {};

    wait_for_launch_before();
    int to_stage = 0, stage = 0;
#pragma unroll
    for (int i = 0; i < Stages - 1; ++i) {
        if (i < steps)
            fetch(to_stage);
        copy_async_commit();
        to_stage += stage_floats;
    }
    for (int step = 0; step < steps; ++step) {
        copy_async_wait<Stages - 2>();
        __syncthreads();
        if (step + Stages - 1 < steps)
            fetch(to_stage);
        copy_async_commit();
        to_stage = to_stage == (Stages - 1) * stage_floats ? 0 : to_stage + stage_floats;

        const float *of_filters = shared + stage + m0, *of_pixels = shared + stage + filter_floats + n0;
        float w[2][ThreadK], x[2][ThreadPixels];
        const auto load = [&](int buffer, int row) {
#pragma unroll
            for (int i = 0; i < ThreadK; i += 4)
                load_group(*reinterpret_cast<float(*)[4]>(w[buffer] + i),
                           of_filters + row * TileK + i * lanes_m);
#pragma unroll
            for (int j = 0; j < ThreadPixels; j += 4)
                load_group(*reinterpret_cast<float(*)[4]>(x[buffer] + j),
                           of_pixels + row * TilePixels + j * lanes_n);
        };
        load(0, 0);
#pragma unroll
        for (int row = 0; row < SliceChannels; ++row) {
            if (row + 1 < SliceChannels)
                load((row + 1) % 2, row + 1);
                // To and fro along the shorter side, so that each FFMA shares an operand with the one before
                // it.
#pragma unroll
            for (int j = 0; j < ThreadPixels; ++j)
#pragma unroll
                for (int n = 0; n < ThreadK; ++n) {
                    const int i = j % 2 == 0 ? n : ThreadK - 1 - n;
                    sum[i][j] = fmaf(w[row % 2][i], x[row % 2][j], sum[i][j]);
                }
        }
        stage = stage == (Stages - 1) * stage_floats ? 0 : stage + stage_floats;
    }

    let_next_launch_start();
    // Stores want four sums in neighbouring registers. Sums that lived there from the start would share the
    // register bank of the pixels they are multiplied by; so they get there by an operation that changes
    // nothing.
    const int zero = a.n >> 31;
    float *to = products + (static_cast<long long>(point) * a.k + filter0 + m0) * pitch + pixel0 + n0;
#pragma unroll
    for (int i = 0; i < ThreadK; ++i) {
        const int row = i / 4 * (4 * lanes_m) + i % 4;
#pragma unroll
        for (int j = 0; j < ThreadPixels; j += 4) {
            float group[4];
#pragma unroll
            for (int v = 0; v < 4; ++v)
                group[v] = __int_as_float(__float_as_int(sum[i][j + v]) ^ zero);
            if (filter0 + m0 + row < a.k && pixel0 + n0 + j * lanes_n < a.tile_count)
                store_group(to + static_cast<long long>(row) * pitch + j * lanes_n, group);
        }
    }
}
