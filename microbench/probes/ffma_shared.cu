// Do FFMAs and loads of shared memory overlap?
//
// An iteration has `ffmas` FFMAs of a 4 x 4 outer product and `loads` LDS.32 without conflicts, spread evenly
// among them; nothing waits for what is loaded. With either count at 0, the same number of the other alone.
// 16 iterations stand between two branches. The loads are volatile, go to eight registers in turn, and the
// last of each is added to the sums of the FFMAs, which are exact.

constexpr int unrolled = 16, places = 8;

template <int ffmas, int loads>
__global__ __launch_bounds__(1024, 1) void ffma_shared(unsigned iterations, unsigned *sink, Span *spans) {
    __shared__ unsigned data[128 * places];
    for (unsigned i = threadIdx.x; i < 128 * places; i += blockDim.x)
        data[i] = word_at(i);
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(data)) + 4 * (threadIdx.x % 32);
    float x[4], w[4], a[16];
    unsigned loaded[places] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        x[i] = 1.0f + i + threadIdx.x % 2;
        w[i] = 1.0f + i + threadIdx.x % 3;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i)
        a[i] = 0.0f;
    const Span span = begin_span();
#pragma unroll
    for (int i = 0; i < 4; ++i)
        pin(x[i]), pin(w[i]);
    constexpr int slots = ffmas > loads ? ffmas : loads;
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int slot = 0; slot < unrolled * slots; ++slot) {
            if (loads > 0 && slot % (slots / (loads > 0 ? loads : 1)) == 0) {
                const int place = slot / (slots / (loads > 0 ? loads : 1)) % places;
                asm volatile("ld.volatile.shared.u32 %0, [%1];"
                             : "=r"(loaded[place])
                             : "r"(at + 512 * place));
            }
            if (ffmas > 0) {
                const int i = slot / 4 % 4, j = i % 2 ? 3 - slot % 4 : slot % 4;
                asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(a[4 * i + j]) : "f"(x[i]), "f"(w[j]));
            }
        }
    }
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        pin(a[i]);
        sum += static_cast<unsigned>(a[i]);
    }
#pragma unroll
    for (int place = 0; place < places; ++place)
        sum += loaded[place];
    pin(sum);
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
