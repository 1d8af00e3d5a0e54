// How long does one dependent load take? Whether it hits L2 is the footprint's doing.
//
// Absolute pointers, so that a hop is one load and nothing else; past L1 (.cg); the clock is read around
// thousands of hops, never around one, where it would measure the timer. One CTA of the grid chases, the
// others leave: which one is the host's choice, so that several SMs are asked. `warm` hops first bring the
// lines, or only the pages, near.

constexpr unsigned unrolled = 32; // `warm` and `hops` are multiples

__device__ inline unsigned long long chase_hops(unsigned long long at, unsigned hops) {
#pragma unroll 1
    for (unsigned i = 0; i < hops; i += unrolled) {
#pragma unroll
        for (unsigned j = 0; j < unrolled; ++j)
            asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
    }
    return at;
}

extern "C" __global__ void chase(unsigned long long start, unsigned warm, unsigned hops, unsigned chosen,
                                 unsigned long long *end, Span *spans) {
    if (blockIdx.x != chosen)
        return;
    const unsigned long long middle = chase_hops(start, warm);
    *end = middle; // waits for the last warm hop
    const Span span = begin_span();
    *end = chase_hops(middle, hops);
    end_span(span, spans);
}
