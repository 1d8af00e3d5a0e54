// The kernels of a network beside its convolutions: names of those in executor/network/whole.cu, and text of
// those that are made for a launch out of the device code of its operators (model/network/operator_type.hpp).
#pragma once

#include "model/network/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

struct OperatorKernel {
    std::string name_expression; ///< "turn<32, 4096>"
    std::string text;            ///< what is compiled behind whole.cu for it; "" where that has it
    LaunchGrid grid;
    std::optional<std::int64_t> count; ///< last argument of some
    /// Operators whose parameters it takes behind the tensors that it reads; nothing: a null in place of a
    /// bias.
    std::vector<std::optional<std::size_t>> parameters;
};

/// The kernel of a launch that is no convolution. Throws UsageError where its operator is a loss or unknown.
OperatorKernel operator_kernel(const Network &network, const ScheduledLaunch &launch, std::int64_t batch);

/// The functions of one number that end a launch, as statements over `T x`; "" without any.
std::string function_text(const Network &network, const std::vector<std::size_t> &functions);

/// A kernel that computes one operator in double by its device code; its name is a hash of what it does. Its
/// arguments: sizes of the first input and of the output, the inputs, the parameters, the output, the number
/// of outputs.
struct ReferenceKernel {
    std::string name, text;
};
ReferenceKernel reference_kernel(const Operator &op, const std::vector<ImageShape> &inputs);

} // namespace convcast
