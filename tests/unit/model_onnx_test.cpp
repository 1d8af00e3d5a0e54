// Networks of ONNX graphs: views, sizes that are worked out, what is folded, and what is refused.
#include "model/base/errors.hpp"
#include "model/network/onnx/import.hpp"
#include "model/network/onnx/numbers.hpp"
#include "model/network/onnx/view.hpp"

#include <boost/describe/enum_to_string.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

OnnxNode node(const std::string &type, std::vector<std::string> inputs, std::vector<std::string> outputs,
              std::vector<OnnxAttribute> attributes = {}) {
    return {"/" + outputs.front() + "/" + type, type, std::move(inputs), std::move(outputs),
            std::move(attributes)};
}

OnnxTensor weights(const std::string &name, std::vector<std::int64_t> sizes) {
    return {name, std::move(sizes), true, std::nullopt};
}
/// What a node gives.
OnnxTensor given(const std::string &name, std::vector<std::int64_t> sizes) {
    return {name, std::move(sizes), false, std::nullopt};
}
OnnxTensor numbers(const std::string &name, std::vector<double> values) {
    const bool whole = std::ranges::all_of(values, [](double value) { return value == std::floor(value); });
    return {
        name, {static_cast<std::int64_t>(values.size())}, true, std::move(values), whole ? "int64" : "float"};
}

/// Of images "x" of 4 x 6 x 6, with "y" as its output.
OnnxGraph graph_of(std::vector<OnnxNode> nodes, std::vector<OnnxTensor> tensors = {}) {
    OnnxGraph graph;
    graph.inputs = {"x"}, graph.outputs = {"y"};
    graph.tensors = std::move(tensors);
    graph.tensors.push_back({"x", {0, 4, 6, 6}, false, std::nullopt});
    graph.nodes = std::move(nodes);
    return graph;
}

std::string kinds_of(const Network &network) {
    std::string text;
    for (const Operator &op : network.operators)
        text += (text.empty() ? "" : " ") + std::string(boost::describe::enum_to_string(op.kind, "?"));
    return text;
}
std::string kinds_of(const OnnxGraph &graph) {
    return kinds_of(import_onnx(graph, "mine.onnx"));
}

TEST(OnnxView, ReshapeAndTransposeMoveNothing) {
    const View images = View::of_images({6, 2, 3});
    EXPECT_TRUE(images.in_order());
    const auto split = images.reshaped({1, 2, 3, 2, 3});
    ASSERT_TRUE(split);
    EXPECT_THAT(split->sizes(), ElementsAre(1, 2, 3, 2, 3));
    const View shuffled = split->transposed({0, 2, 1, 3, 4});
    EXPECT_FALSE(shuffled.in_order());
    EXPECT_THAT(shuffled.factors(), ElementsAre(Factor{3, 6}, Factor{2, 18}, Factor{6, 1}));
    const auto flat = shuffled.reshaped({1, 6, 6});
    ASSERT_TRUE(flat);
    EXPECT_EQ(flat->factors(), shuffled.factors());
    EXPECT_FALSE(images.reshaped({1, 5, 7}));
    EXPECT_FALSE(shuffled.reshaped({1, 4, 9})); // 4 is no product of what lies apart
}

TEST(OnnxView, ChannelsLastIsAView) {
    const View last = View::of_images({6, 2, 3}).transposed({0, 2, 3, 1});
    EXPECT_TRUE(last.with_channels(3, 6, 10));
    EXPECT_EQ(last.with_channels(3, 6, 10)->size(3), 10);
    EXPECT_FALSE(last.with_channels(2, 6, 10));
}

TEST(Onnx, BatchNormIsFoldedWhereNothingElseReadsTheSums) {
    const std::vector<OnnxTensor> filters = {weights("w", {8, 4, 3, 3}), weights("b", {8})};
    const OnnxAttribute pads{"pads", {1, 1, 1, 1}, ""};
    EXPECT_EQ(kinds_of(graph_of({node("Conv", {"x", "w"}, {"a"}, {pads}),
                                 node("BatchNormalization", {"a", "b", "b", "b", "b"}, {"n"}),
                                 node("Relu", {"n"}, {"y"})},
                                filters)),
              "convolution bias relu");
    EXPECT_EQ(kinds_of(graph_of({node("Conv", {"x", "w", "b"}, {"a"}, {pads}),
                                 node("BatchNormalization", {"a", "b", "b", "b", "b"}, {"y"})},
                                filters)),
              "convolution bias");
    EXPECT_EQ(kinds_of(graph_of({node("Conv", {"x", "w"}, {"a"}, {pads}),
                                 node("BatchNormalization", {"a", "b", "b", "b", "b"}, {"n"}),
                                 node("Add", {"n", "a"}, {"y"})},
                                filters)),
              "convolution scale bias add");
}

