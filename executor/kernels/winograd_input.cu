// winograd_input: the tiles of a launch, each Points x Points pixels that overlap their neighbours by R - 1,
// to [point][c][tile]. A thread transforms one tile of one channel; neighbouring lanes take neighbouring
// tiles, so stores are whole lines, and loads, M pixels apart, share theirs through L1. Pixels outside the
// image are zeros, and so are channels past the last, up to whole slices of winograd's pipeline. The First of
// a call needs nothing of the launch before it, which transforms the filters, and runs beside it.
#include "executor/kernels/winograd.cuh"

using namespace convcast;

template <int Points, int R, int SliceChannels, bool First>
__global__ void __maxnreg__(REGISTER_CAP)
    winograd_input(const float *__restrict__ input, float *__restrict__ transformed, ConvArgs a) {
    constexpr int m = Points - R + 1;
    if constexpr (!First)
        wait_for_launch_before();
//: wait_for_launch_before();
    const int channels = ceil_div(a.c, SliceChannels) * SliceChannels, pitch = line_pitch(a.tile_count);
    const int unit = blockIdx.x * blockDim.x + threadIdx.x;
    const int channel = unit / pitch, tile = unit % pitch; // whole lines: warps start at lines
    if (channel >= channels || tile >= a.tile_count) {
        if constexpr (First)
            wait_for_launch_before();
        return;
    }
    const int tiles_w = ceil_div(a.q, m), tiles_h = ceil_div(a.p, m);
    const int in_batch = a.tile_begin + tile;
    const int image = in_batch / (tiles_h * tiles_w), in_image = in_batch % (tiles_h * tiles_w);
    const int y = in_image / tiles_w * m - a.pad_h, x = in_image % tiles_w * m - a.pad_w;
    const float *from = input + (static_cast<long long>(image) * a.c + channel) * a.h * a.w +
                        static_cast<long long>(y) * a.w + x;

    float d[Points][Points];
    if (channel < a.c && y >= 0 && x >= 0 && y + Points <= a.h && x + Points <= a.w) {
#pragma unroll
        for (int i = 0; i < Points; ++i)
#pragma unroll
            for (int j = 0; j < Points; ++j)
                d[i][j] = from[i * a.w + j];
    } else {
#pragma unroll
        for (int i = 0; i < Points; ++i)
#pragma unroll
            for (int j = 0; j < Points; ++j)
                d[i][j] = channel < a.c && y + i >= 0 && y + i < a.h && x + j >= 0 && x + j < a.w
                              ? from[i * a.w + j]
                              : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < Points; ++j) {
        float column[Points];
#pragma unroll
        for (int i = 0; i < Points; ++i)
            column[i] = d[i][j];
        transform_pixels(column);
#pragma unroll
        for (int i = 0; i < Points; ++i)
            d[i][j] = column[i];
    }
    const long long plane = static_cast<long long>(channels) * pitch;
    float *to = transformed + static_cast<long long>(channel) * pitch + tile;
#pragma unroll
    for (int i = 0; i < Points; ++i) {
        transform_pixels(d[i]);
#pragma unroll
        for (int j = 0; j < Points; ++j) {
            *to = d[i][j];
            to += plane;
        }
    }
    if constexpr (First)
        wait_for_launch_before();
    let_next_launch_start();
}
