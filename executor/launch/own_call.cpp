#include "executor/launch/own_call.hpp"
#include "gpu/kernel.hpp"

#include "model/base/errors.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

const char *type_of_parameter(const std::string &parameter, OwnArgument::Type type) {
    switch (type) {
    case OwnArgument::Type::tensor:
        return parameter == "output" ? "float *" : "const float *";
    case OwnArgument::Type::int32:
        return "int";
    case OwnArgument::Type::int64:
        return "long long";
    case OwnArgument::Type::float32:
        break;
    }
    return "float";
}

/// Appended to the source: does not compile unless the function takes what it will be given.
std::string parameter_check(const OwnKernel &kernel, const OwnLaunch &launch, const Names &names) {
    std::vector<std::string> types;
    for (const std::string &parameter : kernel.parameters)
        types.emplace_back(type_of_parameter(parameter, own_argument(parameter, names).type));
    const std::string signature = join(types);
    return "\n#line 1 \"the parameters as launched\"\n"
           "namespace convcast_check {\n"
           "template <class A, class B> struct Same { static constexpr bool value = false; };\n"
           "template <class A> struct Same<A, A> { static constexpr bool value = true; };\n"
           "}\n"
           "static_assert(convcast_check::Same<decltype(&" +
           launch.expression + "), void (*)(" + signature + ")>::value, \"" + kernel.function +
           " must be a __global__ function of (" + signature + "), as its launch says\");\n";
}

KernelArgument number_argument(const OwnArgument &value) {
    return value.type == OwnArgument::Type::float32 ? KernelArgument(value.real)
           : value.type == OwnArgument::Type::int32 ? KernelArgument(static_cast<int>(value.integer))
                                                    : KernelArgument(value.integer);
}

dim3 dim3_of(const std::array<std::int64_t, 3> &size) {
    return {static_cast<unsigned>(size[0]), static_cast<unsigned>(size[1]), static_cast<unsigned>(size[2])};
}

} // namespace

CompileRequest own_request(const OwnKernel &kernel, const OwnLaunch &launch, const ConvShape &shape,
                           const Gpu &gpu, int compute_capability) {
    CompileRequest request{.name = kernel.file,
                           .source = kernel.source + parameter_check(kernel, launch, own_names(shape, gpu)),
                           .name_expressions = {launch.expression},
                           .compute_capability = compute_capability};
    for (const auto &[macro, value] : launch.defines)
        request.options.push_back("-D" + macro + "=" + std::to_string(value));
    if (launch.registers)
        request.max_registers = static_cast<int>(*launch.registers);
    return request;
}

ConvCall own_call(const CompiledModule &compiled, const OwnKernel &kernel, const OwnLaunch &launch,
                  const ConvShape &shape, const Gpu &gpu) {
    auto module = std::make_shared<const Module>(compiled);
    const Kernel loaded = module->kernel(launch.expression);
    const auto shared = static_cast<std::size_t>(launch.shared_bytes);
    loaded.allow_shared(shared);
    if (loaded.ctas_per_sm(static_cast<int>(launch.threads()), shared) < 1)
        throw GpuError("no CTA of " + launch.expression + " fits an SM: " + std::to_string(launch.threads()) +
                       " threads of " + std::to_string(loaded.registers()) + " registers, " +
                       std::to_string(shared + loaded.static_shared_bytes()) + " bytes of shared memory");
    const Names names = own_names(shape, gpu);
    KernelCall with_numbers{loaded, dim3_of(launch.grid), dim3_of(launch.block), shared, {}};
    for (const std::string &parameter : kernel.parameters)
        with_numbers.arguments.push_back(number_argument(own_argument(parameter, names)));
    return [module = std::move(module), with_numbers = std::move(with_numbers),
            parameters = kernel.parameters](const void *input, const void *filters, void *output,
                                            cudaStream_t stream) {
        std::vector<KernelArgument> arguments = with_numbers.arguments;
        for (std::size_t i = 0; i < parameters.size(); ++i)
            for (const auto &[name, tensor] : {std::pair("input", input), std::pair("filters", filters),
                                               std::pair("output", static_cast<const void *>(output))})
                if (parameters[i] == name)
                    arguments[i] = tensor;
        with_numbers.launch(arguments, stream);
    };
}

} // namespace convcast
