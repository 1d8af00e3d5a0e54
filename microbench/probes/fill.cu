// No probe: fills a buffer with word_at() and adds up what it wrote, so that whoever reads it can prove that
// it did.

extern "C" __global__ void fill(uint4 *data, unsigned long long count, unsigned *sum) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    unsigned mine = 0;
    for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
        const uint4 v = four_words_at(static_cast<unsigned>(i));
        data[i] = v;
        mine += sum_of(v);
    }
    atomicAdd(sum, mine);
}
