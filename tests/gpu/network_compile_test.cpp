// Kernels of networks compile for every architecture that they are for; one spills, so that two of its blocks
// share an SM.
#include "executor/network/devices_step.hpp"
#include "executor/network/network_source.hpp"
#include "gpu/compile.hpp"
#include "model/network/rung_work.hpp"
#include "tests/gpu/require_library.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace convcast {
namespace {

CompileRequest request_of(const EmbeddedFile &file, int compute_capability) {
    return network_request(file.path.substr(file.path.rfind('/') + 1), compute_capability);
}

TEST(NetworkKernels, CompileWithFewSpills) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler(std::filesystem::path{});
    for (const int capability : {80, 90})
        for (const EmbeddedFile &file : network_sources) {
            for (const KernelFacts &kernel : compiler.compile(request_of(file, capability)).kernels)
                EXPECT_LE(kernel.spill_store_bytes, kernel.lowered_name == "mnist_step" ? 176 : 0)
                    << file.path << " " << kernel.lowered_name << " " << capability;
        }
}

TEST(NetworkKernels, ThoseOfSplitsCompileForEachShareWithoutSpills) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler(std::filesystem::path{});
    using Share = std::pair<int, std::int64_t>; // compute capability and rows
    for (const auto &[capability, rows] :
         {Share{80, 3}, Share{90, 1}, Share{90, 2}, Share{90, 3}, Share{90, 6}})
        for (const KernelFacts &kernel : compiler.compile(split_request(rows, capability)).kernels)
            EXPECT_LE(kernel.spill_store_bytes, kernel.lowered_name == "mnist_step" ? 176 : 0)
                << kernel.lowered_name << " " << rows << " " << capability;
}

TEST(NetworkKernels, AreCompiledAsTheirForecastsCount) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler(std::filesystem::path{});
    std::size_t found = 0;
    for (const EmbeddedFile &file : network_sources) {
        for (const KernelFacts &kernel : compiler.compile(request_of(file, 90)).kernels)
            for (const CompiledKernel &counted : compiled_kernels())
                if (counted.name == kernel.lowered_name) {
                    ++found;
                    EXPECT_EQ(kernel.static_shared_bytes, counted.static_shared_bytes) << counted.name;
                    // Another NVRTC may take a few more.
                    EXPECT_NEAR(kernel.registers, static_cast<double>(counted.registers), 2.0)
                        << counted.name;
                }
    }
    EXPECT_EQ(found, compiled_kernels().size());
}

} // namespace
} // namespace convcast
