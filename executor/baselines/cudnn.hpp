// cuDNN's forward convolution, one algorithm of the legacy interface at a time, in true FP32.
#pragma once

#include "executor/baselines/call.hpp"
#include "model/shape/conv_shape.hpp"

#include <memory>
#include <string>
#include <variant>

namespace convcast {

/// cuDNN's legacy interface, opened at run time; one handle for the current device.
class Cudnn {
  public:
    virtual ~Cudnn() = default;

    virtual std::string version() const = 0; ///< "9.19.0"

    /// A call of `baseline` ("cudnn:implicit_gemm", see baselines()), or why cuDNN cannot do it for this
    /// shape. The workspace is as large as the algorithm asks for, up to `most_workspace_bytes`.
    virtual std::variant<BaselineCall, std::string> call(const std::string &baseline,
                                                         const ConvShape &shape) const = 0;
};

/// Throws GpuError without a usable cuDNN 9, or if built without its headers.
std::shared_ptr<const Cudnn> open_cudnn();

} // namespace convcast
