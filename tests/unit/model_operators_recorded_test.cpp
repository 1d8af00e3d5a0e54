// Every operator's reference against onnxruntime: small ONNX files (tests/operators/cases), what onnxruntime
// gave for them on a CPU (tests/operators/recorded.json), and what the reference gives for the same images
// and weights. tests/operators/make_operators.py makes the files, record_operators.py records them.
#include "model/base/describe.hpp"
#include "model/base/described.hpp"
#include "model/base/files.hpp"
#include "model/network/onnx/import.hpp"
#include "model/network/onnx/numbers.hpp"
#include "model/network/reference.hpp"

#include <boost/describe/enum_to_string.hpp>
#include <boost/mp11.hpp>

#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace convcast::recorded {

using Values = std::vector<double>;

constexpr Range any_number{-1e300, 1e300};

/// A row of tests/operators/cases.json.
struct OperatorCase {
    std::string name, sha256; ///< of the ONNX file
    OnnxGraph graph;          ///< as convcast-onnx gives it
    std::map<std::string, Values> weights;
    CONVCAST_MEMBERS(OperatorCase, name, sha256, graph, weights)

    static constexpr std::optional<Range> range_of(std::string_view) { return any_number; }
};
struct OperatorCases {
    std::vector<OperatorCase> cases;
    CONVCAST_MEMBERS(OperatorCases, cases)
};

struct RecordedTensor {
    std::vector<std::int64_t> sizes;
    Values values;
    CONVCAST_MEMBERS(RecordedTensor, sizes, values)

    static constexpr std::optional<Range> range_of(std::string_view) { return any_number; }
};
/// A row of tests/operators/recorded.json.
struct RecordedCase {
    std::string name, sha256;
    std::vector<std::int64_t> input; ///< images, channels, rows, columns
    std::vector<RecordedTensor> outputs;
    CONVCAST_MEMBERS(RecordedCase, name, sha256, input, outputs)
};
struct Recording {
    std::string onnxruntime, date;
    std::vector<RecordedCase> cases;
    CONVCAST_MEMBERS(Recording, onnxruntime, date, cases)
};

namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;

const std::vector<OperatorCase> &every_case() {
    static const std::string file = CONVCAST_SOURCE_DIR "/tests/operators/cases.json";
    static const auto all = described::read_document<OperatorCases>(read_file(file), file);
    return all.cases;
}

const Recording &recording() {
    static const std::string file = CONVCAST_SOURCE_DIR "/tests/operators/recorded.json";
    static const auto all = described::read_document<Recording>(read_file(file), file);
    return all;
}

Network network_of(const OperatorCase &item) {
    return import_onnx(item.graph, item.name + ".onnx");
}

std::string name_of(OperatorKind kind) {
    return boost::describe::enum_to_string(kind, "?");
}

/// The formula of tests/operators/record_operators.py.
Values image_numbers(std::size_t count) {
    Values numbers;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t h = static_cast<std::uint32_t>(i) * 2654435761U;
        h = (h ^ h >> 15) * 2246822519U;
        h ^= h >> 13;
        numbers.push_back(static_cast<double>(h >> 8) / 2097152.0 - 4.0);
    }
    return numbers;
}

/// The parameters of a network's operators by the weights of the file: what the importer says of weights,
/// which it does not read, done here.
class Weights {
  public:
    Weights(const OperatorCase &item, const Network &network) : item_(item), network_(network) {
        for (std::size_t i = 0; i < network.operators.size(); ++i)
            parameters_.emplace_back();
        for (const OnnxNode &node : item.graph.nodes)
            take(node);
        for (std::size_t i = 0; i < network.operators.size(); ++i)
            if (parameters_[i].size() != static_cast<std::size_t>(network.parameters(i)))
                throw std::runtime_error(fmt::format("{} has {} parameters, the file gives it {}",
                                                     network.operators[i].name, network.parameters(i),
                                                     parameters_[i].size()));
    }
    const Parameters &parameters() const { return parameters_; }

