// How many FP16 products a clock does an SM sustain?
//
// a_i = a_i * m + c on pairs of halves (HFMA2, two products a lane) with 16 independent accumulators. m and c
// are chosen so that every a_i comes to rest at exactly 2, whatever it began with: -0.5 and 3, or -0.25
// and 2.5 by lane.

constexpr int steps = 32, accumulators = 16;

extern "C" __global__ __launch_bounds__(512, 2) void half_rate(unsigned iterations, unsigned *sink,
                                                               Span *spans) {
    unsigned m = threadIdx.x % 2 ? 0xb400b400u : 0xb800b800u;
    unsigned c = threadIdx.x % 2 ? 0x41004100u : 0x42004200u;
    unsigned a[accumulators];
#pragma unroll
    for (int i = 0; i < accumulators; ++i)
        a[i] = 0x30003000u + 16 * i; // 0.125 and a little more
    const Span span = begin_span();
    pin(m), pin(c);
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
#pragma unroll
            for (int i = 0; i < accumulators; ++i)
                asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(a[i]) : "r"(m), "r"(c));
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
