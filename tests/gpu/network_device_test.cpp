// Kernels of networks on a GPU: every rung right, for one image and for batches that do not fill their last
// group.
#include "executor/network/run_network.hpp"
#include "executor/network/sequential.hpp"
#include "gpu/activity.hpp"
#include "gpu/counters.hpp"
#include "model/network/idx.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {
namespace {

using NetworkLadder = OnGpu;
using NetworkTraining = OnGpu;

/// Rungs that ran; the others were refused.
int expect_right(const std::string &name, std::int64_t batch) {
    const Device device(0);
    Compiler compiler;
    const Network network = find_network(name);
    CaseOptions options;
    options.seed = 20240601;
    options.time = false;
    int right = 0;
    for (const NetworkCase &rung :
         run_ladder(compiler, device, find_ladder(network), network, batch, options).cases) {
        EXPECT_TRUE(rung.status == Status::ok || rung.status == Status::infeasible)
            << name << " " << *rung.id << ": " << rung.reason.value_or("");
        right += rung.status == Status::ok;
    }
    return right;
}

TEST_F(NetworkLadder, FashionMnistIsRightForOneImage) {
    EXPECT_GE(expect_right("fashion_mnist", 1), 15);
}

TEST_F(NetworkLadder, FashionMnistIsRightForBatches) {
    for (const std::int64_t batch : {2, 7, 65, 300})
        EXPECT_GE(expect_right("fashion_mnist", batch), 6);
}

/// Of a timed ladder with that rung alone.
NetworkCase timed_rung(const std::string &name, const std::string &id, std::int64_t batch) {
    const Device device(0);
    Compiler compiler;
    const Network network = find_network(name);
    Ladder ladder = find_ladder(network);
    std::erase_if(ladder.rungs, [&](const Rung &rung) { return rung.id != id; });
    const NetworkCase item = run_ladder(compiler, device, ladder, network, batch, {}).cases.front();
    EXPECT_EQ(item.status, Status::ok) << item.reason.value_or("");
    return item;
}

TEST_F(NetworkLadder, CopiesOfSeveralStreamsAreTraced) {
    CONVCAST_SKIP_IF(ActivityTrace::why_not_available());
    const NetworkCase item = timed_rung("mnist", "data_oriented", 2048);
    std::int64_t copies = 0, bytes = 0;
    for (const KernelTime &its : item.kernels)
        if (its.is_copy()) {
            EXPECT_EQ(its.kernel, "copy from the host");
            copies += its.launches, bytes += its.launches * *its.bytes;
        }
    EXPECT_EQ(item.kernels.front().kernel, "oriented_clear"); // lines of the rung come first
    EXPECT_EQ(copies, 16);
    EXPECT_EQ(bytes, 2048 * 28 * 28 * 4);
}

/// A block of conv1 has 32 warps of the 64 that an SM holds, and no SM has two of the 32 blocks.
TEST_F(NetworkLadder, OccupancyOfEachLaunchIsCounted) {
    CONVCAST_SKIP_IF(ActivityTrace::why_not_available());
    CONVCAST_SKIP_IF(why_no_counters());
    const NetworkCase item = timed_rung("fashion_mnist", "dense2_shared", 1);
    std::int64_t launches = 0;
    for (const KernelTime &its : item.kernels) {
        if (its.is_copy())
            continue;
        ++launches;
        ASSERT_TRUE(its.occupancy) << its.kernel;
        EXPECT_GT(*its.occupancy, 0.005) << its.kernel;
        EXPECT_LT(*its.occupancy, 0.52) << its.kernel;
    }
    EXPECT_EQ(launches, 6);
    EXPECT_GT(*item.kernels.front().occupancy, 0.25);
}

/// As train() does it, by the reference in double.
Parameters trained_by_reference(const Network &network, const LabelledImages &images,
                                const TrainingOptions &options) {
    const Descent &descent = options.descent;
    const std::int64_t count = std::ssize(images.labels), pixels = elements(images.shape);
    Parameters parameters = seeded_parameters(network, options.seed), velocity = parameters;
    for (std::vector<double> &of : velocity)
        std::fill(of.begin(), of.end(), 0.0);
    for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
        const std::vector<std::int32_t> order = order_of_epoch(count, options.seed, epoch);
        for (std::int64_t first = 0; first < count; first += descent.batch) {
            const std::int64_t some = std::min(descent.batch, count - first);
            std::vector<double> batch;
            std::vector<std::uint8_t> labels;
            for (std::int64_t i = first; i < first + some; ++i) {
                const auto image = order[static_cast<std::size_t>(i)];
                batch.insert(batch.end(), images.pixels.begin() + image * pixels,
                             images.pixels.begin() + (image + 1) * pixels);
                labels.push_back(images.labels[static_cast<std::size_t>(image)]);
            }
            const Parameters by = gradient(network, some, batch, parameters, labels);
            for (std::size_t i = 0; i < by.size(); ++i)
                for (std::size_t j = 0; j < by[i].size(); ++j) {
                    velocity[i][j] =
                        descent.momentum * velocity[i][j] + by[i][j] + descent.decay * parameters[i][j];
                    parameters[i][j] -= rate_of_epoch(descent, epoch) * velocity[i][j];
                }
        }
    }
    return parameters;
}

