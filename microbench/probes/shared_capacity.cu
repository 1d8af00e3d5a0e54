// How much shared memory can CTAs get?
//
// Each CTA fills all the dynamic shared memory of its launch, waits until `together` CTAs are on its SM at
// the same time, and looks whether everything is still there. `proved` counts those where it was; arrived
// holds a zero for each SM.

constexpr unsigned long long patience_ns = 2000000;

extern "C" __global__ void shared_capacity(unsigned words, unsigned together, unsigned *arrived,
                                           unsigned sm_numbers, unsigned *proved) {
    extern __shared__ unsigned data[];
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
        data[i] = word_at(i + blockIdx.x * words);
    __syncthreads();
    bool right = true;
    if (threadIdx.x == 0) {
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        right = sm < sm_numbers;
        if (right) {
            atomicAdd(arrived + sm, 1u);
            const unsigned long long start = nanoseconds_now();
            while (static_cast<volatile unsigned *>(arrived)[sm] < together && right)
                right = nanoseconds_now() - start < patience_ns;
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) { // what another thread wrote
        const unsigned mirrored = words - 1 - i;
        right = right && data[mirrored] == word_at(mirrored + blockIdx.x * words);
    }
    if (__syncthreads_and(right) && threadIdx.x == 0)
        atomicAdd(proved, 1u);
}
