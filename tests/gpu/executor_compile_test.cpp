// Every kernel that plans ask for compiles for the H200 without spills and within its registers. Needs NVRTC,
// no GPU.
#include "executor/baselines/cudnn_graph.hpp"
#include "executor/baselines/im2col.hpp"
#include "executor/launch/kernel_cache.hpp"
#include "executor/launch/kernel_source.hpp"
#include "executor/verify/reference_kernel.hpp"
#include "model/base/errors.hpp"
#include "model/choose/setting.hpp"
#include "tests/gpu/predicted.hpp"
#include "tests/gpu/require_library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

constexpr int hopper = 90;

/// A first look takes a minute on two cores; with CONVCAST_EVERY_KERNEL=1, as before every merge, some 600
/// kernels are compiled, which takes five.
bool every_kernel() {
    return std::getenv("CONVCAST_EVERY_KERNEL") != nullptr;
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

/// Compiles the kernels of `plans`, each once: no spills, registers within the cap, no shared memory beside
/// the Partition's. Returns how many there are.
std::size_t expect_sound_kernels(const std::vector<Plan> &plans) {
    std::map<std::string, Partition> distinct;
    for (const Plan &plan : plans)
        for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
            for (const Partition &part : *launches)
                distinct.emplace(name_expression(part) + " cap " + std::to_string(part.register_cap), part);
    Compiler compiler;
    KernelCache kernels(compiler, hopper);
    kernels.compile_ahead(plans, all_threads());
    for (const auto &[name, part] : distinct) {
        const auto why = why_not([&] {
            const CompiledModule &compiled = kernels.compiled(part);
            expect_sound(compiled, part);
            if (part.constant_bytes > 0) {
                EXPECT_EQ(compiled.facts(name_expression(part)).constant_bytes, 65536) << name;
            }
        });
        EXPECT_FALSE(why) << name << ": " << *why;
    }
    std::cout << distinct.size() << " kernels of " << plans.size() << " plans\n";
    return distinct.size();
}

TEST(ExecutorCompile, NoSpillsWithinTheRegisterCap) {
    CONVCAST_SKIP_IF(why_no_compiler());
    // Of the candidates beside the defaults: prime to the number of knob values.
    constexpr std::size_t every = 53;
    const std::size_t every_shape = every_kernel() ? 1 : 7;
    const std::vector<std::string> all = shapes();
    std::vector<Plan> plans;
    std::size_t seen = 0;
    for (const std::string &name : strategy_names())
        for (std::size_t at = 0; at < all.size(); at += every_shape) {
            const std::vector<Strategy> settings = candidates(name); // the defaults first
            for (std::size_t i = 0; i < (every_kernel() ? settings.size() : 1); ++i)
                if (i == 0 || seen++ % every == 0)
                    if (auto made = plan(settings[i], ConvShape::parse(all[at]), h200());
                        auto *planned = std::get_if<PlannedStrategy>(&made))
                        plans.push_back(std::move(planned->feasible.plan));
        }
    EXPECT_GT(expect_sound_kernels(plans), every_kernel() ? 80U : 20U);
}

/// The accepted value of a knob nearest to `from` on the way to `to` with which the strategy, else left to
/// itself, has a plan.
std::optional<Plan> nearest_plan(const std::string &strategy, const KnobDoc &knob, const ConvShape &shape,
                                 int from, int to) {
    const int step = from < to ? 1 : -1;
    constexpr int most_tries = 2000;
    for (int value = from, tries = 0; tries < most_tries; value += step, ++tries) {
        auto made =
            plan(parse_strategy(strategy + ":" + knob.name + "=" + std::to_string(value)), shape, h200());
        if (auto *planned = std::get_if<PlannedStrategy>(&made))
            return std::move(planned->feasible.plan);
        if (value == to)
            break;
    }
    return std::nullopt;
}

/// The sweep above draws from the candidates; a user may set any knob to the least and the most that it
/// takes.
TEST(ExecutorCompile, ExtremesOfEveryKnob) {
    CONVCAST_SKIP_IF(why_no_compiler());
    std::vector<Plan> plans;
    for (const StrategyDoc &strategy : strategy_docs())
        for (const char *text : {"n1c1h37w44k40r3s3", "n1c16h37w44k40r3s3", "n1c1h19w21k40r5s5",
                                 "n1c16h19w21k40r1s1", "n1c1h37w44k40r3s3_f16", "n1c16h19w21k40r3s3_i8"}) {
            const ConvShape shape = ConvShape::parse(text);
            const auto made = plan(parse_strategy(strategy.name), shape, h200());
            if (const auto *why = std::get_if<Infeasible>(&made); why && why->unsupported)
                continue;
            for (const KnobDoc &knob : strategy.knobs) {
                const int low = std::max(1, knob.low); // 0 leaves it to the strategy
                for (const auto &[from, to] : {std::pair{low, knob.high}, std::pair{knob.high, low}})
                    if (std::optional<Plan> found = nearest_plan(strategy.name, knob, shape, from, to))
                        plans.push_back(std::move(*found));
            }
            if (!every_kernel())
                break; // at one shape that the strategy does
        }
    const std::size_t kernels = expect_sound_kernels(plans);
    EXPECT_GT(kernels, every_kernel() ? 100U : 40U);
    EXPECT_LT(kernels, 600U); // minutes on two cores
}

TEST(ExecutorCompile, EachKernelOnce) {
    const Case one = predicted("filter_split", "n1c1h28w28k512r3s3");
    const std::vector<Plan> twice(2, *one.prediction->plan);
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
    kernels.compile_ahead(std::span(&wrong, 1), 1);
    EXPECT_THROW(kernels.compiled(wrong.launches[0]), GpuError);
}

TEST(ExecutorCompile, Im2colAndReference) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler;
    const KernelFacts facts = compiler.compile(im2col_request(hopper)).facts("convcast_im2col");
    EXPECT_EQ(facts.spill_store_bytes, 0);
    EXPECT_EQ(facts.stack_bytes, 0);
    const CompiledModule reference = compiler.compile(reference_request(hopper));
    for (const char *name : {"convcast_reference", "convcast_compare"})
        EXPECT_EQ(reference.facts(name).spill_store_bytes, 0) << name;
}

