// Operators of networks by hand: shapes, references in double, and what is refused.
#include "model/network/operator_type.hpp"
#include "tests/gpu/every_operator.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace convcast {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

/// An operator's output for these inputs, by its reference.
std::vector<double> computed(Operator op, const std::vector<ImageShape> &shapes,
                             const std::vector<std::vector<double>> &inputs,
                             const std::vector<double> &parameters = {}) {
    const ShapeAnswer answer = output_shape(op, shapes);
    EXPECT_TRUE(answer.shape) << answer.problem;
    if (!answer.shape)
        return {};
    op.output = *answer.shape;
    OperatorStep step{op, shapes, {}, parameters, {}};
    for (const std::vector<double> &input : inputs)
        step.in.push_back(input.data());
    std::vector<double> out(static_cast<std::size_t>(elements(op.output)));
    type_of(op.kind).forward(step, out.data());
    return out;
}

TEST(Operators, EachKindHasARow) {
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<OperatorKind>>([](auto enumerator) {
        const OperatorType &row = type_of(enumerator.value);
        EXPECT_EQ(row.kind, enumerator.value) << enumerator.name;
        EXPECT_EQ(row.forward != nullptr, enumerator.value != OperatorKind::unknown) << enumerator.name;
        EXPECT_EQ(row.device != nullptr, row.form != DeviceForm::own) << enumerator.name;
    });
}

TEST(Operators, EachThatRunsIsInTheNetworkThatGpusAreTestedWith) {
    std::set<OperatorKind> there;
    for (const Operator &op : network_of_every_operator().operators)
        there.insert(op.kind);
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<OperatorKind>>([&](auto enumerator) {
        if (!is_loss(enumerator.value) && enumerator.value != OperatorKind::unknown) {
            EXPECT_TRUE(there.contains(enumerator.value)) << enumerator.name;
        }
    });
}

TEST(Operators, FunctionsByHand) {
    const auto at = [](Operator op, double x) { return computed(op, {{1, 1, 1}}, {{x}}).at(0); };
    const Operator clip{.kind = OperatorKind::clip, .low = -1.0, .high = 6.0};
    EXPECT_EQ(at(clip, 7.0), 6.0);
    EXPECT_EQ(at(clip, -7.0), -1.0);
    EXPECT_EQ(at({.kind = OperatorKind::leaky_relu, .alpha = 0.25}, -4.0), -1.0);
    EXPECT_EQ(at({.kind = OperatorKind::hard_swish}, 1.0), 1.0 * 4.0 / 6.0);
    EXPECT_EQ(at({.kind = OperatorKind::hard_swish}, 5.0), 5.0);
    EXPECT_NEAR(at({.kind = OperatorKind::silu}, 1.0), 0.731058578630005, 1e-12);
    EXPECT_NEAR(at({.kind = OperatorKind::gelu}, 1.0), 0.841344746068543, 1e-12);
    EXPECT_NEAR(at({.kind = OperatorKind::erf}, 1.0), 0.842700792949715, 1e-12);
}

TEST(Operators, ASecondTensorOfOneColumnStandsForAll) {
    // Two channels of 1 x 2, and a factor for each channel, then one for each column.
    EXPECT_THAT(computed({.kind = OperatorKind::multiply}, {{2, 1, 2}, {2, 1, 1}}, {{1, 2, 3, 4}, {10, 100}}),
                ElementsAre(10, 20, 300, 400));
    EXPECT_THAT(computed({.kind = OperatorKind::add}, {{2, 1, 2}, {1, 1, 2}}, {{1, 2, 3, 4}, {10, 100}}),
                ElementsAre(11, 102, 13, 104));
    EXPECT_THAT(output_shape({.kind = OperatorKind::add}, {{2, 1, 2}, {3, 1, 2}}).problem,
                HasSubstr("2 x 1 x 2"));
}

TEST(Operators, GroupsReadTheirOwnChannels) {
    Operator conv{.kind = OperatorKind::convolution, .outputs = 2, .window = TwoSizes{1, 1}, .groups = 2};
    EXPECT_THAT(computed(conv, {{2, 1, 2}}, {{1, 2, 3, 4}}, {10, 100}), ElementsAre(10, 20, 300, 400));
    EXPECT_EQ(parameters(conv, {2, 1, 2}), 2);
    conv.groups = 3;
    EXPECT_THAT(output_shape(conv, {{2, 1, 2}}).problem, HasSubstr("divides"));
}

TEST(Operators, ATransposedConvolutionSpreadsEachPixel) {
    Operator up{.kind = OperatorKind::transposed_convolution,
                .outputs = 1,
                .window = TwoSizes{1, 2},
                .stride = TwoSizes{1, 2}};
    EXPECT_THAT(computed(up, {{1, 1, 2}}, {{3, 5}}, {1, 10}), ElementsAre(3, 30, 5, 50));
    up.stride = {1, 1}; // neighbours meet
    EXPECT_THAT(computed(up, {{1, 1, 2}}, {{3, 5}}, {1, 10}), ElementsAre(3, 35, 50));
}

