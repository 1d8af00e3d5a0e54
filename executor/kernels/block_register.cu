// block_register (Chen, Algorithm 2, the general case). A CTA computes TileK filters for a block of TileW x
// TileH pixels; a thread owns Width neighbouring pixels of a row times Group filters: an outer product in
// registers.
//   step 0 -> buffer 0; then per step of Channels channels: fetch the next step into the other buffer | per
//   channel and filter row: load Width + S - 1 pixels once, per column load Group filter values and
//   multiply-add Width x Group
// A row of pixels in registers serves S columns, so a thread reads (Width + S - 1) * R pixels of a channel
// instead of Width * R * S. Threads along x take neighbouring filters: they read the same pixel (broadcast)
// and neighbouring filter values. Filters are transposed on the way into shared memory and padded by a unit;
// pixels are not padded. All reads of shared memory are Unit elements wide: the paper's n, which for floats on
// a GPU with 4-byte banks saves instructions rather than bandwidth. The paper stores results as they lie in
// registers, uncoalesced. Here they pass through the buffers that the loop no longer needs, which costs less
// than writing every sector eight times.
// Halves and 8-bit integers stay as they are in shared memory, 2 and 4 to a word of a bank, and become floats
// and integers of 32 bits on the way into registers. Asynchronous copies are no narrower than a word, so their
// next step waits in registers while this one is computed, as in the paper.
#include "executor/kernels/element.cuh"

using namespace convcast;

/// WideRows: rows of floats are 16-byte aligned, rows of shorter elements are whole words. Type: of the
/// elements, element.cuh.
template <int R, int S, int TileW, int TileH, int TileK, int Width, int Group, int Channels, int Unit,
          bool WideRows, int Type = 0>
