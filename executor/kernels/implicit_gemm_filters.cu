// implicit_gemm_filters: filters [group][filter][value] to [group][value][filters, a multiple of 4], so that
// implicit_gemm brings four filters of a value by one 16-byte copy. Values come in the order of its slices:
// blocks of SliceChannels channels, in each blocks of SliceRows filter rows, in each (channel, row, column);
// zeros where the last block has no channel left. A transpose by 32 x 32 tiles through shared memory: lanes
// run along the values when reading and along the filters when writing, and a row of 33 floats keeps both
// free of conflicts.
#include "executor/kernels/common.cuh"

using namespace convcast;

template <int Channels, int Filters, int R, int S, int SliceChannels, int SliceRows>
__global__ void __maxnreg__(REGISTER_CAP)
    implicit_gemm_filters(const float *__restrict__ filters, float *__restrict__ prepared, ConvArgs) {
    constexpr int taps = SliceRows * S, slice = SliceChannels * taps, row_blocks = R / SliceRows;
    constexpr int values = (Channels + SliceChannels - 1) / SliceChannels * row_blocks * slice;
    constexpr int padded_filters = (Filters + 3) / 4 * 4;
    constexpr int tile = 32, rows = 8; // of 256 threads
    extern __shared__ float shared[];
    auto &turned = reinterpret_cast<float(&)[tile][tile + 1]>(shared);

    const int lane = threadIdx.x % tile, row = threadIdx.x / tile;
    const int value0 = blockIdx.x * tile, filter0 = blockIdx.y * tile;
    const int value = value0 + lane, step = value / slice;
    const int channel = step / row_blocks * SliceChannels + value % slice / taps;
    const int r = step % row_blocks * SliceRows + value % taps / S;
    const bool there = value < values && channel < Channels;
    filters +=
        static_cast<long long>(blockIdx.z) * Filters * (Channels * R * S) + (channel * R + r) * S + value % S;
#pragma unroll
    for (int i = 0; i < tile; i += rows) {
        const int filter = filter0 + row + i;
        turned[row + i][lane] =
            there && filter < Filters ? filters[static_cast<long long>(filter) * (Channels * R * S)] : 0.0f;
    }
    __syncthreads();
    let_next_launch_start();
    prepared += static_cast<long long>(blockIdx.z) * values * padded_filters + filter0 + lane;
#pragma unroll
    for (int i = 0; i < tile; i += rows)
        if (value0 + row + i < values && filter0 + lane < padded_filters)
            prepared[static_cast<long long>(value0 + row + i) * padded_filters] = turned[lane][row + i];
}
