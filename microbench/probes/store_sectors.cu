// What does a store take that writes sectors of 32 bytes whole, or in part?
//
// To data that stays in L2, over and over. A warp's lanes store 4 bytes each, in runs of `lanes` neighbours
// that begin a line of 128 bytes: 8 lanes or more fill sectors, fewer leave each in part. A warp has `places`
// of 32 lines to itself and goes through them in turn.

constexpr unsigned places = 4, line_words = 32;

template <int lanes>
__global__ void store_sectors(unsigned *data, unsigned iterations, Span *spans) {
    constexpr unsigned runs = 32 / lanes;
    const unsigned lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    unsigned *to = data + warp * (places * runs * line_words) + lane / lanes * line_words + lane % lanes;
    const Span span = begin_span();
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (unsigned place = 0; place < places; ++place)
            asm volatile("st.global.u32 [%0], %1;" ::"l"(to + place * (runs * line_words)), "r"(iteration + place)
                         : "memory");
    }
    __threadfence(); // they count once they are performed
    end_span(span, spans);
}
