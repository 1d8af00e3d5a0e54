// For kernels on the tensor cores of compute capability 9.0a: barriers of asynchronous copies, clusters,
// wgmma.
#pragma once

#include "executor/kernels/common.cuh"

namespace convcast {

// ---- barriers in shared memory that count arrivals and bytes ----

__device__ __forceinline__ void barrier_init(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// What was initialised is seen by bulk copies too.
__device__ __forceinline__ void barriers_ready() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives, and has the barrier wait for `bytes` of bulk copies besides.
__device__ __forceinline__ void barrier_expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/// Arrives when this thread's asynchronous copies so far are there.
__device__ __forceinline__ void arrive_when_copied(unsigned barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/// Until the barrier's turn of this parity is over.
__device__ __forceinline__ void barrier_wait(unsigned barrier, int parity) {
    asm volatile("{\n\t"
                 ".reg .pred done;\n\t"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/// A barrier of `Threads` threads of a CTA, whole warps.
template <int Id, int Threads> __device__ __forceinline__ void barrier_of_some() {
    asm volatile("bar.sync %0, %1;" ::"n"(Id), "n"(Threads) : "memory");
}

// ---- copies ----

/// `bytes` from global to this CTA's shared memory, both 16-byte aligned, counted by `barrier`.
__device__ __forceinline__ void copy_bulk(float *to, const float *from, int bytes, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

/// 1 or 4 floats from global to shared memory; zeros instead where `outside`, and nothing is read.
template <int Floats>
__device__ __forceinline__ void copy_async_unless(float *to, const float *from, bool outside) {
    static_assert(Floats == 1 || Floats == 4);
    if constexpr (Floats == 4)
        asm volatile("{\n\t"
                     ".reg .pred outside;\n\t"
                     "setp.ne.b32 outside, %2, 0;\n\t"
                     "cp.async.cg.shared.global [%0], [%1], 16, outside;\n\t"
                     "}" ::"r"(shared_address(to)),
                     "l"(from), "r"(static_cast<int>(outside)));
    else
        asm volatile("{\n\t"
                     ".reg .pred outside;\n\t"
                     "setp.ne.b32 outside, %2, 0;\n\t"
                     "cp.async.ca.shared.global [%0], [%1], 4, outside;\n\t"
                     "}" ::"r"(shared_address(to)),
                     "l"(from), "r"(static_cast<int>(outside)));
}

__device__ __forceinline__ void copy_async_wait_all() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// ---- clusters ----

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

/// A float of the shared memory of the cluster's CTA `rank`, at the address that it has in this CTA's.
__device__ __forceinline__ float load_from_cta(const float *at, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(at)), "r"(rank));
    float value;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
    return value;
}

// ---- warpgroups ----

/// blockIdx, read anew: what follows from it need not be kept in registers over the loop before.
__device__ __forceinline__ uint2 block_index_again() {
    uint2 index;
    asm volatile("mov.u32 %0, %%ctaid.x;\n\tmov.u32 %1, %%ctaid.y;" : "=r"(index.x), "=r"(index.y));
    return index;
}

/// A warpgroup gives back registers above Count, or waits for as many.
template <int Count> __device__ __forceinline__ void set_registers_down() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count> __device__ __forceinline__ void set_registers_up() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

/// x as hi + lo: hi has TF32's 11 bits, rounded to nearest, ties away from zero; lo is the exact rest, of
/// which tensor cores take 11 bits, so that x is meant up to 2^-22 of it. As cvt.rna.tf32 does but in three
/// instructions: sm_90 emulates that one, in some ten.
__device__ __forceinline__ void split_tf32(float x, unsigned &hi, unsigned &lo) {
    constexpr unsigned half_a_unit = 0x1000U, kept = 0xFFFFE000U;
    hi = (__float_as_uint(x) + half_a_unit) & kept;
    lo = __float_as_uint(x - __uint_as_float(hi));
}

/// A matrix of n columns by 8 values in shared memory without swizzle: per eight columns 256 bytes, which are
/// two blocks (values 0 to 3, 4 to 7) of eight columns by 16 bytes. PTX ISA, "Asynchronous warpgroup level
/// matrix shared memory layout": fields in units of 16 bytes; leading offset between the blocks, stride
/// between the eights.
__device__ __forceinline__ unsigned long long matrix_descriptor(unsigned address) {
    constexpr unsigned long long leading = 128 / 16, stride = 256 / 16;
    return (address & 0x3FFFFU) >> 4 | leading << 16 | stride << 32;
}

/// Before the first wgmma and after other writes to its registers.
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Until at most Pending committed groups are under way.
template <int Pending> __device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

#define SUMS_OF_8(d, i)                                                                                      \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),              \
        "+f"(d[i + 6]), "+f"(d[i + 7])

/// d = a b, or d += a b where `add`: a fragment of 64 x 8 values by 8 x 32, 64 or 128 in shared memory.
__device__ __forceinline__ void wgmma(float (&d)[16], const unsigned (&a)[4], unsigned long long b, int add) {
    asm volatile("{\n\t"
                 ".reg .pred add;\n\t"
                 "setp.ne.b32 add, %21, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15}, "
                 "{%16, %17, %18, %19}, %20, add, 1, 1;\n\t"
                 "}"
                 : SUMS_OF_8(d, 0), SUMS_OF_8(d, 8)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

__device__ __forceinline__ void wgmma(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int add) {
    asm volatile("{\n\t"
                 ".reg .pred add;\n\t"
                 "setp.ne.b32 add, %37, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, add, 1, 1;\n\t"
                 "}"
                 : SUMS_OF_8(d, 0), SUMS_OF_8(d, 8), SUMS_OF_8(d, 16), SUMS_OF_8(d, 24)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

__device__ __forceinline__ void wgmma(float (&d)[64], const unsigned (&a)[4], unsigned long long b, int add) {
    asm volatile("{\n\t"
                 ".reg .pred add;\n\t"
                 "setp.ne.b32 add, %69, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, add, 1, 1;\n\t"
                 "}"
                 : SUMS_OF_8(d, 0), SUMS_OF_8(d, 8), SUMS_OF_8(d, 16), SUMS_OF_8(d, 24), SUMS_OF_8(d, 32),
                   SUMS_OF_8(d, 40), SUMS_OF_8(d, 48), SUMS_OF_8(d, 56)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

#undef SUMS_OF_8

} // namespace convcast
