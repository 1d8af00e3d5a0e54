// Every kernel that plans ask for compiles for the H200 without spills and within its registers. Needs NVRTC,
// no GPU.
#include "executor/kernel_source.hpp"
#include "executor/launch.hpp"
#include "executor/reference_kernel.hpp"
#include "model/errors.hpp"
#include "model/strategies.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>

namespace convcast {
namespace {

constexpr int hopper = 90;

std::optional<std::string> why_no_compiler() {
    try {
        Compiler compiler{std::filesystem::path()};
        return std::nullopt;
    } catch (const GpuError &error) {
        return error.what();
    }
}

/// From the studies, and awkward ones: maps smaller than a tile, rows that are not 16-byte aligned, one
/// filter, a filter count that fills no tile.
std::vector<std::string> shapes() {
    std::vector<std::string> list;
    for (const std::string filter : {"r1s1", "r3s3", "r5s5"})
        for (const std::string map :
             {"n1c1h28w28k512", "n1c1h224w224k64", "n1c1h1024w1024k32", "n1c1h7w7k1", "n2c1h13w31k33",
              "n1c512h7w7k512", "n1c128h56w56k128", "n1c64h512w512k64", "n1c3h13w31k1", "n2c5h7w7k100"})
            list.push_back(map + filter);
    for (const char *other : {"n32c64h56w56k64r3s3_pad1x1", "n1c3h224w224k64r7s7_str2x2_pad3x3",
                              "n4c6h20w21k10r5s3_str2x1_pad2x1_dil1x2_g2", "n1c8h40w40k16r11s11_pad5x5"})
        list.push_back(other);
    return list;
}

TEST(ExecutorCompile, NoSpillsWithinTheRegisterCap) {
    CONVCAST_SKIP_IF(why_no_compiler());
    const GpuProfile profile = find_profile("h200");
    constexpr std::size_t every =
        53; // of the candidates beside the defaults: prime to the number of knob values
    std::vector<Plan> plans;
    std::size_t seen = 0;
    for (const std::string &name : strategy_names())
        for (const std::string &text : shapes()) {
            const std::vector<Strategy> settings = candidates(name); // the defaults first
            for (std::size_t i = 0; i < settings.size(); ++i)
                if (i == 0 || seen++ % every == 0)
                    if (auto made = plan(settings[i], ConvShape::parse(text), profile);
                        auto *planned = std::get_if<PlannedStrategy>(&made))
                        plans.push_back(std::move(planned->feasible.plan));
        }
    std::map<std::string, Partition> distinct;
    for (const Plan &plan : plans)
        for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
            for (const Partition &part : *launches)
                distinct.emplace(name_expression(part) + " cap " + std::to_string(part.register_cap), part);
    ASSERT_GT(distinct.size(), 80U);

    Compiler compiler;
    KernelCache kernels(compiler, hopper);
    kernels.compile_plans(plans, std::max(1U, std::thread::hardware_concurrency()));
    for (const auto &[name, part] : distinct) {
        SCOPED_TRACE(name);
        try {
            const KernelFacts &facts = kernels.compiled(part).facts(name_expression(part));
            EXPECT_LE(facts.registers, part.register_cap);
            EXPECT_EQ(facts.spill_store_bytes, 0);
            EXPECT_EQ(facts.spill_load_bytes, 0);
            EXPECT_EQ(facts.static_shared_bytes, 0);
            if (part.constant_bytes > 0) {
                EXPECT_EQ(facts.constant_bytes, 65536);
            }
        } catch (const GpuError &error) {
            ADD_FAILURE() << error.what();
        }
    }
    std::cout << distinct.size() << " kernels of " << plans.size() << " plans\n";
}

TEST(ExecutorCompile, EachKernelOnce) {
    const GpuProfile profile = find_profile("h200");
    const auto planned =
        plan(parse_strategy("filter_split"), ConvShape::parse("n1c1h28w28k512r3s3"), profile);
    const Plan &one = std::get<PlannedStrategy>(planned).feasible.plan;
    const std::vector<Plan> twice = {one, one};
    EXPECT_EQ(requests_for(twice, hopper).size(), 1U);
}

TEST(ExecutorCompile, AKernelThatDoesNotCompileIsAReason) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Plan wrong;
    wrong.launches.emplace_back();
    wrong.launches[0].kernel = "filter_split";
    wrong.launches[0].template_arguments = {3};
    wrong.launches[0].register_cap = 64;
    Compiler compiler{std::filesystem::path()};
    KernelCache kernels(compiler, hopper);
    kernels.compile_plans(std::span(&wrong, 1), 1);
    EXPECT_THROW(kernels.compiled(wrong.launches[0]), GpuError);
}

TEST(ExecutorCompile, Reference) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler;
    const CompiledModule compiled = compiler.compile(reference_request(hopper));
    for (const char *name : {"convcast_reference", "convcast_compare"})
        EXPECT_EQ(compiled.facts(name).spill_store_bytes, 0) << name;
}

} // namespace
} // namespace convcast
