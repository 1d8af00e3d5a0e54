// What the probes share; this text is put before that of each of them.

struct Span { // as in microbench/runners/harness.hpp: when one CTA worked, and where
    unsigned long long start_cycles, end_cycles; // of its SM
    unsigned long long start_ns, end_ns;         // of the whole GPU, in ticks of up to a microsecond
    unsigned sm, padding;
};

__device__ inline unsigned long long cycles_now() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

__device__ inline unsigned long long nanoseconds_now() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

// Volatile statements keep their order, so arithmetic on what went through here stays behind the clock read
// before it and, on the results, ahead of the clock read after it.
template <class T> __device__ inline void pin(T &value);
template <> __device__ inline void pin<float>(float &value) {
    asm volatile("" : "+f"(value));
}
template <> __device__ inline void pin<unsigned>(unsigned &value) {
    asm volatile("" : "+r"(value));
}

// The whole CTA is in, or done, when its clock is read.
__device__ inline Span begin_span() {
    Span span = {};
    asm volatile("mov.u32 %0, %%smid;" : "=r"(span.sm));
    __syncthreads();
    span.start_ns = nanoseconds_now();
    span.start_cycles = cycles_now();
    return span;
}

__device__ inline void end_span(Span span, Span *spans) {
    __syncthreads();
    span.end_cycles = cycles_now();
    span.end_ns = nanoseconds_now();
    if (threadIdx.x == 0)
        spans[blockIdx.x] = span;
}

// Random non-zero data as a function of the place ("lowbias32" by C. Wellons); the same function is in
// microbench/patterns.cpp.
__device__ inline unsigned word_at(unsigned i) {
    unsigned x = i + 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

__device__ inline uint4 four_words_at(unsigned i) {
    return make_uint4(word_at(4 * i), word_at(4 * i + 1), word_at(4 * i + 2), word_at(4 * i + 3));
}

__device__ inline unsigned sum_of(uint4 v) {
    return v.x + v.y + v.z + v.w;
}

// Data that takes four instructions to make: what is stored as fast as possible, in groups that are waited
// for, must not be waited for itself.
__device__ inline uint4 quick_words_at(unsigned i) {
    constexpr unsigned odd = 0x9e3779b1u;
    const unsigned first = 4 * odd * i + odd;
    return make_uint4(first, first + odd, first + 2 * odd, first + 3 * odd);
}

// The next ticket, from 0 to `last`, of the work that all warps share; after the last one it is 0 again. No
// addition: the compiler would make one for all lanes that take part and wait for it at once, to share it
// among them.
__device__ inline unsigned draw_ticket(unsigned *next, unsigned last) {
    return atomicInc(next, last);
}
