// How many 8-bit products a clock does an SM sustain?
//
// DP4A, four products a lane, with 16 independent accumulators; the sums are exact modulo 2^32.

constexpr int steps = 32, accumulators = 16;

extern "C" __global__ __launch_bounds__(512, 2) void int8_rate(unsigned iterations, unsigned *sink,
                                                               Span *spans) {
    unsigned x = word_at(threadIdx.x % 32), w = word_at(32 + threadIdx.x % 32), a[accumulators];
#pragma unroll
    for (int i = 0; i < accumulators; ++i)
        a[i] = i;
    const Span span = begin_span();
    pin(x), pin(w);
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
#pragma unroll
            for (int i = 0; i < accumulators; ++i)
                asm volatile("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(a[i]) : "r"(x), "r"(w));
        }
    }
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < accumulators; ++i)
        sum += a[i];
    pin(sum);
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