  private:
    const OnnxNode *producer(const std::string &tensor) const {
        for (const OnnxNode &node : item_.graph.nodes)
            if (std::ranges::find(node.outputs, tensor) != node.outputs.end())
                return &node;
        return nullptr;
    }
    const OnnxTensor *tensor(const std::string &name) const {
        const auto found = std::ranges::find(item_.graph.tensors, name, &OnnxTensor::name);
        return found == item_.graph.tensors.end() ? nullptr : &*found;
    }
    Values *of(const std::string &name) {
        const std::optional<std::size_t> at = network_.operator_named(name);
        return at ? &parameters_[*at] : nullptr;
    }

    /// The numbers of a node's input, through nodes that pass weights on; empty where there is none.
    Values input(const OnnxNode &node, std::size_t i) const {
        if (i >= node.inputs.size())
            return {};
        const std::string &name = node.inputs[i];
        if (const auto found = item_.weights.find(name); found != item_.weights.end())
            return found->second;
        const OnnxNode *from = producer(name);
        if (from && (from->type == "Identity" || from->type == "Reshape"))
            return input(*from, 0);
        if (from && from->type == "Transpose") // of a matrix
            if (const OnnxTensor *of = tensor(from->inputs[0]); of && of->sizes.size() == 2)
                return turned(input(*from, 0), of->sizes[0]);
        return {};
    }

    /// Channels of an image or of a row of pixels that a node of the file has put last; else 0.
    std::int64_t channels_last(const OnnxNode &node, std::size_t i) const {
        const OnnxNode *from = producer(node.inputs[i]);
        const bool last = from && from->type == "Transpose" && integers(*from, "perm").back() == 1;
        const OnnxTensor *of = last ? tensor(from->inputs[0]) : nullptr;
        return of ? of->sizes[1] : 0;
    }

    /// A matrix of so many rows, its rows as columns.
    static Values turned(const Values &matrix, std::int64_t rows) {
        const auto height = static_cast<std::size_t>(rows), width = matrix.size() / height;
        Values out;
        for (std::size_t x = 0; x < width; ++x)
            for (std::size_t y = 0; y < height; ++y)
                out.push_back(matrix[y * width + x]);
        return out;
    }

    void take(const OnnxNode &node) {
        Values *own = of(node.name), *bias = of(node.name + ".bias");
        const Values second = input(node, 1);
        if (node.type == "BatchNormalization")
            return take_norm(node, of(node.name + ".scale"), bias);
        if (node.type == "LayerNormalization") {
            if (Values *scale = of(node.name + ".scale"))
                *scale = second;
            if (bias)
                *bias = input(node, 2);
        } else if (node.type == "Conv" || node.type == "ConvTranspose") {
            *own = second;
            if (bias)
                *bias = input(node, 2);
        } else if ((node.type == "Gemm" || node.type == "MatMul") && own) {
            const bool outputs_first = integers(node, "transB", {0}).front() != 0;
            const auto outputs =
                static_cast<std::size_t>(*network_.operators[*network_.operator_named(node.name)].outputs);
            *own =
                outputs_first ? second : turned(second, static_cast<std::int64_t>(second.size() / outputs));
            for (double &weight : *own)
                weight *= attribute(node, "alpha", {1.0}).front();
            if (bias) {
                *bias = input(node, 2);
                bias->resize(outputs, bias->front()); // one number stands for all
                for (double &number : *bias)
                    number *= attribute(node, "beta", {1.0}).front();
            }
        } else if (own && is_by_channel(node.name)) {
            *own = second.empty() ? input(node, 0) : second;
            if (const std::int64_t channels = channels_last(node, second.empty() ? 1 : 0); channels > 0)
                *own = turned(*own, static_cast<std::int64_t>(own->size()) / channels);
            const bool less = node.type == "Sub" && !second.empty();
            for (double &number : *own)
                number = less ? -number : node.type == "Div" ? 1.0 / number : number;
        }
    }

