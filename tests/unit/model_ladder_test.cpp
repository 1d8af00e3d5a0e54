// Ladders, the ways to run a network, and the images it is run on.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/training.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

using namespace convcast;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

const Rung &rung_of(const Ladder &ladder, const std::string &id) {
    for (const Rung &rung : ladder.rungs)
        if (rung.id == id)
            return rung;
    throw std::runtime_error("no rung " + id);
}

TEST(Ladder, VadlamudisNumbersAreThoseOfThePaper) {
    const Network network = find_network("fashion_mnist");
    const Ladder ladder = find_ladder(network);
    EXPECT_EQ(*ladder.published_cpu_s, Seconds(13.744e-3));
    const std::vector<std::pair<std::string, double>> printed = {
        {"global", 0.706},       {"conv1_shared", 0.723},  {"pool1_shared", 0.724},  {"pool2_shared", 0.724},
        {"conv2_shared", 0.708}, {"dense1_shared", 0.629}, {"dense2_shared", 0.613}, {"constant", 0.593},
        {"first_fused", 0.465},  {"both_fused", 0.392}};
    for (const auto &[id, ms] : printed)
        EXPECT_NEAR(rung_of(ladder, id).published_s->value, ms * 1e-3, 1e-12) << id;
    EXPECT_EQ(rung_of(ladder, "global").launches.size(), 6U);
    EXPECT_EQ(rung_of(ladder, "both_fused").launches.size(), 4U);
    EXPECT_THAT(rung_of(ladder, "global").launches[0].grid, ElementsAre(32, 1, 1));
    EXPECT_THAT(rung_of(ladder, "global").launches[2].block, ElementsAre(8, 8, 1));
    EXPECT_THAT(rung_of(ladder, "dense1_shared").launches[4].grid, ElementsAre(64, 1, 1));
}

TEST(Ladder, ConstantMemoryRefusesBothFilterSets) {
    const Network network = find_network("fashion_mnist");
    const Ladder ladder = find_ladder(network);
    // 4 * (784 + 800 + 51,200) bytes
    EXPECT_THAT(*refusal(rung_of(ladder, "constant_all"), network, 1, 90),
                AllOf(HasSubstr("211136 bytes"), HasSubstr("0x338c0"), HasSubstr("0x10000")));
    EXPECT_EQ(refusal(rung_of(ladder, "constant"), network, 1, 90), std::nullopt);
    EXPECT_THAT(*refusal(rung_of(ladder, "constant"), network, 2, 90), HasSubstr("one image"));
    EXPECT_EQ(refusal(rung_of(ladder, "one_kernel"), network, 65535, 90), std::nullopt);
    EXPECT_THAT(*refusal(rung_of(ladder, "one_kernel"), network, 65536, 90), HasSubstr("at most 65535"));
    EXPECT_THAT(*refusal(rung_of(ladder, "one_kernel"), network, 1, 89), HasSubstr("9.0"));
    EXPECT_EQ(refusal(rung_of(ladder, "batch"), network, 70000, 80), std::nullopt);
}

TEST(Ladder, GridsFollowTheBatch) {
    const Ladder ladder = find_ladder(find_network("fashion_mnist"));
    const LadderLaunch &pool = rung_of(ladder, "global").launches[1];
    EXPECT_THAT(grid_of(pool, 7, 132), ElementsAre(32, 7, 1));
    const LadderLaunch &pairs = rung_of(ladder, "batch").launches[0],
                       &dense = rung_of(ladder, "batch").launches[1];
    EXPECT_THAT(grid_of(pairs, 5, 132), ElementsAre(4, 1, 1)); // two blocks for each group of four images
    EXPECT_THAT(grid_of(pairs, 1024, 132), ElementsAre(132, 1, 1));
    EXPECT_THAT(grid_of(pairs, 1024, 131), ElementsAre(130, 1, 1));
    EXPECT_THAT(grid_of(pairs, 1024, 1), ElementsAre(2, 1, 1));
    EXPECT_THAT(grid_of(dense, 33, 132), ElementsAre(3, 1, 1));
    const LadderLaunch &prepares = rung_of(ladder, "batch").prepare[0];
    EXPECT_THAT(grid_of(prepares, 33, 132), ElementsAre(200, 1, 1));
}

