// The kernels of a network beside its convolutions. Some are templates in executor/network/whole.cu; others
// are generated for a launch from the device code of its operators (model/network/operator_type.hpp).
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
    std::string text;            ///< compiled behind whole.cu; "" if whole.cu has all
    LaunchGrid grid;
    std::optional<std::int64_t> count; ///< number of outputs, the last argument; absent: it takes none
    /// Operators whose parameters are arguments behind the tensors that it reads; nullopt: a null pointer,
    /// for a dense layer without bias.
    std::vector<std::optional<std::size_t>> parameters;
};

/// The kernel of a launch without a plan. Throws UsageError if its operator is a loss or unknown.
OperatorKernel operator_kernel(const Network &network, const ScheduledLaunch &launch, std::int64_t batch);

/// Device code that applies functions of one number, such as relu, to the variable `T x`; "" if there are
/// none. `functions` are numbers of operators.
std::string function_text(const Network &network, const std::vector<std::size_t> &functions);

/// A kernel that computes one operator in double from the operator's device code, for the reference. Its name
/// has a hash of its text, so that equal operators share it. Its arguments: the three sizes of the first
/// input and of the output, the inputs, the parameters, the output, the number of outputs.
struct ReferenceKernel {
    std::string name, text;
};
ReferenceKernel reference_kernel(const Operator &op, const std::vector<ImageShape> &inputs);

} // namespace convcast
