// Shared by the kernels: asynchronous copies and the single-channel inner loop.
#pragma once

#include "executor/kernels/conv_args.hpp"
//: #include "executor/network/conv_end.cuh"

// A launch's register cap arrives as -DREGISTER_CAP and goes into __maxnreg__: ptxas ignores --maxrregcount for kernels
// with __launch_bounds__.

namespace convcast {

__device__ __forceinline__ unsigned shared_address(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// 4 bytes from global to shared memory; zero instead when `valid` is false.
__device__ __forceinline__ void copy_async_4(float *to, const float *from, bool valid = true) {
    const int bytes = valid ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes));
}

/// 16 aligned bytes; zero instead when `valid` is false.
__device__ __forceinline__ void copy_async_16(float *to, const float *from, bool valid = true) {
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes));
}

__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;"); }

/// Until at most Pending of this thread's committed groups are under way.
template <int Pending> __device__ __forceinline__ void copy_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// Lets the next launch of the stream start as soon as all CTAs of this one have come here or ended, if it
/// may start early. Not sooner than near the end: CTAs that come while others run crowd the SMs that are free
/// then, and stay.
__device__ __forceinline__ void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Until the launch before this one has ended and its stores are seen. Every launch that starts early waits,
/// so that its own end means that all before it have ended.
__device__ __forceinline__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Four neighbours in one store. Said outright: of sums that were computed elsewhere the compiler makes four stores, each of
/// which writes a part of every sector.
__device__ __forceinline__ void store_four(float *to, float a, float b, float c, float d) {
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
}

__device__ __forceinline__ int ceil_div(int a, int b) { return (a + b - 1) / b; }
__device__ __forceinline__ int at_most(int a, int b) { return a < b ? a : b; }

/// `count` contiguous floats; all of them 16-byte aligned and count % 4 == 0 where Wide.
template <bool Wide> __device__ __forceinline__ void copy_span(float *to, const float *from, int count) {
    if constexpr (Wide) {
        for (int i = threadIdx.x * 4; i < count; i += blockDim.x * 4)
            copy_async_16(to + i, from + i);
    } else {
        for (int i = threadIdx.x; i < count; i += blockDim.x)
            copy_async_4(to + i, from + i);
    }
}

/// Filters [begin, begin + count) of a single-channel bank [k][R*S] into shared memory as
/// [group][R*S][Group], zeros where a group is not full, so that one wide load brings a tap of Group filters.
template <int Taps, int Group>
__device__ __forceinline__ void copy_filters(float *to, const float *filters, int begin, int count) {
    const int slots = ceil_div(count, Group) * Group * Taps;
    for (int i = threadIdx.x; i < slots; i += blockDim.x) {
        const int filter = i / Taps, tap = i % Taps;
        const bool valid = filter < count;
        copy_async_4(to + ((filter / Group) * Taps + tap) * Group + filter % Group,
                     filters + static_cast<long long>(begin + (valid ? filter : 0)) * Taps + tap, valid);
    }
}

template <int Group> __device__ __forceinline__ void load_group(float (&to)[Group], const float *from) {
    if constexpr (Group % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Group; i += 4) {
            const float4 v = *reinterpret_cast<const float4 *>(from + i);
            to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
        }
    } else if constexpr (Group == 2) {
        const float2 v = *reinterpret_cast<const float2 *>(from);
        to[0] = v.x, to[1] = v.y;
    } else {
        to[0] = *from;
    }
}

template <int Group> __device__ __forceinline__ void store_group(float *to, const float (&from)[Group]) {
    if constexpr (Group % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Group; i += 4)
            *reinterpret_cast<float4 *>(to + i) = {from[i], from[i + 1], from[i + 2], from[i + 3]};
    } else if constexpr (Group % 2 == 0) {
#pragma unroll
        for (int i = 0; i < Group; i += 2)
            *reinterpret_cast<float2 *>(to + i) = {from[i], from[i + 1]};
    } else {
        *to = from[0];
    }
}

/// Adds a filter column's products: of Rows + R - 1 pixels below each other, `w` apart, which serve R filter rows, and
/// of the column's R taps of Group filters each, `row` floats apart.
template <int R, int Rows, int Group>
__device__ __forceinline__ void add_column(float (&sum)[Rows][Group], const float *pixels, int w, const float *taps,
                                           int row) {
    float column[Rows + R - 1];
#pragma unroll
    for (int r = 0; r < Rows + R - 1; ++r)
        column[r] = pixels[r * w];
#pragma unroll
    for (int r = 0; r < R; ++r) {
        float tap[Group];
        load_group(tap, taps + r * row);
#pragma unroll
        for (int y = 0; y < Rows; ++y)
#pragma unroll
            for (int f = 0; f < Group; ++f)
                sum[y][f] = fmaf(column[y + r], tap[f], sum[y][f]);
    }
}

/// Where a band's outputs go: row 0 of the band's first filter, and the filters' and rows' distance.
struct BandOutput {
    float *at;
    long long filter_stride;
    int row_stride;
};

/// Convolves a band of `rows` output rows, held in shared memory with `w` pixels a row, with `filters` filters laid
/// out by copy_filters. A thread computes Rows x 1 pixels of Group filters at a time; neighbouring threads take
/// neighbouring pixels, so loads are free of conflicts (one element of bank width each) and stores are coalesced.
/// The band must have room for ceil(rows / Rows) * Rows + R - 1 rows; surplus rows are computed, not stored.
template <int R, int S, int Rows, int Group>
__device__ __forceinline__ void convolve_band(const float *band, int w, int rows, int q, const float *bank,
                                              int filters, const BandOutput &output) {
    const int row_groups = ceil_div(rows, Rows);
    const int positions = row_groups * q;
    const int units = positions * ceil_div(filters, Group);
    for (int unit = threadIdx.x; unit < units; unit += blockDim.x) {
        const int group = unit / positions, position = unit - group * positions;
        const int y = position / q * Rows, x = position % q;
        const float *pixels = band + y * w + x;
        const float *taps = bank + group * (R * S * Group);
        float sum[Rows][Group] = {};
#pragma unroll 1 // unrolled, ptxas moves loads far ahead and spills
        for (int s = 0; s < S; ++s)
            add_column<R>(sum, pixels + s, w, taps + s * Group, S * Group);
        // Rows outside, filters inside: one address step and one comparison an output.
        float *to_row = output.at + group * Group * output.filter_stride + y * output.row_stride + x;
#pragma unroll
        for (int row = 0; row < Rows; ++row) {
            if (y + row < rows) {
                float *to = to_row;
#pragma unroll
                for (int f = 0; f < Group; ++f) {
                    if (group * Group + f < filters)
                        *to = sum[row][f];
                    to += output.filter_stride;
                }
            }
            to_row += output.row_stride;
        }
    }
}

} // namespace convcast
