// What a convolution of a network does to its sums before it stores them: the bias of the channel, the tensor of a
// residual, and the ReLU. Lines of executor/kernels that begin with "//:" call this. They are comments where a
// convolution is compiled alone, so that it runs what was recorded. -DEND_BIAS, -DEND_ADD and -DEND_RELU say which of
// the three a launch does; `at` counts floats from the start of the output, whose layout the added tensor has.
#pragma once

namespace convcast {

__device__ __forceinline__ float end_of_convolution(float sum, const ConvArgs &a, int channel, long long at) {
    if constexpr (END_BIAS)
        sum += __ldg(a.bias + channel);
    if constexpr (END_ADD)
        sum += __ldg(a.added + at);
    if constexpr (END_RELU)
        sum = fmaxf(sum, 0.0f);
    return sum;
}

/// Brings a line of the added tensor to L2, so that DRAM delivers it while the sums are computed.
__device__ __forceinline__ void fetch_added(const ConvArgs &a, long long at) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.added + at));
}

/// Of four neighbours of one channel, 16-byte aligned.
__device__ __forceinline__ void end_four(float &s0, float &s1, float &s2, float &s3, const ConvArgs &a, int channel,
                                         long long at) {
    float bias = 0.0f;
    if constexpr (END_BIAS)
        bias = __ldg(a.bias + channel);
    float4 added = {0.0f, 0.0f, 0.0f, 0.0f};
    if constexpr (END_ADD)
        added = __ldg(reinterpret_cast<const float4 *>(a.added + at));
    s0 += bias + added.x, s1 += bias + added.y, s2 += bias + added.z, s3 += bias + added.w;
    if constexpr (END_RELU)
        s0 = fmaxf(s0, 0.0f), s1 = fmaxf(s1, 0.0f), s2 = fmaxf(s2, 0.0f), s3 = fmaxf(s3, 0.0f);
}

/// Of Count neighbours of one channel, aligned as a vector of them is.
template <int Count>
__device__ __forceinline__ void end_group(float (&sums)[Count], const ConvArgs &a, int channel, long long at) {
    if constexpr (Count % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Count; i += 4)
            end_four(sums[i], sums[i + 1], sums[i + 2], sums[i + 3], a, channel, at + i);
    } else {
#pragma unroll
        for (int i = 0; i < Count; ++i)
            sums[i] = end_of_convolution(sums[i], a, channel, at + i);
    }
}

} // namespace convcast