TEST(Ladder, WhatAFileHasWrongIsSaid) {
    const Network network = find_network("mnist");
    const auto says = [&](const std::string &launches, const std::string &what) {
        const std::string text =
            R"({"schema": "convcast/ladder/1", "network": "mnist", "title": "t", "citation": "c", "rungs": [
               {"id": "a", "title": "t", "source": "mnist", "launches": [)" +
            launches + "]}]}";
        EXPECT_THAT([&] { read_ladder(text, "mine.json", network); },
                    ThrowsMessage<InputError>(HasSubstr(what)));
    };
    says(R"({"kernel": "k", "operators": ["bias1"], "operands": [], "grid": [1, 1, 1], "block": [1, 1, 1]})",
         "next \"conv1\", found \"bias1\"");
    says(
        R"({"kernel": "k", "operators": ["conv1"], "operands": ["inputs"], "grid": [1, 1, 1], "block": [1, 1, 1]})",
        "found \"inputs\"; did you mean 'input'?");
    says(
        R"({"kernel": "k", "operators": ["conv1"], "operands": ["relu1.parameters"], "grid": [1, 1, 1], "block": [1, 1, 1]})",
        "found \"relu1.parameters\"");
    says(R"({"kernel": "k", "operators": ["conv1"], "operands": [], "grid": [1, 1, 1], "block": [1, 1, 1]})",
         "no launch computes \"bias1\"");
    says(R"({"kernel": "k", "operands": [], "grid": [1, 1, 1], "block": [64, 32, 1]})",
         "at most 1024 threads");
    says(R"({"kernel": "k", "operands": [], "grid": [0, 1, 1], "block": [64, 1, 1]})", "got 0");
    EXPECT_THAT([] { find_ladder(find_network("vgg16")); },
                ThrowsMessage<UsageError>(HasSubstr("'vgg16' has no ladder")));
    EXPECT_THAT(
        [&] {
            read_ladder(R"({"schema": "convcast/ladder/1", "network": "x", "title": "", "citation": ""})",
                        "m", network);
        },
        ThrowsMessage<InputError>(HasSubstr("expected \"mnist\", found \"x\"")));
}

TEST(Ladder, RecordedRunsAreOfTheRungsThatShip) {
    const std::string folder = std::string(CONVCAST_SOURCE_DIR) + "/data/recorded/h200/ladders/";
    for (const std::string name : {"fashion_mnist_b1", "fashion_mnist_b128", "fashion_mnist_b1024",
                                   "fashion_mnist_b10000", "mnist_b2048"}) {
        const NetworkRun run = described::read_document<NetworkRun>(read_file(folder + name + ".json"), name);
        const Ladder ladder = find_ladder(find_network(run.network));
        ASSERT_EQ(run.cases.size(), ladder.rungs.size()) << name;
        for (std::size_t i = 0; i < run.cases.size(); ++i) {
            const NetworkCase &rung = run.cases[i];
            EXPECT_EQ(rung.id, ladder.rungs[i].id);
            EXPECT_EQ(rung.published_s, ladder.rungs[i].published_s) << *rung.id;
            EXPECT_TRUE(rung.status == Status::infeasible ||
                        (rung.measured_s() && *rung.output_error <= 1e-5));
        }
    }
}

// ---- weights ----

TEST(Weights, WhatShipsFitsItsNetwork) {
    const Network network = find_network("mnist");
    const Parameters parameters = parameters_of(find_weights("mnist", network), network);
    ASSERT_EQ(parameters.size(), network.operators.size());
    EXPECT_EQ(parameters[0].size(), 150U);
    EXPECT_TRUE(parameters[2].empty());
    EXPECT_EQ(parameters[4].size(), 2160U);
    EXPECT_EQ(parameters_of(weights_of(parameters, network, "again"), network), parameters);
}

TEST(Weights, ThoseOfFashionMnistShipPacked) {
    const Network network = find_network("fashion_mnist");
    const Weights weights = find_weights("fashion_mnist", network);
    const Parameters parameters = parameters_of(weights, network);
    EXPECT_EQ(parameters[4].size(), 51200U);
    EXPECT_EQ(parameters[8].size(), 65536U);
    EXPECT_THAT(weights.made_by, HasSubstr("200 epochs of 60000 images"));
    EXPECT_EQ(rounded(parameters), parameters);
}

/// What an H200 measured is what the documents of trainings say, and every rung classified alike.
TEST(Training, RecordedOnesReachWhatTheDocsSay) {
    const std::string folder = std::string(CONVCAST_SOURCE_DIR) + "/data/recorded/h200/training/";
    const auto read = [&](const std::string &name) {
        return described::read_document<NetworkRun>(read_file(folder + name + ".json"), name).cases;
    };
    EXPECT_DOUBLE_EQ(*read("fashion_mnist")[0].accuracy, 0.9187);
    EXPECT_DOUBLE_EQ(*read("mnist")[0].accuracy, 0.9798);
    EXPECT_LT(read("fashion_mnist")[0].measured_s()->value, 90e-6);
    for (const std::string name : {"fashion_mnist", "mnist"}) {
        const NetworkCase trained = read(name)[0];
        const std::vector<NetworkCase> every = read(name + "_every_rung");
        const Training training = *trained.training, held = *read(name + "_held_out")[0].training;
        EXPECT_EQ(training.descent.rate, held.descent.rate) << name; // chosen on images held out
        EXPECT_EQ(training.descent.decay, held.descent.decay) << name;
        EXPECT_EQ(training.epochs, held.epochs) << name;
        EXPECT_EQ(held.tested_on, "training images held out");
        EXPECT_GE(every.size(), name == "mnist" ? 4U : 16U) << "the training and each rung";
        for (std::size_t i = 1; i < every.size(); ++i) {
            EXPECT_DOUBLE_EQ(*every[i].accuracy, *trained.accuracy) << name << " " << *every[i].id;
            EXPECT_EQ(every[i].disagreements, 0) << name << " " << *every[i].id;
        }
    }
}

TEST(Weights, ForeignMissingAndCutOnesAreRefused) {
    const Network network = find_network("mnist");
    const auto says = [&](const std::string &its_network, const std::string &operators,
                          const std::string &what) {
        const std::string text = R"({"schema": "convcast/weights/1", "network": ")" + its_network +
                                 R"(", "made_by": "hand", "operators": {)" + operators + "}}";
        EXPECT_THAT([&] { read_weights(text, "w.json", network); },
                    ThrowsMessage<InputError>(HasSubstr(what)));
    };
    says("fashion_mnist", "", "expected weights of \"mnist\", found \"fashion_mnist\"");
    says("mnist", "", "the parameters of \"conv1\" are missing, 150 numbers");
    says("mnist", R"("bias1": [1, 2, 3])", "w.json:1: /operators/bias1: expected 6 numbers, found 3");
    says("mnist", R"("conv2": [1])", "no operator of mnist with parameters");
    says("mnist", R"("bias1": [1, 2, 3, 4, 5, 1e9])", "expected a number");
    EXPECT_THAT([&] { find_weights("nowhere", network); },
                ThrowsMessage<UsageError>(HasSubstr("no weights 'nowhere'")));
}

