// How fast is DRAM read, with so many bytes in flight?
//
// A thread asks for `loads` x 16 bytes at once, waits for all of them, and asks again: the whole GPU has
// threads * loads * 16 bytes in flight. Neighbouring threads read neighbouring places, and the whole grid
// moves through the buffer together, so DRAM pages are used while they are open. Unrolling would put more in
// flight. The launch bound names one CTA an SM: without it the compiler saves registers for a second one and
// takes eight loads in two groups, with half as many bytes in flight as are asked for.

template <int loads>
__global__ __launch_bounds__(1024, 1) void dram_read(const uint4 *data, unsigned long long count,
                                                     unsigned *sink) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    const unsigned long long me = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long i = me;
    unsigned sum = 0;
#pragma unroll 1
    for (; i + (loads - 1) * threads < count; i += loads * threads) {
        uint4 v[loads];
#pragma unroll
        for (int j = 0; j < loads; ++j)
            v[j] = __ldcg(data + i + j * threads);
#pragma unroll
        for (int j = 0; j < loads; ++j)
            sum += sum_of(v[j]);
    }
#pragma unroll 1
    for (; i < count; i += threads)
        sum += sum_of(__ldcg(data + i));
    sink[me] = sum;
}
