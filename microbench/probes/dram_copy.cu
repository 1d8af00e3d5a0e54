// How fast can DRAM be read and written at once, at best and with so many bytes in flight?
//
// A thread asks for `loads` x 16 bytes at once and stores them. streaming: with the hints that neither will
// be used again (.cs). fenced: waits then until its stores are performed, so that the whole GPU has at most
// threads * loads * 16 bytes in flight, on their way in or on their way out.

template <int loads, bool streaming, bool fenced>
__global__ __launch_bounds__(1024, 1) void dram_copy(const uint4 *from, uint4 *to, unsigned long long count) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; i + (loads - 1) * threads < count; i += loads * threads) {
        uint4 v[loads];
#pragma unroll
        for (int j = 0; j < loads; ++j)
            v[j] = streaming ? __ldcs(from + i + j * threads) : __ldcg(from + i + j * threads);
#pragma unroll
        for (int j = 0; j < loads; ++j) {
            if (streaming)
                __stcs(to + i + j * threads, v[j]);
            else
                to[i + j * threads] = v[j];
        }
        if (fenced)
            __threadfence();
    }
#pragma unroll 1
    for (; i < count; i += threads)
        to[i] = from[i];
}