TEST_F(NetworkTraining, StepsAreThoseOfTheReference) {
    const Device device(0);
    Compiler compiler;
    for (const char *name : {"mnist", "fashion_mnist"}) {
        const Network network = find_network(name);
        const LabelledImages images = generated_images(network.input, 42, 5);
        TrainingOptions options;
        options.descent = {16, 3, 0.1, 0.9, 0.01}; // the last batch of an epoch has ten images
        options.epochs = 3;
        const TrainedNetwork trained =
            train(compiler, device, find_ladder(network), network, images, images, options);
        const NetworkCase &run = trained.run.first();
        const Parameters wanted = trained_by_reference(network, images, options),
                         found = parameters_of(trained.weights, network),
                         before = seeded_parameters(network, options.seed);
        double most = 0.0, moved = 0.0;
        for (std::size_t i = 0; i < wanted.size(); ++i)
            for (std::size_t j = 0; j < wanted[i].size(); ++j) {
                most = std::max(most, std::abs(found[i][j] - wanted[i][j]));
                moved = std::max(moved, std::abs(wanted[i][j] - before[i][j]));
            }
        EXPECT_LT(most, 1e-4) << name; // weights have four decimals
        EXPECT_GT(moved, 1e-2) << name;
        EXPECT_EQ(run.training->steps, 9);
        EXPECT_EQ(run.disagreements, 0) << name;
    }
}

TEST_F(NetworkTraining, EveryRungClassifiesAlike) {
    const Device device(0);
    Compiler compiler;
    for (const char *name : {"mnist", "fashion_mnist"}) {
        const Network network = find_network(name);
        const LabelledImages images = generated_images(network.input, 30, 5);
        TrainingOptions options;
        options.descent.batch = 16;
        options.epochs = 0;
        const NetworkRun run =
            train(compiler, device, find_ladder(network), network, images, images, options).run;
        EXPECT_GE(run.cases.size(), std::string(name) == "mnist" ? 4U : 16U) << "the training and each rung";
        for (std::size_t i = 1; i < run.cases.size(); ++i)
            EXPECT_EQ(run.cases[i].disagreements, 0) << name << " " << *run.cases[i].id;
    }
}

TEST_F(NetworkLadder, MnistsGradientIsThatOfTheReference) {
    for (const std::int64_t batch : {1, 13, 128, 2085}) // 2085: streams of 131 images, the last has 120
        EXPECT_EQ(expect_right("mnist", batch), 6);
}

} // namespace
} // namespace convcast
