// depthwise: each channel has its own filters (g = c). A CTA copies the rows of the map under its outputs to
// shared memory as they lie, one run of bytes a plane, so that neither the map's width nor where its rows
// begin matters:
//   copy a band of one plane, or whole planes; zeros where its rows leave the map; its channels' filters |
//   barrier | a thread computes Rows outputs below each other of a column: it loads a column of pixels once
//   for all filter rows | store, or pass the outputs through shared memory and store them as one run of bytes
// Does every stride, padding, dilation, filter, width and multiplier, in floats, halves and 8-bit integers.
#include "executor/kernels/element.cuh"

using namespace convcast;

namespace {

/// 16 aligned bytes of taps at once, however many there are.
template <class Sum> struct alignas(16) FourTaps { Sum tap[4]; };
template <int Count, class Sum> __device__ __forceinline__ void load_taps(Sum (&to)[Count], const Sum *from) {
    if constexpr (Count % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Count; i += 4) {
            const FourTaps<Sum> four = *reinterpret_cast<const FourTaps<Sum> *>(from + i);
            to[i] = four.tap[0], to[i + 1] = four.tap[1], to[i + 2] = four.tap[2], to[i + 3] = four.tap[3];
        }
    } else {
#pragma unroll
        for (int i = 0; i < Count; ++i)
            to[i] = from[i];
    }
}

/// So many bytes on their way from global to shared memory while the thread goes on.
template <int Bytes> __device__ __forceinline__ void copy_async(void *to, const void *from) {
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from),
                     "n"(Bytes));
}
/// A tap, widened where it is short.
__device__ __forceinline__ void copy_tap(float *to, const float *from) {
    copy_async<4>(to, from);
}
template <class Sum, class In> __device__ __forceinline__ void copy_tap(Sum *to, const In *from) {
    *to = widened(*from);
}

/// Elements of a copy: as many as a row has whole ones of, 16 bytes at most.
template <class In, int W> constexpr int elements_of_copy() {
    int elements = 16 / static_cast<int>(sizeof(In));
    while (W % elements != 0)
        elements /= 2;
    return elements;
}
constexpr int up_to(int value, int grain) {
    return (value + grain - 1) / grain * grain;
}

} // namespace

/// R x S filter; a map W wide; Rows outputs of a thread; Planes of the input of a CTA, all of whose rows it
/// has where they are several, otherwise tile_h of outputs; Multiplier: filters of a channel; Staged: outputs
/// go through shared memory; Type: of the elements, element.cuh. Height: of the map, where a thread has a
/// whole column of outputs. The planes then lie behind one another without zeros, and which taps lie above or
/// below the map is known when this is compiled. Otherwise 0, and so is PadH.
template <int R, int S, int Height, int W, int StrideH, int StrideW, int PadH, int PadW, int DilationH,
          int DilationW, int Rows, int Planes, int Multiplier, int Threads, bool Staged, int Type = 0>
