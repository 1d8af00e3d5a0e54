// winograd_output: products [point][k][tile] to outputs. A thread transforms one tile of one filter back to
// its M x M outputs; neighbouring lanes take neighbouring tiles, so loads are whole lines. Where tiles are
// cut off or their rows not aligned, the outputs of a warp's 32 tiles are Staged in shared memory, so that
// its lanes store neighbouring floats: parts of sectors would be written again and again.
#include "executor/kernels/winograd.cuh"

using namespace convcast;

template <int Points, int R, bool Staged>
__global__ void __maxnreg__(REGISTER_CAP)
    winograd_output(const float *__restrict__ products, float *__restrict__ output, ConvArgs a) {
    constexpr int m = Points - R + 1;
    wait_for_launch_before();
    const int pitch = line_pitch(a.tile_count);
    const int unit = blockIdx.x * blockDim.x + threadIdx.x;
    const bool there = unit / pitch < a.k && unit % pitch < a.tile_count; // whole lines: warps start at lines
    if (!Staged && !there)
        return;
    const int filter = there ? unit / pitch : 0, tile = there ? unit % pitch : 0;
    const int tiles_w = ceil_div(a.q, m), tiles_h = ceil_div(a.p, m);
    const int in_batch = a.tile_begin + tile;
    const int image = in_batch / (tiles_h * tiles_w), in_image = in_batch % (tiles_h * tiles_w);
    const int p = in_image / tiles_w * m, q = in_image % tiles_w * m;
    const int rows_here = there ? at_most(m, a.p - p) : 0, columns_here = at_most(m, a.q - q);
    const long long to = (static_cast<long long>(image) * a.k + filter) * a.p * a.q + p * a.q + q;

//: if constexpr (END_BIAS)
//:     fetch(a.bias + filter);
//: if constexpr (END_ADD) {
//: #pragma unroll
//:     for (int i = 0; i < m; ++i)
//:         if (i < rows_here)
//:             fetch_added(a, to + i * a.q);
//: }
    const long long plane = static_cast<long long>(a.k) * pitch;
    long long from = static_cast<long long>(filter) * pitch + tile;
    float d[Points][Points]; // all loads under way at once
#pragma unroll
    for (int i = 0; i < Points; ++i)
#pragma unroll
        for (int j = 0; j < Points; ++j) {
            d[i][j] = products[from];
            from += plane;
            asm volatile(
                ""
                : "+l"(from)); // or each gets an address of its own, in twice the registers of the values
        }
    float rows[m][Points];
#pragma unroll
    for (int j = 0; j < Points; ++j) {
        float values[Points], column[m];
#pragma unroll
        for (int i = 0; i < Points; ++i)
            values[i] = d[i][j];
        transform_back(column, values);
#pragma unroll
        for (int i = 0; i < m; ++i)
            rows[i][j] = column[i];
    }
    extern __shared__ __align__(16) float shared[];
    const int lane = threadIdx.x % 32;
    float *const of_warp = shared + threadIdx.x / 32 * (32 * m * m); // [row][tile][column]
#pragma unroll
    for (int i = 0; i < m; ++i) {
        float values[m];
        transform_back(values, rows[i]);
//: if (!Staged && there)
//:     end_group(values, a, filter, to + i * a.q);
        if constexpr (Staged)
            store_group(of_warp + (i * 32 + lane) * m, values);
        else if (there)
            store_group(output + to + i * a.q, values);
    }
    let_next_launch_start();
    if constexpr (Staged) {
        __syncwarp();
#pragma unroll
        for (int step = 0; step < m; ++step) {
            const int at = step * 32 + lane, owner = at / m, column = at % m;
            const long long to_column = __shfl_sync(~0U, to, owner) + column;
            const int its_rows = __shfl_sync(~0U, rows_here, owner),
                      its_columns = __shfl_sync(~0U, columns_here, owner);
//: const int its_filter = __shfl_sync(~0U, filter, owner);
//: #pragma unroll
//: for (int i = 0; i < m; ++i)
//:     if (i < its_rows && column < its_columns)
//:         of_warp[i * 32 * m + at] =
//:             end_of_convolution(of_warp[i * 32 * m + at], a, its_filter, to_column + i * a.q);
#pragma unroll
            for (int i = 0; i < m; ++i)
                if (i < its_rows && column < its_columns)
                    output[to_column + i * a.q] = of_warp[i * 32 * m + at];
        }
    }
}
