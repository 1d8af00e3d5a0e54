// What moves when lanes read 4 bytes at a stride?
//
// Thread i of the whole GPU reads the 4 bytes at i * stride, each place once, past L1 (.cg), from a buffer
// far larger than L2. Up to the size of what moves at once, the time of a useful byte grows with the stride.

constexpr int loads = 16; // in flight a thread

extern "C" __global__ __launch_bounds__(512, 2) void stride_read(const unsigned *data, unsigned count,
                                                                 unsigned stride_words, unsigned *sink) {
    const unsigned threads = gridDim.x * blockDim.x;
    const unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned i = me; i < count; i += loads * threads) {
        unsigned v[loads];
#pragma unroll
        for (int j = 0; j < loads; ++j)
            v[j] = i + j * threads < count ? __ldcg(data + (i + j * threads) * stride_words) : 0;
#pragma unroll
        for (int j = 0; j < loads; ++j)
            sum += v[j];
    }
    sink[me] = sum;
}

// What those add up to, from how the buffer was filled.
extern "C" __global__ void stride_sum(unsigned count, unsigned stride_words, unsigned *total) {
    unsigned sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        sum += word_at(i * stride_words);
    atomicAdd(total, sum);
}
