#include "executor/baselines/cublas.hpp"

#include "gpu/library.hpp"
#include "gpu/memory.hpp"

#include <cstdint>
#include <memory>
#include <string>

#ifdef CONVCAST_HAS_CUBLAS
#include <cublas_v2.h>

#include <fmt/format.h>

#include <utility>

namespace convcast {

/// The functions used, typed, the handle and its workspace.
struct Cublas::Library {
    Library()
        : shared({{"libcublas.so.13", "libcublas.so.12"}, "multiply matrices", "cuBLAS (package libcublas)"}),
          workspace(workspace_bytes) {
        check(symbol<decltype(cublasCreate)>("cublasCreate_v2")(&handle), "cublasCreate");
        check(symbol<decltype(cublasSetMathMode)>("cublasSetMathMode")(handle, CUBLAS_PEDANTIC_MATH),
              "cublasSetMathMode");
    }
    Library(const Library &) = delete;
    Library &operator=(const Library &) = delete;
    ~Library() { (void)symbol<decltype(cublasDestroy)>("cublasDestroy_v2")(handle); }

    template <class Function> Function *symbol(const char *name) const {
        return shared.symbol<Function>(name);
    }

    void check(cublasStatus_t status, const char *what) const {
        if (status == CUBLAS_STATUS_SUCCESS)
            return;
        convcast::check(cudaPeekAtLastError(), what); // a device error behind it says more, and may be sticky
        throw GpuError(std::string(what) + " failed: " + status_name(status));
    }

    SharedLibrary shared;
    decltype(&cublasGetStatusName) status_name = shared.symbol("cublasGetStatusName");
    decltype(&cublasGetVersion) get_version = shared.symbol("cublasGetVersion_v2");
    decltype(&cublasSetStream) set_stream = shared.symbol("cublasSetStream_v2");
    decltype(&cublasSetWorkspace) set_workspace = shared.symbol("cublasSetWorkspace_v2");
    decltype(&cublasSgemmStridedBatched) sgemm = shared.symbol("cublasSgemmStridedBatched");
    DeviceBuffer<unsigned char> workspace;
    cublasHandle_t handle = nullptr;
};

Cublas::Cublas() : library_(std::make_shared<const Library>()) {}
Cublas::~Cublas() = default;

std::string Cublas::version() const {
    int version = 0; // 130000
    library_->check(library_->get_version(library_->handle, &version), "cublasGetVersion");
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

void Cublas::sgemm(const Sgemm &size, const float *a, const float *b, float *c, cudaStream_t stream) const {
    const auto as_int = [](std::int64_t value) {
        if (!std::in_range<int>(value))
            throw GpuError("cuBLAS takes sizes of 32 bits, got " + std::to_string(value));
        return static_cast<int>(value);
    };
    const int m = as_int(size.m), n = as_int(size.n), k = as_int(size.k), batch = as_int(size.batch);
    const float one = 1.0F, zero = 0.0F;
    library_->check(library_->set_stream(library_->handle, stream), "cublasSetStream"); // drops the workspace
    library_->check(library_->set_workspace(library_->handle,
                                            const_cast<unsigned char *>(library_->workspace.data()),
                                            library_->workspace.bytes()),
                    "cublasSetWorkspace");
    // Columns first: c is n x m there, and so the product of b, n x k, and a, k x m.
    library_->check(library_->sgemm(library_->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n,
                                    size.b_distance, a, k, size.a_distance, &zero, c, n, size.c_distance,
                                    batch),
                    "cublasSgemmStridedBatched");
}

} // namespace convcast

#else

#include "model/base/errors.hpp"

namespace convcast {

struct Cublas::Library {};

Cublas::Cublas() {
    throw GpuError("built without cuBLAS headers: matrices cannot be multiplied by it");
}
Cublas::~Cublas() = default;
std::string Cublas::version() const {
    return "";
}
void Cublas::sgemm(const Sgemm &, const float *, const float *, float *, cudaStream_t) const {}

} // namespace convcast

#endif
