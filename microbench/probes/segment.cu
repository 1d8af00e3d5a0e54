// What moves when segments of some bytes are read from random places?
//
// The buffer, far larger than L2, is cut into slots of two segments, and one slot in four is read, in random
// order: one segment of it, 4 bytes a lane by neighbouring lanes, past L1 (.cg). It lies at the slot's start
// or at a random multiple of 4 bytes, the same share of them at each. No byte is read twice. All sizes are
// powers of two, in words.

constexpr int loads = 16; // in flight a thread

struct Slots {     // as in microbench/runners/granularity.cpp
    unsigned last; // of a power of two
    unsigned fold; // more than half the bits of `last`
};

// A random permutation of the slots: a multiplication by an odd number and a shifted xor can both be undone.
__device__ inline unsigned slot_of(unsigned segment, Slots slots) {
    unsigned x = segment * 0x9e3779b1u & slots.last;
    x ^= x >> slots.fold;
    x = x * 0x85ebca77u & slots.last;
    return x ^ x >> slots.fold;
}

// The place of the word that thread i of the whole GPU reads.
template <int words, bool aligned> __device__ inline unsigned word_of(unsigned i, Slots slots) {
    const unsigned segment = i / words;
    return slot_of(segment, slots) * (2 * words) + (aligned ? 0 : segment % words) + i % words;
}

template <int words, bool aligned>
__global__ __launch_bounds__(512, 2) void segment_read(const unsigned *data, unsigned count, Slots slots,
                                                       unsigned *sink) {
    const unsigned threads = gridDim.x * blockDim.x;
    const unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned i = me; i < count; i += loads * threads) {
        unsigned v[loads];
#pragma unroll
        for (int j = 0; j < loads; ++j)
            v[j] =
                i + j * threads < count ? __ldcg(data + word_of<words, aligned>(i + j * threads, slots)) : 0;
#pragma unroll
        for (int j = 0; j < loads; ++j)
            sum += v[j];
    }
    sink[me] = sum;
}

// What those add up to, from how the buffer was filled.
template <int words, bool aligned> __global__ void segment_sum(unsigned count, Slots slots, unsigned *total) {
    unsigned sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        sum += word_at(word_of<words, aligned>(i, slots));
    atomicAdd(total, sum);
}
