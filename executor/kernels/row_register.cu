// row_register (Chen, Algorithm 1, the special case; C = 1). A CTA walks down a tile of tile_w x tile_h outputs.
// Registers hold the last R rows of the pixels that a thread needs; shared memory passes one new row a step:
//   prefetch row y+R into registers | compute every filter for row y from registers, filters from constant memory
//   barrier, store the prefetched row to shared memory, barrier, read it into the register window
// Each pixel is read from global memory once, plus the halo. A thread reads, computes and writes Unit neighbouring pixels
// as one: matched to the bank width (the paper's n), no lane leaves part of a bank's word unused. Elements are floats, or
// halves and 8-bit integers, of which a bank holds 2 and 4: they become floats and integers of 32 bits on the way into the
// window, once for all filters.
#include "executor/kernels/element.cuh"

using namespace convcast;

/// 64 KB: the whole constant bank that a kernel may use.
__constant__ float filter_bank[16384];

/// R x S filter; a thread owns Units units of Unit neighbouring pixels, unit u at (u * Threads + thread) * Unit;
/// tile_w = Threads * Units * Unit. WholeUnits: output rows are units, aligned to their size. Type: of the elements,
/// element.cuh. The launch's filters lie in filter_bank; grid.z spreads them by tile_k.
template <int R, int S, int Threads, int Unit, int Units, bool WholeUnits, int Type = 0>
__global__ void __maxnreg__(REGISTER_CAP)
    row_register(const typename Element<Type>::In *__restrict__ input, const typename Element<Type>::In *__restrict__,
                 typename Element<Type>::Out *__restrict__ output, ConvArgs a) {
    using In = typename Element<Type>::In;
    using Sum = typename Element<Type>::Sum;
    constexpr int tile_w = Threads * Units * Unit;
    constexpr int row_pixels = tile_w + S - 1;
    constexpr int fetches = (row_pixels + Threads - 1) / Threads;
    constexpr int window_w = Unit + S - 1;
    constexpr int window_units = (window_w + Unit - 1) / Unit; // reads of Unit elements as one
    extern __shared__ float row_memory[];                      // tile_w + window_units * Unit - Unit elements
    In *row = reinterpret_cast<In *>(row_memory);

    const int filter_tiles = ceil_div(a.filter_count, a.tile_k);
    const int image = blockIdx.z / filter_tiles;
    const int first = blockIdx.z % filter_tiles * a.tile_k;
    const int count = at_most(a.tile_k, a.filter_count - first);
    const int x0 = blockIdx.x * tile_w, y0 = blockIdx.y * a.tile_h;
    const int rows = at_most(a.tile_h, a.p - y0);
    input += (static_cast<long long>(image) * a.h + y0) * a.w + x0;
    output += ((static_cast<long long>(image) * a.k + a.filter_begin + first) * a.p + y0) * a.q + x0;

    In prefetched[fetches];
    const auto fetch = [&](int y) {
#pragma unroll
        for (int i = 0; i < fetches; ++i) {
            const int x = i * Threads + threadIdx.x;
            prefetched[i] = x < row_pixels && x0 + x < a.w ? input[static_cast<long long>(y) * a.w + x] : In{};
        }
    };
    Sum window[R][Units][window_w];
    const auto pass_row = [&](int slot) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < fetches; ++i) {
            const int x = i * Threads + threadIdx.x;
            if (x < row_pixels)
                row[x] = prefetched[i];
        }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < Units; ++u)
#pragma unroll
            for (int i = 0; i < window_units; ++i) {
                Sum part[Unit];
                load_unit<false>(part, row + (u * Threads + threadIdx.x + i) * Unit);
#pragma unroll
                for (int j = 0; j < Unit && i * Unit + j < window_w; ++j)
                    window[slot][u][i * Unit + j] = part[j];
            }
    };

#pragma unroll
    for (int r = 0; r < R - 1; ++r) {
        fetch(r);
        pass_row(r);
    }
    fetch(R - 1);
    for (int y = 0; y < rows; ++y) {
        pass_row(R - 1);
        if (y + 1 < rows)
            fetch(y + R);
#pragma unroll 2
        for (int f = 0; f < count; ++f) {
            const In *taps = reinterpret_cast<const In *>(filter_bank) + (first + f) * (R * S);
            Sum sum[Units][Unit] = {};
#pragma unroll
            for (int r = 0; r < R; ++r)
#pragma unroll
                for (int s = 0; s < S; ++s)
#pragma unroll
                    for (int u = 0; u < Units; ++u)
#pragma unroll
                        for (int i = 0; i < Unit; ++i)
                            sum[u][i] = multiply_add(window[r][u][s + i], widened(taps[r * S + s]), sum[u][i]);
            typename Element<Type>::Out *to = output + (static_cast<long long>(f) * a.p + y) * a.q;
#pragma unroll
            for (int u = 0; u < Units; ++u) {
                const int x = (u * Threads + threadIdx.x) * Unit;
                if constexpr (WholeUnits) {
                    if (x0 + x < a.q)
                        store_group(to + x, sum[u]);
                } else {
#pragma unroll
                    for (int i = 0; i < Unit; ++i)
                        if (x0 + x + i < a.q)
                            narrow(to[x + i], sum[u][i]);
                }
            }
        }
#pragma unroll
        for (int r = 0; r + 1 < R; ++r)
#pragma unroll
            for (int u = 0; u < Units; ++u)
#pragma unroll
                for (int i = 0; i < window_w; ++i)
                    window[r][u][i] = window[r + 1][u][i];
    }
}