TEST(Onnx, ActivationsThatAreWrittenOutAreOneFunction) {
    EXPECT_EQ(kinds_of(graph_of({node("Sigmoid", {"x"}, {"s"}), node("Mul", {"x", "s"}, {"y"})})), "silu");
    EXPECT_EQ(kinds_of(graph_of(
                  {node("HardSigmoid", {"x"}, {"s"}, {{"alpha", {1.0 / 6.0}, ""}, {"beta", {0.5}, ""}}),
                   node("Mul", {"s", "x"}, {"y"})})),
              "hard_swish");
    EXPECT_EQ(
        kinds_of(graph_of(
            {node("Div", {"x", "root"}, {"d"}), node("Erf", {"d"}, {"e"}), node("Add", {"e", "one"}, {"a"}),
             node("Mul", {"x", "a"}, {"m"}), node("Mul", {"m", "half"}, {"y"})},
            {numbers("root", {1.4142135623730951}), numbers("one", {1.0}), numbers("half", {0.5})})),
        "gelu");
}

TEST(Onnx, SizesThatExportersComputeAreWorkedOut) {
    OnnxTensor third = numbers("third", {2});
    third.sizes = {}; // one number, and no list of one
    const Network network = import_onnx(
        graph_of({node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "third"}, {"rows"}),
                  node("Mul", {"rows", "third"}, {"more"}), node("Unsqueeze", {"more", "zero"}, {"r"}),
                  node("Concat", {"n", "r", "r"}, {"sizes"}, {{"axis", {0}, ""}}),
                  node("Resize", {"x", "", "", "sizes"}, {"y"}, {{"mode", {}, "linear"}})},
                 {third, numbers("zero", {0}), numbers("n", {1, 4})}),
        "mine.onnx");
    ASSERT_EQ(kinds_of(network), "resize");
    EXPECT_EQ(network.operators[0].output, (ImageShape{4, 12, 12}));
    EXPECT_EQ(network.operators[0].mode, ResizeMode::bilinear);
}

// As the exporter of PyTorch writes torch.nn.functional.pad with a padding that is computed from the image's
// size: TensorFlow's SAME, of which the larger half lies behind the image.
TEST(Onnx, PaddingThatIsComputedFromSizesIsWorkedOut) {
    const OnnxAttribute first{"axis", {0}, ""};
    OnnxTensor stride = numbers("stride", {2}), by_two = numbers("by_two", {-1, 2});
    stride.type = "float";
    const Network network = import_onnx(
        graph_of({node("Shape", {"x"}, {"shape"}),
                  node("Gather", {"shape", "axis"}, {"rows"}),
                  node("Cast", {"rows"}, {"real_rows"}, {{"to", {1}, ""}}),
                  node("Div", {"real_rows", "stride"}, {"half_rows"}),
                  node("Ceil", {"half_rows"}, {"up"}),
                  node("Cast", {"up"}, {"p"}, {{"to", {7}, ""}}),
                  node("Sub", {"p", "one"}, {"p_less"}),
                  node("Mul", {"p_less", "two"}, {"reach"}),
                  node("Add", {"reach", "three"}, {"end"}),
                  node("Sub", {"end", "rows"}, {"lack"}),
                  node("Clip", {"lack", "zero", ""}, {"all"}),
                  node("Div", {"all", "two"}, {"before"}),
                  node("Sub", {"all", "before"}, {"behind"}),
                  node("Concat", {"before", "behind", "before", "behind"}, {"last_axes"}, {first}),
                  node("ConstantOfShape", {"four"}, {"other_axes"}, {{"value", {0}, ""}}),
                  node("Concat", {"last_axes", "other_axes"}, {"pairs"}, {first}),
                  node("Reshape", {"pairs", "by_two"}, {"table"}),
                  node("Slice", {"table", "minus_one", "least", "zero", "minus_one"}, {"turned"}),
                  node("Transpose", {"turned"}, {"columns"}, {{"perm", {1, 0}, ""}}),
                  node("Reshape", {"columns", "minus_one"}, {"pads"}),
                  node("Pad", {"x", "pads"}, {"padded"}, {{"mode", {}, "constant"}}),
                  node("Conv", {"padded", "w"}, {"y"}, {{"strides", {2, 2}, ""}})},
                 {weights("w", {8, 4, 3, 3}), numbers("axis", {2}), numbers("one", {1}), numbers("two", {2}),
                  numbers("three", {3}), numbers("zero", {0}), numbers("four", {4}),
                  numbers("minus_one", {-1}), numbers("least", {-9007199254740991.0}), stride, by_two}),
        "mine.onnx");
    ASSERT_FALSE(network.operators.empty());
    EXPECT_THAT(kinds_of(network), AnyOf("convolution", "pad convolution"));
    EXPECT_EQ(network.operators.back().output, (ImageShape{8, 3, 3}));
}

