// channel_split_sum: the second launch of channel_split. Adds the partial sums of each output in the order of
// their parts, so that the result is the same every time.
#include "executor/kernels/common.cuh"

using namespace convcast;

/// A thread owns Width neighbouring outputs; Width divides their number.
template <int Width>
__global__ void __maxnreg__(REGISTER_CAP)
    channel_split_sum(const float *__restrict__ partial, float *__restrict__ output, ConvArgs a) {
    const long long outputs = static_cast<long long>(a.n) * a.k * a.p * a.q;
    const long long at = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * Width;
    if (at >= outputs)
        return;
    float sum[Width];
    load_group(sum, partial + at);
#pragma unroll 4 // loads of several parts under way
    for (int part = 1; part < a.parts; ++part) {
        float more[Width];
        load_group(more, partial + part * outputs + at);
#pragma unroll
        for (int i = 0; i < Width; ++i)
            sum[i] += more[i];
    }
    store_group(output + at, sum);
}
