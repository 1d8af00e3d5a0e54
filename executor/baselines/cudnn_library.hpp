// What cuDNN's two interfaces have in common: the library opened at run time, its errors in words, its
// version. Included only where cuDNN's headers are there.
#pragma once

#include "gpu/check.hpp"
#include "gpu/library.hpp"
#include "model/base/errors.hpp"

#include <cudnn.h>

#include <fmt/format.h>

#include <string>

namespace convcast {

struct CudnnLibrary {
    CudnnLibrary() = default;
    CudnnLibrary(const CudnnLibrary &) = delete;
    CudnnLibrary &operator=(const CudnnLibrary &) = delete;
    ~CudnnLibrary() {
        if (handle)
            (void)symbol<decltype(cudnnDestroy)>("cudnnDestroy")(handle);
    }

    /// For the current device.
    void make_handle() { check(symbol<decltype(cudnnCreate)>("cudnnCreate")(&handle), "cudnnCreate"); }

    template <class Function> Function *symbol(const char *name) const {
        return shared.symbol<Function>(name);
    }

    /// "CUDNN_STATUS_NOT_SUPPORTED (why)"
    std::string text(cudnnStatus_t status) const {
        char why[512] = {};
        last_error(why, sizeof why);
        const std::string name = error_string(status);
        return why[0] == '\0' ? name : name + " (" + why + ")";
    }

    void check(cudnnStatus_t status, const std::string &what) const {
        if (status == CUDNN_STATUS_SUCCESS)
            return;
        // A device error behind it says more, and may be sticky.
        convcast::check(cudaPeekAtLastError(), what.c_str());
        throw GpuError(what + " failed: " + text(status));
    }

    /// "9.19.0"
    std::string version() const {
        const std::size_t number = symbol<decltype(cudnnGetVersion)>("cudnnGetVersion")(); // 91900
        return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
    }

    SharedLibrary shared{SharedLibrary::Request{
        {"libcudnn.so.9"}, "run cuDNN's convolutions", "cuDNN 9 (package libcudnn9-cuda)"}};
    decltype(&cudnnGetErrorString) error_string = shared.symbol("cudnnGetErrorString");
    decltype(&cudnnGetLastErrorString) last_error = shared.symbol("cudnnGetLastErrorString");
    decltype(&cudnnSetStream) set_stream = shared.symbol("cudnnSetStream");
    cudnnHandle_t handle = nullptr;
};

} // namespace convcast
