// winograd_filters: filters [k][c][R][R] to [point][c][k], what winograd multiplies: for every point a matrix
// whose rows are channels, so that a slice of it comes by 16-byte copies. Rows of channels past the last, up
// to whole slices, are zeros. A CTA takes 32 filters x 8 channels: their taps come to shared memory as they
// lie, then a warp has the filters of one channel, a lane each, and writes a line of every point.
#include "executor/kernels/winograd.cuh"

using namespace convcast;

template <int Points, int R, int SliceChannels>
__global__ void __maxnreg__(REGISTER_CAP)
    winograd_filters(const float *__restrict__ filters, float *__restrict__ prepared, ConvArgs a) {
    constexpr int tile_k = 32, tile_c = 8, taps = R * R;
    constexpr int pitch = tile_c * taps + 1; // odd: lanes of neighbouring filters read different banks
    extern __shared__ float shared[];
    let_next_launch_start();
    const int filter0 = blockIdx.y * tile_k, channel0 = blockIdx.x * tile_c;
    const int channels = ceil_div(a.c, SliceChannels) * SliceChannels, filter_pitch = line_pitch(a.k);
    const int there = at_most(tile_c, a.c - channel0) * taps; // values of a filter here; none in padding
#pragma unroll                                                // all loads under way at once
    for (int j = 0; j < taps; ++j) {
        const int i = j * (tile_k * tile_c) + threadIdx.x;
        const int filter = i / (tile_c * taps), value = i % (tile_c * taps);
        shared[filter * pitch + value] =
            value < there && filter0 + filter < a.k
                ? filters[(static_cast<long long>(filter0 + filter) * a.c + channel0) * taps + value]
                : 0.0f;
    }
    __syncthreads();

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (channel0 + warp >= channels)
        return;
    float columns[Points][R];
#pragma unroll
    for (int s = 0; s < R; ++s) {
        float taps_of_column[R], values[Points];
#pragma unroll
        for (int r = 0; r < R; ++r)
            taps_of_column[r] = shared[lane * pitch + warp * taps + r * R + s];
        transform_taps(values, taps_of_column);
#pragma unroll
        for (int i = 0; i < Points; ++i)
            columns[i][s] = values[i];
    }
    const long long plane = static_cast<long long>(channels) * filter_pitch;
    float *to = prepared + static_cast<long long>(channel0 + warp) * filter_pitch + filter0 + lane;
#pragma unroll
    for (int i = 0; i < Points; ++i) {
        float values[Points];
        transform_taps(values, columns[i]);
#pragma unroll
        for (int j = 0; j < Points; ++j) {
            *to = values[j];
            to += plane;
        }
    }
}
