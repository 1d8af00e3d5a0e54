// split_walk (Chang, section 3.1, with the data on an SM that the paper counts; C = 1). The two CTAs of an SM halve the
// columns of its share. Together they hold D of equations (5) or (8) once, but for S - 1 columns and their own filters each.
// What comes in pieces, rows of the map or filters, lies in a ring that has room for one piece: what has been used makes
// room for what is a piece further on.
//   1. what stays, and the first piece -> shared memory
//   2. per round, one of Rounds of a piece: wait for its data | convolve | barrier | fetch what replaces the data just used
// With one piece everything moves at once (the papers' bulk transfer).
// The loop is Chen's special case: a thread walks down a column with R x S pixels in registers. It computes every filter for
// a row before it reads the next row.
#include "executor/kernels/common.cuh"

using namespace convcast;

/// Slots of `slot_floats` each, of which item i of what passes through takes slot i % slots.
struct Ring {
    float *at;
    int slots, slot_floats;
};

/// Outputs that a call computes: `rows` x `columns` of `filters` filters, the first of which goes to `at`.
struct Outputs {
    float *at;
    int rows, columns, filters, row_stride;
    long long filter_stride;
};

/// Convolves map rows from `first_row` on with filters from `first_filter` on. Threads take columns; where a CTA has more
/// threads than columns, they share the rows as well.
template <int R, int S>
__device__ __forceinline__ void walk(const Ring &map, int first_row, const Ring &bank, int first_filter,
                                     const Outputs &out) {
    constexpr int taps = R * S, wide_taps = (taps + 3) / 4;
    const int strips = at_most(blockDim.x / out.columns > 1 ? blockDim.x / out.columns : 1, out.rows);
    const int height = ceil_div(out.rows, strips);
    const int units = ceil_div(out.rows, height) * out.columns;
    const int first_slot = first_row % map.slots, first_bank = first_filter % bank.slots;
    for (int unit = threadIdx.x; unit < units; unit += blockDim.x) {
        const int strip = unit / out.columns, x = unit - strip * out.columns;
        const int y0 = strip * height, rows = at_most(height, out.rows - y0);
        int slot = first_slot + y0;
        slot -= slot >= map.slots ? map.slots : 0;
        float *to_row = out.at + static_cast<long long>(y0) * out.row_stride + x;

        float window[R][S];
        const auto read_row = [&](float(&row)[S]) {
            const float *pixels = map.at + slot * map.slot_floats + x;
#pragma unroll
            for (int s = 0; s < S; ++s)
                row[s] = pixels[s];
            slot = slot + 1 == map.slots ? 0 : slot + 1;
        };
#pragma unroll
        for (int r = 0; r < R - 1; ++r)
            read_row(window[r]);
        for (int y = 0; y < rows; y += R) {
            // R rows in turn, so that the window's rows change their part and not their registers.
#pragma unroll
            for (int turn = 0; turn < R; ++turn) {
                if (y + turn >= rows)
                    break;
                read_row(window[(turn + R - 1) % R]);
                int filter_slot = first_bank;
                float *to = to_row;
#pragma unroll 1
                for (int f = 0; f < out.filters; ++f) {
                    const float *tap_values = bank.at + filter_slot * bank.slot_floats;
                    float tap[wide_taps * 4];
#pragma unroll
                    for (int i = 0; i < wide_taps; ++i) {
                        const float4 v = *reinterpret_cast<const float4 *>(tap_values + 4 * i);
                        tap[4 * i] = v.x, tap[4 * i + 1] = v.y, tap[4 * i + 2] = v.z, tap[4 * i + 3] = v.w;
                    }
                    float sum = 0.0F;
#pragma unroll
                    for (int r = 0; r < R; ++r)
#pragma unroll
                        for (int s = 0; s < S; ++s)
                            sum = fmaf(window[(turn + r) % R][s], tap[r * S + s], sum);
                    *to = sum;
                    to += out.filter_stride;
                    filter_slot = filter_slot + 1 == bank.slots ? 0 : filter_slot + 1;
                }
                to_row += out.row_stride;
            }
        }
    }
}

