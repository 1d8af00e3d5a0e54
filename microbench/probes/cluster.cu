// What do CTAs of a cluster take to reach each other: a load of another's shared memory, many of them, a
// barrier of all?

#if __CUDA_ARCH__ >= 900

__device__ inline unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ inline unsigned cluster_size() {
    unsigned size;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}

/// An address of this CTA's shared memory, as the CTA of `rank` has it.
__device__ inline unsigned shared_of(const void *at, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(there)
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(at))), "r"(rank));
    return there;
}

/// Everything stored before is seen by the cluster's CTAs behind it.
__device__ inline void cluster_barrier_once() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

constexpr unsigned unrolled = 16; // `warm` and `hops` are multiples
constexpr unsigned nodes = 1024;
constexpr unsigned read_words = 8192, reads = 8; // of a thread at once

__device__ inline unsigned chase_hops(unsigned at, unsigned hops) {
#pragma unroll 1
    for (unsigned i = 0; i < hops; i += unrolled) {
#pragma unroll
        for (unsigned j = 0; j < unrolled; ++j)
            asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(at)::"memory");
    }
    return at;
}

#endif

// One thread of each CTA follows a cycle that lies in the memory of the next CTA of its cluster. end[CTA]: the
// node where the last hop ended, the first starting from node 0.
extern "C" __global__ void cluster_chase(const unsigned *next, unsigned warm, unsigned hops, unsigned *end,
                                         Span *spans) {
#if __CUDA_ARCH__ >= 900
    __shared__ unsigned ring[nodes];
    const unsigned own = shared_of(ring, cluster_rank()),
                   base = shared_of(ring, (cluster_rank() + 1) % cluster_size());
    for (unsigned i = threadIdx.x; i < nodes; i += blockDim.x)
        ring[i] = own + 4 * next[i];
    cluster_barrier_once();
    unsigned at = base;
    if (threadIdx.x == 0)
        end[blockIdx.x] = at = chase_hops(at, warm); // the store waits for the last warm hop
    const Span span = begin_span();
    if (threadIdx.x == 0)
        end[blockIdx.x] = (chase_hops(at, hops) - base) / 4;
    end_span(span, spans);
    cluster_barrier_once(); // no CTA ends while others read its ring
#endif
}

template <int bytes> __device__ inline unsigned load_there(unsigned at) {
#if __CUDA_ARCH__ >= 900
    if constexpr (bytes == 16) {
        uint4 v;
        asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(at)
                     : "memory");
        return sum_of(v);
    } else {
        unsigned v;
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
        return v;
    }
#else
    return at;
#endif
}

// Every thread reads the memory of the cluster's other CTAs, one after the other, `bytes` a lane, neighbouring
// lanes side by side.
template <int bytes>
__global__ void cluster_read(unsigned iterations, unsigned *sink, Span *spans) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ unsigned words[];
    for (unsigned i = threadIdx.x; i < read_words; i += blockDim.x)
        words[i] = word_at(i);
    cluster_barrier_once();
    const unsigned rank = cluster_rank(), size = cluster_size();
    unsigned sum = 0, other = (rank + 1) % size;
    const Span span = begin_span();
#pragma unroll 1
    for (unsigned i = 0; i < iterations; ++i) {
        const unsigned there = shared_of(words, other);
#pragma unroll
        for (unsigned j = 0; j < reads; ++j)
            sum += load_there<bytes>(there + (threadIdx.x + j * blockDim.x) * bytes % (4 * read_words));
        other = (other + 1) % size;
        if (other == rank)
            other = (other + 1) % size;
    }
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    end_span(span, spans);
    cluster_barrier_once();
#endif
}

// The time of 2 x 16 barriers an iteration minus that of 16, each behind a store of every thread to shared
// memory, which must be seen before others go on.
template <int times> __global__ void cluster_barrier(unsigned iterations, unsigned *sink, Span *spans) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ unsigned words[];
    cluster_barrier_once();
    const Span span = begin_span();
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < times * static_cast<int>(unrolled); ++i) {
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(
                             static_cast<unsigned>(__cvta_generic_to_shared(words + threadIdx.x))),
                         "r"(iteration + i)
                         : "memory");
            cluster_barrier_once();
        }
    }
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = words[threadIdx.x];
#endif
}
