// How many FFMAs a clock does an SM sustain, and at which clock?
//
// 16 independent accumulators a thread hide the latency of 4 clocks even at one warp per scheduler. A
// register file of two banks with one read port each feeds two registers a clock, so the operand pattern
// decides (docs/model.md, M1):
//   registers = 2   a_i = b * b + a_i          two distinct registers an FFMA: the ports cannot limit
//   registers = 3   a_ij = x_i * w_j + a_ij    a 4 x 4 outer product, as in a convolution: full speed only
//   where the
//                                              reuse cache saves the third read
// 512 FFMAs between two branches make the loop's own instructions less than 1 %.

constexpr int steps = 32;

template <int registers>
__global__ __launch_bounds__(512, 2) void ffma(unsigned iterations, float scale, float *sink, Span *spans) {
    float x[4], w[4], a[16];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        x[i] = scale * (1.0f + 0.37f * i + 0.001f * threadIdx.x);
        w[i] = scale * (1.9f - 0.29f * i + 0.002f * threadIdx.x);
    }
#pragma unroll
    for (int i = 0; i < 16; ++i)
        a[i] = scale * i;
    const Span span = begin_span();
#pragma unroll
    for (int i = 0; i < 4; ++i)
        pin(x[i]), pin(w[i]);
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                if (registers == 2)
                    a[i] = __fmaf_rn(x[step % 4], x[step % 4], a[i]);
                else
                    a[i] = __fmaf_rn(x[i / 4], w[i % 4], a[i]);
            }
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        pin(a[i]);
        sum += a[i];
    }
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
