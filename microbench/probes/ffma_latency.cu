// How long does an FFMA take that needs the one before it?
//
// One warp, one chain: every FFMA adds to the result of the last one, as the accumulator of a convolution
// does. 1024 of them stand between two branches; with fewer, what a branch costs is taken for latency. Small
// integers, so the result is exact and known.

constexpr int unrolled = 1024;

extern "C" __global__ __launch_bounds__(32) void ffma_chain(unsigned iterations, float *sink, Span *spans) {
    float x = 1.0f + threadIdx.x % 4, w = 1.0f + threadIdx.x % 2, a = 0.0f;
    const Span span = begin_span();
    pin(x), pin(w);
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < unrolled; ++i)
            asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(a) : "f"(x), "f"(w));
    }
    pin(a);
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
