#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/machine/knowledge.hpp"
#include "model/predict.hpp"
#include "model/record/elsewhere.hpp"
#include "model/record/own_kernel.hpp"
#include "model/shape/number_expression.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

const ConvShape shape = ConvShape::parse("n2c3h10w12k8r3s5"); // p 8, q 8

std::int64_t value(const std::string &text) {
    return evaluate(text, names_of(shape));
}

TEST(Expression, ComputesAsCDoes) {
    EXPECT_EQ(value("p * q + 127"), 191);
    EXPECT_EQ(value("(p*q+127)/128"), 1);
    EXPECT_EQ(value("2 + 3 * 4 - 10 / 4 % 2"), 14);
    EXPECT_EQ(value("7 - 2 - 1"), 4);
    EXPECT_EQ(value("-3 + - -2"), -1);
    EXPECT_EQ(value("ceil_div(p * q, 60)"), 2);
    EXPECT_EQ(value("ceil_div(-7, 2)"), -3);
    EXPECT_EQ(value("ceil_div(-8, 2)"), -4);
    EXPECT_EQ(value("min(c, k) * max(r, s)"), 15);
    EXPECT_EQ(value("k % 4 == 0 && !(pad_h != 0) || 0"), 1);
    EXPECT_EQ(value("c >= 4 || c < 3"), 0);
    EXPECT_EQ(value("stride_h + groups + dilation_w"), 3);
    EXPECT_EQ(value("(0 - 9223372036854775807 - 1) % (0 - 1)"), 0);
}

TEST(Expression, SaysWhatIsWrongAndWhere) {
    const auto says = [](const std::string &text, const std::string &what) {
        EXPECT_THAT([&] { value(text); }, ThrowsMessage<UsageError>(HasSubstr(what))) << text;
    };
    says("", "ends where a number");
    says("p *", "ends where a number");
    says("(p", "lacks a ')'");
    says("p q", "has 'q' where an operator");
    says("stride_hh", "did you mean 'stride_h'");
    says("p / (q - 8)", "divides by zero");
    says("9223372036854775807 + 1", "exceeds 64 bits");
    says("9223372036854775808", "fits 64 bits");
    says("p ; q", "character 3");
    says(std::string(500, '('), "nested more than 100");
    says(std::string(2000, '1'), "longer than 1000");
    says("max(p)", "another number of arguments than max takes, which is of two");
}

TEST(NumberExpression, OfRealNumbersDividesThemAndKnowsMoreFunctions) {
    const auto real = [](const std::string &text) {
        const NumberExpression<double> expression(text);
        return expression.value(std::vector<double>(expression.names().size(), 7.0)); // each name is 7
    };
    EXPECT_EQ(real("p / 2 + 0.25"), 3.75);
    EXPECT_EQ(real("floor(p / 2) + ceil(p / 4) + p % 4"), 3.0 + 2.0 + 3.0);
    EXPECT_EQ(real("pow(2, conv1.k)"), 128.0);
    EXPECT_EQ(real("unrolled(p, 4)"), 4.0);   // one iteration of four, three of one
    EXPECT_EQ(real("sectors(4, 216)"), 34.0); // six warps meet five sectors, the last four
    EXPECT_EQ(real("ceil_div(p, 2) - (p > 6)"), 3.0);
    EXPECT_EQ(NumberExpression<std::int64_t>("-t / 2 + 7 % 4").value({5}), 1);
    EXPECT_THAT(NumberExpression<double>("a * b + a").names(), testing::ElementsAre("a", "b"));
    const auto says = [](const std::string &text, const std::string &what) {
        EXPECT_THAT([&] { NumberExpression<std::int64_t>(text).value({}); },
                    ThrowsMessage<UsageError>(HasSubstr(what)))
            << text;
    };
    says("floor(2)", "'floor', which is no function");
    says("min(2)", "another number of arguments");
    says("2 + 'a'", "has a text");
    says("1 / 0", "divides by zero");
    says("0.5", "fits 64 bits");
}

