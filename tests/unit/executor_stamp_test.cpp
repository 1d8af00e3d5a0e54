// The stamp goes into the kernel that is asked for, and nothing else of its text changes.
#include "executor/launch/kernel_source.hpp"
#include "executor/timeline/stamp.hpp"
#include "model/base/errors.hpp"
#include "model/choose/setting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <variant>

namespace convcast {
namespace {

using testing::HasSubstr;

/// Every kernel that a plan of ours launches.
std::set<std::string> kernels() {
    std::set<std::string> names;
    const GpuProfile profile = find_profile("h200");
    for (const std::string &strategy : strategy_names())
        for (const char *text : {"n1c1h56w56k64r3s3", "n1c64h56w56k64r3s3"})
            if (auto made = plan(parse_strategy(strategy), ConvShape::parse(text), profile);
                const auto *planned = std::get_if<PlannedStrategy>(&made))
                for (const CallLaunch &launch : launches_of(planned->feasible.plan))
                    names.insert(launch.kernel);
    return names;
}

TEST(Stamp, EveryKernelIsStampedOnce) {
    const std::set<std::string> names = kernels();
    EXPECT_GT(names.size(), 15U);
    for (const std::string &kernel : names) {
        SCOPED_TRACE(kernel);
        const std::string source = kernel_source(kernel), with = stamped_source(source, kernel);
        constexpr std::string_view parameter = "void *convcast_output, ",
                                   stamp =
                                       "\n    const convcast_stamp::Stamp convcast_span(convcast_output);";
        const std::size_t parameter_at = with.find(parameter), stamp_at = with.find(stamp);
        ASSERT_NE(parameter_at, std::string::npos);
        ASSERT_NE(stamp_at, std::string::npos);
        EXPECT_LT(with.find("__global__"), parameter_at);
        EXPECT_EQ(with.find("ConvArgs", parameter_at), parameter_at + parameter.size())
            << "right before ConvArgs";
        EXPECT_EQ(with[stamp_at - 1], '{') << "the first statement";
        std::string without = with;
        without.erase(stamp_at, stamp.size()).erase(parameter_at, parameter.size());
        EXPECT_EQ(without, stamp_sources.front().text() + source);
    }
}

TEST(Stamp, TheKernelAskedForAmongOthers) {
    const std::string source = "template <int N> __global__ void a_sum(float *x, ConvArgs a) {}\n"
                               "template <int N> __global__ void __maxnreg__(REGISTER_CAP)\n"
                               "    a(float *x, ConvArgs) {\n    if (x)\n        return;\n}\n";
    EXPECT_THAT(stamped_source(source, "a"), HasSubstr("a(float *x, void *convcast_output, ConvArgs) {\n"
                                                       "    const convcast_stamp::Stamp"));
    EXPECT_THAT(stamped_source(source, "a"), HasSubstr("a_sum(float *x, ConvArgs a) {}"));
    EXPECT_THAT(stamped_source(source, "a_sum"), HasSubstr("a(float *x, ConvArgs) {\n    if"));
}

TEST(Stamp, WhatIsNoKernelIsRefused) {
    for (const char *source :
         {"", "void a(ConvArgs a) {}", "__global__ void b(ConvArgs a) {}", "__global__ void a(float *x) {}",
          "__global__ void a(ConvArgs a);", "__global__ void a(ConvArgs a"})
        EXPECT_THROW(stamped_source(source, "a"), UsageError) << source;
}

} // namespace
} // namespace convcast
