// Lists of shapes in every format: what is read, and what is said of what is wrong.
#include "model/base/errors.hpp"
#include "model/network/onnx/import.hpp"
#include "model/record/shape_list.hpp"
#include "model/record/study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convcast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// "id name*count" of each shape.
std::vector<std::string> read(const std::string &text) {
    std::vector<std::string> out;
    for (const ListedShape &entry : read_shape_list(text, "list").shapes)
        out.push_back(entry.shape.id() + " " + entry.name + "*" + std::to_string(entry.count));
    return out;
}

/// "place: message" of each problem.
std::vector<std::string> problems(const std::string &text) {
    std::vector<std::string> out;
    try {
        read_shape_list(text, "list");
    } catch (const InputError &error) {
        for (const InputProblem &problem : error.problems)
            out.push_back(problem.place + ": " + problem.message);
    }
    return out;
}

constexpr const char *conv2 = "n1c64h56w56k64r3s3_pad1x1";

TEST(ShapeList, AShapePerLineWithNameAndCount) {
    EXPECT_THAT(read("# nets\n\nn1c64h56w56k64r3s3_pad1x1 conv2 3\r\n  n1c3h8w8k4r1s1\tfirst one # remark\n"
                     "n1c3h9w9k4r1s1 x2\nn1c3h7w7k4r1s1 5 # no name"),
                ElementsAre("n1c64h56w56k64r3s3_pad1x1 conv2*3", "n1c3h8w8k4r1s1 first one*1",
                            "n1c3h9w9k4r1s1 *2", "n1c3h7w7k4r1s1 *5"));
}

TEST(ShapeList, EqualShapesBecomeOneWithTheSumOfTheirCounts) {
    const ShapeList list = read_shape_list("n1c3h8w8k4r1s1 a 2\nn1c3h9w9k4r1s1\nn1c3h8w8k4r1s1_f32 b\n", "l");
    ASSERT_EQ(list.shapes.size(), 2U);
    EXPECT_EQ(list.shapes[0].count, 3);
    EXPECT_EQ(list.shapes[0].entries, 2);
    EXPECT_EQ(list.shapes[0].name, "a");
    EXPECT_EQ(with_images(list, 8, "l").shapes[0].shape.id(), "n8c3h8w8k4r1s1");
    EXPECT_EQ(with_images(list, 8, "l").shapes[0].entries, 2);
}

TEST(ShapeList, CsvHasColumnsInAnyOrderByAnyOfTheirNames) {
    EXPECT_THAT(read("name,n,c,h,w,k,r,s,stride,pad\nconv2,1,64,56,56,64,3,3,1,1\n"),
                ElementsAre(std::string(conv2) + " conv2*1"));
    EXPECT_THAT(read("\xEF\xBB\xBFOut_Channels;in-channels;kernel size;H;padding;count;x_mine\r\n"
                     "64;64;3x3;56;1;3;?\r\n\r\n"),
                ElementsAre(std::string(conv2) + " *3"));
    EXPECT_THAT(read("layer\tshape\n\"a \"\"b\"\", c\"\tn1c64h56w56k64r3s3_pad1x1\n"),
                ElementsAre(std::string(conv2) + " a \"b\", c*1"));
    EXPECT_THAT(read("c,h,w,k,kh,kw,stride_h,stride_w,pad_h,pad_w,dilation,groups,dtype,oh\n"
                     "8,9,11,12,3,2,2,1,1,1,1x2,2,fp16,5\n"),
                ElementsAre("n1c8h9w11k12r3s2_str2x1_pad1x1_dil1x2_g2_f16 *1"));
}

TEST(ShapeList, CsvSaysEveryProblemWithItsLine) {
    EXPECT_THAT(problems("c,h,k,kernel_h,strid,ic\n1,2,3,4,5,6\n"),
                ElementsAre(HasSubstr("list:1 (CSV): unknown column 'strid'; did you mean 'stride'?"),
                            HasSubstr("column 'ic' says again what 'c' is")));
    EXPECT_THAT(problems("c,h\n"),
                ElementsAre(HasSubstr("expected a column 'k'"), HasSubstr("'r' or 'kernel'")));
    EXPECT_THAT(
        problems("c,h,k,r,oh\n64,56,64,3\nx,56,64,3,\n64,56,,3,\n64,56,64,3,56\n64,56,64,"
                 "99999999999999999999,\n\"64,56,64,3,\n"),
        ElementsAre(HasSubstr("list:2 (CSV): expected 5 cells as in the header, found 4"),
                    HasSubstr("list:3 (CSV): column 'c': expected an integer from 1 to 2^30, found 'x'"),
                    HasSubstr("list:4 (CSV): column 'k': expected a size, found an empty cell"),
                    HasSubstr("list:5 (CSV): column 'p': expected 54, which"),
                    HasSubstr("list:6 (CSV): column 'r'"),
                    HasSubstr("list:7 (CSV): expected the quote that ends")));
}

