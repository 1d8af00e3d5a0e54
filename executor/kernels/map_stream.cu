// map_stream (Chang, Figure 2(d)). An SM keeps its rows of the map in shared memory, all channels or as many
// as fit; all filters stream past it, tile_k filters of those channels at a time.
//   per piece of channels: its rows -> shared memory | first filters -> their buffers; then per step: fetch
//   the filters of step t+Stages-1 | convolve the resident rows with those of step t
// The sums of a step are complete but for the pieces of channels: those after the first add to what the same
// thread stored before, in the same order always. Pixels are counted along the flattened rows: position j
// stands for output (j / W, j % W), and its tap (r, s) is pixel j + r * W + s; the S - 1 positions at the end
// of each row are computed and thrown away. A warp owns Group filters: its lanes read the same filter values
// (broadcast) and neighbouring pixels.
#include "executor/kernels/common.cuh"

using namespace convcast;

/// W: the map's width. A lane owns Columns positions, 32 apart. Wide: rows are 16-byte aligned.
template <int R, int S, int W, int Columns, int Group, int Stages, bool Wide>
__global__ void __maxnreg__(REGISTER_CAP)
    map_stream(const float *__restrict__ input, const float *__restrict__ filters, float *__restrict__ output,
               ConvArgs a) {
    constexpr int filter_rows_at_once = R * S * Columns * Group <= 1024 ? R : 1; // unrolled
    extern __shared__ __align__(16) float shared[];
    float *banks = shared;                        // [Stages][group][channel][R * S][Group]
    float *map = shared + Stages * a.bank_floats; // [channel][band_floats]
    const int first_row = blockIdx.x * a.tile_h, rows = at_most(a.tile_h, a.p - first_row);
    const int values = a.c * R * S, plane = a.h * W;
    const int piece_channels = ceil_div(a.c, a.pieces), filter_steps = ceil_div(a.k, a.tile_k);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int groups = a.tile_k / Group, position_warps = warps / groups;
    const int group = warp % groups, positions = (rows - 1) * W + a.q;
    input += static_cast<long long>(blockIdx.y) * a.c * plane + static_cast<long long>(first_row) * W;
    output += static_cast<long long>(blockIdx.y) * a.k * a.p * a.q + static_cast<long long>(first_row) * a.q;

    for (int channel0 = 0; channel0 < a.c; channel0 += piece_channels) {
        const int channels = at_most(piece_channels, a.c - channel0), taps = channels * R * S;
        // A warp copies a filter, its values turned into groups on the way.
        const auto fetch = [&](int step) {
            float *bank = banks + step % Stages * a.bank_floats;
#pragma unroll 1 // unrolled, the addresses of every copy are kept and spill
            for (int f = warp; f < a.tile_k; f += warps) {
                const int filter = step * a.tile_k + f;
                const bool valid = filter < a.k;
                const float *from =
                    filters + static_cast<long long>(valid ? filter : 0) * values + channel0 * (R * S);
                float *to = bank + f / Group * taps * Group + f % Group;
                for (int i = lane; i < taps; i += 32)
                    copy_async_4(to + i * Group, from + i, valid);
            }
        };
        __syncthreads(); // all have done with the piece before
#pragma unroll 1
        for (int channel = 0; channel < channels; ++channel)
            copy_span<Wide>(map + channel * a.band_floats,
                            input + static_cast<long long>(channel0 + channel) * plane, (rows + R - 1) * W);
        for (int step = 0; step < Stages - 1; ++step) {
            if (step < filter_steps)
                fetch(step);
            copy_async_commit();
        }
        for (int step = 0; step < filter_steps; ++step) {
            copy_async_wait<Stages - 2>();
            __syncthreads();
            if (step + Stages - 1 < filter_steps)
                fetch(step + Stages - 1);
            copy_async_commit();

            const int filter0 = step * a.tile_k + group * Group;
            if (filter0 >= a.k)
                continue;
            for (int position0 = warp / groups * (32 * Columns); position0 < positions;
                 position0 += position_warps * (32 * Columns)) {
                const float *pixels = map + position0 + lane;
                const float *weights = banks + step % Stages * a.bank_floats + group * taps * Group;
                // visit(sum, its output) for every output of this lane that exists.
                float sum[Columns][Group] = {};
                const auto outputs = [&](const auto &visit) {
#pragma unroll
                    for (int j = 0; j < Columns; ++j) {
                        const int position = position0 + lane + 32 * j, y = position / W, x = position % W;
                        if (y >= rows || x >= a.q)
                            continue;
                        float *to = output + (static_cast<long long>(filter0) * a.p + y) * a.q + x;
#pragma unroll
                        for (int f = 0; f < Group; ++f) {
                            if (filter0 + f < a.k)
                                visit(sum[j][f], *to);
                            to += a.p * a.q;
                        }
                    }
                };
                if (channel0 > 0)
                    outputs([](float &mine, float &there) { mine = there; });
#pragma unroll 1
                for (int channel = 0; channel < channels; ++channel) {
#pragma unroll(filter_rows_at_once)
                    for (int r = 0; r < R; ++r)
#pragma unroll
                        for (int s = 0; s < S; ++s) {
                            float weight[Group], pixel[Columns];
                            load_group(weight, weights + (r * S + s) * Group);
#pragma unroll
                            for (int j = 0; j < Columns; ++j)
                                pixel[j] = pixels[r * W + s + 32 * j];
#pragma unroll
                            for (int j = 0; j < Columns; ++j)
#pragma unroll
                                for (int f = 0; f < Group; ++f)
                                    sum[j][f] = fmaf(pixel[j], weight[f], sum[j][f]);
                        }
                    pixels += a.band_floats;
                    weights += R * S * Group;
                }
                outputs([](float &mine, float &there) { there = mine; });
            }
        }
    }
}
