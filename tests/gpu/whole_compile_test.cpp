// Kernels of whole networks compile: convolutions with what ends them, and those between, without spilling
// more than where they are compiled alone.
#include "executor/launch/kernel_source.hpp"
#include "executor/network/whole_network.hpp"
#include "model/machine/knowledge.hpp"
#include "model/network/forecast.hpp"
#include "tests/gpu/require_library.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
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

void expect_compiled(const char *name, std::int64_t batch) {
    const GpuProfile h200 = find_profile("h200");
    NetworkQuestion question;
    question.batch = batch;
    question.what_if = false;
    const PlannedNetwork plan = plan_network(find_network(name), h200, knowledge_for(h200), question);
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
            << name << " " << batch << " " << request.name_expressions.front();
    }
}

TEST(WholeKernels, Resnet18) {
    CONVCAST_SKIP_IF(why_no_compiler());
    expect_compiled("resnet18", 1);
    expect_compiled("resnet18", 32);
}

TEST(WholeKernels, OthersOfOneImageAndOfMany) {
    CONVCAST_SKIP_IF(why_no_compiler());
    for (const char *name : {"alexnet", "vgg16", "resnet50"})
        for (const std::int64_t batch : {1, 32})
            expect_compiled(name, batch);
}

TEST(WholeKernels, ReferenceInDouble) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler;
    EXPECT_EQ(compiler.compile(network_request("whole_reference.cu", 90)).kernels.size(), 7U);
}

} // namespace
} // namespace convcast
