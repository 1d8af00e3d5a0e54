// Training split over GPUs gives one GPU's weights: on one GPU that stands in the list several times, and on
// several where the machine has them.
#include "executor/network/devices_group.hpp"
#include "executor/network/rank.hpp"
#include "executor/network/run_network.hpp"
#include "gpu/activity.hpp"
#include "model/base/errors.hpp"
#include "tests/gpu/require_library.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#if __has_include(<nccl.h>)
#include <nccl.h>
static_assert(ncclSuccess == 0 && ncclFloat32 == 7 && ncclSum == 0, "rank.cpp has these numbers");
static_assert(sizeof(ncclComm_t) == sizeof(void *), "rank.hpp takes communicators to be pointers");
static_assert(sizeof(ncclUniqueId) == 128, "rank.hpp has room for an id");
#endif

namespace convcast {
namespace {

using DeviceSplits = OnGpu;
using DeviceTraces = OnGpu;
using DividedRungDevice = OnGpu;
using Ranks = OnGpu;

int gpus_here() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

/// Verifies these splits on the GPUs; cases that were right.
int expect_one_gpus_weights(const std::vector<int> &devices, std::vector<DeviceSplit> splits,
                            std::vector<std::int64_t> batches, const std::string &name = "mnist") {
    const DeviceGroup group(devices);
    const Network network = find_network(name);
    NetworkRun scaling;
    scaling.devices = devices;
    scaling.cases = scaling_cases(network, {devices, std::move(splits), std::move(batches), false, true});
    Compiler compiler;
    CaseOptions options;
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

TEST_F(DeviceSplits, TwoSharesOnOneGpuGiveItsWeights) {
    EXPECT_EQ(expect_one_gpus_weights({0, 0}, by_copies, {2, 13, 128, 2048}), 12);
}

TEST_F(DeviceSplits, AnyNumberOfSharesOnOneGpuGivesItsWeights) {
    EXPECT_EQ(expect_one_gpus_weights({0, 0, 0, 0}, by_copies, {133}), 6); // two and four shares
    EXPECT_EQ(expect_one_gpus_weights({0, 0, 0}, by_copies, {133}), 6);
    EXPECT_EQ(expect_one_gpus_weights({0, 0, 0, 0, 0, 0}, by_copies, {133}), 9);
    EXPECT_EQ(expect_one_gpus_weights({0, 0, 0, 0, 0, 0, 0, 0}, {DeviceSplit::batch}, {133}), 3);
}

TEST_F(DeviceSplits, SeveralGpusGiveTheWeightsOfOne) {
    if (gpus_here() < 2)
        GTEST_SKIP() << "needs two GPUs; this machine has " << gpus_here();
    std::vector<int> devices;
    for (int i = 0; i < std::min(gpus_here(), 6); ++i)
        devices.push_back(i);
    EXPECT_GE(expect_one_gpus_weights(devices, by_copies, {133, 2048}), 6);
}

TEST_F(DeviceSplits, NcclSumsGradientsOfSeveralGpus) {
    if (gpus_here() < 2)
        GTEST_SKIP() << "NCCL takes every GPU once and needs two here; this machine has " << gpus_here();
    CONVCAST_SKIP_IF(why_not([] { const Nccl nccl; }));
    EXPECT_EQ(expect_one_gpus_weights({0, 1}, {DeviceSplit::batch_nccl}, {133, 2048}), 2);
    EXPECT_EQ(expect_one_gpus_weights({0, 1}, {DeviceSplit::batch_nccl}, {3, 128}, "fashion_mnist"), 2);
}

TEST_F(DeviceSplits, NcclRefusesOneGpuTwice) {
    CONVCAST_SKIP_IF(why_not([] { const Nccl nccl; }));
    EXPECT_THAT(
        [] {
            as_ranks({0, 0}, [](Rank &) {});
        },
        testing::Throws<std::exception>(
            testing::Property(&std::exception::what, testing::HasSubstr("ranks 0 and 1 have the same GPU"))));
}

TEST_F(DeviceSplits, AnUnknownGpuIsNamed) {
    EXPECT_THAT(
        [] {
            DeviceGroup({0, 1023});
        },
        testing::ThrowsMessage<GpuError>(testing::HasSubstr("there is no GPU 1023")));
}

/// What is timed of a network's cases on these GPUs.
NetworkRun timed(const std::vector<int> &devices, std::vector<NetworkCase> cases) {
    const DeviceGroup group(devices);
    NetworkRun run;
    run.devices = devices;
    run.cases = std::move(cases);
    Compiler compiler;
    CaseOptions options;
    options.seed = 20240601;
    run_scaling(compiler, group, find_network("mnist"), run, options);
    for (const NetworkCase &item : run.cases) {
        EXPECT_EQ(item.status, Status::ok) << item.name() << ": " << item.reason.value_or("");
        EXPECT_FALSE(run.conditions.contains("not_traced")) << run.conditions["not_traced"];
    }
    return run;
}

/// Launches of kernels, or of copies, whose names begin so.
std::int64_t traced(const NetworkCase &item, int device, const std::string &name) {
    std::int64_t launches = 0;
    for (const KernelTime &its : item.kernels)
        if (its.device == device && its.kernel.starts_with(name))
            launches += its.launches;
    return launches;
}

/// A step by rows: a forward part, the exchange of features, the way back, the exchange of gradients.
TEST_F(DeviceTraces, AStepOnTwoSharesOfOneGpuHasAllItsKernelsAndCopies) {
    CONVCAST_SKIP_IF(ActivityTrace::why_not_available());
    const NetworkCase item =
        timed({0, 0}, {case_of(find_network("mnist"), DeviceSplit::rows, 2, 2048)}).cases.front();
    for (const char *kernel : {"rows_forward", "rows_back", "gather", "update_rows"})
        EXPECT_EQ(traced(item, 0, kernel), 2) << kernel;
    EXPECT_EQ(traced(item, 0, "copy"), 4);
}

TEST_F(DeviceTraces, AStepOnTwoGpusHasTheKernelsAndCopiesOfEach) {
    if (gpus_here() < 2)
        GTEST_SKIP() << "needs two GPUs; this machine has " << gpus_here();
    CONVCAST_SKIP_IF(ActivityTrace::why_not_available());
    const Network mnist = find_network("mnist");
    const NetworkRun run = timed({0, 1}, {case_of(mnist, DeviceSplit::rows, 2, 2048),
                                          case_of(mnist, DeviceSplit::parameters, 2, 2048),
                                          case_of(mnist, DeviceSplit::batch, 2, 2048)});
    const NetworkCase &rows = run.cases.front();
    for (const int device : {0, 1}) {
        for (const char *kernel : {"rows_forward", "rows_back", "gather", "update_rows"})
            EXPECT_EQ(traced(rows, device, kernel), 1) << device << " " << kernel;
        EXPECT_EQ(traced(rows, device, device == 0 ? "copy to GPU 1" : "copy to GPU 0"), 2) << device;
        EXPECT_EQ(traced(run.cases[2], device, "mnist_step"), 1) << device;
    }
    for (const NetworkCase &item : run.cases)
        for (const KernelTime &its : item.kernels) {
            EXPECT_GE(its.begins_s.value, 0.0) << item.name() << " " << its.kernel;
            EXPECT_LT(its.ends_s.value, 1e-3) << item.name() << " " << its.kernel;
            EXPECT_GT(its.bytes.value_or(1), 0) << item.name() << " " << its.kernel;
        }
    // Features are exchanged once both have been computed, and the way back waits for them.
    const auto line = [&](int device, const std::string &name) {
        return *std::ranges::find_if(rows.kernels, [&](const KernelTime &its) {
            return its.device == device && its.kernel.starts_with(name);
        });
    };
    EXPECT_GE(line(0, "copy").begins_s, line(0, "rows_forward").ends_s);
    EXPECT_GE(line(0, "rows_back").begins_s, line(0, "copy").begins_s);
}

/// The launches of an implementation on each GPU, as many as one GPU alone has.
void expect_divided(const std::vector<int> &devices) {
    const Ladder ladder = find_ladder(find_network("mnist"));
    const NetworkCase item = timed(devices, {*divided_case(ladder, 2)}).cases.front();
    EXPECT_LE(item.output_error.value_or(1.0), 1e-5);
    EXPECT_GT(item.measured->stream_s->value, 0.0);
    if (ActivityTrace::why_not_available())
        return;
    const bool two = devices[0] != devices[1];
    for (const int device : {devices[0], devices[1]}) {
        EXPECT_EQ(traced(item, device, "oriented_convolve"), (two ? 1 : 2) * 16 * 25) << device;
        EXPECT_EQ(traced(item, device, "copy from the host"), (two ? 1 : 2) * 16) << device;
    }
}

TEST_F(DividedRungDevice, TwoSharesOnOneGpuGiveItsOutputs) {
    expect_divided({0, 0});
}

TEST_F(DividedRungDevice, TwoGpusGiveTheOutputsOfOne) {
    if (gpus_here() < 2)
        GTEST_SKIP() << "needs two GPUs; this machine has " << gpus_here();
    expect_divided({0, 1});
}

/// Images and labels without a pattern that matters.
LabelledImages some_images(const Network &network, int count) {
    LabelledImages images;
    images.shape = network.input;
    for (int i = 0; i < count; ++i) {
        images.labels.push_back(static_cast<std::uint8_t>(i % 10));
        for (int pixel = 0; pixel < 784; ++pixel)
            images.pixels.push_back(static_cast<float>((i * 31 + pixel * 17) % 101) / 101.0F);
    }
    return images;
}

/// Trains over so many GPUs, each a rank, and by one GPU's own kernels; largest difference of a weight.
double difference_by_ranks(const std::string &name, const std::vector<int> &devices) {
    const Network network = find_network(name);
    const Ladder ladder = find_ladder(network);
    const LabelledImages images = some_images(network, 19); // in batches of 9: the last one has one image
    TrainingOptions options;
    options.descent.batch = 9;
    options.descent.rate = 0.05;
    options.descent.momentum = 0.9;
    options.descent.decay = 0.001;
    options.epochs = 3;
    const Device first(devices.front());
    Compiler compiler;
    const TrainedNetwork alone = train(compiler, first, ladder, network, images, images, options),
                         ranks = train_over(compiler, first, DeviceGroup(devices), DeviceSplit::batch_nccl,
                                            ladder, network, images, images, options);
    EXPECT_EQ(ranks.run.conditions.at("ranks"), std::to_string(devices.size()));
    double most = 0.0;
    for (const auto &[layer, weights] : alone.weights.operators)
        for (std::size_t i = 0; i < weights.size(); ++i)
            most = std::max(most, std::abs(weights[i] - ranks.weights.operators.at(layer)[i]));
    return most;
}

constexpr double written_digit = 1.01e-4; ///< weights are rounded to four decimals

TEST_F(Ranks, OneAloneTrainsAsOneGpuDoes) {
    CONVCAST_SKIP_IF(why_not([] { const Nccl nccl; }));
    for (const char *network : {"mnist", "fashion_mnist"})
        EXPECT_LE(difference_by_ranks(network, {0}), written_digit) << network;
}

TEST_F(Ranks, OnSeveralGpusTrainAsOneGpuDoes) {
    if (gpus_here() < 2)
        GTEST_SKIP() << "needs two GPUs; this machine has " << gpus_here();
    CONVCAST_SKIP_IF(why_not([] { const Nccl nccl; }));
    for (const char *network : {"mnist", "fashion_mnist"})
        EXPECT_LE(difference_by_ranks(network, {0, 1}), written_digit) << network;
}

/// A rank that ends in the middle of a training leaves the other one with the epochs that were finished.
TEST_F(Ranks, ATrainingThatIsCutKeepsItsEpochs) {
    if (gpus_here() < 2)
        GTEST_SKIP() << "needs two GPUs; this machine has " << gpus_here();
    CONVCAST_SKIP_IF(why_not([] { const Nccl nccl; }));
    const Network network = find_network("mnist");
    const Ladder ladder = find_ladder(network);
    const LabelledImages images = some_images(network, 64);
    std::int64_t kept = 0;
    std::string why;
    const auto part = [&](Rank &rank) {
        const Device device(rank.index());
        Compiler compiler;
        TrainingOptions options;
        options.descent.batch = 8;
        options.descent.rate = 0.05;
        options.epochs = rank.index() == 0 ? 1'000'000 : 200; // the second one ends early
        try {
            (void)train(compiler, device, ladder, network, images, images, options, &rank);
        } catch (const TrainingCut &cut) {
            kept = cut.epochs;
            why = cut.what();
            EXPECT_EQ(cut.parameters.size(), network.operators.size());
            throw;
        }
        if (rank.index() == 1)
            throw GpuError("on purpose");
    };
    EXPECT_THAT(
        [&] {
            as_ranks({0, 1}, part);
        },
        testing::ThrowsMessage<GpuError>(testing::HasSubstr("on purpose")));
    EXPECT_GE(kept, 190);
    EXPECT_THAT(why, testing::HasSubstr("rank 1 ended: on purpose"));
}

/// 20 images in batches of 9: the last batch has two, fewer than three GPUs.
TEST_F(DeviceSplits, TrainingOverSharesGivesOneGpusWeights) {
    const Network network = find_network("mnist");
    const LabelledImages images = some_images(network, 20);
    TrainingOptions options;
    options.descent.batch = 9;
    options.descent.rate = 0.2;
    options.epochs = 3;
    Compiler compiler;
    NetworkRun run;
    const DeviceGroup one({0});
    const Parameters wanted = train_split(compiler, one, network, DeviceSplit::batch, images, options, run);
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
