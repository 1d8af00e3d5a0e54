// grouped_register: convolutions of few channels a group. A thread computes a patch of Rows x Columns outputs
// of `Filters` filters of a group. Pixels come straight from global memory into registers, where all those
// filters use them; patches of neighbours overlap, and L1 has what they share. The filters lie in shared
// memory, so that one load brings a tap of four of them:
//   filters -> shared memory | for each `AtOnce` channels of the group: load the rows of pixels under the
//   patch, zeros where they leave the map; multiply them with each tap of the filters | store the patches
// Does every stride, padding, dilation and width, in floats, halves and 8-bit integers.
#include "executor/kernels/patch_row.cuh"

using namespace convcast;

/// R x S filters of Channels channels, GroupFilters of them a group; maps of H x W; Type: of the elements,
/// element.cuh. CTAs along y take a group each. Along x the filters of a group, `Filters` at a time, lie
/// beside each other, so that their CTAs read the same pixels at the same time; then come the next patches of
/// all images, which threads take plane by plane, row by row.
template <int R, int S, int H, int W, int StrideH, int StrideW, int PadH, int PadW, int DilationH,
          int DilationW, int Rows, int Columns, int Filters, int AtOnce, int Channels, int GroupFilters,
          int Type = 0>
__global__ void __maxnreg__(REGISTER_CAP)
    grouped_register(const typename Element<Type>::In *__restrict__ input,
                     const typename Element<Type>::In *__restrict__ filters,
                     typename Element<Type>::Out *__restrict__ output, ConvArgs a) {
    using In = typename Element<Type>::In;
    using Sum = typename Element<Type>::Sum;
    using Out = typename Element<Type>::Out;
    constexpr int reach_h = (R - 1) * DilationH + 1, reach_w = (S - 1) * DilationW + 1;
    constexpr int P = (H + 2 * PadH - reach_h) / StrideH + 1, Q = (W + 2 * PadW - reach_w) / StrideW + 1;
    constexpr int row_patches = Q / Columns, row_groups = (P + Rows - 1) / Rows;
    constexpr unsigned plane_patches = row_patches * row_groups;
    constexpr int window = (Rows - 1) * StrideH + reach_h; // rows of pixels under a patch
    constexpr int values = Channels * R * S;               // of a filter
    constexpr unsigned blocks = GroupFilters / Filters;    // of filters, of a group
    using Row = PatchRow<In, W, Q, Columns, StrideW, PadW, reach_w>;

    extern __shared__ __align__(16) unsigned char memory[];
    Sum *const taps = reinterpret_cast<Sum *>(memory); // [channel][tap][filter]
    const long long first_filter = static_cast<long long>(blockIdx.y) * GroupFilters + blockIdx.x % blocks * Filters;
#pragma unroll 8 // loads that are under way at once
    for (int i = threadIdx.x; i < Filters * values; i += blockDim.x)
        taps[i % values * Filters + i / values] = widened(filters[first_filter * values + i]);
//: wait_for_launch_before(); // filters are no launch's
    __syncthreads();

    const unsigned patch = blockIdx.x / blocks * blockDim.x + threadIdx.x;
    const unsigned image = patch / plane_patches;
    if (image >= static_cast<unsigned>(a.n))
        return;
    const int x = static_cast<int>(patch % row_patches) * Columns,
              y = static_cast<int>(patch / row_patches % row_groups) * Rows;
    const int x_in = x * StrideW, y_in = y * StrideH - PadH;
    const In *from = input + (static_cast<long long>(image) * a.c + static_cast<long long>(blockIdx.y) * Channels) * (H * W) +
                     y_in * W + x_in;

//: asm volatile("" : "+l"(from)); // no pixel is loaded before the wait
    Sum sum[Filters][Rows][Columns] = {};
#pragma unroll 1
    for (int channel = 0; channel < Channels; channel += AtOnce, from += AtOnce * H * W) {
        Sum pixels[AtOnce * window][Row::count];
#pragma unroll
        for (int i = 0; i < AtOnce * window; ++i)
            Row::load(pixels[i], from + (i / window * H + i % window) * W, x_in,
                      row_lies_inside<H, PadH, StrideH, Rows, row_groups>(i % window, y_in));
#pragma unroll
        for (int r = 0; r < AtOnce * R; ++r) // rows of the channels' filters, one after another
#pragma unroll
            for (int s = 0; s < S; ++s) {
                Sum tap[Filters];
                load_group(tap, taps + ((channel * R + r) * S + s) * Filters);
#pragma unroll
                for (int f = 0; f < Filters; ++f)
#pragma unroll
                    for (int row = 0; row < Rows; ++row) {
                        const int i = row * StrideH + r % R * DilationH;
                        if (row_groups == 1 && (i < PadH || i >= PadH + H))
                            continue; // zeros for every patch
#pragma unroll
                        for (int column = 0; column < Columns; ++column)
                            sum[f][row][column] =
                                multiply_add(pixels[r / R * window + i]
                                                   [column * StrideW + s * DilationW - PadW - Row::first],
                                             tap[f], sum[f][row][column]);
                    }
            }
    }

    Out *to = output + ((static_cast<long long>(image) * a.k + first_filter) * P + y) * Q + x;
#pragma unroll
    for (int f = 0; f < Filters; ++f)
#pragma unroll
        for (int row = 0; row < Rows; ++row) {
            if (P % Rows != 0 && y + row >= P)
                break;
//: end_group(sum[f][row], a, static_cast<int>(first_filter) + f, to + (f * P + row) * Q - output);
            store_group(to + (f * P + row) * Q, sum[f][row]);
        }
}