__global__ void __maxnreg__(REGISTER_CAP)
    block_register(const typename Element<Type>::In *__restrict__ input,
                   const typename Element<Type>::In *__restrict__ filters,
                   typename Element<Type>::Out *__restrict__ output, ConvArgs a) {
    using In = typename Element<Type>::In;
    using Sum = typename Element<Type>::Sum;
    constexpr bool short_type = sizeof(In) < 4;
    constexpr int threads_x = TileK / Group, strips = TileW / Width, threads = threads_x * strips * TileH;
    constexpr int pitch = TileW + (S + 2) / 4 * 4, rows = TileH + R - 1;
    constexpr int taps = Channels * R * S, filter_pitch = TileK + Unit;
    constexpr int bank_elements = (taps * filter_pitch + 3) / 4 * 4;
    constexpr int stage_elements = bank_elements + Channels * rows * pitch;
    constexpr int tile_pixels = TileW * TileH, result_pitch = tile_pixels + 4;
    constexpr int filter_rows_at_once = R * S * Group * Width <= 1024 ? R : 1; // unrolled
    // Without a declared alignment the compiler keeps reads as narrow as Unit says; 16 bytes it has all the
    // same.
    extern __shared__ float shared_memory[];
    In *shared = reinterpret_cast<In *>(shared_memory);

    const int tiles_x = ceil_div(a.q, TileW);
    const int q0 = blockIdx.x % tiles_x * TileW, p0 = blockIdx.x / tiles_x * TileH;
    const int filter0 = blockIdx.y * TileK;
    const int values = a.c * R * S, plane = a.h * a.w;
    input += static_cast<long long>(blockIdx.z) * a.c * plane;

    // A thread copies the same tap of every filters_a_pass-th filter, and the same column of every
    // rows_a_pass-th row.
    constexpr int copy_width = WideRows ? 4 / (short_type ? sizeof(In) : 1) : 1;
    constexpr int row_copies = WideRows ? pitch / copy_width : TileW + S - 1;
    constexpr int filters_a_pass = threads / taps, rows_a_pass = threads / row_copies;
    const auto fetch_filter = [&](auto *bank, int step, int filter, int tap) {
        const bool valid = step * taps + tap < values; // past the last channel: zeros
        if (filter0 + filter < a.k)
            copy_async_4(bank + tap * filter_pitch + filter,
                         valid
                             ? filters + static_cast<long long>(filter0 + filter) * values + step * taps + tap
                             : filters,
                         valid);
    };
    const auto fetch_pixels = [&](auto *map, int step, int channel, int row, int column) {
        const int y = p0 + row, x = q0 + column * copy_width;
        if (y >= a.h || x >= a.w)
            return;
        const bool valid = step * Channels + channel < a.c;
        auto *to = map + (channel * rows + row) * pitch + column * copy_width;
        const In *from =
            valid ? input + static_cast<long long>(step * Channels + channel) * plane + y * a.w + x : input;
        if constexpr (WideRows)
            copy_async_16(to, from, valid);
        else
            copy_async_4(to, from, valid);
    };
    const auto fetch = [&](auto step) { // generic: compiled for floats only
        In *bank = shared + step % 2 * stage_elements, *map = bank + bank_elements;
        if constexpr (filters_a_pass > 0) {
            const int tap = threadIdx.x % taps, first = threadIdx.x / taps;
            constexpr bool few_filters = TileK / filters_a_pass <= 10; // their places are kept in registers
            if (first < filters_a_pass) {
#pragma unroll(few_filters ? TileK : 1)
                for (int i = 0; i < TileK; i += filters_a_pass)
                    if (i + first < TileK)
                        fetch_filter(bank, step, i + first, tap);
            }
        } else {
#pragma unroll 1
            for (int i = threadIdx.x; i < TileK * taps; i += threads)
                fetch_filter(bank, step, i / taps, i % taps);
        }
        if constexpr (rows_a_pass > 0) {
            const int column = threadIdx.x % row_copies, first = threadIdx.x / row_copies;
            constexpr bool few_rows = Channels * ((rows + rows_a_pass - 1) / rows_a_pass) <= 6;
            if (first < rows_a_pass) {
#pragma unroll(few_rows ? Channels : 1)
                for (int channel = 0; channel < Channels; ++channel)
#pragma unroll(few_rows ? rows : 1)
                    for (int i = 0; i < rows; i += rows_a_pass)
                        if (i + first < rows)
                            fetch_pixels(map, step, channel, i + first, column);
            }
        } else {
#pragma unroll 1
            for (int i = threadIdx.x; i < Channels * rows * row_copies; i += threads)
                fetch_pixels(map, step, i / (rows * row_copies), i / row_copies % rows, i % row_copies);
        }
        copy_async_commit();
    };

    // The same for short elements, through registers; the plan sees to it that a pass is a whole tap and row.
    constexpr int filter_passes = short_type ? (TileK + filters_a_pass - 1) / (filters_a_pass > 0 ? filters_a_pass : 1) : 0;
    constexpr int row_passes = short_type ? (rows + rows_a_pass - 1) / (rows_a_pass > 0 ? rows_a_pass : 1) : 0;
    using Copy = typename Bits<copy_width * sizeof(In)>::Type;
    In held_filter[filter_passes + !short_type];
    Copy held_pixels[Channels][row_passes + !short_type];
    const auto hold = [&](auto step) { // generic: compiled for short elements only
        const int tap = threadIdx.x % taps, filter = filter0 + threadIdx.x / taps;
        const In *from = filters + static_cast<long long>(filter) * values + step * taps + tap;
#pragma unroll
        for (int i = 0; i < filter_passes; ++i) {
            const bool valid = filter + i * filters_a_pass < a.k && step * taps + tap < values;
            held_filter[i] = valid ? *from : In{};
            from += filters_a_pass * values;
        }
        const int x = q0 + threadIdx.x % row_copies * copy_width, y = p0 + threadIdx.x / row_copies;
#pragma unroll
        for (int channel = 0; channel < Channels; ++channel) {
            const In *line = input + static_cast<long long>(step * Channels + channel) * plane + y * a.w + x;
#pragma unroll
            for (int i = 0; i < row_passes; ++i) {
                const bool valid = x < a.w && y + i * rows_a_pass < a.h && step * Channels + channel < a.c;
                held_pixels[channel][i] = valid ? *reinterpret_cast<const Copy *>(line) : Copy{};
                line += rows_a_pass * a.w;
            }
        }
    };
    const auto put = [&](auto step) {
        In *bank = shared + step % 2 * stage_elements, *map = bank + bank_elements;
        const int tap = threadIdx.x % taps, filter = threadIdx.x / taps;
#pragma unroll
        for (int i = 0; i < filter_passes; ++i)
            if (filter < filters_a_pass && filter + i * filters_a_pass < TileK)
                bank[tap * filter_pitch + filter + i * filters_a_pass] = held_filter[i];
        const int column = threadIdx.x % row_copies * copy_width, row = threadIdx.x / row_copies;
#pragma unroll
        for (int channel = 0; channel < Channels; ++channel)
#pragma unroll
            for (int i = 0; i < row_passes; ++i)
                if (row < rows_a_pass && row + i * rows_a_pass < rows)
                    *reinterpret_cast<Copy *>(map + (channel * rows + row + i * rows_a_pass) * pitch + column) =
                        held_pixels[channel][i];
    };

    const int thread_x = threadIdx.x % threads_x, thread_y = threadIdx.x / threads_x;
    const int column = thread_y % strips * Width, row = thread_y / strips;
    Sum sum[Group][Width] = {};
    if constexpr (short_type)
        hold(0);
    else
        fetch(0);
    const int steps = ceil_div(a.c, Channels);
    for (int step = 0; step < steps; ++step) {
        if constexpr (short_type)
            put(step); // where the step before the last one was, which all have left
        else
            copy_async_wait<0>();
        __syncthreads();
        if (step + 1 < steps) {
            if constexpr (short_type)
                hold(step + 1);
            else
                fetch(step + 1);
        }
        const In *bank = shared + step % 2 * stage_elements + thread_x * Unit;
        const In *map = shared + step % 2 * stage_elements + bank_elements + row * pitch + column;
#pragma unroll 1
        for (int channel = 0; channel < Channels; ++channel) {
#pragma unroll(filter_rows_at_once)
            for (int r = 0; r < R; ++r) {
                constexpr int pixel_units = (Width + S - 1 + Unit - 1) / Unit;
                Sum pixel[pixel_units * Unit];
#pragma unroll
                for (int i = 0; i < pixel_units; ++i) {
                    Sum part[Unit];
                    load_unit<true>(part, map + r * pitch + i * Unit);
#pragma unroll
                    for (int j = 0; j < Unit; ++j)
                        pixel[i * Unit + j] = part[j];
                }
#pragma unroll
                for (int s = 0; s < S; ++s) {
                    Sum weight[Group];
#pragma unroll
                    for (int i = 0; i < Group / Unit; ++i) {
                        Sum part[Unit];
                        load_unit<true>(part, bank + (r * S + s) * filter_pitch + i * threads_x * Unit);
#pragma unroll
                        for (int j = 0; j < Unit; ++j)
                            weight[i * Unit + j] = part[j];
                    }
#pragma unroll
                    for (int f = 0; f < Group; ++f)
#pragma unroll
                        for (int j = 0; j < Width; ++j)
                            sum[f][j] = multiply_add(pixel[s + j], weight[f], sum[f][j]);
                }
            }
            bank += R * S * filter_pitch;
            map += rows * pitch;
        }
    }

    // Every threads_x-th unit of filters at a time, through shared memory.
    Sum *results = reinterpret_cast<Sum *>(shared_memory);
    output += (static_cast<long long>(blockIdx.z) * a.k + filter0) * a.p * a.q;
#pragma unroll
    for (int f = 0; f < Group; ++f) {
        __syncthreads();
        Sum *result = results + thread_x * result_pitch + thread_y * Width;
        store_group(result, sum[f]);
        __syncthreads();
#pragma unroll 1
        for (int i = threadIdx.x; i < threads_x * tile_pixels; i += threads) {
            const int x = i / tile_pixels, pixel = i % tile_pixels;
            const int filter = (f / Unit * threads_x + x) * Unit + f % Unit;
            const int p = p0 + pixel / TileW, q = q0 + pixel % TileW;
            if (filter0 + filter < a.k && p < a.p && q < a.q)
                narrow(output[(static_cast<long long>(filter) * a.p + p) * a.q + q],
                       results[x * result_pitch + pixel]);
        }
    }
}
