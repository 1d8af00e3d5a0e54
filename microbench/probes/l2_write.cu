// How fast can all SMs write to L2, at best and with so many bytes in flight?
//
// To a buffer that stays in L2, over and over, 16 bytes a lane. As in l2_read.cu, a warp draws tickets for 32
// KiB each. fenced: a thread waits after `stores` x 16 bytes until they are performed, so that the whole GPU
// has at most threads * stores * 16 bytes in flight.

constexpr unsigned ticket_stores = 64; // of 512 bytes, by one warp

template <int stores, bool fenced>
__global__ __launch_bounds__(1024, 1) void l2_write(uint4 *data, unsigned tiles, unsigned tickets,
                                                    unsigned last, unsigned *next) {
    const unsigned lane = threadIdx.x % 32;
    unsigned drawn = 0;
    if (lane == 0)
        drawn = draw_ticket(next, last);
    unsigned ticket = __shfl_sync(0xffffffffu, drawn, 0);
#pragma unroll 1
    while (ticket < tickets) {
        if (lane == 0)
            drawn = draw_ticket(next, last);
        unsigned at = ticket % tiles * (32 * ticket_stores) + lane;
        uint4 *to = data + at;
#pragma unroll 1
        for (unsigned left = ticket_stores; left > 0; left -= stores, to += 32 * stores, at += 32 * stores) {
#pragma unroll
            for (int j = 0; j < stores; ++j)
                to[32 * j] = quick_words_at(at + 32 * j);
            if (fenced)
                __threadfence();
        }
        ticket = __shfl_sync(0xffffffffu, drawn, 0);
    }
}
