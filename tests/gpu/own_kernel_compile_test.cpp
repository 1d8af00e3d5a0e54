// The example of docs/own_kernel.md and kernels that are wrong in every way, as the compiler sees them. Needs
// NVRTC, no GPU.
#include "executor/check_kernels.hpp"
#include "tests/gpu/require_library.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

namespace convcast {
namespace {

using testing::HasSubstr;

constexpr int hopper = 90;
constexpr const char *launch = "grid=ceil_div(n * k * p * q, 128); block=128";

CheckedKernel checked(const OwnKernel &kernel, const std::string &shape) {
    Compiler compiler{std::filesystem::path()};
    const GpuProfile h200 = find_profile("h200");
    return check_own_kernel(compiler, kernel, ConvShape::parse(shape), h200, hopper);
}

OwnKernel of_tests(const std::string &name) {
    return read_own_kernel(std::string(CONVCAST_SOURCE_DIR) + "/tests/own_kernel/" + name + ".cu", launch);
}

TEST(OwnKernelCompile, TheExampleFitsWithoutSpills) {
    CONVCAST_SKIP_IF(why_no_compiler());
    const OwnKernel kernel =
        read_own_kernel(std::string(CONVCAST_SOURCE_DIR) + "/examples/own_kernel/four_filters.json", "");
    const CheckedKernel found = checked(kernel, "n1c64h56w56k64r3s3");
    EXPECT_FALSE(found.problem) << *found.problem;
    EXPECT_EQ(found.kernel, "own:four_filters<3, 3, 4>");
    EXPECT_GT(*found.registers, 16);
    EXPECT_EQ(*found.spill_store_bytes, 0);
    EXPECT_GT(*found.ctas_per_sm, 4);
    EXPECT_THAT(*checked(kernel, "n1c64h56w56k63r3s3").problem, HasSubstr("k % 4 == 0"));
}

TEST(OwnKernelCompile, MistakesThatCompileDo) {
    CONVCAST_SKIP_IF(why_no_compiler());
    for (const char *name : {"transposed", "outside", "far_outside", "endless", "leaves_outputs"})
        EXPECT_FALSE(checked(of_tests(name), "n1c2h9w9k4r3s3").problem) << name;
}

TEST(OwnKernelCompile, TheCompilersWordsNameTheUsersFileAndLine) {
    CONVCAST_SKIP_IF(why_no_compiler());
    const CheckedKernel found = checked(of_tests("broken"), "n1c2h9w9k4r3s3");
    ASSERT_TRUE(found.problem);
    EXPECT_THAT(*found.problem, HasSubstr("broken.cu(4): error: identifier \"weight_of\" is undefined"));
}

TEST(OwnKernelCompile, OtherParametersThanItsLaunchSaysAreFound) {
    CONVCAST_SKIP_IF(why_no_compiler());
    const CheckedKernel found = checked(of_tests("other_parameters"), "n1c2h9w9k4r3s3");
    ASSERT_TRUE(found.problem);
    EXPECT_THAT(
        *found.problem,
        HasSubstr("other_parameters must be a __global__ function of (const float *, const float *, float *, "
                  "int, int, int, int, int, int, int, int, int), as its launch says"));
    OwnKernel told = of_tests("other_parameters");
    told.parameters[3] = "int64:n";
    EXPECT_FALSE(checked(told, "n1c2h9w9k4r3s3").problem);
}

} // namespace
} // namespace convcast