OwnKernel sample() {
    OwnKernel kernel;
    kernel.name = kernel.function = "mine";
    kernel.file = "mine.cu";
    kernel.parameters = {"input", "filters", "output", "n", "int64:n*c", "float:0.5"};
    kernel.template_arguments = {"r", "16"};
    kernel.grid = {"ceil_div(p * q, 32)", "k", "n"};
    kernel.block = {"16", "2"};
    kernel.registers = "40";
    kernel.shared_bytes = "r * s * 4";
    kernel.conditions = {"k % 4 == 0"};
    OwnWork work;
    work.instructions = "ctas * 1000";
    work.l2_read_bytes = "ctas * 4096";
    work.l1_wavefronts = "ctas * 64";
    work.steps = "c";
    work.independent_sums = "4";
    kernel.work = work;
    return kernel;
}

TEST(OwnKernel, LaunchesAsItsExpressionsSay) {
    const GpuProfile h200 = find_profile("h200");
    const auto made = own_launch(sample(), shape, h200);
    const OwnLaunch &launch = std::get<OwnLaunch>(made);
    EXPECT_EQ(launch.expression, "mine<3, 16>");
    EXPECT_EQ(launch.grid, (std::array<std::int64_t, 3>{2, 8, 2}));
    EXPECT_EQ(launch.block, (std::array<std::int64_t, 3>{16, 2, 1}));
    EXPECT_EQ(launch.shared_bytes, 60);
    EXPECT_EQ(launch.registers, 40);
    const Names names = names_of(shape);
    EXPECT_EQ(own_argument("input", names).type, OwnArgument::Type::tensor);
    EXPECT_EQ(own_argument("int64:n*c", names).integer, 6);
    EXPECT_EQ(own_argument("float:0.5", names).real, 0.5F);
    EXPECT_THAT([&] { own_argument("n * 2147483647", names); },
                ThrowsMessage<UsageError>(HasSubstr("int64:n * 2147483647 is a long long")));
    EXPECT_THAT([&] { own_argument("float:x", names); },
                ThrowsMessage<UsageError>(HasSubstr("for example float:0.5")));
}

TEST(OwnKernel, SaysWhichShapesItDoesNotDo) {
    const GpuProfile h200 = find_profile("h200");
    const auto why = [&](const OwnKernel &kernel, const std::string &text) {
        return std::get<std::string>(own_launch(kernel, ConvShape::parse(text), h200));
    };
    OwnKernel kernel = sample();
    EXPECT_THAT(why(kernel, "n2c3h10w12k6r3s5"), HasSubstr("only shapes with k % 4 == 0"));
    EXPECT_THAT(why(kernel, "n2c3h10w12k8r3s5_pad1x0"),
                HasSubstr("pad_h is 1, which is not passed to the kernel"));
    EXPECT_THAT(why(kernel, "n2c3h10w12k8r3s5_f16"), HasSubstr("floats"));
    EXPECT_THAT(why(kernel, "n70000c1h9w9k8r3s3"), HasSubstr("70000 along z"));
    kernel.block = {"32", "64"};
    EXPECT_THAT(why(kernel, "n2c3h10w12k8r3s5"), HasSubstr("2048 threads, more than 1024"));
    kernel.block = {"p - 8"};
    EXPECT_THAT(why(kernel, "n2c3h10w12k8r3s5"), HasSubstr("0 threads along an axis"));
    kernel.block = {"nonsense"};
    EXPECT_THAT([&] { (void)own_launch(kernel, shape, h200); },
                ThrowsMessage<UsageError>(HasSubstr("block: the expression 'nonsense'")));
}

TEST(OwnKernel, SharesItsWorkAmongCtasAndSteps) {
    const GpuProfile h200 = find_profile("h200");
    const OwnKernel kernel = sample();
    const auto launch = std::get<OwnLaunch>(own_launch(kernel, shape, h200));
    std::vector<std::string> assumed;
    const std::optional<Partition> part = own_partition(kernel, launch, shape, h200, nullptr, assumed);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->ctas, 32);
    EXPECT_EQ(part->steps, 3);
    EXPECT_EQ(part->busy_warps, 1);
    EXPECT_EQ(part->independent_sums, 4);
    EXPECT_TRUE(assumed.empty()); // its registers are declared
    EXPECT_DOUBLE_EQ(part->step.instructions, 1000.0 / 3.0);
    EXPECT_DOUBLE_EQ(part->step.fmas, 2.0 * 8 * 8 * 8 * 3 * 15 / 32.0 / 3.0);
    EXPECT_DOUBLE_EQ(part->step.load_bytes, 4096.0 / 3.0);
    EXPECT_DOUBLE_EQ(part->step.shared_wavefronts, 64.0 / 3.0);
    EXPECT_DOUBLE_EQ(part->drain.store_bytes, 2.0 * 8 * 8 * 8 * 4 / 32.0);
    Work counted;
    counted.instructions = 64000.0;
    counted.l2_read_bytes = 320.0;
    const std::optional<Partition> again = own_partition(kernel, launch, shape, h200, &counted, assumed);
    EXPECT_DOUBLE_EQ(again->step.instructions, 2000.0 / 3.0);
    EXPECT_DOUBLE_EQ(again->step.load_bytes, 10.0 / 3.0);
    OwnKernel unsaid = kernel;
    unsaid.work.reset();
    EXPECT_FALSE(own_partition(unsaid, launch, shape, h200, nullptr, assumed));
}

