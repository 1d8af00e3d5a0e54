// How fast can DRAM be written?
//
// 16 bytes a lane, whole lines, data that compresses no better than a result would.

extern "C" __global__ void dram_write(uint4 *data, unsigned long long count) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
#pragma unroll 4
    for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        data[i] = four_words_at(static_cast<unsigned>(i));
}
