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

/// Windows that are whole channels of Area pixels: Threads each, a warp or all of a CTA.
template <bool Max, int Area, int Threads>
__global__ void __launch_bounds__(256)
    pool_channels(const float *__restrict__ input, float *__restrict__ output, long long channels) {
    wait_for_launch_before();
    const long long channel = blockIdx.x * (256LL / Threads) + threadIdx.x / Threads;
    const auto join = [](float a, float b) { return Max ? fmaxf(a, b) : a + b; };
    const int thread = threadIdx.x % Threads;
    float result = Max ? -__int_as_float(0x7f800000) : 0.0f;
    if (channel < channels) {
        const float *pixels = input + channel * Area;
        constexpr int wide = Area % 4 == 0 ? 4 : 1;
#pragma unroll 8
        for (int i = thread * wide; i < Area; i += Threads * wide) {
            float some[wide];
            load(some, pixels + i);
#pragma unroll
            for (int j = 0; j < wide; ++j)
                result = join(result, some[j]);
        }
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        result = join(result, __shfl_down_sync(~0U, result, distance));
    if constexpr (Threads > 32) {
        __shared__ float of_warps[Threads / 32];
        if (threadIdx.x % 32 == 0)
            of_warps[threadIdx.x / 32] = result;
        __syncthreads();
        for (int warp = 1; thread == 0 && warp < Threads / 32; ++warp)
            result = join(result, of_warps[warp]);
    }
    if (thread == 0 && channel < channels)
        output[channel] = Max ? result : result / Area;
}

/// A pixel's numbers of all channels get mean 0 and variance 1. 32 neighbouring pixels of an image a CTA, whose warps share
/// the channels; a lane keeps its numbers of the pixel where there are not too many.
template <int Channels, int Area>
__device__ __forceinline__ void layer_norm(const float *__restrict__ input, float *__restrict__ output, float added) {
    wait_for_launch_before();
    __shared__ float of_warps[2][8][32];
    constexpr int its = (Channels + 7) / 8, most_kept = 96;
    constexpr bool keeps = its <= most_kept;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pixel = blockIdx.x * 32 + lane;
    const bool there = pixel < Area;
    const long long first = static_cast<long long>(blockIdx.y) * Channels * Area + pixel;
    float kept[keeps ? its : 1];
    const auto number = [&](int i) { // of channel warp + 8 i; 0 beyond the last
        const int c = warp + 8 * i;
        return there && (Channels % 8 == 0 || c < Channels) ? __ldg(input + first + c * Area) : 0.0f;
    };
    if constexpr (keeps) {
#pragma unroll
        for (int i = 0; i < its; ++i)
            kept[i] = number(i);
    }
    const auto sum_of_channels = [&](int round, auto value) {
        float sum = 0.0f;
#pragma unroll(keeps ? its : 8)
        for (int i = 0; i < its; ++i)
            if (Channels % 8 == 0 || warp + 8 * i < Channels)
                sum += value(keeps ? kept[keeps ? i : 0] : number(i));
        of_warps[round][warp][lane] = sum;
        __syncthreads();
        sum = 0.0f;
#pragma unroll
        for (int i = 0; i < 8; ++i)
            sum += of_warps[round][i][lane];
        return sum;
    };
    const float mean = sum_of_channels(0, [](float x) { return x; }) / Channels;
    const float variance = sum_of_channels(1, [&](float x) { return (x - mean) * (x - mean); }) / Channels;
    const float by = 1.0f / sqrtf(variance + added);
#pragma unroll(keeps ? its : 8)
    for (int i = 0; i < its; ++i)
        if (there && (Channels % 8 == 0 || warp + 8 * i < Channels))
            output[first + (warp + 8 * i) * Area] = ((keeps ? kept[keeps ? i : 0] : number(i)) - mean) * by;
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
