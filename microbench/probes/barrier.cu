// How long does __syncthreads take?
//
// The time of 2 x 32 barriers an iteration minus that of 32 (Burtscher's difference): loop and clock reads
// drop out.

constexpr int unrolled = 32;

template <int times> __global__ void barrier(unsigned iterations, Span *spans) {
    const Span span = begin_span();
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < times * unrolled; ++i)
            asm volatile("bar.sync 0;" ::: "memory");
    }
    end_span(span, spans);
}