TEST(ShapeList, BenchdnnLinesAsOneDnnReadsThem) {
    // Sizes of columns may be absent where they are those of rows, the padding where the output gives it.
    EXPECT_THAT(read("mb1ic64ih56iw56oc64oh56ow56kh3kw3sh1ph1nresnet:conv2\n"),
                ElementsAre(std::string(conv2) + " resnet:conv2*1"));
    EXPECT_THAT(
        read("--reset --dt=f32:f32:f32 --tag=axb\n--mb=1 --dir=FWD_B\n--conv ic64_ih56oc64_oh56kh3\n"),
        ElementsAre(std::string(conv2) + " *1"));
    EXPECT_THAT(
        read("./benchdnn --conv --cfg=s8s8s32 g2mb4ic8ih9iw11oc12oh9ow11kh3kw3dh1dw0ph2pw1n\"a b*6\"\n"),
        ElementsAre("n4c8h9w11k12r3s3_pad2x1_dil2x1_g2_i8 a b*6"));
    EXPECT_THAT(read("ic8ih8oc8kh3ph0\n"), ElementsAre("n2c8h8w8k8r3s3 *1")) << "two images are its default";
    // 7 rows, 4 outputs at stride 2 of a filter of 3: padding of 0 in front and 2 behind is 1 on both sides.
    EXPECT_THAT(read("mb1ic8ih7oc8oh4kh3sh2ph0\n"), ElementsAre("n1c8h7w7k8r3s3_str2x2_pad1x1 *1"));
}

TEST(ShapeList, BenchdnnRefusesWhatIsNotForecast) {
    EXPECT_THAT(
        problems(
            "--dir=BWD_WB ic8ih8oc8kh3\nic8iw8oc8kw3\nic8id8ih8oc8kd3kh3\nic8ih8oc8oh9kh3ph0\n"
            "ic8ic8ih8oc8kh3\nih8oc8kh3\nic8ih8oc8kh3zz1\n--dt=bf16\n--batch=shapes_other\n--dt=f32,f16\n"),
        ElementsAre(HasSubstr("list:1 (benchdnn): expected --dir=FWD_D"), HasSubstr("list:2 (benchdnn)"),
                    HasSubstr("found a 3D one"), HasSubstr("oh9: expected oh6 for ih8 kh3"),
                    HasSubstr("'ic' stands twice"), HasSubstr("expected 'ic'"), HasSubstr("'zz1'"),
                    HasSubstr("found 'bf16'"), HasSubstr("names another file"),
                    HasSubstr("expected one type")));
}

TEST(ShapeList, OptionsThatSayNothingOfAShapeAreNamed) {
    EXPECT_THAT(read_shape_list("--mode=P --tag=axb mb1ic8ih8oc8kh3\n", "l").remarks,
                ElementsAre(HasSubstr("--mode, --tag")));
}

TEST(ShapeList, AStudyNeedsNothingButShapes) {
    EXPECT_THAT(read("{\"shapes\": [\"n1c3h8w8k4r1s1\"], \"counts\": [4]}"),
                ElementsAre("n1c3h8w8k4r1s1 *4"));
    EXPECT_EQ(read_study("{\"shapes\": [\"n1c3h8w8k4r1s1\"]}", "nets/mine.v2.json").id, "mine");
    EXPECT_THROW(read_study("{\"title\": \"none\"}", "mine.json"), InputError);
    EXPECT_THROW(
        read_study("{\"schema\": \"convcast/study/2\", \"shapes\": [\"n1c3h8w8k4r1s1\"]}", "mine.json"),
        InputError);
}