TEST(Im2col, ImagesThatFit) {
    const ConvShape shape = ConvShape::parse("n4c2h6w7k3r3s3");
    const std::size_t an_image = 2 * 9 * 4 * 5 * sizeof(float);
    EXPECT_EQ(im2col_images_at_once(shape, 100 * an_image), 4);
    EXPECT_EQ(im2col_images_at_once(shape, 3 * an_image + 1), 3);
    EXPECT_EQ(im2col_images_at_once(shape, an_image - 1), 0);
    EXPECT_EQ(im2col_images_at_once(ConvShape::parse("n4c2h6w7k3r1s1"), 0), 4) << "nothing is laid out";
    EXPECT_TRUE(is_its_own_columns(ConvShape::parse("n1c8h6w7k8r1s1_g2")));
    for (const char *text : {"n1c2h6w7k3r1s2", "n1c2h6w7k3r1s1_str2x1", "n1c2h6w7k3r1s1_pad0x1"})
        EXPECT_FALSE(is_its_own_columns(ConvShape::parse(text))) << text;
}

/// An H200 in cuDNN's words, which lists plans for it without one.
constexpr const char *h200_for_cudnn =
    R"({"regsPerBlock": 65536, "multiProcessorCount": 132, "maxBlockSize": [1024, 1024, 64],
        "maxGridSize": [2147483647, 65535, 65535], "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
        "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
        "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 9013,
        "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 150000000000, "smClockRateKHz": 1980000,
        "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "cudaDeviceId": 0, "deviceVer": 900,
        "driverVer": 13000, "deviceName": "NVIDIA H200"})";

TEST(CudnnGraph, ListsPlansWithoutADevice) {
    std::shared_ptr<const CudnnGraph> graph;
    // Without cuDNN, or with one that describes devices in other words, there is no graph.
    CONVCAST_SKIP_IF(why_not([&] { graph = open_cudnn_graph_for(h200_for_cudnn); }));
    for (const char *text : {"n1c64h56w56k64r3s3", "n1c1h28w28k512r5s5", "n2c8h20w21k16r3s3_str2x2_pad1x1",
                             "n1c8h20w20k8r3s3_pad2x2_dil2x2_g2"}) {
        const ConvShape shape = ConvShape::parse(text);
        const GraphPlans fp32 = graph->plans(shape, "cudnn:graph"), all = graph->plans(shape, "cudnn:tf32");
        EXPECT_GE(fp32.plans.size(), 3U) << text;
        EXPECT_GT(all.plans.size(), fp32.plans.size()) << text;
        std::set<std::string> names;
        for (const GraphPlan &plan : fp32.plans) {
            EXPECT_FALSE(plan.notes.tensor_cores || plan.notes.inputs_rounded) << plan.name;
            EXPECT_GE(plan.workspace_bytes, 0) << plan.name;
            EXPECT_FALSE(plan.call) << plan.name;
            EXPECT_TRUE(names.insert(plan.name).second) << plan.name << " twice";
        }
        EXPECT_TRUE(std::any_of(all.plans.begin(), all.plans.end(), [](const GraphPlan &plan) {
            return plan.notes.tensor_cores;
        })) << text;
        const GraphPlans nhwc = graph->plans(shape, "cudnn:graph_nhwc"),
                         half = graph->plans(ConvShape::parse(std::string(text) + "_f16"), "cudnn:half");
        EXPECT_GE(nhwc.plans.size(), 1U) << text;
        for (const GraphPlan &plan : nhwc.plans)
            EXPECT_FALSE(plan.notes.tensor_cores || plan.notes.inputs_rounded) << plan.name;
        EXPECT_GE(half.plans.size(), 1U) << text;
        std::cout << nhwc.plans.size() << " plans in NHWC, " << half.plans.size() << " for halves; ";
        std::cout << text << ": " << fp32.plans.size() << " plans in FP32, " << fp32.refused << " refused, "
                  << all.plans.size() << " with tensor cores allowed\n";
    }
}

} // namespace
} // namespace convcast