    bool is_by_channel(const std::string &name) const {
        const OperatorKind kind = network_.operators[*network_.operator_named(name)].kind;
        return kind == OperatorKind::bias || kind == OperatorKind::scale;
    }

    /// A factor and a summand for each channel: operators of their own, or folded into those before.
    void take_norm(const OnnxNode &node, Values *scale, Values *bias) {
        Values factors = input(node, 1), summands = input(node, 2);
        const Values means = input(node, 3), variances = input(node, 4);
        const double epsilon = attribute(node, "epsilon", {1e-5}).front();
        for (std::size_t i = 0; i < factors.size(); ++i) {
            factors[i] /= std::sqrt(variances[i] + epsilon);
            summands[i] -= means[i] * factors[i];
        }
        if (scale) {
            *scale = factors, *bias = summands;
            return;
        }
        if (bias) { // behind a layer without a bias
            *bias = summands;
            return scale_filters(source_of(node.name + ".bias"), factors);
        }
        // Into a bias that is there: of the layer, or added by a node behind it.
        const OnnxNode *before = producer(node.inputs[0]);
        const std::set<std::string> same = {"Identity", "Dropout", "Reshape"}; // numbers
        while (before && same.contains(before->type))
            before = producer(before->inputs[0]);
        const bool added = before && before->type == "Add";
        const std::string name = added ? before->name : before ? before->name + ".bias" : "";
        Values *folded = of(name);
        if (!folded)
            throw std::runtime_error(node.name + ": folded into nothing");
        for (std::size_t i = 0; i < folded->size(); ++i)
            (*folded)[i] = (*folded)[i] * factors[i] + summands[i];
        scale_filters(source_of(name), factors);
    }

    std::size_t source_of(const std::string &name) const {
        return network_.sources(*network_.operator_named(name)).front();
    }

    /// Multiplies the filters of each output. Those of a transposed convolution lie by input, then output.
    void scale_filters(std::size_t index, const Values &factors) {
        const Operator &op = network_.operators[index];
        Values &filters = parameters_[index];
        const std::int64_t groups = op.groups.value_or(1);
        const std::size_t window =
            op.window ? static_cast<std::size_t>((*op.window)[0] * (*op.window)[1]) : std::size_t{1};
        const std::size_t each = filters.size() / factors.size(), all = factors.size();
        const auto inputs = static_cast<std::size_t>(network_.input_shapes(index).front()[0]),
                   in_group = inputs / static_cast<std::size_t>(groups),
                   of_group = all / static_cast<std::size_t>(groups);
        for (std::size_t i = 0; i < filters.size(); ++i)
            filters[i] *= op.kind == OperatorKind::transposed_convolution
                              ? factors[i / window / of_group / in_group * of_group + i / window % of_group]
                              : factors[i / each];
    }

    const OperatorCase &item_;
    const Network &network_;
    Parameters parameters_;
};

/// How far a tensor lies from what was recorded.
struct Distance {
    double relative_l2 = 0.0, largest = 0.0;
    std::size_t at = 0; ///< the number with the largest difference
};

Distance distance(const Values &ours, const Values &theirs) {
    Distance out;
    double off = 0.0, all = 0.0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const double difference = std::abs(ours[i] - theirs[i]);
        if (!(difference <= out.largest))
            out.largest = difference, out.at = i;
        off += difference * difference, all += theirs[i] * theirs[i];
    }
    out.relative_l2 = all > 0.0 ? std::sqrt(off / all) : std::sqrt(off);
    return out;
}

