// How fast can all SMs read from L2, at best and with so many bytes in flight?
//
// From a buffer that stays in L2, past L1 (.cg), 16 bytes a lane. Were SMs to ask for the same lines at the
// same time, requests would be merged on their way and more bytes arrive than L2 gives; so they are kept
// apart. SMs are not served equally fast, as more of them share a way to L2 in one part of the chip than in
// another: work that is dealt out equally ends when the slowest ends.

// Dealt out equally: every CTA reads all of the buffer. The number of tiles is a prime and each CTA takes
// them in steps of its own.
template <int loads>
__global__ __launch_bounds__(512, 2) void l2_read_all(const uint4 *data, unsigned tiles, unsigned passes,
                                                      unsigned *sink) {
    const unsigned tile_size = loads * blockDim.x;
    unsigned sum = 0;
    const unsigned step = 1 + blockIdx.x * 97 % (tiles - 1);
    unsigned tile = static_cast<unsigned>(1ull * blockIdx.x * tiles / gridDim.x);
#pragma unroll 1
    for (unsigned left = tiles * passes; left > 0; --left) {
        const uint4 *from = data + 1ull * tile * tile_size + threadIdx.x;
        uint4 v[loads];
#pragma unroll
        for (int j = 0; j < loads; ++j)
            v[j] = __ldcg(from + j * blockDim.x);
#pragma unroll
        for (int j = 0; j < loads; ++j)
            sum += sum_of(v[j]);
        tile = tile + step >= tiles ? tile + step - tiles : tile + step;
    }
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

constexpr unsigned ticket_loads = 64; // of 512 bytes, by one warp

// Dealt out as it is done: a warp draws a ticket for the next 32 KiB, and while it reads them, the one after
// that. It asks for `loads` x 512 bytes at once: the whole GPU has threads * loads * 16 bytes in flight.
// Every warp draws one ticket that is too high, so `last` is tickets + warps - 1, and `next` is 0 again in
// the end.
template <int loads>
__global__ __launch_bounds__(1024, 1) void l2_read_tickets(const uint4 *data, unsigned tiles,
                                                           unsigned tickets, unsigned last, unsigned *next,
                                                           unsigned *sink) {
    const unsigned lane = threadIdx.x % 32;
    unsigned sum = 0, drawn = 0;
    if (lane == 0)
        drawn = draw_ticket(next, last);
    unsigned ticket = __shfl_sync(0xffffffffu, drawn, 0);
#pragma unroll 1
    while (ticket < tickets) {
        if (lane == 0)
            drawn = draw_ticket(next, last);
        const uint4 *from = data + ticket % tiles * (32 * ticket_loads) + lane;
#pragma unroll 1
        for (unsigned left = ticket_loads; left > 0; left -= loads, from += 32 * loads) {
            uint4 v[loads];
#pragma unroll
            for (int j = 0; j < loads; ++j)
                v[j] = __ldcg(from + 32 * j);
#pragma unroll
            for (int j = 0; j < loads; ++j)
                sum += sum_of(v[j]);
        }
        ticket = __shfl_sync(0xffffffffu, drawn, 0);
    }
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Dealt out by the scheduler of CTAs: each of many reads one slice, 64 times 8 bytes a thread, `loads` at
// once.
template <int loads>
__global__ __launch_bounds__(1024, 1) void l2_read_slices(const uint2 *data, unsigned slices,
                                                          unsigned *sink) {
    constexpr int elements = 64, threads = 1024;
    const uint2 *from = data + blockIdx.x % slices * (elements * threads) + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 1
    for (int left = elements; left > 0; left -= loads, from += loads * threads) {
        uint2 v[loads];
#pragma unroll
        for (int j = 0; j < loads; ++j)
            v[j] = __ldcg(from + j * threads);
#pragma unroll
        for (int j = 0; j < loads; ++j)
            sum += v[j].x + v[j].y;
    }
    // A word of each thread would be one part in 128 of the traffic.
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sink + blockIdx.x % slices, sum);
}
