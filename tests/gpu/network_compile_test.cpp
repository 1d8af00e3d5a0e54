// Kernels of networks compile for every architecture that they are for; one spills, so that two of its blocks
// share an SM.
#include "executor/network/devices_step.hpp"
#include "executor/network/network_source.hpp"
#include "gpu/compile.hpp"
#include "model/network/ladder.hpp"
#include "tests/gpu/require_library.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace convcast {
namespace {

CompileRequest request_of(const EmbeddedFile &file, int compute_capability) {
    return network_request(file.path.substr(file.path.rfind('/') + 1), compute_capability);
}

/// mnist_step may spill, so that two of its blocks share an SM; no other kernel does.
void expect_few_spills(Compiler &compiler, const CompileRequest &request, const std::string &which) {
    for (const KernelFacts &kernel : compiler.compile(request).kernels)
        EXPECT_LE(kernel.spill_store_bytes, kernel.lowered_name == "mnist_step" ? 176 : 0)
            << which << " " << kernel.lowered_name << " " << request.compute_capability;
}

TEST(NetworkKernels, CompileWithFewSpills) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler(std::filesystem::path{});
    for (const int capability : {80, 90}) {
        for (const EmbeddedFile &file : network_sources)
            expect_few_spills(compiler, request_of(file, capability), file.path);
        for (const char *source : {"mnist_ranks.cu", "fashion_mnist_ranks.cu"})
            expect_few_spills(compiler, network_request(source, capability), source);
    }
}

TEST(NetworkKernels, ThoseOfSplitsCompileForEachShareWithoutSpills) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler(std::filesystem::path{});
    using Share = std::pair<int, std::int64_t>; // compute capability and rows
    for (const auto &[capability, rows] :
         {Share{80, 3}, Share{90, 1}, Share{90, 2}, Share{90, 3}, Share{90, 6}})
        expect_few_spills(compiler, split_request(rows, capability), std::to_string(rows) + " rows");
}

TEST(NetworkKernels, AreCompiledAsTheirForecastsCount) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler(std::filesystem::path{});
    std::map<std::string, DeclaredKernel> declared;
    for (const char *network : {"fashion_mnist", "mnist"}) {
        const Ladder ladder = find_ladder(find_network(network));
        for (const Rung &rung : ladder.rungs)
            for (const LadderLaunch &launch : rung.launches)
                declared[launch.kernel] = ladder.work.kernels.at(launch.kernel);
    }
    std::size_t found = 0;
    for (const EmbeddedFile &file : network_sources) {
        for (const KernelFacts &kernel : compiler.compile(request_of(file, 90)).kernels)
            if (const auto its = declared.find(kernel.lowered_name); its != declared.end()) {
                ++found;
                EXPECT_EQ(kernel.static_shared_bytes, its->second.static_shared_bytes) << its->first;
                // Another NVRTC may take a few more.
                EXPECT_NEAR(kernel.registers, static_cast<double>(its->second.registers), 2.0) << its->first;
            }
    }
    EXPECT_EQ(found, declared.size());
}

} // namespace
} // namespace convcast
