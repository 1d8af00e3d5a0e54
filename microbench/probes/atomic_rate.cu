// How fast are atomic adds to one address and to many?
//
// One lane of each warp adds and wants no result (RED), so neither latency nor the merging of a warp's adds
// is in the way: what is left is how fast L2 takes them. The addresses are `spacing` words apart and a power
// of two in number; each warp goes through them from a place of its own, so all are equally busy.

extern "C" __global__ void atomic_rate(unsigned *counters, unsigned addresses, unsigned spacing,
                                       unsigned adds) {
    if (threadIdx.x % 32 != 0)
        return;
    unsigned at =
        (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 2654435769u; // golden ratio: spreads the warps
#pragma unroll 8
    for (unsigned i = 0; i < adds; ++i)
        asm volatile("red.global.add.u32 [%0], 1;" ::"l"(counters + ((at + i) & (addresses - 1)) * spacing)
                     : "memory");
}
