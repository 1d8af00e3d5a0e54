// What a convolution of a network does to its sums before it stores them: the bias of the channel, the tensor of a
// residual, and functions of one number. Lines of executor/kernels that begin with "//:" call this. They are comments
// where a convolution is compiled alone, so that it runs what was recorded. -DEND_BIAS and -DEND_ADD say whether a launch
// does these, and -DEND_FUNCTION has the functions, as statements over `T x`; `at` counts floats from the start of the
// output, whose layout the added tensor has.
#pragma once

namespace convcast {

/// What is added to a sum, to be asked for before the sum is there.
__device__ __forceinline__ float end_terms(const ConvArgs &a, int channel, long long at) {
    float terms = 0.0f;
    if constexpr (END_BIAS)
        terms += __ldg(a.bias + channel);
    if constexpr (END_ADD)
        terms += __ldg(a.added + at);
    return terms;
}
__device__ __forceinline__ float4 end_terms_of_four(const ConvArgs &a, int channel, long long at) {
    float bias = 0.0f;
    if constexpr (END_BIAS)
        bias = __ldg(a.bias + channel);
    float4 terms = {bias, bias, bias, bias};
    if constexpr (END_ADD) {
        const float4 added = __ldg(reinterpret_cast<const float4 *>(a.added + at));
        terms.x += added.x, terms.y += added.y, terms.z += added.z, terms.w += added.w;
    }
    return terms;
}
__device__ __forceinline__ float ended(float sum, float terms) {
    using T = float;
    T x = sum + terms;
    END_FUNCTION;
    return x;
}

/// Brings a line of the added tensor, or of the biases, to L2, so that DRAM delivers it while the sums are computed.
__device__ __forceinline__ void fetch(const float *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}
__device__ __forceinline__ void fetch_added(const ConvArgs &a, long long at) {
    fetch(a.added + at);
}
/// The biases of a CTA's channels, by its first threads.
__device__ __forceinline__ void fetch_biases(const ConvArgs &a, int first, int count, int last) {
    if constexpr (END_BIAS)
        if (static_cast<int>(threadIdx.x) * 32 < count)
            fetch(a.bias + min(first + static_cast<int>(threadIdx.x) * 32, last));
}

__device__ __forceinline__ float end_of_convolution(float sum, const ConvArgs &a, int channel, long long at) {
    return ended(sum, end_terms(a, channel, at));
}

/// Of four neighbours of one channel, 16-byte aligned.
__device__ __forceinline__ void end_four(float &s0, float &s1, float &s2, float &s3, const float4 &terms) {
    s0 = ended(s0, terms.x), s1 = ended(s1, terms.y), s2 = ended(s2, terms.z), s3 = ended(s3, terms.w);
}
__device__ __forceinline__ void end_four(float &s0, float &s1, float &s2, float &s3, const ConvArgs &a, int channel,
                                         long long at) {
    end_four(s0, s1, s2, s3, end_terms_of_four(a, channel, at));
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

/// Of Count neighbours of a channel whose bias the thread already has.
template <int Count>
__device__ __forceinline__ void end_neighbours(float (&sums)[Count], const ConvArgs &a, float bias, long long at) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        float terms = bias;
        if constexpr (END_ADD)
            terms += __ldg(a.added + at + i);
        sums[i] = ended(sums[i], terms);
    }
}

} // namespace convcast
