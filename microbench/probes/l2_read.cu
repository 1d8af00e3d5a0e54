// How fast can all SMs read from L2?
//
// Every CTA reads all of a buffer that stays in L2, several times, past L1 (.cg). The number of tiles is a prime and each
// CTA takes them in steps of its own: were SMs to ask for the same lines at the same time, requests would be merged on
// their way and more bytes arrive than L2 gives.

constexpr int loads = 4; // in flight a thread

extern "C" __global__ __launch_bounds__(512, 2) void l2_read(const uint4 *data, unsigned tiles,
                                                             unsigned passes, unsigned *sink) {
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
