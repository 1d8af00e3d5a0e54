// depthwise_register: each channel has its own filters (g = c). A thread computes a patch of Rows x Columns
// outputs, and what it needs comes straight from global memory into registers: no shared memory, no barrier,
// and as many loads under way as there are registers for. Patches of neighbours overlap; L1 has what they
// share:
//   load the plane's filter | for each row of pixels under the patch: load it as wide as it is aligned, zeros
//   where it leaves the map; add its products to the outputs whose filters reach it | store the patch
// Does every stride, padding, dilation, width and multiplier, in floats, halves and 8-bit integers.
#include "executor/kernels/patch_row.cuh"

using namespace convcast;

/// R x S filter; maps of H x W; a thread computes Rows x Columns outputs, whole rows of Q being made of such
/// patches; Multiplier: filters of a channel;
/// Type: of the elements, element.cuh. CTAs along y take an image each, threads along x the patches of its
/// planes, row by row.
template <int R, int S, int H, int W, int StrideH, int StrideW, int PadH, int PadW, int DilationH,
          int DilationW, int Rows, int Columns, int Multiplier, int Type = 0>
__global__ void __maxnreg__(REGISTER_CAP)
    depthwise_register(const typename Element<Type>::In *__restrict__ input,
                       const typename Element<Type>::In *__restrict__ filters,
                       typename Element<Type>::Out *__restrict__ output, ConvArgs a) {
    using In = typename Element<Type>::In;
    using Sum = typename Element<Type>::Sum;
    using Out = typename Element<Type>::Out;
    constexpr int reach_h = (R - 1) * DilationH + 1, reach_w = (S - 1) * DilationW + 1;
    constexpr int P = (H + 2 * PadH - reach_h) / StrideH + 1, Q = (W + 2 * PadW - reach_w) / StrideW + 1;
    constexpr int row_patches = Q / Columns, row_groups = (P + Rows - 1) / Rows;
    constexpr int window = (Rows - 1) * StrideH + reach_h; // rows of pixels under a patch
    using Row = PatchRow<In, W, Q, Columns, StrideW, PadW, reach_w>;

    const unsigned patch = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned filter = patch / (row_patches * row_groups); // and plane of the image's outputs
    if (filter >= a.k)
        return;
    const int x = static_cast<int>(patch % row_patches) * Columns,
              y = static_cast<int>(patch / row_patches % row_groups) * Rows;
    const int x_in = x * StrideW, y_in = y * StrideH - PadH;
    const unsigned image = blockIdx.y;
    const In *from =
        input + (static_cast<long long>(image) * a.c + filter / Multiplier) * (H * W) + y_in * W + x_in;

    Sum taps[R * S];
#pragma unroll
    for (int i = 0; i < R * S; ++i)
        taps[i] = widened(filters[static_cast<long long>(filter) * (R * S) + i]);

//: fetch(reinterpret_cast<const float *>(filters) + static_cast<long long>(filter) * (R * S)); // no launch's
//: wait_for_launch_before();
//: asm volatile("" : "+l"(from)); // no pixel is loaded sooner
//: float its_bias = 0.0f;
//: if constexpr (END_BIAS)
//:     its_bias = __ldg(a.bias + filter);
    Sum sum[Rows][Columns] = {};
#pragma unroll
    for (int i = 0; i < window; ++i) {
        const bool inside = row_lies_inside<H, PadH, StrideH, Rows, row_groups>(i, y_in);
        if (row_groups == 1 && !inside)
            continue;
        Sum pixels[Row::count];
        Row::load(pixels, from + i * W, x_in, inside);
#pragma unroll
        for (int r = 0; r < R; ++r) {
            const int over = i - r * DilationH, row = over / StrideH;
            if (over < 0 || over % StrideH != 0 || row >= Rows)
                continue;
#pragma unroll
            for (int s = 0; s < S; ++s)
#pragma unroll
                for (int column = 0; column < Columns; ++column)
                    sum[row][column] = multiply_add(pixels[column * StrideW + s * DilationW - PadW - Row::first],
                                                    taps[r * S + s], sum[row][column]);
        }
    }

    Out *to = output + ((static_cast<long long>(image) * a.k + filter) * P + y) * Q + x;
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
        if (P % Rows != 0 && y + row >= P)
            break;
//: end_neighbours(sum[row], a, its_bias, to + row * Q - output);
        store_group(to + row * Q, sum[row]);
    }
}
