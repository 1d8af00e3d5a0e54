// Verification on the device: the convolution by its definition in double, and the comparison of an output
// with it. The same arithmetic as executor/reference.cpp and gates.cpp, which check it.
#include "executor/kernels/reference_args.hpp"

using namespace convcast;

/// A thread computes one output element at a time: x = sum x * w, y = sum |x * w|.
extern "C" __global__ void convcast_reference(const float *__restrict__ input,
                                              const float *__restrict__ filters, double2 *__restrict__ output,
                                              ReferenceArgs a) {
    const long long elements = a.n * a.k * a.p * a.q;
    const long long group_channels = a.c / a.groups;
    for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < elements;
         i += 1LL * gridDim.x * blockDim.x) {
        const long long q = i % a.q, p = i / a.q % a.p, k = i / (a.q * a.p) % a.k, n = i / (a.q * a.p * a.k);
        const long long first_channel = k / (a.k / a.groups) * group_channels;
        const float *weight = filters + k * group_channels * a.r * a.s;
        double2 sum = {0.0, 0.0};
        for (long long c = 0; c < group_channels; ++c)
            for (int r = 0; r < a.r; ++r) {
                const long long y = p * a.stride_h - a.pad_h + r * a.dilation_h;
                const float *line = input + ((n * a.c + first_channel + c) * a.h + y) * a.w;
                for (int s = 0; s < a.s; ++s, ++weight) {
                    const long long x = q * a.stride_w - a.pad_w + s * a.dilation_w;
                    if (y < 0 || y >= a.h || x < 0 || x >= a.w)
                        continue;
                    const double product = static_cast<double>(line[x]) * static_cast<double>(*weight);
                    sum.x += product;
                    sum.y += fabs(product);
                }
            }
        output[i] = sum;
    }
}

/// Element i of an output: of floats, halves or 32-bit integers, by ConvShape's DataType; a NaN where an integer
/// was never written.
__device__ double element_of(const void *output, int type, long long i) {
    if (type == 0)
        return static_cast<const float *>(output)[i];
    if (type == 1) {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<const unsigned short *>(output)[i]));
        return value;
    }
    const int value = static_cast<const int *>(output)[i];
    return value == static_cast<int>(0x80808080U) ? static_cast<double>(__int_as_float(0x7FC00000)) : value;
}

/// Adds to *sums, which the host has set to "nothing seen". The reference is NKPQ; the output's last two dimensions
/// are `pixels` of `channels` each, 1 of 1 where it is NKPQ too.
extern "C" __global__ void convcast_compare(const void *__restrict__ output, int type, long long channels,
                                            long long pixels, const double2 *__restrict__ reference,
                                            long long elements, double bound, ComparisonSums *sums) {
    double squared_error = 0.0, squared_reference = 0.0;
    unsigned long long ratio_bits = 0, not_a_number = 0, out_of_bound = 0, first_bad = ~0ULL;
    for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < elements;
         i += 1LL * gridDim.x * blockDim.x) {
        const long long image = channels * pixels;
        const long long place = image == 1 ? i : i / image * image + i % channels * pixels + i / channels % pixels;
        const double value = element_of(output, type, i);
        const double2 expected = reference[place];
        bool bad = isnan(value);
        if (bad) {
            ++not_a_number;
        } else {
            const double error = fabs(value - expected.x), limit = bound * expected.y;
            squared_error += error * error;
            squared_reference += expected.x * expected.x;
            if (error > 0.0) {
                const unsigned long long bits = __double_as_longlong(error / limit);
                ratio_bits = bits > ratio_bits ? bits : ratio_bits;
            }
            bad = error > limit;
            out_of_bound += bad;
        }
        if (bad && place < first_bad)
            first_bad = place;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        squared_error += __shfl_down_sync(~0U, squared_error, distance);
        squared_reference += __shfl_down_sync(~0U, squared_reference, distance);
        not_a_number += __shfl_down_sync(~0U, not_a_number, distance);
        out_of_bound += __shfl_down_sync(~0U, out_of_bound, distance);
        const unsigned long long ratio = __shfl_down_sync(~0U, ratio_bits, distance);
        const unsigned long long first = __shfl_down_sync(~0U, first_bad, distance);
        ratio_bits = ratio > ratio_bits ? ratio : ratio_bits;
        first_bad = first < first_bad ? first : first_bad;
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sums->squared_error, squared_error);
        atomicAdd(&sums->squared_reference, squared_reference);
        atomicAdd(&sums->not_a_number, not_a_number);
        atomicAdd(&sums->out_of_bound, out_of_bound);
        atomicMax(&sums->max_error_ratio_bits, ratio_bits);
        atomicMin(&sums->first_bad, first_bad);
    }
}
