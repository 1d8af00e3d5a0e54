// The convolution as a matrix product: columns laid out by a kernel of ours, multiplied by cuBLAS.
#pragma once

#include "executor/baselines/call.hpp"
#include "gpu/compile.hpp"
#include "model/shape/conv_shape.hpp"

#include <memory>
#include <string>
#include <variant>

namespace convcast {

class Cublas;

/// executor/kernels/im2col.cu; needs no GPU to be compiled.
CompileRequest im2col_request(int compute_capability);

/// How many images' columns are laid out at once: all, or what fits `most_bytes`; 0 if not even one image's
/// fit.
std::int64_t im2col_images_at_once(const ConvShape &shape, std::size_t most_bytes);

/// Whether the input is its own columns: filters of 1 x 1, stride 1, no padding.
bool is_its_own_columns(const ConvShape &shape);

/// A call, or why not. Where the input is its own columns nothing is laid out.
std::variant<BaselineCall, std::string> im2col_cublas(const std::shared_ptr<const Cublas> &cublas,
                                                      Compiler &compiler, int compute_capability,
                                                      const ConvShape &shape);

} // namespace convcast
