// block_register (Chen, Algorithm 2, the general case). A CTA computes TileK filters for a block of TileW x
// TileH pixels; a thread owns Width neighbouring pixels of a row times Group filters: an outer product in
// registers.
//   step 0 -> buffer 0; then per step of Channels channels: fetch the next step into the other buffer | per
//   channel and filter row: load Width + S - 1 pixels once, per column load Group filter values and
//   multiply-add Width x Group
// A row of pixels in registers serves S columns, so a thread reads (Width + S - 1) * R pixels of a channel
// instead of Width * R * S. Threads along x take neighbouring filters: they read the same pixel (broadcast)
// and neighbouring filter values. Filters are transposed on the way into shared memory and padded by a unit;
// pixels are not padded. All reads of shared memory are Unit elements wide: the paper's n, which on a GPU
// with 4-byte banks saves instructions rather than bandwidth. The paper stores results as they lie in
// registers, uncoalesced. Here they pass through the buffers that the loop no longer needs, which costs less
// than writing every sector eight times.
#include "executor/kernels/common.cuh"

using namespace convcast;

/// WideRows: rows are 16-byte aligned.
template <int R, int S, int TileW, int TileH, int TileK, int Width, int Group, int Channels, int Unit,
          bool WideRows>
__global__ void __maxnreg__(REGISTER_CAP)
    block_register(const float *__restrict__ input, const float *__restrict__ filters,
                   float *__restrict__ output, ConvArgs a) {
    constexpr int threads_x = TileK / Group, strips = TileW / Width, threads = threads_x * strips * TileH;
    constexpr int pitch = TileW + (S + 2) / 4 * 4, rows = TileH + R - 1;
    constexpr int taps = Channels * R * S, filter_pitch = TileK + Unit;
    constexpr int bank_floats = (taps * filter_pitch + 3) / 4 * 4;
    constexpr int stage_floats = bank_floats + Channels * rows * pitch;
    constexpr int tile_pixels = TileW * TileH, result_pitch = tile_pixels + 4;
    constexpr int filter_rows_at_once = R * S * Group * Width <= 1024 ? R : 1; // unrolled
    // Without a declared alignment the compiler keeps reads as narrow as Unit says; 16 bytes it has all the
    // same.
    extern __shared__ float shared[];

    const int tiles_x = ceil_div(a.q, TileW);
    const int q0 = blockIdx.x % tiles_x * TileW, p0 = blockIdx.x / tiles_x * TileH;
    const int filter0 = blockIdx.y * TileK;
    const int values = a.c * R * S, plane = a.h * a.w;
    input += static_cast<long long>(blockIdx.z) * a.c * plane;

    // A thread copies the same tap of every filters_a_pass-th filter, and the same column of every
    // rows_a_pass-th row.
    constexpr int copy_width = WideRows ? 4 : 1;
    constexpr int row_copies = WideRows ? pitch / 4 : TileW + S - 1;
    constexpr int filters_a_pass = threads / taps, rows_a_pass = threads / row_copies;
    const auto fetch_filter = [&](float *bank, int step, int filter, int tap) {
        const bool valid = step * taps + tap < values; // past the last channel: zeros
        if (filter0 + filter < a.k)
            copy_async_4(bank + tap * filter_pitch + filter,
                         valid
                             ? filters + static_cast<long long>(filter0 + filter) * values + step * taps + tap
                             : filters,
                         valid);
    };
    const auto fetch_pixels = [&](float *map, int step, int channel, int row, int column) {
        const int y = p0 + row, x = q0 + column * copy_width;
        if (y >= a.h || x >= a.w)
            return;
        const bool valid = step * Channels + channel < a.c;
        float *to = map + (channel * rows + row) * pitch + column * copy_width;
        const float *from =
            valid ? input + static_cast<long long>(step * Channels + channel) * plane + y * a.w + x : input;
        if constexpr (WideRows)
            copy_async_16(to, from, valid);
        else
            copy_async_4(to, from, valid);
    };
    const auto fetch = [&](int step) {
        float *bank = shared + step % 2 * stage_floats, *map = bank + bank_floats;
        if constexpr (filters_a_pass > 0) {
            const int tap = threadIdx.x % taps, first = threadIdx.x / taps;
            constexpr bool few_filters = TileK / filters_a_pass <= 10; // their places are kept in registers
            if (first < filters_a_pass) {
#pragma unroll(few_filters ? TileK : 1)
                for (int i = 0; i < TileK; i += filters_a_pass)
                    if (i + first < TileK)
                        fetch_filter(bank, step, i + first, tap);
            }
        } else {
#pragma unroll 1
            for (int i = threadIdx.x; i < TileK * taps; i += threads)
                fetch_filter(bank, step, i / taps, i % taps);
        }
        if constexpr (rows_a_pass > 0) {
            const int column = threadIdx.x % row_copies, first = threadIdx.x / row_copies;
            constexpr bool few_rows = Channels * ((rows + rows_a_pass - 1) / rows_a_pass) <= 6;
            if (first < rows_a_pass) {
#pragma unroll(few_rows ? Channels : 1)
                for (int channel = 0; channel < Channels; ++channel)
#pragma unroll(few_rows ? rows : 1)
                    for (int i = 0; i < rows; i += rows_a_pass)
                        if (i + first < rows)
                            fetch_pixels(map, step, channel, i + first, column);
            }
        } else {
#pragma unroll 1
            for (int i = threadIdx.x; i < Channels * rows * row_copies; i += threads)
                fetch_pixels(map, step, i / (rows * row_copies), i / row_copies % rows, i % row_copies);
        }
        copy_async_commit();
    };

    const int thread_x = threadIdx.x % threads_x, thread_y = threadIdx.x / threads_x;
    const int column = thread_y % strips * Width, row = thread_y / strips;
    float sum[Group][Width] = {};
    fetch(0);
    const int steps = ceil_div(a.c, Channels);
    for (int step = 0; step < steps; ++step) {
        copy_async_wait<0>();
        __syncthreads();
        if (step + 1 < steps)
            fetch(step + 1);
        const float *bank = shared + step % 2 * stage_floats + thread_x * Unit;
        const float *map = shared + step % 2 * stage_floats + bank_floats + row * pitch + column;
#pragma unroll 1
        for (int channel = 0; channel < Channels; ++channel) {
#pragma unroll(filter_rows_at_once)
            for (int r = 0; r < R; ++r) {
                constexpr int pixel_units = (Width + S - 1 + Unit - 1) / Unit;
                float pixel[pixel_units * Unit];
#pragma unroll
                for (int i = 0; i < pixel_units; ++i) {
                    float part[Unit];
                    load_group(part, map + r * pitch + i * Unit);
#pragma unroll
                    for (int j = 0; j < Unit; ++j)
                        pixel[i * Unit + j] = part[j];
                }
#pragma unroll
                for (int s = 0; s < S; ++s) {
                    float weight[Group];
#pragma unroll
                    for (int i = 0; i < Group / Unit; ++i) {
                        float part[Unit];
                        load_group(part, bank + (r * S + s) * filter_pitch + i * threads_x * Unit);
#pragma unroll
                        for (int j = 0; j < Unit; ++j)
                            weight[i * Unit + j] = part[j];
                    }
#pragma unroll
                    for (int f = 0; f < Group; ++f)
#pragma unroll
                        for (int j = 0; j < Width; ++j)
                            sum[f][j] = fmaf(pixel[s + j], weight[f], sum[f][j]);
                }
            }
            bank += R * S * filter_pitch;
            map += rows * pitch;
        }
    }

    // Every threads_x-th unit of filters at a time, through shared memory.
    output += (static_cast<long long>(blockIdx.z) * a.k + filter0) * a.p * a.q;
#pragma unroll
    for (int f = 0; f < Group; ++f) {
        __syncthreads();
        float *result = shared + thread_x * result_pitch + thread_y * Width;
        store_group(result, sum[f]);
        __syncthreads();
#pragma unroll 1
        for (int i = threadIdx.x; i < threads_x * tile_pixels; i += threads) {
            const int x = i / tile_pixels, pixel = i % tile_pixels;
            const int filter = (f / Unit * threads_x + x) * Unit + f % Unit;
            const int p = p0 + pixel / TileW, q = q0 + pixel % TileW;
            if (filter0 + filter < a.k && p < a.p && q < a.q)
                output[(static_cast<long long>(filter) * a.p + p) * a.q + q] =
                    shared[x * result_pitch + pixel];
        }
    }
}