TEST(OwnKernel, IsForecastWithAnIntervalAndNoPlan) {
    const GpuProfile h200 = find_profile("h200");
    const Case item = predict_own(sample(), shape, h200, knowledge_for(h200));
    EXPECT_EQ(item.baseline, "own:mine");
    ASSERT_TRUE(item.prediction && item.prediction->time_s);
    EXPECT_GE(item.prediction->time_s->value, item.prediction->times.tier0_s->value);
    EXPECT_FALSE(item.prediction->plan);
    OwnKernel broken = sample();
    broken.grid = {"1 / 0"};
    const Case failed = predict_own(broken, shape, h200, {});
    EXPECT_EQ(failed.status, Status::failed);
    EXPECT_THAT(*failed.reason, HasSubstr("divides by zero"));
}

/// A folder of files for one test.
class OwnKernelFile : public testing::Test {
  protected:
    std::string file(const std::string &name, const std::string &text) const {
        const std::string path = (folder_ / name).string();
        write_file_atomically(path, text);
        return path;
    }
    TemporaryFolder made_;
    std::filesystem::path folder_ = made_.path();
};

TEST_F(OwnKernelFile, NumbersAndExpressionsAreAlike) {
    file("mine.cu", "// one\n#include \"helper.cuh\"\n// three\n");
    file("helper.cuh", "#pragma once\n// helper\n");
    const OwnKernel kernel = read_own_kernel(
        file("mine.json",
             R"({"schema": "convcast/kernel/1", "grid": [12, "k"], "block": [128], "registers": 64})"),
        "");
    EXPECT_EQ(kernel.name, "mine");
    EXPECT_EQ(kernel.grid, (std::vector<std::string>{"12", "k"}));
    EXPECT_EQ(kernel.registers, "64");
    EXPECT_EQ(kernel.parameters.size(), 12U);
    EXPECT_THAT(kernel.source, HasSubstr("// helper\n"));
    EXPECT_THAT(kernel.source, HasSubstr("#line 3 \""));
    EXPECT_THAT(kernel.source, testing::Not(HasSubstr("#include")));
}

TEST_F(OwnKernelFile, ALaunchOfTheCommandLineIsTheSame) {
    const std::string source = file("mine.cu", "// one\n");
    const OwnKernel kernel = read_own_kernel(
        source, "grid=ceil_div(p * q, 128), k; block=128; defines=A=3,B=min(r, s); name=other");
    EXPECT_EQ(kernel.grid, (std::vector<std::string>{"ceil_div(p * q, 128)", "k"}));
    EXPECT_EQ(kernel.defines.at("B"), "min(r, s)");
    EXPECT_EQ(kernel.name, "other");
    EXPECT_EQ(kernel.function, "mine");
    EXPECT_TRUE(same_kernel(kernel, kernel));
}

TEST_F(OwnKernelFile, ASingleSizeNeedsNoBracketsAndWorkIsDeclaredInBothPlaces) {
    const std::string source = file("mine.cu", "// one\n");
    const std::string launch =
        file("mine.json", R"json({"schema": "convcast/kernel/1", "grid": "k", "block": 128,
        "work": {"instructions": "2 * p", "l2_read_bytes": "max(p, q)"}})json");
    const OwnKernel described = read_own_kernel(launch, "");
    EXPECT_EQ(described.grid, (std::vector<std::string>{"k"}));
    EXPECT_EQ(described.block, (std::vector<std::string>{"128"}));
    const auto typed = [&](const std::string &work) {
        return read_own_kernel(source, "grid=k; block=128" + work);
    };
    EXPECT_TRUE(same_kernel(described, typed("; work=instructions=2 * p,l2_read_bytes=max(p, q)")));
    EXPECT_FALSE(same_kernel(described, typed("")));
}

