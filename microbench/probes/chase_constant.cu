// How long does a dependent load of constant memory take, by how much of it is in use?
//
// A random cycle of addresses in the constant window, in a register (LDC), as an indexed filter is read; a
// constant at a fixed place would be an operand of the instruction that uses it. One CTA of the grid chases,
// the others leave.

constexpr unsigned unrolled = 32; // `warm` and `hops` are multiples

__constant__ unsigned ring[16384]; // 64 KiB, all there is

__device__ inline unsigned chase_hops(unsigned at, unsigned hops) {
#pragma unroll 1
    for (unsigned i = 0; i < hops; i += unrolled) {
#pragma unroll
        for (unsigned j = 0; j < unrolled; ++j)
            asm volatile("ld.const.u32 %0, [%0];" : "+r"(at)::"memory");
    }
    return at;
}

// Where `ring` lies in the constant window.
extern "C" __global__ void constant_base(unsigned *base) {
    *base = static_cast<unsigned>(__cvta_generic_to_constant(ring));
}

extern "C" __global__ void chase_constant(unsigned start, unsigned warm, unsigned hops, unsigned chosen,
                                          unsigned *end, Span *spans) {
    if (blockIdx.x != chosen)
        return;
    const unsigned at = chase_hops(start, warm);
    *end = at; // waits for the last warm hop
    const Span span = begin_span();
    *end = chase_hops(at, hops);
    end_span(span, spans);
}
