// How many FFMAs a clock does an SM sustain with so many warps and so many independent FFMAs each?
//
// a_i = x * x + a_i with `ilp` accumulators: two registers an FFMA, so that the register file's ports cannot
// limit, and latency against independence is all there is. 512 FFMAs between two branches. Small integers, so
// the sums are exact and known.

constexpr int ffmas = 512;

template <int ilp>
__global__ __launch_bounds__(1024, 1) void ffma_ilp(unsigned iterations, unsigned *sink, Span *spans) {
    float x[2], a[ilp];
    x[0] = 1.0f + threadIdx.x % 2;
    x[1] = 2.0f + threadIdx.x % 2;
#pragma unroll
    for (int i = 0; i < ilp; ++i)
        a[i] = 0.0f;
    const Span span = begin_span();
    pin(x[0]), pin(x[1]);
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int step = 0; step < ffmas / ilp; ++step) {
#pragma unroll
            for (int i = 0; i < ilp; ++i)
                a[i] = __fmaf_rn(x[step % 2], x[step % 2], a[i]);
        }
    }
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < ilp; ++i) {
        pin(a[i]);
        sum += static_cast<unsigned>(a[i]);
    }
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
