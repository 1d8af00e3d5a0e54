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
namespace {

/// The functions used, typed, the handle and its workspace.
class OpenedCublas : public Cublas {
  public:
    OpenedCublas() {
        check(symbol<decltype(cublasCreate)>("cublasCreate_v2")(&handle_), "cublasCreate");
        check(symbol<decltype(cublasSetMathMode)>("cublasSetMathMode")(handle_, CUBLAS_PEDANTIC_MATH),
              "cublasSetMathMode");
    }
    OpenedCublas(const OpenedCublas &) = delete;
    OpenedCublas &operator=(const OpenedCublas &) = delete;
    ~OpenedCublas() override { (void)symbol<decltype(cublasDestroy)>("cublasDestroy_v2")(handle_); }

    std::string version() const override {
        int version = 0; // 130000
        check(get_version_(handle_, &version), "cublasGetVersion");
        return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
    }

    void sgemm(const Sgemm &size, const float *a, const float *b, float *c,
               cudaStream_t stream) const override {
        const auto as_int = [](std::int64_t value) {
            if (!std::in_range<int>(value))
                throw GpuError("cuBLAS takes sizes of 32 bits, got " + std::to_string(value));
            return static_cast<int>(value);
        };
        const int m = as_int(size.m), n = as_int(size.n), k = as_int(size.k), batch = as_int(size.batch);
        const float one = 1.0F, zero = 0.0F;
        check(set_stream_(handle_, stream), "cublasSetStream"); // drops the workspace
        check(set_workspace_(handle_, const_cast<unsigned char *>(workspace_.data()), workspace_.bytes()),
              "cublasSetWorkspace");
        // Columns first: c is n x m there, and so the product of b, n x k, and a, k x m.
        check(sgemm_(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, size.b_distance, a, k,
                     size.a_distance, &zero, c, n, size.c_distance, batch),
              "cublasSgemmStridedBatched");
    }

  private:
    template <class Function> Function *symbol(const char *name) const {
        return shared_.symbol<Function>(name);
    }

    void check(cublasStatus_t status, const char *what) const {
        if (status == CUBLAS_STATUS_SUCCESS)
            return;
        convcast::check(cudaPeekAtLastError(), what); // a device error behind it says more, and may be sticky
        throw GpuError(std::string(what) + " failed: " + status_name_(status));
    }

    SharedLibrary shared_{
        {{"libcublas.so.13", "libcublas.so.12"}, "multiply matrices", "cuBLAS (package libcublas)"}};
    decltype(&cublasGetStatusName) status_name_ = shared_.symbol("cublasGetStatusName");
    decltype(&cublasGetVersion) get_version_ = shared_.symbol("cublasGetVersion_v2");
    decltype(&cublasSetStream) set_stream_ = shared_.symbol("cublasSetStream_v2");
    decltype(&cublasSetWorkspace) set_workspace_ = shared_.symbol("cublasSetWorkspace_v2");
    decltype(&cublasSgemmStridedBatched) sgemm_ = shared_.symbol("cublasSgemmStridedBatched");
    DeviceBuffer<unsigned char> workspace_{workspace_bytes};
    cublasHandle_t handle_ = nullptr;
};

} // namespace

std::shared_ptr<const Cublas> open_cublas() {
    return std::make_shared<const OpenedCublas>();
}

} // namespace convcast

#else

#include "model/base/errors.hpp"

std::shared_ptr<const convcast::Cublas> convcast::open_cublas() {
    throw GpuError("built without cuBLAS headers: matrices cannot be multiplied by it");
}

#endif
