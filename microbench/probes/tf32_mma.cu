// How many TF32 products a clock do the tensor cores of an SM sustain?
//
// mma: m16n8k8 of a warp, 8 independent accumulators. wgmma: m64n128k8 of a warpgroup, where compute
// capability 9.0 has it, the left factor in registers, the right one in shared memory. Factors are small
// integers by row and by column, so every sum is exact: 8 products a step of (1 + row % 2) * (1 + column %
// 3).

extern "C" __global__ __launch_bounds__(512, 2) void tf32_mma(unsigned iterations, unsigned *sink,
                                                              Span *spans) {
    unsigned sum = 0;
#if __CUDA_ARCH__ >= 800
    constexpr int steps = 16, accumulators = 8;
    const int lane = threadIdx.x % 32;
    unsigned x = __float_as_uint(1.0f + lane / 4 % 2), w = __float_as_uint(1.0f + lane / 4 % 3);
    float a[accumulators][4] = {};
    const Span span = begin_span();
    pin(x), pin(w);
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
#pragma unroll
            for (int i = 0; i < accumulators; ++i)
                asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                             "{%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
                             : "+f"(a[i][0]), "+f"(a[i][1]), "+f"(a[i][2]), "+f"(a[i][3])
                             : "r"(x), "r"(w));
        }
    }
#pragma unroll
    for (int i = 0; i < accumulators; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
            sum += static_cast<unsigned>(a[i][j]);
    pin(sum);
    end_span(span, spans);
#endif
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

#define FOUR(i) "+f"(a[i]), "+f"(a[i + 1]), "+f"(a[i + 2]), "+f"(a[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)

extern "C" __global__ __launch_bounds__(256, 1) void tf32_wgmma(unsigned iterations, unsigned *sink,
                                                                Span *spans) {
    unsigned sum = 0;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    // Without swizzle: of eight columns two blocks (values 0 to 3, 4 to 7) of 8 columns by 16 bytes.
    constexpr int steps = 16, columns = 128, values = 8;
    __shared__ __align__(128) float w[columns * values];
    for (int i = threadIdx.x; i < columns * values; i += blockDim.x)
        w[i] = 1 + (i / 64 * 8 + i % 32 / 4) % 3;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // wgmma reads what was written by stores
    constexpr unsigned long long leading = 128 / 16, stride = 256 / 16;
    const unsigned long long at = static_cast<unsigned>(__cvta_generic_to_shared(w));
    const unsigned long long matrix = at >> 4 | leading << 16 | stride << 32;
    unsigned x[4]; // a register each: one for all would be copied before every wgmma
#pragma unroll
    for (int i = 0; i < 4; ++i)
        x[i] = __float_as_uint(1.0f + threadIdx.x % 32 / 4 % 2);
    float a[columns / 2] = {};
    const Span span = begin_span();
    pin(x[0]), pin(x[1]), pin(x[2]), pin(x[3]);
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int step = 0; step < steps; ++step)
            asm volatile("wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
                         "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                         "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                         "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                         "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                         "{%64, %65, %66, %67}, %68, 1, 1, 1;"
                         : SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(matrix));
        asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
#pragma unroll
    for (int i = 0; i < columns / 2; ++i)
        sum += static_cast<unsigned>(a[i]);
    pin(sum);
    end_span(span, spans);
#endif
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
