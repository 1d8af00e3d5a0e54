// channel_split (Chang, Figure 2(b)). An SM takes C' = ceil(C / N_sm) channels, of the map and of all
// filters, and computes its part of every output's sum. The parts go through global memory: part b writes all
// its outputs to the workspace, and a second launch (channel_split_sum) adds the parts of each output in
// their order.
//   per piece of filters: those of its channels -> shared memory | per band of rows: fetch the next bands |
//   convolve
// A thread computes Rows pixels below each other times Group filters at a time. With few channels an SM the
// sums are short, and the partial sums that are written and read again outweigh the arithmetic: the paper
// found this division "obviously slower".
#include "executor/kernels/common.cuh"

using namespace convcast;

/// W: the map's width, compiled in so that rows are constant distances apart. Wide: rows are 16-byte aligned.
template <int R, int S, int W, int Rows, int Group, int Stages, bool Wide>
__global__ void __maxnreg__(REGISTER_CAP)
    channel_split(const float *__restrict__ input, const float *__restrict__ filters,
                  float *__restrict__ partial, ConvArgs a) {
    extern __shared__ __align__(16) float shared[];
    float *bank = shared; // [group][channel][R * S][Group]
    float *stages = shared + a.bank_floats;
    const int per_part = ceil_div(a.c, a.parts), channel0 = blockIdx.x * per_part;
    const int channels = at_most(per_part, a.c - channel0), taps = channels * R * S, plane = a.h * W;
    const int bands = a.pieces, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    input += (static_cast<long long>(blockIdx.y) * a.c + channel0) * plane;
    filters += static_cast<long long>(channel0) * (R * S);
    partial += (static_cast<long long>(blockIdx.x) * a.n + blockIdx.y) * a.k * a.p * a.q;

    const auto fetch = [&](int band) {
        const int y0 = band * a.tile_h, floats = (at_most(a.tile_h, a.p - y0) + R - 1) * W;
        float *to = stages + band % Stages * per_part * a.band_floats;
#pragma unroll 1 // unrolled, the addresses of every copy are kept and spill
        for (int channel = 0; channel < channels; ++channel)
            copy_span<Wide>(to + channel * a.band_floats,
                            input + static_cast<long long>(channel) * plane + y0 * W, floats);
    };
    for (int filter0 = 0; filter0 < a.k; filter0 += a.tile_k) {
        const int count = at_most(a.tile_k, a.k - filter0), groups = ceil_div(count, Group);
        __syncthreads(); // all have done with the filters before
        // A warp copies a filter; the last group is filled up with zeros.
        for (int f = warp; f < groups * Group; f += warps) {
            const bool valid = f < count;
            const float *from = filters + static_cast<long long>(filter0 + (valid ? f : 0)) * a.c * (R * S);
            float *to = bank + f / Group * taps * Group + f % Group;
            for (int i = threadIdx.x % 32; i < taps; i += 32)
                copy_async_4(to + i * Group, from + i, valid);
        }
        for (int band = 0; band < Stages - 1; ++band) {
            if (band < bands)
                fetch(band);
            copy_async_commit();
        }
        for (int band = 0; band < bands; ++band) {
            copy_async_wait<Stages - 2>();
            __syncthreads();
            if (band + Stages - 1 < bands)
                fetch(band + Stages - 1);
            copy_async_commit();

            const int y0 = band * a.tile_h, rows = at_most(a.tile_h, a.p - y0);
            const int positions = ceil_div(rows, Rows) * a.q;
            for (int unit = threadIdx.x; unit < positions * groups; unit += blockDim.x) {
                const int group = unit / positions, position = unit - group * positions;
                const int y = position / a.q * Rows, x = position % a.q;
                const float *pixels = stages + band % Stages * per_part * a.band_floats + y * W + x;
                const float *weights = bank + group * taps * Group;
                float sum[Rows][Group] = {};
#pragma unroll 1
                for (int channel = 0; channel < channels; ++channel) {
#pragma unroll 1 // unrolled, ptxas moves loads far ahead and spills
                    for (int s = 0; s < S; ++s)
                        add_column<R>(sum, pixels + s, W, weights + s * Group, S * Group);
                    pixels += a.band_floats;
                    weights += R * S * Group;
                }
                const int filter = filter0 + group * Group;
                float *to = partial + (static_cast<long long>(filter) * a.p + y0 + y) * a.q + x;
#pragma unroll
                for (int row = 0; row < Rows; ++row)
#pragma unroll
                    for (int f = 0; f < Group; ++f)
                        if (y + row < rows && filter + f < a.k)
                            to[static_cast<long long>(f) * a.p * a.q + row * a.q] = sum[row][f];
            }
        }
    }
}