__global__ void __maxnreg__(REGISTER_CAP)
    depthwise(const typename Element<Type>::In *__restrict__ input,
              const typename Element<Type>::In *__restrict__ filters,
              typename Element<Type>::Out *__restrict__ output, ConvArgs a) {
    using In = typename Element<Type>::In;
    using Sum = typename Element<Type>::Sum;
    using Out = typename Element<Type>::Out;
    constexpr bool whole = Height > 0;
    constexpr int reach_h = (R - 1) * DilationH + 1, reach_w = (S - 1) * DilationW + 1;
    constexpr int Q = (W + 2 * PadW - reach_w) / StrideW + 1;
    constexpr int window = (Rows - 1) * StrideH + reach_h;
    constexpr int column_taps = R <= 2 ? R : (R + 3) / 4 * 4; // a column of a filter, in whole vectors
    constexpr int copied = elements_of_copy<In, W>(), row_copies = W / copied;
    // Both sides of a copy of 16 bytes lie alike in a sector, which would come twice otherwise.
    constexpr bool by_sixteen = copied * sizeof(In) == 16;
    constexpr int margin = up_to(PadW, by_sixteen ? 2 * copied : copied), pitch = W + margin;
    constexpr int plane_taps = Multiplier * R * S; // of a plane's filters
    extern __shared__ __align__(32) unsigned char memory[];

    // What this CTA has: planes [first, first + planes) of n * c, output rows [p0, p0 + rows_out) of each.
    const int first = blockIdx.x * Planes, left = a.n * a.c - first;
    const int planes = left < Planes ? left : Planes;
    const int p0 = whole ? 0 : blockIdx.y * a.tile_h, rows_out = whole ? Rows : at_most(a.tile_h, a.p - p0);
    const int row_groups = whole ? 1 : ceil_div(rows_out, Rows);
    // Of a plane in shared memory: the map's rows from y0 on, those above and below the map zeros. Behind
    // each row, and before the first, lie the zeros that taps beside the map read.
    const int y0 = whole ? 0 : p0 * StrideH - a.pad_h;
    const int rows_in = whole ? Height : (ceil_div(a.tile_h, Rows) * Rows - 1) * StrideH + reach_h;
    const unsigned odd = (static_cast<unsigned>(first) * static_cast<unsigned>(whole ? Height * W : a.h * W) +
                          static_cast<unsigned>(y0 * W)) %
                         (2 * copied);
    In *map = reinterpret_cast<In *>(memory) + margin + (by_sixteen ? odd : 0);
    Sum *taps = reinterpret_cast<Sum *>(memory +
                                        up_to((margin + copied + Planes * rows_in * pitch) * sizeof(In), 16));
    Out *staged = reinterpret_cast<Out *>(taps + up_to(Planes * Multiplier * S * column_taps, 4));

    const int above = whole ? 0 : at_most(y0 < 0 ? -y0 : 0, rows_in),
              below = whole ? Height : at_most(a.h - y0, rows_in);
    const int inside = below > above ? below - above : 0; // rows [above, above + inside) lie in the map
    const long long plane_elements = whole ? Height * W : static_cast<long long>(a.h) * W;
    const In *source = input + first * plane_elements + static_cast<long long>(y0 + above) * W;
    const int of_plane = inside * row_copies;
    for (int i = threadIdx.x; i < planes * of_plane; i += Threads) {
        const int plane = Planes == 1 || whole ? 0 : i / of_plane, copy = i - plane * of_plane;
        const int row = plane * rows_in + above + copy / row_copies;
        In *to = map + row * pitch + copy % row_copies * copied;
        const In *from = source + plane * plane_elements + copy * copied;
        if constexpr (copied * sizeof(In) >= 4)
            copy_async<copied * sizeof(In)>(to, from);
        else
#pragma unroll
            for (int e = 0; e < copied; ++e)
                to[e] = from[e];
    }
    if constexpr (margin > 0)
        for (int i = threadIdx.x; i < (planes * rows_in + 1) * margin; i += Threads)
            map[i / margin * pitch - margin + i % margin] = In{};
    const int zero_rows = rows_in - inside;
    if constexpr (!whole)
        for (int i = threadIdx.x; i < planes * zero_rows * W; i += Threads) {
            const int row = i / W, plane = Planes == 1 ? 0 : row / zero_rows,
                      of_rows = row - plane * zero_rows;
            map[(plane * rows_in + (of_rows < above ? of_rows : of_rows + inside)) * pitch + i % W] = In{};
        }
    // The filters of planes that follow one another do so too, and after the last channel's the first one's
    // come.
    const int tap_begin =
        static_cast<int>(static_cast<unsigned>(first) % static_cast<unsigned>(a.c)) * plane_taps;
    for (int i = threadIdx.x; i < planes * plane_taps; i += Threads) {
        const int from = tap_begin + i, all = a.c * plane_taps, tap = i % (R * S);
        copy_tap(taps + (i / (R * S) * S + tap % S) * column_taps + tap / S,
                 filters + (from < all ? from : from - all));
    }
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();

    const long long result = static_cast<long long>(first) * Multiplier * a.p * Q +
                             static_cast<long long>(p0) * Q; // of this CTA's outputs
    constexpr int out_vector = 16 / sizeof(Out);
    const int out_shift = static_cast<int>(result & (out_vector - 1));
    const int units = planes * Multiplier * row_groups * Q;
    for (int unit = threadIdx.x; unit < units; unit += Threads) {
        const int row_group = unit / Q, x = unit % Q;
        const int out = whole                      ? row_group
                        : Planes * Multiplier == 1 ? 0
                                                   : row_group / row_groups; // plane of outputs
        const int y = (row_group - out * row_groups) * Rows, plane = out / Multiplier;
        const In *pixels = map + (plane * rows_in + y * StrideH - PadH) * pitch + x * StrideW - PadW;
        const Sum *tap = taps + out * S * column_taps;
        Sum sum[Rows] = {};
#pragma unroll(S <= 7 ? S : 1)
        for (int s = 0; s < S; ++s) {
            Sum column[window], filter[column_taps];
#pragma unroll
            for (int i = 0; i < window; ++i)
                if (!whole || (i >= PadH && i < PadH + Height))
                    column[i] = widened(pixels[i * pitch + s * DilationW]);
            load_taps(filter, tap + s * column_taps);
#pragma unroll
            for (int r = 0; r < R; ++r)
#pragma unroll
                for (int row = 0; row < Rows; ++row) {
                    const int i = row * StrideH + r * DilationH;
                    if (!whole || (i >= PadH && i < PadH + Height))
                        sum[row] = multiply_add(column[i], filter[r], sum[row]);
                }
        }
        Out *to = Staged ? staged + out_shift + (out * rows_out + y) * Q + x
                         : output + result + (static_cast<long long>(out) * a.p + y) * Q + x;
#pragma unroll
        for (int row = 0; row < Rows; ++row)
            if (y + row < rows_out)
                narrow(to[row * Q], sum[row]);
    }
    if constexpr (Staged) {
        __syncthreads();
        const int end = out_shift + planes * Multiplier * rows_out * Q;
        Out *to = output + result - out_shift;
        for (int at = threadIdx.x * out_vector; at < end; at += Threads * out_vector) {
            if (at >= out_shift && at + out_vector <= end) {
                *reinterpret_cast<uint4 *>(to + at) = *reinterpret_cast<const uint4 *>(staged + at);
            } else {
                for (int e = at < out_shift ? out_shift : at; e < at + out_vector && e < end; ++e)
                    to[e] = staged[e];
            }
        }
    }
}
