// implicit_gemm_3xtf32_filters: filters [group][filter][c, r, s] split into two TF32 parts and laid out as
// implicit_gemm_3xtf32 copies them to shared memory: [group][tile of filters][row of 8 values][hi, lo]
// [eight filters][values 0..3, 4..7][filter][4 values]. Rows are those of its pixels; zeros past the last
// filter, value and row. A CTA turns eight filters by a block of rows through shared memory: it reads along
// the values of a filter and writes 16 bytes a thread.
#include "executor/kernels/tensor.cuh"

using namespace convcast;

template <int Channels, int Filters, int Taps, int TileK, int PaddedRows, int BlockRows, bool ByChannel>
__global__ void __maxnreg__(REGISTER_CAP)
    implicit_gemm_3xtf32_filters(const float *__restrict__ filters, float *__restrict__ prepared, ConvArgs) {
    constexpr int values = Channels * Taps, eight = 8;
    constexpr int block_values = BlockRows * eight, pitch = block_values + 1;
    constexpr int filter_tiles = (Filters + TileK - 1) / TileK;
    extern __shared__ float shared[];

    const int value0 = blockIdx.x * block_values, filter0 = blockIdx.y * eight, group = blockIdx.z;
    filters += static_cast<long long>(group) * Filters * values + value0;
    // A thread's loads of a batch are all under way before the first of them is written.
    constexpr int under_way = 8;
    for (int first = threadIdx.x; first < eight * block_values; first += under_way * blockDim.x) {
        float read[under_way];
#pragma unroll
        for (int u = 0; u < under_way; ++u) {
            const int i = first + u * blockDim.x, filter = filter0 + i / block_values, value = i % block_values;
            read[u] = i < eight * block_values && filter < Filters && value0 + value < values
                          ? filters[static_cast<long long>(filter) * values + value]
                          : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < under_way; ++u)
            if (const int i = first + u * blockDim.x; i < eight * block_values)
                shared[i / block_values * pitch + i % block_values] = read[u];
    }
    __syncthreads();
    let_next_launch_start();

    const int row0 = blockIdx.x * BlockRows;
    const long long tile_rows =
        (static_cast<long long>(group) * filter_tiles + filter0 / TileK) * PaddedRows + row0;
    for (int i = threadIdx.x; i < BlockRows * 2 * eight; i += blockDim.x) {
        const int row = i / (2 * eight), half = i / eight % 2, filter = i % eight;
        if (row0 + row >= PaddedRows)
            break;
        unsigned hi[4], lo[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int value = ByChannel ? (row / Taps * eight + half * 4 + v) * Taps + row % Taps
                                        : row * eight + half * 4 + v;
            split_tf32(shared[filter * pitch + value], hi[v], lo[v]);
        }
        float *const to = prepared + (tile_rows + row) * (2 * TileK * eight) + filter0 % TileK * eight +
                          half * 32 + filter * 4;
        *reinterpret_cast<uint4 *>(to) = make_uint4(hi[0], hi[1], hi[2], hi[3]);
        *reinterpret_cast<uint4 *>(to + TileK * eight) = make_uint4(lo[0], lo[1], lo[2], lo[3]);
    }
}
