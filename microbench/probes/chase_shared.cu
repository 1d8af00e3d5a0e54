// How long does one dependent load of shared memory take?
//
// A random cycle of 32-bit shared addresses: a hop is one LDS and nothing else. One thread of one CTA on each
// SM chases, all SMs at once, since they share nothing.

constexpr unsigned unrolled = 32; // `warm` and `hops` are multiples
constexpr unsigned nodes = 4096;  // 16 KiB

__device__ inline unsigned chase_hops(unsigned at, unsigned hops) {
#pragma unroll 1
    for (unsigned i = 0; i < hops; i += unrolled) {
#pragma unroll
        for (unsigned j = 0; j < unrolled; ++j)
            asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    }
    return at;
}

// end[CTA]: the node where the last hop ended, the first starting from node 0.
extern "C" __global__ void chase_shared(const unsigned *next, unsigned warm, unsigned hops, unsigned *end,
                                        Span *spans) {
    __shared__ unsigned ring[nodes];
    const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(ring));
    for (unsigned i = threadIdx.x; i < nodes; i += blockDim.x)
        ring[i] = base + 4 * next[i];
    __syncthreads();
    unsigned at = base;
    if (threadIdx.x == 0)
        end[blockIdx.x] = at = chase_hops(at, warm); // the store waits for the last warm hop
    const Span span = begin_span();
    if (threadIdx.x == 0)
        end[blockIdx.x] = (chase_hops(at, hops) - base) / 4;
    end_span(span, spans);
}
