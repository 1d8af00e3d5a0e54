// Kernels of whole networks compile: convolutions with what ends them, and those between, without spilling
// more than where they are compiled alone.
#include "executor/launch/kernel_source.hpp"
#include "executor/network/whole_kernel.hpp"
#include "executor/network/whole_network.hpp"
#include "model/network/operator_type.hpp"
#include "tests/gpu/every_operator.hpp"
#include "tests/gpu/require_library.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// Spilled bytes of the kernel that a request asks for first.
int spills(const CompiledModule &compiled, const CompileRequest &request) {
    const KernelFacts &facts = compiled.facts(request.name_expressions.front());
    return facts.spill_store_bytes + facts.spill_load_bytes;
}

void expect_compiled(const Network &network, std::int64_t batch) {
    const PlannedNetwork plan = planned_network(network, batch);
    constexpr unsigned threads = 2;
    Compiler compiler;
    const std::vector<CompileRequest> requests = whole_requests(plan, 90);
    const std::vector<Compiler::Outcome> outcomes = compiler.compile_all(requests, threads);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const CompileRequest &request = requests[i];
        ASSERT_TRUE(std::holds_alternative<CompiledModule>(outcomes[i]))
            << std::get<std::string>(outcomes[i]);
        const auto &compiled = std::get<CompiledModule>(outcomes[i]);
        if (request.options.size() < 2) // nothing ends it
            continue;
        CompileRequest alone = request;
        alone.options.resize(1);
        const std::size_t slash = alone.name.rfind('/') + 1;
        alone.source = kernel_source(alone.name.substr(slash, alone.name.rfind('.') - slash));
        EXPECT_LE(spills(compiled, request), spills(compiler.compile(alone), alone))
            << network.id << " " << batch << " " << request.name_expressions.front();
    }
}

TEST(WholeKernels, Resnet18) {
    CONVCAST_SKIP_IF(why_no_compiler());
    expect_compiled(find_network("resnet18"), 1);
    expect_compiled(find_network("resnet18"), 32);
    expect_compiled(network_of_every_operator(), 1);
    expect_compiled(network_of_every_operator(), 9);
}

TEST(WholeKernels, OthersOfOneImageAndOfMany) {
    CONVCAST_SKIP_IF(why_no_compiler());
    for (const char *name : {"alexnet", "vgg16", "resnet50"})
        for (const std::int64_t batch : {1, 32})
            expect_compiled(find_network(name), batch);
}

TEST(WholeKernels, ReferenceInDouble) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler;
    const CompileRequest own = network_request("whole_reference.cu", 90);
    EXPECT_EQ(compiler.compile(own).kernels.size(), 6U);
    CompileRequest every = own;
    const Network network = network_of_every_operator();
    std::set<std::string> names;
    for (std::size_t i = 0; i < network.operators.size(); ++i)
        if (type_of(network.operators[i].kind).form != DeviceForm::own)
            if (const ReferenceKernel kernel =
                    reference_kernel(network.operators[i], network.input_shapes(i));
                names.insert(kernel.name).second)
                every.source += kernel.text;
    EXPECT_EQ(compiler.compile(every).kernels.size(), 6U + names.size());
}

} // namespace
} // namespace convcast