TEST(Weights, TheFirstOfTheLargestIsTheClass) {
    EXPECT_THAT(classified({1, 3, 3, 5, 4, 2}, 3), ElementsAre(1, 0));
}

// ---- IDX ----

std::string words(const std::vector<std::uint32_t> &values) {
    std::string bytes;
    for (const std::uint32_t value : values)
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

const std::string two_images = words({0x803, 2, 1, 2}) + std::string("\x00\xff\x33\x66", 4);
const std::string two_labels = words({0x801, 2}) + std::string("\x09\x00", 2);

TEST(Idx, ReadsImagesAndLabels) {
    const LabelledImages images = read_idx(two_images, "i", two_labels, "l", 10);
    EXPECT_EQ(images.shape, (ImageShape{1, 1, 2}));
    EXPECT_THAT(images.pixels, ElementsAre(0.0F, 1.0F, 0.2F, 0.4F));
    EXPECT_THAT(images.labels, ElementsAre(9, 0));
}

TEST(Idx, RefusesWhatIsNotOne) {
    const auto says = [](const std::string &images, const std::string &labels, const std::string &what) {
        EXPECT_THAT([&] { read_idx(images, "images.gz", labels, "labels", 10); },
                    ThrowsMessage<InputError>(HasSubstr(what)));
    };
    says("", two_labels,
         "images.gz: expected an IDX file of images, which starts with 16 bytes of header, found 0");
    says(two_labels + "12345678", two_labels, "starts with 0x00000803, found 0x00000801");
    says(two_images.substr(0, 19), two_labels,
         "expected 4 bytes behind the header, which says 2 x 1 x 2, found 3: the file was cut");
    says(two_images + "x", two_labels, "expected 4 bytes behind the header, which says 2 x 1 x 2, found 5");
    says(words({0x803, 0xffffffff, 0xffffffff, 0xffffffff}), two_labels,
         "expected 7.92e+28 bytes behind the header");
    says(words({0x803, 0, 28, 28}), two_labels, "has no images: its header says 0 x 28 x 28");
    says(words({0x803, 2, 29, 28}) + std::string(2 * 784, '\0'), two_labels,
         "expected 1624 bytes behind the header, which says 2 x 29 x 28, found 1568");
    says(two_images, words({0x801, 3}) + std::string(3, '\0'), "has 3 labels for the 2 images of images.gz");
    says(two_images, words({0x801, 2}) + std::string("\x09\x0a", 2),
         "labels: label 1 is 10, expected 0 to 9");
}

TEST(Idx, FindsTheFilesOfAFolder) {
    const TemporaryFolder made;
    const std::filesystem::path folder = made.path();
    EXPECT_THAT([&] { read_idx_folder(folder.string(), "t10k", 10); },
                ThrowsMessage<InputError>(HasSubstr("expected the file t10k-images-idx3-ubyte or")));
    std::ofstream(folder / "t10k-images-idx3-ubyte", std::ios::binary) << two_images;
    std::ofstream(folder / "t10k-labels-idx1-ubyte", std::ios::binary) << two_labels;
    EXPECT_EQ(read_idx_folder(folder.string(), "t10k", 10).labels.size(), 2U);
}

} // namespace