TEST_F(OwnKernelFile, SaysWhatALaunchLacks) {
    const std::string source = file("mine.cu", "// one\n");
    const auto says = [&](const std::string &name, const std::string &launch, const std::string &what) {
        try {
            read_own_kernel(name, launch);
            ADD_FAILURE() << name << " " << launch;
        } catch (const std::runtime_error &error) {
            EXPECT_THAT(error.what(), HasSubstr(what));
        }
    };
    says(source, "", "how is it launched?");
    says(source, "block=128", "/grid: expected one to three expressions");
    says(source, "grid", "expected NAME=VALUE parted by ;");
    says(source, "gird=1; block=1", "did you mean 'grid'");
    says(source, "grid=1; block=1; parameters=input", "\"output\" once");
    says(source, "grid=1; block=1; function=a b", "/function: expected the name");
    says((folder_ / "none.cu").string(), "grid=1; block=1", "none.cu");
    says(file("launch.json", R"({"grid": [1]})"), "", "convcast/kernel/1");
    says(file("lost.json",
              R"({"schema": "convcast/kernel/1", "source": "lost.cu", "grid": [1], "block": [1]})"),
         "", "lost.cu");
    says(file("twice.json", R"({"schema": "convcast/kernel/1", "grid": [1], "block": [1]})"), "grid=1",
         "says itself how it is launched");
    file("includes.cu", "\n#include \"nowhere.cuh\"\n");
    says((folder_ / "includes.cu").string(), "grid=1; block=1", "includes.cu:2: includes");
}

TEST(Elsewhere, ReadsATimeWithItsUnit) {
    const Case item = parse_elsewhere("n1c64h56w56k64r3s3 cudnn_v7 12.3us", "--time");
    EXPECT_EQ(item.baseline, "elsewhere:cudnn_v7");
    EXPECT_DOUBLE_EQ(item.measurements.at(0).time_s.value, 12.3e-6);
    EXPECT_DOUBLE_EQ(parse_elsewhere("n1c1h9w9k1r3s3 a 2 ms", "").measurements.at(0).time_s.value, 2e-3);
    for (const auto &[text, what] : std::vector<std::pair<std::string, std::string>>{
             {"n1c64h56w56k64r3s3 cudnn_v7", "expected a shape, a name and a time"},
             {"n1c64h56w56k64r3s3 a 12", "a unit of s, ms, us or ns"},
             {"n1c64h56w56k64r3s3 a -3us", "above zero"},
             {"n1c64h56w56k64r3s3 a nanus", "above zero"},
             {"nonsense a 3us", "nonsense"},
             {"n1c1h9w9k1r3s3 a 3us b c", "expected a shape"}})
        EXPECT_THAT(([&, &its = text] { parse_elsewhere(its, ""); }),
                    ThrowsMessage<UsageError>(HasSubstr(what)))
            << text;
}

TEST(Elsewhere, ReadsATableByItsHeader) {
    const std::vector<Case> cases =
        read_elsewhere("# theirs\nname,shape,clock,time_us\r\n"
                       "\"a,b\",n1c1h9w9k1r3s3,1980,4.5\r\n\nc,n1c1h9w9k2r3s3,,7\n",
                       "theirs.csv");
    ASSERT_EQ(cases.size(), 2U);
    EXPECT_EQ(cases[0].baseline, "elsewhere:a,b");
    EXPECT_DOUBLE_EQ(cases[0].measurements.at(0).time_s.value, 4.5e-6);
    EXPECT_EQ(cases[1].detail, "measured elsewhere: theirs.csv:5");
    const auto says = [](const std::string &csv, const std::string &what) {
        EXPECT_THAT([&] { read_elsewhere(csv, "t.csv"); }, ThrowsMessage<InputError>(HasSubstr(what))) << csv;
    };
    says("", "is empty");
    says("shape,time\n", "t.csv:1: expected a header");
    says("shape,name,time\nn1c1h9w9k1r3s3,a\n", "t.csv:2: expected at least 3 cells, got 2");
    says("shape,name,time\nn1c1h9w9k1r3s3,a,5\n", "t.csv:2: expected a time above zero with a unit");
    says("shape,name,time\nbad,a,5us\nworse,a,5us\n", "t.csv:3");
}

} // namespace