TEST(ShapeList, NoTextIsRefusedWithItsLine) {
    EXPECT_THAT(problems(std::string("n1c3h8w8k4r1s1\nn1\0\n", 19)),
                ElementsAre(HasSubstr("list:2: expected text")));
    EXPECT_THAT(problems("n1c3h8w8k4r1s1 \xC3\n"), ElementsAre(HasSubstr("no UTF-8")));
    EXPECT_THAT(problems("n1c3h8w8k4r1s1 \xED\xA0\x80\n"), ElementsAre(HasSubstr("no UTF-8")));
    EXPECT_THAT(problems("\xFF\xFEn"), ElementsAre(HasSubstr("UTF-16")));
    EXPECT_THAT(problems(" \n# nothing\n"), ElementsAre(HasSubstr("found nothing")));
    EXPECT_THAT(problems("hello\n"), ElementsAre(HasSubstr("found 'hello'. A list is one of")));
    EXPECT_THAT(problems("n1c3h8w8k4r1s1,conv1,3\n"), ElementsAre(HasSubstr("expected a header above")));
    EXPECT_THAT(problems("n1c3h8w8k4r1s1 " + std::string(300, 'a')),
                ElementsAre(HasSubstr("at most 200 bytes")));
    EXPECT_THAT(problems("n1c3h8w8k4r1s1 name -5\n"),
                ElementsAre(HasSubstr("the count: expected an integer from 1")));
    EXPECT_THAT(problems("n1c3h8w8k4r1s1 a\x1b[1m\n"), ElementsAre(HasSubstr("control characters")));
    EXPECT_THAT(read("n1c3h8w8k4r1s1 Größe 2\n"), ElementsAre("n1c3h8w8k4r1s1 Größe*2"));
}

TEST(ShapeList, CountsTogetherAreBounded) {
    std::string many;
    for (int i = 0; i < 2000; ++i)
        many += "n1c3h8w8k4r1s1 1000000000\n";
    EXPECT_THAT(problems(many).front(), HasSubstr("list:1001 (a shape per line): expected counts"));
}

/// Adds a node `Conv` with its input and its filters.
OnnxNode &add_conv(OnnxGraph &graph, std::vector<std::int64_t> input, std::vector<std::int64_t> filters) {
    const std::string number = std::to_string(graph.nodes.size());
    graph.tensors.push_back({"in" + number, std::move(input), false, std::nullopt});
    graph.tensors.push_back({"w" + number, std::move(filters), true, std::nullopt});
    return graph.nodes.emplace_back(OnnxNode{"conv", "Conv", {"in" + number, "w" + number}, {"y"}, {}});
}

TEST(ShapeList, OnnxConvolutionsWithTheirPadding) {
    OnnxGraph graph;
    graph.nodes = {{"up", "ConvTranspose", {}, {}, {}}};
    add_conv(graph, {1, 64, 56, 56}, {64, 64, 3, 3}).attributes = {{"pads", {1, 1, 1, 1}, ""}};
    // 8 rows at stride 2: 4 outputs, one row behind
    add_conv(graph, {1, 64, 8, 8}, {6, 64, 3, 3}).attributes = {{"auto_pad", {}, "SAME_UPPER"},
                                                                {"strides", {2, 2}, ""}};
    add_conv(graph, {1, 64, 8, 8}, {6, 32, 3, 3});
    add_conv(graph, {1, 4, 8}, {6, 4, 3});
    add_conv(graph, {1, 64, 8, 8}, {6, 64, 3, 3}).attributes = {{"strides", {0, 1}, ""}};
    const ShapeList list = convolutions_of(graph, "m.onnx");
    ASSERT_EQ(list.shapes.size(), 2U);
    EXPECT_EQ(list.shapes[0].shape.id(), conv2);
    EXPECT_EQ(list.shapes[1].shape.id(), "n1c64h8w8k6r3s3_str2x2_pad1x1");
    EXPECT_THAT(list.remarks,
                ElementsAre(HasSubstr("differs by one"),
                            HasSubstr("skipped up: operator ConvTranspose is not forecast"),
                            HasSubstr("64 channels in 1 groups, its filters have 32"), HasSubstr("it is 1D"),
                            HasSubstr("a stride, dilation or pad is 0")));
    EXPECT_THROW(convolutions_of({}, "m.onnx"), InputError);
    OnnxGraph wrong;
    add_conv(wrong, {1, 64, 8, 8}, {6, 64, -3, 1LL << 60});
    EXPECT_THROW(convolutions_of(wrong, "m.onnx"), InputError);
}

/// Two convolutions behind what a file of TensorFlow pads by sizes of its own: only the network says how
/// large that is. The second is padded behind the image alone.
OnnxGraph padded_by_its_own(std::int64_t images, const std::string &first, const std::string &second) {
    OnnxGraph graph;
    graph.inputs = {"x"}, graph.outputs = {"y"};
    graph.tensors = {{"x", {images, 3, 9, 9}, false, std::nullopt},
                     {"pads", {8}, true, std::vector<double>{0, 0, 0, 0, 0, 0, 1, 1}},
                     {"padded", {0, 3, 0, 0}, false, std::nullopt},
                     {"w", {4, 3, 2, 2}, true, std::nullopt},
                     {"w2", {5, 4, 2, 2}, true, std::nullopt}};
    graph.nodes = {{first, "Pad", {"x", "pads"}, {"padded"}, {}},
                   {first, "Conv", {"padded", "w"}, {"a"}, {{"strides", {2, 2}, ""}}},
                   {second, "Conv", {"a", "w2"}, {"y"}, {{"pads", {0, 0, 1, 1}, ""}}}};
    return graph;
}

