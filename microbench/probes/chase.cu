// How long does one dependent load take, or one atomic add whose result is needed? Which memory it finds its
// data in is the footprint's doing.
//
// A random cycle of absolute pointers, so that a hop is one instruction and nothing else. The clock is read
// around thousands of hops, never around one, where it would measure the timer. One CTA of the grid works,
// the others leave, so that the host can ask several SMs. `warm` hops first bring the lines, or only the
// pages, near.

constexpr unsigned unrolled = 32; // `warm` and `hops` are multiples
constexpr unsigned line_bytes = 128;

struct ChaseEnd {                 // as in microbench/runners/pointer_ring.hpp
    unsigned long long node;      // where the last hop ended
    unsigned long long addresses; // sum of those that were touched before
};

template <bool through_l1>
__device__ inline unsigned long long chase_hops(unsigned long long at, unsigned hops) {
#pragma unroll 1
    for (unsigned i = 0; i < hops; i += unrolled) {
#pragma unroll
        for (unsigned j = 0; j < unrolled; ++j) {
            if (through_l1)
                asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at)::"memory");
            else
                asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
        }
    }
    return at;
}

// Writes the ring: the line order[i] holds the address of the line order[i + 1].
extern "C" __global__ void link_ring(unsigned long long memory, const unsigned *order, unsigned nodes) {
    const unsigned threads = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < nodes; i += threads)
        *reinterpret_cast<unsigned long long *>(memory + 1ull * line_bytes * order[i]) =
            memory + 1ull * line_bytes * order[i + 1 == nodes ? 0 : i + 1];
}

// All threads of the CTA first touch `lines` lines from `memory` on, which brings into L2, from this SM, what
// would take one thread too long; then one of them chases. end->addresses must be zero before.
template <bool through_l1>
__global__ __launch_bounds__(1024) void chase(unsigned long long start, unsigned warm, unsigned hops,
                                              unsigned chosen, unsigned long long memory, unsigned lines,
                                              ChaseEnd *end, Span *spans) {
    if (blockIdx.x != chosen)
        return;
    unsigned long long addresses = 0;
#pragma unroll 4
    for (unsigned line = threadIdx.x; line < lines; line += blockDim.x)
        addresses += __ldcg(reinterpret_cast<const unsigned long long *>(memory + 1ull * line_bytes * line));
    if (lines > 0)
        atomicAdd(&end->addresses, addresses);
    __syncthreads();
    unsigned long long at = start;
    if (threadIdx.x == 0)
        end->node = at = chase_hops<through_l1>(at, warm); // the store waits for the last warm hop
    const Span span = begin_span();
    if (threadIdx.x == 0)
        end->node = chase_hops<through_l1>(at, hops);
    end_span(span, spans);
}

// The same by atomic adds of one, which return the pointer as it was before: over exactly one lap no hop
// meets what another changed, and every node is one larger afterwards.
extern "C" __global__ void chase_by_adds(unsigned long long start, unsigned warm, unsigned hops,
                                         unsigned chosen, ChaseEnd *end, Span *spans) {
    if (blockIdx.x != chosen)
        return;
    unsigned long long at = chase_hops<false>(start, warm);
    end->node = at;
    const Span span = begin_span();
#pragma unroll 1
    for (unsigned i = 0; i < hops; i += unrolled) {
#pragma unroll
        for (unsigned j = 0; j < unrolled; ++j)
            asm volatile("atom.global.add.u64 %0, [%0], 1;" : "+l"(at)::"memory");
    }
    end->node = at;
    end_span(span, spans);
}

__device__ inline unsigned this_sm() {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

constexpr unsigned long long patience_ns = 20000000; // no wait lasts longer, so nothing can hang

// Which SMs there are: their numbers need not be consecutive. One thread a CTA. With as many CTAs as SMs and
// shared memory for one on an SM, each gets one, since none leaves before all have come.
extern "C" __global__ void list_sms(unsigned *ids, unsigned *arrived) {
    ids[blockIdx.x] = this_sm();
    __threadfence();
    atomicAdd(arrived, 1u);
    const unsigned long long start = nanoseconds_now();
    while (*static_cast<volatile unsigned *>(arrived) < gridDim.x && nanoseconds_now() - start < patience_ns)
        __nanosleep(100);
}

// The chase on one named SM by one thread. As above each SM gets a CTA; they stay until the right one has
// taken the `ticket`, and are gone before its warm hops end.
extern "C" __global__ void chase_on_sm(unsigned long long start, unsigned warm, unsigned hops, unsigned sm,
                                       unsigned ticket, unsigned *taken, ChaseEnd *end, Span *spans) {
    if (this_sm() != sm) {
        const unsigned long long since = nanoseconds_now();
        while (*static_cast<volatile unsigned *>(taken) != ticket && nanoseconds_now() - since < patience_ns)
            __nanosleep(100);
        return;
    }
    if (atomicExch(taken, ticket) == ticket)
        return; // a second CTA on this SM
    const unsigned long long at = chase_hops<false>(start, warm);
    end->node = at;
    const Span span = begin_span();
    end->node = chase_hops<false>(at, hops);
    end_span(span, spans);
}
