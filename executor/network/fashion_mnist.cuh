// What the kernels of Vadlamudi's network on Fashion-MNIST share: its sizes, copies to shared memory that go on while
// others are used, and the pixels under a window.
#pragma once

namespace {

constexpr int image_edge = 28, image_area = image_edge * image_edge, filter_edge = 5, filter_area = 25;
constexpr int channels1 = 32, pooled1 = 12, pooled_area1 = pooled1 * pooled1;
constexpr int channels2 = 64, edge2 = 8, area2 = edge2 * edge2, pooled2 = 4, pooled_area2 = pooled2 * pooled2;
constexpr int inputs1 = channels2 * pooled_area2, outputs1 = 64, outputs2 = 10;
constexpr unsigned all_lanes = 0xffffffffU;

/// Starts a copy of 16 bytes to shared memory.
__device__ inline void start_copy(float4 *to, const float4 *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
}

__device__ inline void end_copy_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until all but the last `left` groups of this thread's copies are there.
__device__ inline void wait_copies(int left) {
    if (left == 3)
        asm volatile("cp.async.wait_group 3;" ::: "memory");
    else if (left == 2)
        asm volatile("cp.async.wait_group 2;" ::: "memory");
    else if (left == 1)
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    else
        asm volatile("cp.async.wait_group 0;" ::: "memory");
}

/// The pixels that the first filters see under a 2 x 2 window, from the first one of them.
__device__ __forceinline__ void read_window(float (&pixels)[6][6], const float *corner) {
#pragma unroll
    for (int r = 0; r < 6; ++r)
#pragma unroll
        for (int s = 0; s < 3; ++s) {
            const float2 two = *reinterpret_cast<const float2 *>(corner + r * image_edge + 2 * s);
            pixels[r][2 * s] = two.x, pixels[r][2 * s + 1] = two.y;
        }
}

} // namespace
