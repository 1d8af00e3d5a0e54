// Put in front of a kernel's source to find out when each of its CTAs runs and where (executor/timeline/stamp.hpp).
// The kernel gets the output once more as a parameter; the records lie CONVCAST_SPANS_OFFSET bytes behind its
// start. A parameter and a literal, because a pointer that had to be loaded would hold up the first warp of
// every CTA.

namespace convcast_stamp {

struct Record { // as in executor/timeline/stamp.hpp
    unsigned long long start_ns, end_ns;
    unsigned sm, starts;
};

__device__ __forceinline__ unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
    return nanoseconds;
}

// The first statement of a kernel: its end comes on every way out, of every thread.
class Stamp {
  public:
    __device__ __forceinline__ explicit Stamp(void *output) : output_(output) {
        if (threadIdx.x != 0)
            return;
        Record *const record = mine();
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        record->start_ns = now();
        record->sm = sm;
        atomicAdd(&record->starts, 1u);
    }
    // The last of the CTA's warps to leave decides; of a warp whose lanes leave in groups, the last group.
    __device__ __forceinline__ ~Stamp() {
        unsigned lane;
        asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
        if (lane + 1 == __ffs(static_cast<int>(__activemask())))
            atomicMax(&mine()->end_ns, now());
    }

  private:
    __device__ __forceinline__ Record *mine() const {
        const unsigned long long cta =
            blockIdx.x + 1ULL * gridDim.x * (blockIdx.y + 1ULL * gridDim.y * blockIdx.z);
        return reinterpret_cast<Record *>(static_cast<char *>(output_) + CONVCAST_SPANS_OFFSET) + cta;
    }
    void *output_;
};

} // namespace convcast_stamp
