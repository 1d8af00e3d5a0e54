// stride_fixed_block (Chang, section 3.2; C > 1). A CTA computes TileK filters for TileW pixels. A filter's values are
// counted along (c, r, s), as they lie in memory; step t brings values [t * Segment, (t + 1) * Segment) of every
// filter, S = 4 * Segment bytes, and the image lines (c, r) that they touch.
//   fetch steps 0 .. Stages-2;  then per step: fetch step t+Stages-1 | compute step t from shared memory
// Pixels are counted along the flattened image: position j stands for output (j / w, j % w), and tap (r, s) of it is
// pixel j + r * w + s, so every line of a tile is one contiguous span whatever the map's width. The s-1 positions at
// the end of each row are computed and thrown away.
// A warp owns PerThread filters: its lanes read the same filter values (broadcast) and neighbouring pixels.
#include "executor/kernels/common.cuh"

using namespace convcast;

/// WideLines / WideFilters: image rows / every segment of a filter are 16-byte aligned.
template <int R, int S, int Segment, int TileW, int TileK, int Stages, int PerThread, bool WideLines,
          bool WideFilters>
__global__ void __maxnreg__(REGISTER_CAP)
    stride_fixed_block(const float *__restrict__ input, const float *__restrict__ filters,
                       float *__restrict__ output, ConvArgs a) {
    constexpr int threads = 32 * TileK / PerThread;
    constexpr int columns = TileW / 32;
    // A segment may start at the last value of a row, unless it is whole rows.
    constexpr int lines = Segment % S == 0 ? Segment / S : (Segment + S - 2) / S + 1;
    constexpr int line_floats = TileW + (S + 2) / 4 * 4;
    constexpr int pitch = (Segment + 3) / 4 * 4; // filter values are read four at a time
    constexpr int stage_floats = TileK * pitch + pitch + lines * line_floats;
    extern __shared__ __align__(16) float shared[];

    const int values = a.c * R * S, plane = a.h * a.w;
    const int steps = ceil_div(values, Segment);
    const int position0 = blockIdx.x * TileW, filter0 = blockIdx.y * TileK;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    input += static_cast<long long>(blockIdx.z) * a.c * plane;

    // Stage layout: filter values [TileK][pitch], the offset of each value's pixels, lines [lines][line_floats].
    const auto fetch = [&](int step) {
        float *stage = shared + step % Stages * stage_floats;
        int *offsets = reinterpret_cast<int *>(stage + TileK * pitch);
        float *line = stage + TileK * pitch + pitch;
        const int value0 = step * Segment;
        const int line0 = value0 / S;
        constexpr int filter_width = WideFilters ? 4 : 1;
        for (int i = threadIdx.x; i < TileK * Segment / filter_width; i += threads) {
            const int filter = i * filter_width / Segment, value = i * filter_width % Segment;
            const bool valid = filter0 + filter < a.k && value0 + value < values;
            const float *from =
                filters + (valid ? static_cast<long long>(filter0 + filter) * values + value0 + value : 0);
            if constexpr (WideFilters)
                copy_async_16(stage + filter * pitch + value, from, valid);
            else
                copy_async_4(stage + filter * pitch + value, from, valid);
        }
        for (int i = threadIdx.x; i < Segment; i += threads) {
            const int value = at_most(value0 + i, values - 1);
            offsets[i] = (value / S - line0) * line_floats + value % S;
        }
        constexpr int pixel_width = WideLines ? 4 : 1;
        constexpr int per_line = (WideLines ? line_floats : TileW + S - 1) / pixel_width;
#pragma unroll 1 // unrolled, the addresses of every copy are kept over all steps and spill
        for (int i = threadIdx.x; i < lines * per_line; i += threads) {
            const int l = i / per_line, x = i % per_line * pixel_width;
            const int channel = (line0 + l) / R, r = (line0 + l) % R;
            const int pixel = position0 + r * a.w + x;
            const bool valid = channel < a.c && pixel < plane;
            const float *from = input + (valid ? static_cast<long long>(channel) * plane + pixel : 0);
            if constexpr (WideLines)
                copy_async_16(line + l * line_floats + x, from, valid);
            else
                copy_async_4(line + l * line_floats + x, from, valid);
        }
    };

    float sum[PerThread][columns] = {};
#pragma unroll
    for (int step = 0; step < Stages - 1; ++step) {
        if (step < steps)
            fetch(step);
        copy_async_commit();
    }
    for (int step = 0; step < steps; ++step) {
        copy_async_wait<Stages - 2>();
        __syncthreads();
        if (step + Stages - 1 < steps)
            fetch(step + Stages - 1);
        copy_async_commit();

        const float *stage = shared + step % Stages * stage_floats;
        const float *weights = stage + warp * PerThread * pitch;
        const int *offsets = reinterpret_cast<const int *>(stage + TileK * pitch);
        const float *pixels = stage + TileK * pitch + pitch + lane;
#pragma unroll
        for (int value = 0; value < Segment; value += 4) {
            float weight[PerThread][4];
#pragma unroll
            for (int f = 0; f < PerThread; ++f)
                load_group(weight[f], weights + f * pitch + value);
            const int4 offset = *reinterpret_cast<const int4 *>(offsets + value);
            const int offset_of[4] = {offset.x, offset.y, offset.z, offset.w};
#pragma unroll
            for (int v = 0; v < 4 && value + v < Segment; ++v) {
                float pixel[columns];
#pragma unroll
                for (int j = 0; j < columns; ++j)
                    pixel[j] = pixels[offset_of[v] + 32 * j];
#pragma unroll
                for (int f = 0; f < PerThread; ++f)
#pragma unroll
                    for (int j = 0; j < columns; ++j)
                        sum[f][j] = fmaf(pixel[j], weight[f][v], sum[f][j]);
            }
        }
    }

    output += (static_cast<long long>(blockIdx.z) * a.k + filter0 + warp * PerThread) * a.p * a.q;
    const int filters_left = a.k - filter0 - warp * PerThread;
#pragma unroll
    for (int j = 0; j < columns; ++j) {
        const int position = position0 + lane + 32 * j;
        const int y = position / a.w, x = position % a.w;
        if (y < a.p && x < a.q) {
#pragma unroll
            for (int f = 0; f < PerThread; ++f)
                if (f < filters_left)
                    output[static_cast<long long>(f) * a.p * a.q + static_cast<long long>(y) * a.q + x] = sum[f][j];
        }
    }
}
