// What a network computes between its convolutions: dense layers of few images, pooling, element by element, softmax, and
// turning a tensor for dense layers of many images. Everything about shapes is a template argument.
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

} // namespace

/// 256 threads, RowThreads of them for each output. Wide: four inputs at once, where their number allows it.
template <int Images, int Inputs, int Outputs, int RowThreads, bool Bias, bool Relu>
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
        output[image * Outputs + row] = Relu ? fmaxf(total, 0.0f) : total;
    }
}

/// A thread an output; outside the image there is no maximum, and nothing to add to a mean.
template <bool Max, int Height, int Width, int P, int Q, int R, int S, int StrideH, int StrideW, int PadH, int PadW>
__global__ void __launch_bounds__(256)
    pool(const float *__restrict__ input, float *__restrict__ output, long long outputs) {
    wait_for_launch_before();
    const long long at = blockIdx.x * 256LL + threadIdx.x;
    if (at >= outputs)
        return;
    const int y0 = static_cast<int>(at % (P * Q)) / Q * StrideH - PadH, x0 = static_cast<int>(at % Q) * StrideW - PadW;
    const float *channel = input + at / (P * Q) * (Height * Width);
    float result = Max ? -__int_as_float(0x7f800000) : 0.0f;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int s = 0; s < S; ++s) {
            const int y = y0 + r, x = x0 + s;
            constexpr bool padded = PadH > 0 || PadW > 0;
            if (!padded || (y >= 0 && y < Height && x >= 0 && x < Width)) {
                const float value = channel[y * Width + x];
                result = Max ? fmaxf(result, value) : result + value;
            }
        }
    output[at] = Max ? result : result / (R * S);
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

/// Activation: 0 none, 1 ReLU, 2 logistic.
template <int Channels, int Area, bool Bias, bool Add, int Activation>
__global__ void __launch_bounds__(256)
    elementwise(const float *__restrict__ input, const float *__restrict__ bias, const float *__restrict__ added,
                float *__restrict__ output, long long count) {
    wait_for_launch_before();
    const long long at = blockIdx.x * 256LL + threadIdx.x;
    if (at >= count)
        return;
    float value = input[at];
    if constexpr (Bias)
        value += bias[at / Area % Channels];
    if constexpr (Add)
        value += added[at];
    if constexpr (Activation == 1)
        value = fmaxf(value, 0.0f);
    if constexpr (Activation == 2)
        value = 1.0f / (1.0f + expf(-value));
    output[at] = value;
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
