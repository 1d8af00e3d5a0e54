// winograd_output: products [point][k][tile] to outputs. A thread transforms one tile of one filter back to its
// M x M outputs; neighbouring lanes take neighbouring tiles, so loads are whole lines. Stores are Vector floats wide,
// as far as rows of the output are aligned.
#include "executor/kernels/winograd.cuh"

using namespace convcast;

template <int Points, int R, int Vector>
__global__ void __maxnreg__(REGISTER_CAP)
    winograd_output(const float *__restrict__ products, float *__restrict__ output, ConvArgs a) {
    constexpr int m = Points - R + 1;
    const int pitch = line_pitch(a.tile_count);
    const int unit = blockIdx.x * blockDim.x + threadIdx.x;
    if (unit >= a.k * a.tile_count)
        return;
    const int filter = unit / a.tile_count, tile = unit % a.tile_count;
    const int tiles_w = ceil_div(a.q, m), tiles_h = ceil_div(a.p, m);
    const int in_batch = a.tile_begin + tile;
    const int image = in_batch / (tiles_h * tiles_w), in_image = in_batch % (tiles_h * tiles_w);
    const int p = in_image / tiles_w * m, q = in_image % tiles_w * m;

    const long long plane = static_cast<long long>(a.k) * pitch;
    const float *from = products + static_cast<long long>(filter) * pitch + tile;
    float rows[m][Points];
#pragma unroll
    for (int j = 0; j < Points; ++j) {
        float values[Points], column[m];
#pragma unroll
        for (int i = 0; i < Points; ++i)
            values[i] = from[(i * Points + j) * plane];
        transform_back(column, values);
#pragma unroll
        for (int i = 0; i < m; ++i)
            rows[i][j] = column[i];
    }
    float *to = output + (static_cast<long long>(image) * a.k + filter) * a.p * a.q + p * a.q + q;
#pragma unroll
    for (int i = 0; i < m; ++i) {
        float values[m];
        transform_back(values, rows[i]);
#pragma unroll
        for (int j = 0; j < m; ++j)
            asm volatile("" : "+f"(values[j])); // computed for every row, not only under the condition of its store
        if (p + i < a.p) {
#pragma unroll
            for (int j = 0; j < m; j += Vector)
                if (q + j < a.q) {
                    float group[Vector];
#pragma unroll
                    for (int v = 0; v < Vector; ++v)
                        group[v] = values[j + v];
                    store_group(to + i * a.q + j, group);
                }
        }
    }
}
