// How fast can DRAM be written, at best and with so many bytes in flight?

// 16 bytes a lane, whole lines, data that compresses no better than a result would.
extern "C" __global__ void dram_write(uint4 *data, unsigned long long count) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
#pragma unroll 4
    for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        data[i] = four_words_at(static_cast<unsigned>(i));
}

// A store is never waited for by itself, so how many are in flight is not for the program to say. Here a
// thread issues `stores` of 16 bytes and a fence, which waits until the whole GPU can see them, and again:
// the whole GPU has at most threads * stores * 16 bytes in flight.
template <int stores>
__global__ __launch_bounds__(1024, 1) void dram_write_fenced(uint4 *data, unsigned long long count) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; i + (stores - 1) * threads < count; i += stores * threads) {
#pragma unroll
        for (int j = 0; j < stores; ++j)
            data[i + j * threads] = quick_words_at(static_cast<unsigned>(i + j * threads));
        __threadfence();
    }
#pragma unroll 1
    for (; i < count; i += threads)
        data[i] = quick_words_at(static_cast<unsigned>(i));
}