TEST(Operators, AMeanInsideTheImageLeavesPaddingOut) {
    Operator mean{.kind = OperatorKind::average_pooling};
    mean.window = {1, 3}, mean.stride = {1, 1}, mean.pad = {0, 1};
    EXPECT_THAT(computed(mean, {{1, 1, 2}}, {{3, 6}}), ElementsAre(3, 3));
    mean.inside = true;
    EXPECT_THAT(computed(mean, {{1, 1, 2}}, {{3, 6}}), ElementsAre(4.5, 4.5));
    mean.pad = {0, 0}, mean.pad_end = {0, 2}; // at the end only
    EXPECT_THAT(computed(mean, {{1, 1, 2}}, {{3, 6}}), ElementsAre(4.5, 6));
}

TEST(Operators, NumbersAreMoved) {
    EXPECT_THAT(computed({.kind = OperatorKind::concat}, {{1, 1, 2}, {2, 1, 2}}, {{1, 2}, {3, 4, 5, 6}}),
                ElementsAre(1, 2, 3, 4, 5, 6));
    Operator slice{.kind = OperatorKind::slice};
    slice.begin = {1, 0, 1}, slice.step = {1, 1, 2}, slice.output = {1, 1, 2};
    EXPECT_THAT(computed(slice, {{2, 1, 4}}, {{0, 1, 2, 3, 4, 5, 6, 7}}), ElementsAre(5, 7));
    slice.output = {1, 1, 3};
    EXPECT_THAT(output_shape(slice, {{2, 1, 4}}).problem, HasSubstr("leaves its input"));
    Operator shuffle{.kind = OperatorKind::transpose};
    shuffle.sizes = {2, 2, 1}, shuffle.order = {1, 0, 2}, shuffle.output = {4, 1, 1};
    EXPECT_THAT(computed(shuffle, {{4, 1, 1}}, {{0, 1, 2, 3}}), ElementsAre(0, 2, 1, 3));
    shuffle.order = {1, 1, 2};
    EXPECT_THAT(output_shape(shuffle, {{4, 1, 1}}).problem, HasSubstr("once"));
    Operator pad{.kind = OperatorKind::pad};
    pad.pad = {0, 1}, pad.pad_end = {0, 2}, pad.alpha = 9.0;
    EXPECT_THAT(computed(pad, {{1, 1, 1}}, {{5}}), ElementsAre(9, 5, 9, 9));
}

TEST(Operators, AResizeKnowsWherePixelsLie) {
    Operator resize{.kind = OperatorKind::resize};
    resize.output = {1, 1, 4}, resize.mode = ResizeMode::nearest;
    EXPECT_THAT(computed(resize, {{1, 1, 2}}, {{0, 8}}), ElementsAre(0, 0, 8, 8));
    resize.mode = ResizeMode::bilinear; // middles at 1/4, 3/4, 5/4, 7/4 of a pixel, less a half
    EXPECT_THAT(computed(resize, {{1, 1, 2}}, {{0, 8}}), ElementsAre(0, 2, 6, 8));
    resize.mode =
        ResizeMode::bilinear_asymmetric; // at 0, 1/2, 1 and 3/2: behind the last pixel there is none
    EXPECT_THAT(computed(resize, {{1, 1, 2}}, {{0, 8}}), ElementsAre(0, 4, 8, 8));
    resize.mode = ResizeMode::bilinear_corners;
    EXPECT_THAT(computed(resize, {{1, 1, 2}}, {{0, 9}}), Pointwise(DoubleNear(1e-12), {0.0, 3.0, 6.0, 9.0}));
}

TEST(Operators, LayerNormIsOverTheChannelsOfAPixel) {
    EXPECT_THAT(computed({.kind = OperatorKind::layer_norm, .alpha = 0.0}, {{2, 1, 2}}, {{1, 10, 3, 30}}),
                Pointwise(DoubleNear(1e-12), {-1.0, -1.0, 1.0, 1.0}));
}

TEST(Operators, AFieldThatAKindHasNotIsRefused) {
    const ShapeAnswer answer = output_shape({.kind = OperatorKind::relu, .groups = 2}, {{1, 1, 1}});
    EXPECT_EQ(answer.field, "groups");
    EXPECT_THAT(answer.problem, HasSubstr("relu has no \"groups\""));
    EXPECT_THAT(output_shape({.kind = OperatorKind::leaky_relu}, {{1, 1, 1}}).problem,
                HasSubstr("\"alpha\": 0.01"));
}

} // namespace
} // namespace convcast
