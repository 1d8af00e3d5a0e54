// What does a warp's load of shared memory cost, as its width and the addresses of its lanes decide?
//
// The host says which byte each lane reads: neighbours for bandwidth, few distinct places for broadcasts, a
// stride or rows of one bank for conflicts. 32 warps with eight independent loads each keep the pipe full; a
// latency would hide conflicts of degree two. The loads are volatile in PTX too, so none is merged with
// another or taken out of the loop, and their sum is checked by the host. All lanes of a warp move by whole
// 512 bytes from load to load and from warp to warp, which changes no conflict.

constexpr int loads = 8;
constexpr int words = 8192; // 32 KiB; what 16 starts, eight loads and lanes 16 KiB apart reach

template <int bytes> __device__ inline unsigned load_bytes(unsigned from) {
    uint4 v = {};
    if (bytes == 1)
        asm volatile("ld.volatile.shared.u8 %0, [%1];" : "=r"(v.x) : "r"(from));
    else if (bytes == 2)
        asm volatile("{ .reg .u16 t; ld.volatile.shared.u16 t, [%1]; cvt.u32.u16 %0, t; }"
                     : "=r"(v.x)
                     : "r"(from));
    else if (bytes == 4)
        asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v.x) : "r"(from));
    else if (bytes == 8)
        asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(from));
    else
        asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(from));
    return sum_of(v);
}

template <int bytes>
__global__ __launch_bounds__(1024, 1) void shared_read(const unsigned *byte_of_lane, unsigned iterations,
                                                       unsigned *sink, Span *spans) {
    __shared__ __align__(16) unsigned data[words];
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
        data[i] = word_at(i);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned at =
        static_cast<unsigned>(__cvta_generic_to_shared(data)) + byte_of_lane[lane] + 512 * (warp % 16);
    unsigned sum = 0;
    const Span span = begin_span();
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int j = 0; j < loads; ++j)
            sum += load_bytes<bytes>(at + 512 * j);
    }
    pin(sum);
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
