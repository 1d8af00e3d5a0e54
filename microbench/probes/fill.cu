// No probe: fills buffers with word_at() and adds up what it wrote, so that whoever reads it can prove that it did. And
// counts what is not as it was to be written.

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

__device__ inline unsigned differs(uint4 a, uint4 b) {
    return a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
}

// How many vectors are not what fill_from() writes; with first = 0, what fill() writes.
extern "C" __global__ void wrong_words(const uint4 *data, unsigned long long count, unsigned first, unsigned *wrong) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    unsigned mine = 0;
    for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        mine += differs(data[i], four_words_at(static_cast<unsigned>(i) + first));
    if (mine > 0)
        atomicAdd(wrong, mine);
}

// Of a buffer of quick words.
extern "C" __global__ void wrong_quick_words(const uint4 *data, unsigned long long count, unsigned first,
                                             unsigned *wrong) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    unsigned mine = 0;
    for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        mine += differs(data[i], quick_words_at(static_cast<unsigned>(i) + first));
    if (mine > 0)
        atomicAdd(wrong, mine);
}
