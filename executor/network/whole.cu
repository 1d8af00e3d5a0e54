// What a network computes between its convolutions by kernels of their own: dense layers of few images, pooling of whole
// channels, softmax, layer norm, and turning a tensor for dense layers of many images. Everything about shapes is a template
// argument. Behind this come the kernels that executor/network/whole_kernel.cpp makes of operators' device code.
//
// dense: each weight is read once. Lanes of a row's threads read neighbouring fours of weights, past L1, which keeps the
// inputs that all rows of an SM share; sums meet by shuffles and in shared memory, in the same order each time.

namespace {

/// Until the launch before has ended: every launch of a network may start early.
__device__ __forceinline__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ float4 load_once(const float4 *from) {
    float4 value;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "l"(from));
    return value;
}

__device__ __forceinline__ float sum_of_warp(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(~0U, value, distance);
    return value;
}

/// Neighbours in one access, where they are four.
template <int Count> __device__ __forceinline__ void load(float (&to)[Count], const float *from) {
    if constexpr (Count == 4) {
        const float4 four = __ldg(reinterpret_cast<const float4 *>(from));
        to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
    } else {
        to[0] = __ldg(from);
    }
}
template <int Count> __device__ __forceinline__ void store(float *to, const float (&from)[Count]) {
    if constexpr (Count == 4)
        *reinterpret_cast<float4 *>(to) = {from[0], from[1], from[2], from[3]};
    else
        *to = from[0];
}

/// The end of a dense layer that has none.
struct Kept {
    static __device__ __forceinline__ float of(float sum) { return sum; }
};

} // namespace

/// 256 threads, RowThreads of them for each output. Wide: four inputs at once, where their number allows it.
template <int Images, int Inputs, int Outputs, int RowThreads, bool Bias, class End>
__global__ void __launch_bounds__(256) dense(const float *__restrict__ input, const float *__restrict__ weights,
                                             const float *__restrict__ bias, float *__restrict__ output) {
    wait_for_launch_before();
    constexpr int rows = 256 / RowThreads, warps = RowThreads / 32;
    const int row = blockIdx.x * rows + threadIdx.x / RowThreads, thread = threadIdx.x % RowThreads;
    const bool there = row < Outputs;
    const float of_row_bias = Bias && there ? bias[row] : 0.0f; // now: at the end it would be waited for
    float sum[Images] = {};
    if (there) {
        if constexpr (Inputs % 4 == 0) {
            const float4 *of_row = reinterpret_cast<const float4 *>(weights + static_cast<long long>(row) * Inputs);
            const float4 *pixels = reinterpret_cast<const float4 *>(input);
#pragma unroll 8
            for (int i = thread; i < Inputs / 4; i += RowThreads) {
                const float4 w = load_once(of_row + i);
#pragma unroll
                for (int image = 0; image < Images; ++image) {
                    const float4 x = pixels[image * (Inputs / 4) + i];
                    sum[image] = fmaf(w.x, x.x, sum[image]);
                    sum[image] = fmaf(w.y, x.y, sum[image]);
                    sum[image] = fmaf(w.z, x.z, sum[image]);
                    sum[image] = fmaf(w.w, x.w, sum[image]);
                }
            }
        } else {
            for (int i = thread; i < Inputs; i += RowThreads) {
                const float w = weights[static_cast<long long>(row) * Inputs + i];
#pragma unroll
                for (int image = 0; image < Images; ++image)
                    sum[image] = fmaf(w, input[image * Inputs + i], sum[image]);
            }
        }
    }
    __shared__ float of_warps[Images][8];
#pragma unroll
    for (int image = 0; image < Images; ++image) {
        sum[image] = sum_of_warp(sum[image]);
        if (warps > 1 && threadIdx.x % 32 == 0)
            of_warps[image][threadIdx.x / 32] = sum[image];
    }
    if constexpr (warps > 1)
        __syncthreads();
    if (!there || thread != 0)
        return;
#pragma unroll
    for (int image = 0; image < Images; ++image) {
        float total = sum[image];
#pragma unroll
        for (int warp = 1; warp < warps; ++warp)
            total += of_warps[image][threadIdx.x / 32 + warp];
        total += of_row_bias;
        output[image * Outputs + row] = End::of(total);
    }
}

