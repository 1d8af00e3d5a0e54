// How many bytes that hit L1 does an SM read a clock?
//
// Loads through L1 (.ca) of 4, 8 or 16 bytes a lane from a buffer that every SM's L1 holds; 32 warps with
// eight independent loads each. A warp starts one chunk of 512 bytes further from iteration to iteration:
// were the addresses the same, the compiler could keep what it has. Iterations are a multiple of `starts`,
// and so many that the first, which miss, do not count.

constexpr int loads = 8, starts = 16; // 23 chunks are read, 11.5 KiB

template <int words> __device__ inline unsigned load_words(const unsigned *from) {
    uint4 v = {};
    if (words == 1)
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v.x) : "l"(from));
    else if (words == 2)
        asm volatile("ld.global.ca.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(from));
    else
        asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(from));
    return sum_of(v);
}

template <int words>
__global__ __launch_bounds__(1024, 1) void l1_read(const unsigned *data, unsigned iterations, unsigned *sink,
                                                   Span *spans) {
    const unsigned *mine = data + words * (threadIdx.x % 32);
    unsigned sum = 0;
    const Span span = begin_span();
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
        const unsigned *from = mine + 128 * ((threadIdx.x / 32 + iteration) % starts);
#pragma unroll
        for (int j = 0; j < loads; ++j)
            sum += load_words<words>(from + 128 * j);
    }
    pin(sum);
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