TEST(Onnx, NumbersOfSeveralAxesAreTakenTurnedAndJoined) {
    const Numbers table{{2, 3}, {1, 2, 3, 4, 5, 6}};
    const auto values = [](const std::optional<Numbers> &numbers) {
        return numbers ? numbers->values : std::vector<double>{};
    };
    const Numbers one{{1}, {1}}, backwards{{1}, {-1}}, far{{1}, {-100}};
    EXPECT_THAT(values(computed(node("Gather", {"a", "i"}, {"y"}, {{"axis", {1}, ""}}), {table, one})),
                ElementsAre(2, 5));
    EXPECT_THAT(values(computed(node("Slice", {"a", "b", "e", "x", "s"}, {"y"}),
                                {table, backwards, far, one, Numbers{{1}, {-2}}})),
                ElementsAre(3, 1, 6, 4));
    EXPECT_THAT(values(computed(node("Transpose", {"a"}, {"y"}), {table})), ElementsAre(1, 4, 2, 5, 3, 6));
    EXPECT_THAT(values(computed(node("Concat", {"a", "a"}, {"y"}), {table, table})),
                ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
    EXPECT_THAT(values(computed(node("Div", {"a", "b"}, {"y"}), {table, Numbers{{1}, {2}}})),
                ElementsAre(0, 1, 1, 2, 2, 3)); // integers
    EXPECT_THAT(
        values(computed(node("Div", {"a", "b"}, {"y"}), {Numbers{{1}, {3}, true}, Numbers{{1}, {2}}})),
        ElementsAre(1.5));
    EXPECT_THAT(
        values(computed(node("Clip", {"a", "", "b"}, {"y"}), {table, std::nullopt, Numbers{{}, {2}}})),
        ElementsAre(1, 2, 2, 2, 2, 2)); // without a lower bound
    EXPECT_FALSE(computed(node("Div", {"a", "b"}, {"y"}), {table, Numbers{{1}, {0}}}));
    EXPECT_FALSE(computed(node("Gather", {"a", "i"}, {"y"}), {table, Numbers{{1}, {2}}}));
    EXPECT_FALSE(computed(node("Transpose", {"a"}, {"y"}, {{"perm", {0, 0}, ""}}), {table}));
    EXPECT_FALSE(computed(node("Reshape", {"a", "b"}, {"y"}), {table, Numbers{{2}, {-1, 4}}}));
    EXPECT_FALSE(computed(node("Slice", {"a", "b", "e"}, {"y"}), {Numbers{{5}, {1, 2}}, one, far}));
    // Sizes of a hostile file whose product is nothing: no loop over the others.
    const std::int64_t huge = std::int64_t{1} << 40;
    EXPECT_FALSE(computed(node("Slice", {"a", "b", "e"}, {"y"}), {Numbers{{huge, 0}, {}}, one, far}));
    EXPECT_FALSE(computed(node("Gather", {"a", "i"}, {"y"}, {{"axis", {1}, ""}}),
                          {Numbers{{huge, 0}, {}}, Numbers{{0}, {}}}));
    const Numbers nothing{{4096, 4096, 4096, 4096, 4096, 4096, 0}, {}};
    EXPECT_THAT(
        values(computed(node("Gather", {"a", "i"}, {"y"}, {{"axis", {6}, ""}}), {nothing, Numbers{{0}, {}}})),
        IsEmpty());
    EXPECT_FALSE(computed(node("Concat", {"a", "a"}, {"y"}),
                          {Numbers{{std::int64_t{1} << 62}, {1}}, Numbers{{std::int64_t{1} << 62}, {1}}}));
    // A scalar with a list of one is a list; a row and a column are not joined number by number.
    EXPECT_EQ(computed(node("Mul", {"a", "b"}, {"y"}), {Numbers{{}, {2}}, one})->sizes,
              (std::vector<std::int64_t>{1}));
    EXPECT_FALSE(computed(node("Add", {"a", "b"}, {"y"}),
                          {Numbers{{2, 3}, {1, 2, 3, 4, 5, 6}}, Numbers{{3, 2}, {1, 2, 3, 4, 5, 6}}}));
}

TEST(Onnx, AChannelShuffleIsOneTranspose) {
    const Network network = import_onnx(
        graph_of(
            {node("Reshape", {"x", "split"}, {"a"}),
             node("Transpose", {"a"}, {"b"}, {{"perm", {0, 2, 1, 3, 4}, ""}}),
             node("Reshape", {"b", "joined"}, {"c"}), node("Relu", {"c"}, {"r"}),
             node("Flatten", {"r"}, {"f"}), node("Gemm", {"f", "w"}, {"y"}, {{"transB", {1}, ""}})},
            {numbers("split", {0, 2, 2, 6, 6}), numbers("joined", {0, -1, 6, 6}), weights("w", {10, 144})}),
        "mine.onnx");
    EXPECT_EQ(kinds_of(network), "relu transpose dense"); // it is moved where the order matters first
    EXPECT_THAT(*network.operators[1].sizes, ElementsAre(2, 2, 36));
    EXPECT_THAT(*network.operators[1].order, ElementsAre(1, 0, 2));
}

TEST(Onnx, ChannelsLastNeedsNoMove) {
    EXPECT_EQ(kinds_of(graph_of({node("Transpose", {"x"}, {"t"}, {{"perm", {0, 2, 3, 1}, ""}}),
                                 node("LayerNormalization", {"t", "s", "s"}, {"l"}),
                                 node("MatMul", {"l", "w"}, {"m"}), node("Add", {"bias", "m"}, {"a"}),
                                 node("Transpose", {"a"}, {"y"}, {{"perm", {0, 3, 1, 2}, ""}})},
                                {weights("s", {4}), weights("w", {4, 16}), weights("bias", {16})})),
              "layer_norm scale bias convolution bias");
}

TEST(Onnx, PaddingThatDiffersIsPutAroundTheImageWhereItMatters) {
    const std::vector<OnnxTensor> filters = {weights("w", {8, 4, 3, 3})};
    const auto kinds = [&](std::vector<double> pads, double stride) {
        return kinds_of(graph_of({node("Conv", {"x", "w"}, {"y"},
                                       {{"pads", std::move(pads), ""}, {"strides", {stride, stride}, ""}})},
                                 filters));
    };
    EXPECT_EQ(kinds({0, 0, 1, 1}, 1), "pad convolution");
    EXPECT_EQ(kinds({1, 1, 0, 0}, 2), "convolution"); // no window reaches the end
}

TEST(Onnx, ATensorOfTwoSizesStaysOne) {
    EXPECT_EQ(kinds_of(graph_of({node("Flatten", {"x"}, {"f"}),
                                 node("Concat", {"f", "f"}, {"c"}, {{"axis", {1}, ""}}),
                                 node("Gemm", {"c", "w"}, {"y"}, {{"transB", {1}, ""}})},
                                {weights("w", {10, 288})})),
              "reshape reshape concat dense");
    // Of rows of 36, the first 18 and of these the first 9.
    const Network network = import_onnx(
        graph_of({node("Reshape", {"x", "s"}, {"r"}), node("Slice", {"r", "zero", "a", "two"}, {"p"}),
                  node("Slice", {"p", "zero", "b", "last"}, {"y"})},
                 {numbers("s", {0, 4, 36}), numbers("zero", {0}), numbers("a", {18}), numbers("b", {9}),
                  numbers("two", {2}), numbers("last", {-1})}),
        "mine.onnx");
    EXPECT_EQ(network.operators.back().output, (ImageShape{4, 9, 1}));
}

TEST(Onnx, WhatReadsTheSumsByAnotherNameKeepsBatchNorm) {
    EXPECT_EQ(kinds_of(graph_of({node("Conv", {"x", "w"}, {"c"}), node("Identity", {"c"}, {"d"}),
                                 node("BatchNormalization", {"d", "b", "b", "b", "b"}, {"n"}),
                                 node("Add", {"n", "c"}, {"y"})},
                                {weights("w", {8, 4, 1, 1}), weights("b", {8})})),
              "convolution scale bias add");
    EXPECT_EQ(kinds_of(graph_of({node("Conv", {"x", "w"}, {"c"}), node("Identity", {"c"}, {"d"}),
                                 node("BatchNormalization", {"d", "b", "b", "b", "b"}, {"y"})},
                                {weights("w", {8, 4, 1, 1}), weights("b", {8})})),
              "convolution bias");
}

TEST(Onnx, BatchNormIsNotFoldedWhereAViewOfItsInputIsReadElsewhere) {
    const std::vector<OnnxTensor> tensors = {weights("w", {8, 4, 1, 1}), weights("b", {8}),
                                             weights("b3", {8, 1, 1}), numbers("rows", {0, 8, 36}),
                                             numbers("map", {0, 8, 6, 6})};
    const OnnxNode norm = node("BatchNormalization", {"v", "b", "b", "b", "b"}, {"n"}),
                   back = node("Reshape", {"n", "map"}, {"m"}), view = node("Reshape", {"c", "rows"}, {"v"}),
                   sum = node("Add", {"m", "c"}, {"y"});
    EXPECT_EQ(kinds_of(graph_of({node("Conv", {"x", "w"}, {"c"}), view, norm, back, sum}, tensors)),
              "convolution scale bias add");
    EXPECT_EQ(kinds_of(graph_of({node("Conv", {"x", "w", "b"}, {"c"}), view, norm, back, sum}, tensors)),
              "convolution bias scale bias add");
    EXPECT_EQ(kinds_of(graph_of(
                  {node("Conv", {"x", "w"}, {"s"}), node("Add", {"s", "b3"}, {"c"}), view, norm, back, sum},
                  tensors)),
              "convolution bias scale bias add");
    EXPECT_EQ(kinds_of(graph_of({node("Conv", {"x", "w"}, {"c"}), view, norm, node("Relu", {"n"}, {"y"})},
                                tensors)),
              "convolution bias relu"); // a view that nothing else reads
}

TEST(Onnx, AnOutputInAnotherOrderIsMoved) {
    EXPECT_EQ(kinds_of(graph_of({node("Relu", {"x"}, {"r"}),
                                 node("Transpose", {"r"}, {"y"}, {{"perm", {0, 2, 3, 1}, ""}})})),
              "relu transpose");
}

TEST(Onnx, OperatorsWithAnotherMeaningAreNotTakenForThoseThatAreKnown) {
    const auto kinds = [](OnnxNode its, std::vector<OnnxTensor> tensors = {}) {
        tensors.push_back({"y", {0, 4, 8, 8}, false, std::nullopt});
        its.outputs = {"y"};
        return kinds_of(graph_of({std::move(its)}, std::move(tensors)));
    };
    EXPECT_EQ(kinds(node("Resize", {"x", "", "", "s"}, {"y"}), {numbers("s", {1, 4, 12, 12})}),
              "resize"); // twice
    EXPECT_EQ(kinds(node("Resize", {"x", "", "", "s"}, {"y"}), {numbers("s", {1, 4, 8, 8})}),
              "unknown"); // rounds otherwise
    EXPECT_EQ(
        kinds(node("Resize", {"x", "", "", "s"}, {"y"},
                   {{"coordinate_transformation_mode", {}, "asymmetric"}, {"nearest_mode", {}, "floor"}}),
              {numbers("s", {1, 4, 8, 8})}),
        "resize");
    EXPECT_EQ(kinds(node("Gelu", {"x"}, {"y"}, {{"approximate", {}, "tanh"}})), "unknown");
    EXPECT_EQ(kinds(node("Div", {"c", "x"}, {"y"}), {weights("c", {4, 1, 1})}), "unknown");
    EXPECT_EQ(kinds(node("Add", {"c", "x"}, {"y"}), {weights("c", {6, 6})}), "unknown"); // for each channel
    EXPECT_EQ(kinds(node("Resize", {"x", "", "s"}, {"y"}, {{"mode", {}, "linear"}}),
                    {numbers("s", {1, 1, 1.4, 1.4})}),
              "unknown"); // 8 rows, 8.4 by the factor
    EXPECT_EQ(kinds(node("Clip", {"x", "c"}, {"y"}), {weights("c", {1})}),
              "unknown"); // of a limit that is not known
}

TEST(Onnx, ShapesOfUnknownNodesThatNeedNoneAreKnown) {
    // A norm by the root of the mean of squares over channels, in a file without shapes: x is 4 x 6 x 6.
    const auto reduced = [](std::vector<double> axes, double keeps) {
        return node("ReduceMean", {"s"}, {"m"}, {{"axes", std::move(axes), ""}, {"keepdims", {keeps}, ""}});
    };
    EXPECT_EQ(kinds_of(graph_of({node("Pow", {"x", "two"}, {"s"}), reduced({1}, 1),
                                 node("Sqrt", {"m"}, {"r"}), node("Div", {"x", "r"}, {"y"})},
                                {numbers("two", {2})})),
              "multiply unknown unknown unknown");
    EXPECT_EQ(kinds_of(graph_of({node("Pow", {"x", "three"}, {"y"})}, {numbers("three", {3})})), "unknown");
    EXPECT_EQ(kinds_of(graph_of({node("Pow", {"x", "one"}, {"p"}), node("Relu", {"p"}, {"y"})},
                                {numbers("one", {1})})),
              "relu");
    const Network network = import_onnx(graph_of({node("Exp", {"x"}, {"s"}), reduced({-3}, 0), //
                                                  node("Sqrt", {"m"}, {"y"})}),
                                        "mine.onnx");
    EXPECT_EQ(elements(network.operators.back().output), 36);
}

TEST(Onnx, WhatTrainsIsNotTakenForInference) {
    const std::vector<OnnxTensor> its = {weights("b", {4}), numbers("ratio", {0.5}), numbers("yes", {1}),
                                         numbers("no", {0}), given("y", {0, 4, 6, 6})};
    const std::vector<std::string> inputs = {"x", "b", "b", "b", "b"};
    EXPECT_EQ(kinds_of(graph_of({node("BatchNormalization", inputs, {"y"})}, its)), "scale bias");
    EXPECT_EQ(kinds_of(graph_of({node("BatchNormalization", inputs, {"y", "mean", "variance"},
                                      {{"training_mode", {1}, ""}})},
                                its)),
              "unknown");
    EXPECT_EQ(kinds_of(graph_of({node("BatchNormalization", inputs,
                                      {"y", "mean", "variance", "saved_mean", "saved_variance"})},
                                its)),
              "unknown"); // as it was said before opset 14
    EXPECT_EQ(kinds_of(graph_of({node("Dropout", {"x", "ratio", "yes"}, {"y"})}, its)), "unknown");
    EXPECT_EQ(
        kinds_of(graph_of({node("Dropout", {"x", "ratio", "no"}, {"d"}), node("Relu", {"d"}, {"y"})}, its)),
        "relu");
}

TEST(Onnx, WeightsMustFitTheirInput) {
    OnnxGraph graph = graph_of({node("Reshape", {"x", "s"}, {"r"}), node("Gemm", {"r", "w"}, {"y"})},
                               {numbers("s", {1, -1}), weights("w", {288, 5})});
    const auto message_of = [&] {
        try {
            return kinds_of(graph);
        } catch (const InputError &error) {
            return std::string(error.what());
        }
    };
    EXPECT_THAT(message_of(), HasSubstr("its input has 144 numbers of an image, its weights are for 288"));
    graph.tensors.back().sizes[0] = 2; // two images as one
    graph.tensors.push_back({"r", {1, 288}, false, std::nullopt});
    EXPECT_EQ(message_of(), "unknown dense");
    graph = graph_of({node("Flatten", {"x"}, {"r"}), node("Gemm", {"r", "w", "c"}, {"y"})},
                     {weights("w", {144, 5}), weights("c", {2, 5}), given("y", {2, 5})});
    EXPECT_EQ(kinds_of(graph), "unknown"); // a row of numbers for each image
}

TEST(Onnx, WhatIsNotKnownOfANodeIsNotTakenAsLeftOut) {
    const std::vector<OnnxTensor> its = {
        weights("any", {1}),        numbers("one", {1}),      numbers("two", {2}),    numbers("pads", {1, 1}),
        weights("w", {4, 4, 3, 3}), given("y", {0, 4, 5, 6}), numbers("nothing", {0})};
    const auto kinds = [&](OnnxNode each) { return kinds_of(graph_of({std::move(each)}, its)); };
    EXPECT_EQ(kinds(node("Slice", {"x", "one", "two", "any"}, {"y"})), "unknown");
    EXPECT_EQ(kinds(node("Pad", {"x", "pads", "", "any"}, {"y"})), "unknown");
    EXPECT_EQ(kinds(node("Pad", {"x", "pads", "any", "two"}, {"y"})), "unknown");
    EXPECT_EQ(kinds(node("Pad", {"x", "pads", "", "two"}, {"y"})), "pad");
    EXPECT_EQ(kinds(node("Pad", {"x", "pads", "", "one"}, {"y"})), "unknown"); // of channels
    EXPECT_EQ(kinds(node("Squeeze", {"x", "any"}, {"y"})), "unknown");
    EXPECT_EQ(kinds(node("Div", {"x", "nothing"}, {"y"})), "unknown");
    EXPECT_EQ(kinds(node("Slice", {"x", "nothing", "one"}, {"y"})), "unknown"); // the first image
    EXPECT_EQ(kinds(node("Max", {"x", "x"}, {"y"})), "unknown");
}

TEST(Onnx, LargestNumbersAreTakenWithoutTheirPlaces) {
    const OnnxNode pool = node("MaxPool", {"x"}, {"y", "places"}, {{"kernel_shape", {2, 2}, ""}});
    OnnxGraph graph = graph_of({pool}, {given("y", {0, 4, 5, 5}), given("places", {0, 4, 5, 5})});
    EXPECT_EQ(kinds_of(graph), "max_pooling");
    graph.outputs.push_back("places");
    EXPECT_EQ(kinds_of(graph), "unknown unknown");
}

TEST(Onnx, AxesThatTheImagesLeaveAreNotMistaken) {
    OnnxGraph graph = graph_of({node("GlobalAveragePool", {"x"}, {"p"}), node("Squeeze", {"p"}, {"y"})});
    graph.tensors.back().sizes[0] = 1;
    EXPECT_EQ(kinds_of(graph), "average_pooling");
    graph = graph_of({node("Slice", {"x", "one", "two", "axis"}, {"s"}), node("Squeeze", {"s"}, {"y"})},
                     {numbers("one", {1}), numbers("two", {2}), numbers("axis", {3}), given("y", {4, 6})});
    EXPECT_EQ(kinds_of(graph), "slice");
    graph.tensors.back().sizes[0] = 1; // the image goes with the column
    EXPECT_EQ(kinds_of(graph), "slice unknown");
}

TEST(Onnx, AnOutputThatIsTheInputIsLeftOut) {
    OnnxGraph graph = graph_of({node("Relu", {"x"}, {"y"})});
    graph.outputs = {"x", "y"};
    EXPECT_EQ(kinds_of(graph), "relu");
    graph.outputs = {"x"};
    EXPECT_THROW((void)import_onnx(graph, "mine.onnx"), InputError);
}

TEST(Onnx, ASoftmaxBeforeOpset13IsOverAllAxesFromItsOwn) {
    OnnxGraph graph = graph_of({node("Softmax", {"x"}, {"y"})}, {given("y", {0, 4, 6, 6})});
    EXPECT_EQ(kinds_of(graph), "unknown"); // of each row
    graph.opset = 11;
    EXPECT_EQ(kinds_of(graph), "softmax");
}

TEST(Onnx, ANodeThatIsNotKnownMovesItsBytes) {
    OnnxGraph graph = graph_of({node("Einsum", {"x"}, {"e"}), node("Relu", {"e"}, {"y"})});
    graph.tensors.push_back({"e", {0, 2, 3, 3}, false, std::nullopt});
    const Network network = import_onnx(graph, "mine.onnx");
    EXPECT_EQ(kinds_of(network), "unknown relu");
    EXPECT_EQ(network.operators[0].node, "Einsum");
    EXPECT_EQ(network.operators[0].output, (ImageShape{2, 3, 3}));
}

TEST(Onnx, AllNodesWithoutAShapeAreSaidAtOnce) {
    try {
        (void)import_onnx(graph_of({node("Einsum", {"x"}, {"a"}), node("Loop", {"x"}, {"b"}),
                                    node("Add", {"a", "b"}, {"y"})}),
                          "mine.onnx");
        FAIL() << "nothing was refused";
    } catch (const InputError &error) {
        EXPECT_THAT(error.what(), HasSubstr("/a/Einsum"));
        EXPECT_THAT(error.what(), HasSubstr("/b/Loop"));
        EXPECT_THAT(error.what(), HasSubstr("infer_shapes"));
    }
}

/// All that is said of a graph that is refused.
std::string said_of(const OnnxGraph &graph) {
    try {
        return "taken as " + kinds_of(graph);
    } catch (const InputError &error) {
        return error.what();
    }
}

TEST(Onnx, WhatIsWrongWithTheGraphIsSaidAllAtOnce) {
    OnnxGraph graph = graph_of(
        {node("Relu", {"x"}, {"a"}), node("Add", {"a", "c"}, {"b"}), node("Relu", {"b"}, {"c"}),
         node("Relu", {"nowhere"}, {"d"}), node("Sigmoid", {"x"}, {"a"}),
         node("Conv", {"x", "w"}, {"e"}, {{"strides", {-1, 1}, ""}}), node("Add", {"c", "d"}, {"y"})},
        {weights("w", {4, 4, 1, 1})});
    graph.opset = 99;
    graph.outputs.push_back("lost");
    const std::string said = said_of(graph);
    EXPECT_THAT(said, HasSubstr("of opset 99; expected 7 to 23"));
    EXPECT_THAT(said, HasSubstr("/b/Add: Add: it waits for its own output: /c/Relu -> /b/Add -> /c/Relu"));
    EXPECT_THAT(said, HasSubstr("/d/Relu: Relu: it reads 'nowhere', which nothing gives"));
    EXPECT_THAT(said, HasSubstr("/a/Sigmoid: its output 'a' is given by node /a/Relu already"));
    EXPECT_THAT(said, HasSubstr("a stride, dilation or pad is -1; expected"));
    EXPECT_THAT(said, HasSubstr("its output 'lost' is given by no node"));
    EXPECT_THAT(said, Not(HasSubstr("/y/Add"))) << "a consequence of what was said";
    EXPECT_THAT(said, Not(HasSubstr("it is not known"))) << "what reads nothing is said once";
    EXPECT_THAT(said_of(graph_of({node("Relu", {"y"}, {"y"})})),
                HasSubstr("it waits for its own output: /y/Relu -> /y/Relu"));
}

TEST(Onnx, NodesInAnotherOrderAreOneNetwork) {
    EXPECT_EQ(kinds_of(graph_of({node("Relu", {"a"}, {"y"}), node("Sigmoid", {"x"}, {"a"})})),
              "logistic relu");
}

TEST(Onnx, OpsetsThatAreReadAreSaid) {
    OnnxGraph graph = graph_of({node("Relu", {"x"}, {"y"})});
    for (const std::int64_t opset : {7, 13, 21, 23}) {
        graph.opset = opset;
        EXPECT_EQ(kinds_of(graph), "relu") << opset;
    }
    for (const std::int64_t opset : {0, 1, 6, 24, 99}) {
        graph.opset = opset;
        EXPECT_THAT(said_of(graph), HasSubstr("expected 7 to 23")) << opset;
    }
}

TEST(Onnx, SizesThatNoNetworkHasAreNotCalledOpen) {
    const double huge = 1099511627776.0; // 2^40
    const auto size = static_cast<std::int64_t>(huge);
    OnnxGraph graph = graph_of({node("Relu", {"x"}, {"y"})});
    graph.tensors.back().sizes = {1, 3, size, 224};
    EXPECT_THAT(said_of(graph),
                testing::AllOf(HasSubstr("at most 2^31 numbers an image"), Not(HasSubstr("--input-size"))));
    graph.tensors.back().sizes = {1, 0, 224, 224};
    EXPECT_THAT(said_of(graph), testing::AllOf(HasSubstr("known channels"), Not(HasSubstr("--input-size"))));
    const auto conv = [&](std::vector<std::int64_t> filters, std::vector<OnnxAttribute> attributes) {
        return said_of(graph_of({node("Conv", {"x", "w"}, {"y"}, std::move(attributes))},
                                {weights("w", std::move(filters))}));
    };
    EXPECT_THAT(conv({size, 4, 1, 1}, {}), HasSubstr("its filters are 1099511627776 x 4 x 1 x 1; expected"));
    EXPECT_THAT(conv({8, 4, 1, 1}, {{"pads", {huge, 0, 0, 0}, ""}}),
                HasSubstr("a stride, dilation or pad is 1099511627776; expected"));
    EXPECT_THAT(conv({8, 4, 1, 1}, {{"group", {0}, ""}}), HasSubstr("its group is 0; expected 1"));
}

TEST(Onnx, WeightsThatDoNotFitAreSaidWithWhatToDo) {
    const auto said = [](OnnxNode its, std::vector<OnnxTensor> tensors) {
        return said_of(graph_of({std::move(its)}, std::move(tensors)));
    };
    EXPECT_THAT(said(node("Conv", {"x", "w"}, {"y"}), {weights("w", {8, 5, 1, 1})}),
                HasSubstr("expected filters of 8 x 4 x 1 x 1. Correct the shape of 'w'"));
    EXPECT_THAT(said(node("Conv", {"x", "w", "b"}, {"y"}), {weights("w", {8, 4, 1, 1}), weights("b", {9})}),
                HasSubstr("its bias 'b' has the sizes 9; expected 8 numbers"));
    EXPECT_THAT(said(node("ConvTranspose", {"x", "w"}, {"y"}), {weights("w", {5, 8, 2, 2})}),
                HasSubstr("expected filters of 4 x 8 x 2 x 2"));
    EXPECT_THAT(said(node("BatchNormalization", {"x", "b", "b", "b", "b"}, {"y"}), {weights("b", {3})}),
                HasSubstr("its scale 'b' has the sizes 3; expected 4 numbers"));
}

TEST(Onnx, WhyANodeIsNotKnownIsRemarked) {
    const auto remarked = [](OnnxNode its, std::vector<OnnxTensor> tensors) {
        std::vector<std::string> remarks;
        tensors.push_back(given("y", {0, 4, 6, 6}));
        (void)import_onnx(graph_of({std::move(its)}, std::move(tensors)), "mine.onnx", &remarks);
        return testing::PrintToString(remarks);
    };
    EXPECT_THAT(remarked(node("MatMul", {"x", "x"}, {"y"}), {}),
                HasSubstr("1 node is not known and forecast by the bytes it moves, without arithmetic: "
                          "/y/MatMul (MatMul: a product of two tensors"));
    EXPECT_THAT(remarked(node("QLinearConv", {"x", "w"}, {"y"}), {weights("w", {4, 4, 1, 1})}),
                HasSubstr("integers of 8 bits"));
    EXPECT_THAT(remarked(node("Einsum", {"x"}, {"y"}), {}), HasSubstr("no operator of convcast"));
    OnnxTensor half = weights("w", {64, 4, 1, 1});
    half.type = "float16";
    EXPECT_THAT(remarked(node("Conv", {"x", "w"}, {"y"}), {half}),
                HasSubstr("its numbers are float16; convcast forecasts and runs networks in FP32"));
    EXPECT_EQ(remarked(node("Relu", {"x"}, {"y"}), {}), "{}");
    OnnxTensor sizes = weights("s", {4});
    sizes.type = "int64", sizes.external = "shapes.bin";
    EXPECT_THAT(remarked(node("Reshape", {"x", "s"}, {"y"}), {sizes}),
                HasSubstr("its sizes 's' lie in another file, shapes.bin"));
}

TEST(Onnx, HostileGraphsAreRefused) {
    const auto refused = [](const OnnxGraph &graph) {
        EXPECT_THROW((void)import_onnx(graph, "mine.onnx"), InputError);
    };
    refused({});
    refused(graph_of({}));                           // no node gives the output
    refused(graph_of({node("Relu", {"y"}, {"y"})})); // a cycle
    refused(graph_of({node("Conv", {"x", "w"}, {"y"})}, {weights("w", {8, 4, 9, 9})})); // does not fit
    refused(graph_of({node("Conv", {"x", "w"}, {"y"})}, {weights("w", {8, 5, 1, 1})})); // other channels
    refused(graph_of({node("Reshape", {"x", "s"}, {"y"})}, {numbers("s", {1, 1e18, 1e18})}));
    OnnxGraph open = graph_of({node("Relu", {"x"}, {"y"})});
    open.tensors.back().sizes = {0, 3, 0, 0};
    refused(open);
}

} // namespace
} // namespace convcast
