// filter_stream (Chang, Figure 2(c)). An SM keeps its share of the filters, all their channels, in shared
// memory; the whole map streams past it, a band of rows and some channels at a time.
//   filters -> shared memory, once | first steps -> their buffers; then per step: fetch step t+Stages-1 |
//   compute step t
// A step is Channels channels of a band; a thread owns Rows pixels below each other times Group filters and
// adds to the same sums until the band's last channels, then stores them and goes on with the next band. A
// column of pixels in registers serves R rows, so a thread reads Rows + R - 1 pixels where it uses Rows * R.
#include "executor/kernels/common.cuh"

using namespace convcast;

/// W: the map's width, compiled in so that rows are constant distances apart. Wide: rows are 16-byte aligned.
template <int R, int S, int W, int Rows, int Group, int Channels, int Stages, bool Wide>
__global__ void __maxnreg__(REGISTER_CAP)
    filter_stream(const float *__restrict__ input, const float *__restrict__ filters,
                  float *__restrict__ output, ConvArgs a) {
    constexpr int filter_columns_at_once = R * S * Rows * Group <= 512 ? S : 1; // unrolled
    extern __shared__ __align__(16) float shared[];
    float *bank = shared; // [group][c][R * S][Group]
    float *stages = shared + a.bank_floats;
    const int per_part = ceil_div(a.k, a.parts), first = blockIdx.x * per_part;
    const int count = at_most(per_part, a.k - first);
    const int values = a.c * R * S, plane = a.h * W;
    input += static_cast<long long>(blockIdx.y) * a.c * plane;
    output += (static_cast<long long>(blockIdx.y) * a.k + first) * a.p * a.q;

    for (int f = 0; f < ceil_div(count, Group) * Group; ++f) {
        const bool valid = f < count; // the last group is filled up with zeros
        const float *from = filters + static_cast<long long>(first + (valid ? f : 0)) * values;
        float *to = bank + f / Group * values * Group + f % Group;
        for (int i = threadIdx.x; i < values; i += blockDim.x)
            copy_async_4(to + i * Group, from + i, valid);
    }

    const int chunks = ceil_div(a.c, Channels), steps = a.pieces * chunks;
    const auto fetch = [&](int step) {
        const int y0 = step / chunks * a.tile_h, channel0 = step % chunks * Channels;
        const int floats = (at_most(a.tile_h, a.p - y0) + R - 1) * W;
        float *to = stages + step % Stages * Channels * a.band_floats;
#pragma unroll 1 // unrolled, the addresses of every copy are kept and spill
        for (int channel = 0; channel < at_most(Channels, a.c - channel0); ++channel)
            copy_span<Wide>(to + channel * a.band_floats,
                            input + static_cast<long long>(channel0 + channel) * plane + y0 * W, floats);
    };
    for (int step = 0; step < Stages - 1; ++step) {
        if (step < steps)
            fetch(step);
        copy_async_commit();
    }

    const int positions = ceil_div(a.tile_h, Rows) * a.q;
    const int group = threadIdx.x / positions, position = threadIdx.x % positions;
    const int y = position / a.q * Rows, x = position % a.q;
    float sum[Rows][Group] = {};
    for (int step = 0; step < steps; ++step) {
        copy_async_wait<Stages - 2>();
        __syncthreads();
        if (step + Stages - 1 < steps)
            fetch(step + Stages - 1);
        copy_async_commit();

        const int y0 = step / chunks * a.tile_h, channel0 = step % chunks * Channels;
        const int rows = at_most(a.tile_h, a.p - y0);
        if (group * Group >= count || y >= rows)
            continue;
        const float *pixels = stages + step % Stages * Channels * a.band_floats + y * W + x;
        const float *taps = bank + (group * a.c + channel0) * (R * S * Group);
#pragma unroll 1
        for (int channel = 0; channel < at_most(Channels, a.c - channel0); ++channel) {
#pragma unroll(filter_columns_at_once)
            for (int s = 0; s < S; ++s)
                add_column<R>(sum, pixels + s, W, taps + s * Group, S * Group);
            pixels += a.band_floats;
            taps += R * S * Group;
        }
        if (channel0 + Channels < a.c)
            continue;
#pragma unroll
        for (int row = 0; row < Rows; ++row)
#pragma unroll
            for (int f = 0; f < Group; ++f) {
                if (y + row < rows && group * Group + f < count)
                    output[(static_cast<long long>(group * Group + f) * a.p + y0 + y + row) * a.q + x] =
                        sum[row][f];
                sum[row][f] = 0.0f;
            }
    }
}