void expect_recorded(const OperatorCase &item, const RecordedCase &recorded) {
    constexpr double limit = 1e-5;
    const Network network = network_of(item);
    ASSERT_EQ(recorded.input.size(), 4U);
    EXPECT_THAT((std::vector(recorded.input.begin() + 1, recorded.input.end())),
                ElementsAreArray(network.input));
    const std::int64_t images = recorded.input[0];
    const Weights weights(item, network);
    const OperatorOutputs all =
        forward(network, images, image_numbers(static_cast<std::size_t>(images * elements(network.input))),
                weights.parameters());
    std::vector<std::size_t> outputs{network.operators.size() - 1}; // in the order of the file
    if (network.outputs) {
        outputs.clear();
        for (const std::string &name : *network.outputs)
            outputs.push_back(*network.operator_named(name));
    }
    ASSERT_EQ(outputs.size(), recorded.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Operator &op = network.operators[outputs[i]];
        const Values &ours = all[outputs[i]], &theirs = recorded.outputs[i].values;
        ASSERT_EQ(ours.size(), theirs.size()) << name_of(op.kind) << " " << op.name;
        EXPECT_EQ(static_cast<std::int64_t>(theirs.size()),
                  std::accumulate(recorded.outputs[i].sizes.begin(), recorded.outputs[i].sizes.end(),
                                  std::int64_t{1}, std::multiplies<>()));
        const Distance found = distance(ours, theirs);
        EXPECT_TRUE(found.relative_l2 <= limit)
            << name_of(op.kind) << " " << op.name << ": relative L2 " << found.relative_l2
            << ", largest difference " << found.largest << " at number " << found.at << " of " << ours.size()
            << ", the reference has " << ours[found.at] << " there, onnxruntime " << theirs[found.at];
    }
}

TEST(OperatorsRecorded, TheRecordingIsOfTheFilesThatAreThere) {
    std::vector<std::string> ours, theirs;
    for (const OperatorCase &item : every_case())
        ours.push_back(item.name + " " + item.sha256);
    for (const RecordedCase &item : recording().cases)
        theirs.push_back(item.name + " " + item.sha256);
    std::ranges::sort(ours);
    std::ranges::sort(theirs);
    EXPECT_THAT(ours, testing::Not(IsEmpty()));
    std::vector<std::string> lacks, more;
    std::ranges::set_difference(ours, theirs, std::back_inserter(lacks));
    std::ranges::set_difference(theirs, ours, std::back_inserter(more));
    EXPECT_THAT(lacks, IsEmpty()) << "not recorded: tests/operators/record_operators.py";
    EXPECT_THAT(more, IsEmpty()) << "recorded, but of no file, of another one, or twice";
}

TEST(OperatorsRecorded, TheReferenceGivesWhatOnnxruntimeGave) {
    std::map<std::string, const RecordedCase *> by_name;
    for (const RecordedCase &item : recording().cases)
        by_name[item.name] = &item;
    for (const OperatorCase &item : every_case()) {
        SCOPED_TRACE(item.name + ".onnx, onnxruntime " + recording().onnxruntime);
        if (!by_name.contains(item.name))
            continue; // said by the test above
        try {
            expect_recorded(item, *by_name[item.name]);
        } catch (const std::exception &error) {
            ADD_FAILURE() << error.what();
        }
    }
}

TEST(OperatorsRecorded, EveryKindThatAnOnnxFileGivesHasACase) {
    // What has no case: nothing is computed by what is not known, and losses are no part of an ONNX file.
    const std::set<OperatorKind> without = {OperatorKind::unknown, OperatorKind::half_squared_error,
                                            OperatorKind::cross_entropy};
    std::set<OperatorKind> seen;
    for (const OperatorCase &item : every_case())
        for (const Operator &op : network_of(item).operators) {
            seen.insert(op.kind);
            EXPECT_FALSE(without.contains(op.kind))
                << item.name << ": " << name_of(op.kind) << " " << op.name;
        }
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<OperatorKind>>([&](auto each) {
        EXPECT_EQ(seen.contains(each.value), !without.contains(each.value))
            << each.name << ": no case of tests/operators/make_operators.py becomes one";
    });
}

} // namespace
} // namespace convcast::recorded
