// How long does a barrier of the whole grid take?
//
// A barrier in one word of memory: the CTAs together add 2^31, which turns its top bit over, and each waits
// until it sees that. The word is right for the next barrier as it is, in this launch or the next. All CTAs
// must be on the GPU at once: the launch is cooperative.

__device__ inline void grid_barrier(unsigned *word) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned mine = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
        __threadfence(); // what the CTA wrote is seen by whoever sees its arrival
        const unsigned before = atomicAdd(word, mine);
        while (((*static_cast<volatile unsigned *>(word) ^ before) & 0x80000000u) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void grid_sync(unsigned *word, unsigned barriers) {
#pragma unroll 1
    for (unsigned i = 0; i < barriers; ++i)
        grid_barrier(word);
}

// Proves the barrier: what the next CTA wrote before it is there after it. `steps` holds a zero for each CTA,
// `late` counts what was missing.
extern "C" __global__ void grid_sync_checked(unsigned *word, unsigned barriers, volatile unsigned *steps,
                                             unsigned *late) {
    for (unsigned i = 1; i <= barriers; ++i) {
        if (threadIdx.x == blockDim.x - 1)
            steps[blockIdx.x] = i;
        grid_barrier(word);
        if (threadIdx.x == 0) {
            const unsigned seen = steps[(blockIdx.x + 1) % gridDim.x];
            if (seen != i && seen != i + 1) // that CTA may be one step ahead
                atomicAdd(late, 1u);
        }
    }
}