TEST(ShapeList, OnnxSizesThatTheNetworkKnows) {
    // Nodes are told apart by what they give, as names may be equal, and others than operators can have.
    for (const auto &[first, second] :
         {std::pair{"first", "second"}, std::pair{"same", "same"}, std::pair{"a;b", "a_b"}}) {
        const ShapeList list = convolutions_of(padded_by_its_own(0, first, second), "m.onnx");
        ASSERT_EQ(list.shapes.size(), 2U) << first;
        EXPECT_EQ(list.shapes[0].shape.id(), "n1c3h10w10k4r2s2_str2x2");
        EXPECT_EQ(list.shapes[1].shape.id(), "n1c4h6w6k5r2s2") << "padded by an operator of its own";
        EXPECT_TRUE(list.open_images);
        EXPECT_THAT(list.remarks, Contains(HasSubstr("1 convolutions are taken as the network has them")));
    }
    const ShapeList eight = convolutions_of(padded_by_its_own(8, "first", "second"), "m.onnx");
    ASSERT_EQ(eight.shapes.size(), 2U);
    EXPECT_EQ(eight.shapes[1].shape.id(), "n8c4h6w6k5r2s2") << "the images of the model's input";
    EXPECT_FALSE(eight.open_images);
    OnnxGraph huge = padded_by_its_own(0, "first", "second");
    huge.tensors[2].sizes = {std::int64_t{1} << 40, 3, 0, 0};
    EXPECT_EQ(convolutions_of(huge, "m.onnx").shapes.size(), 1U) << "a number of images that no shape has";
}

TEST(ShapeList, OnnxTypesOfElements) {
    OnnxGraph graph;
    add_conv(graph, {1, 64, 8, 8}, {6, 64, 1, 1});
    graph.tensors[0].type = "float16";
    graph.nodes.push_back({"q", "QLinearConv", {"in", "scale", "zero", "w"}, {"y"}, {}});
    graph.tensors.push_back({"in", {1, 64, 8, 8}, false, std::nullopt, "uint8"});
    graph.tensors.push_back({"w", {6, 64, 1, 1}, true, std::nullopt, "int8"});
    graph.nodes.push_back({"odd", "Conv", {"odd", "w"}, {"y"}, {}});
    graph.tensors.push_back({"odd", {1, 64, 8, 8}, false, std::nullopt, "string"});
    const ShapeList list = convolutions_of(graph, "m.onnx");
    ASSERT_EQ(list.shapes.size(), 2U);
    EXPECT_EQ(list.shapes[0].shape.id(), "n1c64h8w8k6r1s1_f16");
    EXPECT_EQ(list.shapes[1].shape.id(), "n1c64h8w8k6r1s1_i8");
    EXPECT_THAT(list.remarks, ElementsAre(HasSubstr("skipped odd: expected the type f32, f16 or i8")));
}

TEST(ShapeList, OnnxSizesThatAreOpen) {
    OnnxGraph graph;
    add_conv(graph, {1, 0, 56, 56}, {64, 32, 3, 3}).attributes = {{"group", {2}, ""}};
    add_conv(graph, {0, 64, 8, 8}, {6, 64, 3, 3});
    add_conv(graph, {1, 64, 0, 8}, {6, 64, 3, 3});
    const ShapeList inferred = convolutions_of(graph, "m.onnx");
    ASSERT_EQ(inferred.shapes.size(), 2U);
    EXPECT_EQ(inferred.shapes[0].shape.id(), "n1c64h56w56k64r3s3_g2") << "channels follow from the filters";
    EXPECT_TRUE(inferred.open_images) << "one image is taken of the second, and that is to be said";
    EXPECT_THAT(inferred.remarks,
                ElementsAre(testing::AllOf(HasSubstr("1 of 3"), HasSubstr("export it with fixed sizes"),
                                           testing::Not(HasSubstr("--input-size")))));
    graph.open_size = true; // of the model's input
    EXPECT_THAT(convolutions_of(graph, "m.onnx").remarks, ElementsAre(HasSubstr("--input-size HxW")));
}

TEST(ShapeList, OnnxIsToldByItsFirstBytes) {
    EXPECT_TRUE(is_onnx(std::string("\x08\x07\x12", 3)));
    EXPECT_FALSE(is_onnx("n1c3h8w8k4r1s1"));
    EXPECT_FALSE(is_onnx(""));
}

} // namespace
} // namespace convcast
