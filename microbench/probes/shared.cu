// How many bytes of shared memory does an SM read a clock, and what does a bank conflict cost?
//
// 32 warps with eight independent loads each keep the pipe full; a latency would hide conflicts of degree
// two. The loads are volatile in PTX too, so none is merged with
// another or taken out of the loop, and their sum is checked by the host. All
// lanes of a warp move by whole 512 bytes from load to load, which changes no conflict.

constexpr int loads = 8;
constexpr int words = 4096; // 16 KiB; what 32 warps and eight loads reach

__device__ inline void fill_words(unsigned *data) {
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
        data[i] = word_at(i);
}

// LDS.32 and LDS.128 of consecutive lanes: no conflicts. A warp starts at its own place.
template <int width>
__global__ __launch_bounds__(1024) void shared_read(unsigned iterations, unsigned *sink, Span *spans) {
    __shared__ __align__(16) unsigned data[words];
    fill_words(data);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned at =
        static_cast<unsigned>(__cvta_generic_to_shared(data)) + 4 * (lane * width) + 512 * (warp % 24);
    unsigned sum = 0;
    const Span span = begin_span();
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
        uint4 v[loads];
#pragma unroll
        for (int j = 0; j < loads; ++j) {
            if (width == 4)
                asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(v[j].x), "=r"(v[j].y), "=r"(v[j].z), "=r"(v[j].w)
                             : "r"(at + 512 * j));
            else
                asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v[j].x) : "r"(at + 512 * j));
        }
#pragma unroll
        for (int j = 0; j < loads; ++j)
            sum += width == 4 ? sum_of(v[j]) : v[j].x;
    }
    pin(sum);
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// LDS.32 where lane l reads word l * stride, for strides up to 64: all warps the same.
extern "C" __global__ __launch_bounds__(1024) void shared_stride(unsigned stride, unsigned iterations,
                                                                 unsigned *sink, Span *spans) {
    __shared__ __align__(16) unsigned data[words];
    fill_words(data);
    const unsigned at =
        static_cast<unsigned>(__cvta_generic_to_shared(data)) + 4 * stride * (threadIdx.x % 32);
    unsigned sum = 0;
    const Span span = begin_span();
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
        unsigned v[loads];
#pragma unroll
        for (int j = 0; j < loads; ++j)
            asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v[j]) : "r"(at + 512 * j));
#pragma unroll
        for (int j = 0; j < loads; ++j)
            sum += v[j];
    }
    pin(sum);
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