/// R x S filter; ByFilters: pieces are of the filters, and the map stays; Wide: rows are copied 16 bytes a lane. A share has
/// tile_h rows and tile_k filters of the output.
template <int R, int S, int Rounds, bool ByFilters, bool Wide>
__global__ void __maxnreg__(REGISTER_CAP)
    split_walk(const float *__restrict__ input, const float *__restrict__ filters, float *__restrict__ output,
               ConvArgs a) {
    constexpr int taps = R * S, tap_floats = (taps + 3) / 4 * 4, unit = Wide ? 4 : 1;
    extern __shared__ __align__(16) float shared[];
    const int part = blockIdx.x % a.parts, half = blockIdx.x / a.parts;
    const int map_shares = ceil_div(a.p, a.tile_h);
    const int first = part / map_shares * a.tile_k, top = part % map_shares * a.tile_h;
    const int count = at_most(a.tile_k, a.k - first), rows = at_most(a.tile_h, a.p - top);
    const int half_columns = ceil_div(ceil_div(a.q, 2), unit) * unit;
    const int left = half * half_columns, columns = at_most(half_columns, a.q - left);
    if (count <= 0 || columns <= 0)
        return;
    const int pitch = ceil_div(half_columns + S - 1, unit) * unit;
    const int row_floats = Wide ? at_most(pitch, a.w - left) : columns + S - 1;
    input += (static_cast<long long>(blockIdx.y) * a.h + top) * a.w + left;
    filters += static_cast<long long>(first) * taps;
    output += ((static_cast<long long>(blockIdx.y) * a.k + first) * a.p + top) * a.q + left;

    const int all = ByFilters ? count : rows;
    const int piece = ceil_div(ByFilters ? a.tile_k : a.tile_h, a.pieces);
    const int round = a.pieces == 1 ? piece : piece / Rounds > 1 ? piece / Rounds : 1;
    const Ring bank = {shared, ByFilters ? piece : a.tile_k, tap_floats};
    const Ring map = {shared + a.bank_floats, (ByFilters ? a.tile_h : piece) + R - 1, pitch};

    const auto fetch_rows = [&](int begin, int end) {
        for (int y = begin + threadIdx.x / 32; y < end; y += blockDim.x / 32)
            for (int x = threadIdx.x % 32 * unit; x < row_floats; x += 32 * unit) {
                float *to = map.at + y % map.slots * pitch + x;
                const float *from = input + static_cast<long long>(y) * a.w + x;
                if constexpr (Wide)
                    copy_async_16(to, from);
                else
                    copy_async_4(to, from);
            }
    };
    const auto fetch_filters = [&](int begin, int end) {
        for (int i = threadIdx.x; i < (end - begin) * taps; i += blockDim.x) {
            const int f = begin + i / taps, tap = i % taps;
            copy_async_4(bank.at + f % bank.slots * tap_floats + tap, filters + f * taps + tap);
        }
    };

    fetch_filters(0, at_most(bank.slots, count));
    fetch_rows(0, at_most(map.slots, rows + R - 1));
    copy_async_commit();
    // Empty groups, so that in the first rounds too the group that a round needs is the Rounds-th from the last.
#pragma unroll
    for (int i = 1; i < Rounds; ++i)
        copy_async_commit();
    for (int begin = 0; begin < all; begin += round) {
        if (a.pieces > 1 && piece >= Rounds)
            copy_async_wait<Rounds - 1>();
        else
            copy_async_wait<0>();
        __syncthreads();
        const int end = at_most(begin + round, all);
        if constexpr (ByFilters)
            walk<R, S>(map, 0, bank, begin,
                       {output + static_cast<long long>(begin) * a.p * a.q, rows, columns, end - begin, a.q,
                        static_cast<long long>(a.p) * a.q});
        else
            walk<R, S>(map, begin, bank, 0,
                       {output + static_cast<long long>(begin) * a.q, end - begin, columns, count, a.q,
                        static_cast<long long>(a.p) * a.q});
        __syncthreads();
        if constexpr (ByFilters)
            fetch_filters(begin + bank.slots, at_most(end + bank.slots, count));
        else
            fetch_rows(begin + map.slots, at_most(end + map.slots, rows + R - 1));
        copy_async_commit();
    }
}
