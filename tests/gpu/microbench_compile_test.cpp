// Every probe compiles where there is NVRTC, without a GPU, and keeps its data in registers.
#include "microbench/measure.hpp"
#include "microbench/runners.hpp"
#include "tests/gpu/require_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// As many as 1024 threads of an SM can have; where the tile of a thread is the question, the 256 threads
/// that its launch bounds name.
int most_registers(const std::string &name) {
    return name.ends_with("ffma_outer.cu") || name.ends_with("tf32_mma.cu") ? 255 : 64;
}

class ProbesCompile : public testing::TestWithParam<int> {};

TEST_P(ProbesCompile, WithoutSpills) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler{std::filesystem::path()};
    const std::vector<CompileRequest> requests = probe_requests(GetParam());
    ASSERT_EQ(requests.size(), probe_files().size() + 1); // and fill.cu
    const std::vector<Compiler::Outcome> outcomes = compiler.compile_all(requests, 2);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const auto *module = std::get_if<CompiledModule>(&outcomes[i]);
        ASSERT_NE(module, nullptr) << std::get<std::string>(outcomes[i]);
        EXPECT_FALSE(module->kernels.empty()) << requests[i].name;
        for (const KernelFacts &kernel : module->kernels) {
            EXPECT_EQ(kernel.spill_load_bytes + kernel.spill_store_bytes + kernel.stack_bytes, 0)
                << requests[i].name << " " << kernel.lowered_name;
            EXPECT_LE(kernel.registers, most_registers(requests[i].name)) << kernel.lowered_name;
        }
        EXPECT_THAT(module->log, testing::Not(testing::HasSubstr("warning"))) << requests[i].name;
    }
}

INSTANTIATE_TEST_SUITE_P(Architectures, ProbesCompile, testing::Values(75, 80, 86, 89, 90, 100, 120),
                         [](const auto &test) { return "sm_" + std::to_string(test.param); });

TEST(ProbeCode, LoadsOfAGroupAreInFlightTogether) {
    // 16 bytes each take four registers; fewer mean that they are loaded in smaller groups.
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler{std::filesystem::path()};
    for (const CompileRequest &request : probe_requests(90)) {
        const auto four_each = [&](const char *file, const std::string &kernel, const std::string &rest) {
            if (!request.name.ends_with(file))
                return;
            const CompiledModule module = compiler.compile(request);
            for (const int loads : {1, 2, 4, 8})
                EXPECT_GT(module.facts(kernel + "<" + std::to_string(loads) + rest + ">").registers,
                          4 * loads)
                    << kernel << " " << loads;
        };
        four_each("dram_read.cu", "dram_read", "");
        four_each("dram_copy.cu", "dram_copy", ", false, true");
        four_each("l2_read.cu", "l2_read_tickets", "");
    }
}

TEST(ProbeList, EveryProbeHasARunAndEveryFileATask) {
    std::set<std::string> names, run, used = {"common.cuh", "fill.cu"}, files;
    for (const std::string &name : probe_names())
        names.insert(name);
    for (const auto &[name, function] : probe_runs())
        run.insert(std::string(name));
    EXPECT_EQ(run, names);
    for (const auto &[file, templates] : probe_files())
        used.insert(file);
    for (const EmbeddedFile &file : probe_sources)
        files.insert(std::filesystem::path(file.path).filename().string());
    EXPECT_EQ(used, files);
}

} // namespace
} // namespace convcast
