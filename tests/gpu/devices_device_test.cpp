// Training split over GPUs gives one GPU's weights: on one GPU that stands in the list several times, and on
// several where the machine has them.
#include "executor/network/devices_group.hpp"
#include "executor/network/run_network.hpp"
#include "model/base/errors.hpp"
#include "tests/gpu/require_library.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#if __has_include(<nccl.h>)
#include <nccl.h>
static_assert(ncclSuccess == 0 && ncclFloat32 == 7 && ncclSum == 0, "devices_group.cpp has these numbers");
static_assert(sizeof(ncclComm_t) == sizeof(void *), "devices_group.hpp takes communicators to be pointers");
#endif

namespace convcast {
namespace {

int gpus_here() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

/// Verifies these splits on the GPUs; cases that were right.
int expect_one_gpus_weights(const std::vector<int> &devices, std::vector<DeviceSplit> splits,
                            std::vector<std::int64_t> batches) {
    const DeviceGroup group(devices);
    const Network network = find_network("mnist");
    NetworkRun scaling;
    scaling.devices = devices;
    scaling.cases = scaling_cases(network, {devices, std::move(splits), std::move(batches), false});
    Compiler compiler;
    SplitRunOptions options;
    options.seed = 20240601;
    options.time = false;
    run_scaling(compiler, group, network, scaling, options);
    int right = 0;
    for (const NetworkCase &item : scaling.cases) {
        const std::string which = to_text(*item.split) + " over " + std::to_string(item.devices) + ", " +
                                  std::to_string(item.batch) + " images";
        EXPECT_EQ(item.status, Status::ok) << which << ": " << item.reason.value_or("");
        if (item.split != DeviceSplit::one && item.status == Status::ok) {
            EXPECT_LE(*item.gradient_error, 1e-5) << which;
            EXPECT_LE(*item.parameter_error, 1e-5) << which;
            ++right;
        }
    }
    return right;
}

const std::vector<DeviceSplit> by_copies = {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch};

TEST(DeviceSplits, TwoSharesOnOneGpuGiveItsWeights) {
    CONVCAST_NEED_GPU();
    EXPECT_EQ(expect_one_gpus_weights({0, 0}, by_copies, {2, 13, 128, 2048}), 12);
}

TEST(DeviceSplits, AnyNumberOfSharesOnOneGpuGivesItsWeights) {
    CONVCAST_NEED_GPU();
    EXPECT_EQ(expect_one_gpus_weights({0, 0, 0, 0}, by_copies, {133}), 6); // two and four shares
    EXPECT_EQ(expect_one_gpus_weights({0, 0, 0}, by_copies, {133}), 6);
    EXPECT_EQ(expect_one_gpus_weights({0, 0, 0, 0, 0, 0}, by_copies, {133}), 9);
    EXPECT_EQ(expect_one_gpus_weights({0, 0, 0, 0, 0, 0, 0, 0}, {DeviceSplit::batch}, {133}), 3);
}

TEST(DeviceSplits, SeveralGpusGiveTheWeightsOfOne) {
    CONVCAST_NEED_GPU();
    if (gpus_here() < 2)
        GTEST_SKIP() << "needs two GPUs; this machine has " << gpus_here();
    std::vector<int> devices;
    for (int i = 0; i < std::min(gpus_here(), 6); ++i)
        devices.push_back(i);
    EXPECT_GE(expect_one_gpus_weights(devices, by_copies, {133, 2048}), 6);
}

TEST(DeviceSplits, NcclSumsGradientsOfSeveralGpus) {
    CONVCAST_NEED_GPU();
    if (gpus_here() < 2)
        GTEST_SKIP() << "NCCL takes every GPU once and needs two here; this machine has " << gpus_here();
    CONVCAST_SKIP_IF(why_not([] { const Nccl nccl(DeviceGroup({0, 1})); }));
    EXPECT_EQ(expect_one_gpus_weights({0, 1}, {DeviceSplit::batch_nccl}, {133, 2048}), 2);
}

TEST(DeviceSplits, NcclRefusesOneGpuTwice) {
    CONVCAST_NEED_GPU();
    try {
        const Nccl nccl(DeviceGroup({0, 0}));
        FAIL() << "taken";
    } catch (const GpuError &error) {
        EXPECT_THAT(error.what(),
                    testing::AnyOf(testing::HasSubstr("every GPU once"), testing::HasSubstr("libnccl")));
    }
}

TEST(DeviceSplits, AnUnknownGpuIsNamed) {
    CONVCAST_NEED_GPU();
    EXPECT_THAT(
        [] {
            DeviceGroup({0, 1023});
        },
        testing::ThrowsMessage<GpuError>(testing::HasSubstr("there is no GPU 1023")));
}

/// 20 images in batches of 9: the last batch has two, fewer than three GPUs.
TEST(DeviceSplits, TrainingOverSharesGivesOneGpusWeights) {
    CONVCAST_NEED_GPU();
    const Network network = find_network("mnist");
    LabelledImages images;
    images.shape = network.input;
    for (int i = 0; i < 20; ++i) {
        images.labels.push_back(static_cast<std::uint8_t>(i % 10));
        for (int pixel = 0; pixel < 784; ++pixel)
            images.pixels.push_back(static_cast<float>((i * 31 + pixel * 17) % 101) / 101.0F);
    }
    TrainingOptions options;
    options.descent.batch = 9;
    options.descent.rate = 0.2;
    options.epochs = 3;
    Compiler compiler;
    NetworkRun run;
    const DeviceGroup one({0});
    const Parameters wanted = train_split(compiler, one, network, DeviceSplit::one, images, options, run);
    EXPECT_EQ(run.first().training->steps, 9);
    for (const int devices : {2, 3})
        for (const DeviceSplit split : by_copies) {
            const DeviceGroup group(std::vector<int>(static_cast<std::size_t>(devices), 0));
            const Parameters its = train_split(compiler, group, network, split, images, options, run);
            for (std::size_t i = 0; i < wanted.size(); ++i)
                for (std::size_t j = 0; j < wanted[i].size(); ++j)
                    ASSERT_NEAR(its[i][j], wanted[i][j], 1e-5)
                        << to_text(split) << " " << devices << " " << i << " " << j;
        }
}

} // namespace
} // namespace convcast