/// Windows that are whole channels: a warp each.
template <bool Max, int Area>
__global__ void __launch_bounds__(256)
    pool_channels(const float *__restrict__ input, float *__restrict__ output, long long channels) {
    wait_for_launch_before();
    const long long channel = blockIdx.x * 8LL + threadIdx.x / 32;
    if (channel >= channels)
        return;
    const int lane = threadIdx.x % 32;
    float result = Max ? -__int_as_float(0x7f800000) : 0.0f;
#pragma unroll 8
    for (int i = lane; i < Area; i += 32) {
        const float value = input[channel * Area + i];
        result = Max ? fmaxf(result, value) : result + value;
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const float other = __shfl_down_sync(~0U, result, distance);
        result = Max ? fmaxf(result, other) : result + other;
    }
    if (lane == 0)
        output[channel] = Max ? result : result / Area;
}

/// A pixel's numbers of all channels get mean 0 and variance 1. 32 neighbouring pixels of an image a CTA, whose warps share
/// the channels.
template <int Channels, int Area>
__device__ __forceinline__ void layer_norm(const float *__restrict__ input, float *__restrict__ output, float added) {
    wait_for_launch_before();
    __shared__ float of_warps[8][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pixel = blockIdx.x * 32 + lane;
    const long long image = static_cast<long long>(blockIdx.y) * Channels * Area;
    const auto sum_of_channels = [&](auto value) {
        float sum = 0.0f;
        if (pixel < Area)
#pragma unroll 4
            for (int c = warp; c < Channels; c += 8)
                sum += value(input[image + c * Area + pixel]);
        __syncthreads();
        of_warps[warp][lane] = sum;
        __syncthreads();
        sum = 0.0f;
        for (int i = 0; i < 8; ++i)
            sum += of_warps[i][lane];
        return sum;
    };
    const float mean = sum_of_channels([](float x) { return x; }) / Channels;
    const float variance = sum_of_channels([&](float x) { return (x - mean) * (x - mean); }) / Channels;
    const float by = 1.0f / sqrtf(variance + added);
    if (pixel < Area)
#pragma unroll 4
        for (int c = warp; c < Channels; c += 8)
            output[image + c * Area + pixel] = (input[image + c * Area + pixel] - mean) * by;
}

/// A block an image.
template <int Count>
__global__ void __launch_bounds__(256) softmax(const float *__restrict__ input, float *__restrict__ output) {
    wait_for_launch_before();
    __shared__ float of_warps[8];
    const float *of_image = input + static_cast<long long>(blockIdx.x) * Count;
    const auto of_block = [&](float value, auto join) {
        for (int distance = 16; distance > 0; distance /= 2)
            value = join(value, __shfl_xor_sync(~0U, value, distance));
        __syncthreads();
        if (threadIdx.x % 32 == 0)
            of_warps[threadIdx.x / 32] = value;
        __syncthreads();
        value = of_warps[0];
        for (int warp = 1; warp < 8; ++warp)
            value = join(value, of_warps[warp]);
        return value;
    };
    float largest = -__int_as_float(0x7f800000);
    for (int i = threadIdx.x; i < Count; i += 256)
        largest = fmaxf(largest, of_image[i]);
    largest = of_block(largest, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0.0f;
    for (int i = threadIdx.x; i < Count; i += 256)
        sum += expf(of_image[i] - largest);
    sum = of_block(sum, [](float a, float b) { return a + b; });
    for (int i = threadIdx.x; i < Count; i += 256)
        output[static_cast<long long>(blockIdx.x) * Count + i] = expf(of_image[i] - largest) / sum;
}

/// [rows][columns] to [columns][rows], by tiles of 32 x 32 whose rows of 33 floats have no bank conflicts.
template <int Rows, int Columns>
__global__ void __launch_bounds__(256) turn(const float *__restrict__ input, float *__restrict__ output) {
    wait_for_launch_before();
    __shared__ float tile[32][33];
    const int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    const long long row0 = blockIdx.y * 32LL, column0 = blockIdx.x * 32LL;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (row0 + line + i < Rows && column0 + lane < Columns)
            tile[line + i][lane] = input[(row0 + line + i) * Columns + column0 + lane];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (column0 + line + i < Columns && row0 + lane < Rows)
            output[(column0 + line + i) * Rows + row0 + lane] = tile[lane][line + i];
}
