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

/// Adds to *sums, which the host has set to "nothing seen".
extern "C" __global__ void convcast_compare(const float *__restrict__ output,
                                            const double2 *__restrict__ reference, long long elements,
                                            double bound, ComparisonSums *sums) {
    double squared_error = 0.0, squared_reference = 0.0;
    unsigned long long ratio_bits = 0, not_a_number = 0, out_of_bound = 0, first_bad = ~0ULL;
    for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < elements;
         i += 1LL * gridDim.x * blockDim.x) {
        const double value = output[i];
        bool bad = isnan(value);
        if (bad) {
            ++not_a_number;
        } else {
            const double error = fabs(value - reference[i].x), limit = bound * reference[i].y;
            squared_error += error * error;
            squared_reference += reference[i].x * reference[i].x;
            if (error > 0.0) {
                const unsigned long long bits = __double_as_longlong(error / limit);
                ratio_bits = bits > ratio_bits ? bits : ratio_bits;
            }
            bad = error > limit;
            out_of_bound += bad;
        }
        if (bad && first_bad == ~0ULL) // a thread goes upwards
            first_bad = i;
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
