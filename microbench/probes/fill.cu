// No probe: fills buffers with word_at() and adds up what it wrote, so that whoever reads it can prove that
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

// The same from another place of the sequence on, so that buffers differ.
extern "C" __global__ void fill_from(uint4 *data, unsigned long long count, unsigned first) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        data[i] = four_words_at(static_cast<unsigned>(i) + first);
}

// How many vectors are not what fill_from() writes.
extern "C" __global__ void count_differing(const uint4 *data, unsigned long long count, unsigned first,
                                           unsigned long long *differing) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    unsigned long long mine = 0;
    for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
        const uint4 seen = data[i], wanted = four_words_at(static_cast<unsigned>(i) + first);
        mine += seen.x != wanted.x || seen.y != wanted.y || seen.z != wanted.z || seen.w != wanted.w;
    }
    if (mine > 0)
        atomicAdd(differing, mine);
}
