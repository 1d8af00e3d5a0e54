// cuDNN's forward convolution, one algorithm at a time, in true FP32.
#pragma once

#include "executor/conv_call.hpp"
#include "model/conv_shape.hpp"

#include <memory>
#include <string>
#include <variant>

namespace convcast {

/// cuDNN opened at run time; one handle for the current device. Sets NVIDIA_TF32_OVERRIDE=0 for this process
/// before the library is loaded: belt and braces beside CUDNN_FMA_MATH.
class Cudnn {
  public:
    /// Throws GpuError without a usable cuDNN 9, or if built without its headers.
    Cudnn();
    ~Cudnn();

    std::string version() const; ///< "9.19.0"

    /// A call of `baseline` ("cudnn:implicit_gemm", see baselines()), or why cuDNN cannot do it for this
    /// shape. The workspace is as large as the algorithm asks for, up to `most_workspace_bytes`.
    std::variant<ConvCall, std::string> call(const std::string &baseline, const ConvShape &shape) const;

    static constexpr std::size_t most_workspace_bytes = std::size_t{16} << 30;

  private:
    struct Library;
    std::shared_ptr<const Library> library_;
};

} // namespace convcast
