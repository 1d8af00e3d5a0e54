// convcast-onnx: a program that reads a model of ONNX on standard input and writes its graph to
// standard output, as the document of model/record/onnx_graph.hpp. It is apart from
// convcast so that only it needs the ONNX library, and so that a file which that library does not survive
// ends nothing else.
#include "model/base/described.hpp"
#include "model/base/hash.hpp"
#include "model/record/onnx_graph.hpp"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// The value within +-2^53, beyond which JSON does not hold every integer. Sizes as large are refused later.
std::int64_t bounded(std::int64_t value) {
    constexpr std::int64_t most = std::int64_t{1} << 53;
    return std::clamp(value, -most, most);
}

template <class Numbers> std::vector<std::int64_t> bounded_list(const Numbers &numbers) {
    std::vector<std::int64_t> out;
    for (const std::int64_t value : numbers)
        out.push_back(bounded(value));
    return out;
}

/// A name for messages and tables: its first 200 bytes, with a question mark for each that is not printable
/// ASCII.
std::string plain(const std::string &text) {
    std::string out = text.substr(0, 200);
    for (char &c : out)
        if (c < 0x20 || c > 0x7E)
            c = '?';
    return out;
}

/// The name of a type of elements in small letters, "int64"; "float" where the file does not say one.
std::string type_name(int type) {
    std::string name = onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(type));
    for (char &c : name)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name.empty() || name == "undefined" ? "float" : name;
}

/// A tensor with the sizes and the type of elements that the file says of it; a size that is left open is 0.
OnnxTensor tensor_of(const onnx::TypeProto &type, const std::string &name) {
    OnnxTensor out;
    out.name = name;
    if (!type.has_tensor_type())
        return out;
    out.type = type_name(type.tensor_type().elem_type());
    for (const onnx::TensorShapeProto_Dimension &dim : type.tensor_type().shape().dim())
        out.sizes.push_back(dim.has_dim_value() ? bounded(dim.dim_value()) : 0);
    return out;
}

/// The name of a node, or of its first output, or else its type.
std::string name_of(const onnx::NodeProto &node) {
    const std::string name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    return plain(name.empty() ? node.op_type() : name);
}

/// Notes in `out` convolutions in the body of a loop or branch, left out as nobody knows how often they run.
void skip_bodies(const onnx::NodeProto &node, OnnxGraph &out) {
    for (const onnx::AttributeProto &body : node.attribute())
        if (body.has_g())
            for (const onnx::NodeProto &inner : body.g().node()) {
                if (inner.op_type().find("Conv") != std::string::npos)
                    out.skipped.push_back({name_of(inner), "it is in the body of " + name_of(node) + " (" +
                                                               plain(node.op_type()) +
                                                               "), and how often that is run is not known"});
                skip_bodies(inner, out);
            }
}

/// Height and width in pixels that inputs get where the file leaves them open; 0: they stay open.
struct InputSize {
    int height = 0, width = 0;
};

/// Sets the sizes that the graph's inputs leave open: the number of images to 1, height and width to `size`.
/// Notes in `out` whether the number of images was open, and whether a height or width still is.
void set_open_sizes(onnx::GraphProto &graph, const InputSize &size, OnnxGraph &out) {
    std::set<std::string> constants;
    for (const onnx::TensorProto &tensor : graph.initializer())
        constants.insert(tensor.name());
    bool open = false; // a size was set
    // Returns whether the size was open and is set now.
    const auto set = [](onnx::TensorShapeProto &shape, int at, int value) {
        if (value <= 0 || (shape.dim(at).has_dim_value() && shape.dim(at).dim_value() > 0))
            return false;
        shape.mutable_dim(at)->set_dim_value(value);
        return true;
    };
    for (onnx::ValueInfoProto &input : *graph.mutable_input()) {
        if (constants.count(input.name()) != 0 || !input.type().has_tensor_type())
            continue;
        onnx::TensorShapeProto &shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
        if (shape.dim_size() == 0)
            continue;
        out.open_images = set(shape, 0, 1) || out.open_images;
        if (shape.dim_size() == 4) { // images, channels, height, width
            open = set(shape, 2, size.height) || open;
            open = set(shape, 3, size.width) || open;
            for (const int at : {2, 3})
                out.open_size =
                    out.open_size || !shape.dim(at).has_dim_value() || shape.dim(at).dim_value() <= 0;
        }
    }
    open = open || out.open_images;
    if (!open)
        return;
    graph.clear_value_info(); // what it says of other tensors has the open number
    for (onnx::ValueInfoProto &output : *graph.mutable_output())
        if (output.type().has_tensor_type())
            output.mutable_type()->mutable_tensor_type()->clear_shape();
}

/// The name of a tensor as JSON can hold it; a hash keeps names apart that plain() makes the same.
std::string tensor_name(const std::string &raw) {
    const std::string name = plain(raw);
    return name == raw ? name : name + "_" + content_hash({raw});
}

/// The value as JSON can hold it: finite, and 0 instead of NaN.
double bounded(double value) {
    constexpr double most = 1e308; // near the largest double
    return value != value ? 0.0 : std::clamp(value, -most, most);
}

template <class Numbers> std::vector<double> doubles(const Numbers &numbers) {
    std::vector<double> out;
    for (const auto value : numbers)
        out.push_back(bounded(static_cast<double>(value)));
    return out;
}

/// The numbers in the bytes of a tensor, which ONNX stores in little-endian order, as this machine does.
template <class T> std::vector<double> raw_numbers(const std::string &bytes) {
    std::vector<double> out;
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof(T));
        out.push_back(bounded(static_cast<double>(value)));
    }
    return out;
}

/// The value of an IEEE half: 1 bit of sign, 5 of exponent, 10 of fraction. Infinity and NaN become 1e308.
double of_half(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 0    ? std::ldexp(fraction, -24)
                        : exponent == 31 ? 1e308
                                         : std::ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 != 0 ? -size : size;
}

/// Tensors with more numbers are weights, of which only sizes matter: chosen, as sizes and scales have few.
constexpr std::int64_t few = 64;

/// How many numbers a tensor has; few + 1 for all that have more.
std::int64_t numbers_of(const onnx::TensorProto &tensor) {
    std::int64_t count = 1;
    for (const std::int64_t size : tensor.dims())
        count = size < 0 || size > few || count * size > few ? few + 1 : count * size;
    return count;
}

/// The numbers of a tensor; absent for many, for those in another file, and for types that do not matter.
std::optional<std::vector<double>> few_numbers(const onnx::TensorProto &tensor) {
    const std::int64_t count = numbers_of(tensor);
    if (count > few || tensor.data_location() == onnx::TensorProto::EXTERNAL)
        return std::nullopt;
    const std::string &raw = tensor.raw_data();
    const auto numbers_as = [&]<class T>(T, const auto &typed) {
        return raw.empty() ? doubles(typed) : raw_numbers<T>(raw);
    };
    std::vector<double> numbers;
    switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
        numbers = numbers_as(float{}, tensor.float_data());
        break;
    case onnx::TensorProto::DOUBLE:
        numbers = numbers_as(double{}, tensor.double_data());
        break;
    case onnx::TensorProto::INT64:
        numbers = numbers_as(std::int64_t{}, tensor.int64_data());
        break;
    case onnx::TensorProto::INT32:
        numbers = numbers_as(std::int32_t{}, tensor.int32_data());
        break;
    case onnx::TensorProto::FLOAT16:
        numbers = numbers_as(std::uint16_t{}, tensor.int32_data());
        for (double &number : numbers)
            number = of_half(static_cast<std::uint16_t>(number));
        break;
    case onnx::TensorProto::BOOL:
        numbers = numbers_as(std::int8_t{}, tensor.int32_data());
        break;
    default:
        return std::nullopt;
    }
    return numbers.size() == static_cast<std::size_t>(count) ? std::optional(numbers) : std::nullopt;
}

/// A constant of the graph, with its numbers if they are few, or the name of the file that has them.
OnnxTensor constant_of(const onnx::TensorProto &tensor, const std::string &name) {
    OnnxTensor out{
        name,        bounded_list(tensor.dims()), true, few_numbers(tensor), type_name(tensor.data_type()),
        std::nullopt};
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
        out.external = ""; // a file that is not named
        for (const onnx::StringStringEntryProto &entry : tensor.external_data())
            if (entry.key() == "location")
                out.external = plain(entry.value());
    }
    return out;
}

/// An attribute of a node: numbers, of a tensor only few, or text; other types are left empty.
OnnxAttribute attribute_of(const onnx::AttributeProto &from) {
    OnnxAttribute out;
    out.name = plain(from.name());
    out.text = plain(from.s());
    switch (from.type()) {
    case onnx::AttributeProto::FLOAT:
        out.numbers = {bounded(static_cast<double>(from.f()))};
        break;
    case onnx::AttributeProto::INT:
        out.numbers = {static_cast<double>(bounded(static_cast<std::int64_t>(from.i())))};
        break;
    case onnx::AttributeProto::FLOATS:
        out.numbers = doubles(from.floats());
        break;
    case onnx::AttributeProto::INTS:
        out.numbers = doubles(from.ints());
        break;
    case onnx::AttributeProto::TENSOR:
        out.numbers = few_numbers(from.t()).value_or(std::vector<double>{});
        break;
    default:
        break;
    }
    return out;
}

/// Adds all of the graph but the numbers of its weights.
void add_graph(const onnx::GraphProto &graph, OnnxGraph &out) {
    std::set<std::string> constants;
    for (const onnx::TensorProto &tensor : graph.initializer()) {
        out.tensors.push_back(constant_of(tensor, tensor_name(tensor.name())));
        constants.insert(tensor.name());
    }
    for (const onnx::SparseTensorProto &sparse : graph.sparse_initializer()) {
        out.tensors.push_back(constant_of(sparse.values(), tensor_name(sparse.values().name())));
        out.tensors.back().sizes = bounded_list(sparse.dims());
        out.tensors.back().numbers.reset();
        constants.insert(sparse.values().name());
    }
    for (const auto *values : {&graph.input(), &graph.output(), &graph.value_info()})
        for (const onnx::ValueInfoProto &value : *values)
            if (constants.count(value.name()) == 0)
                out.tensors.push_back(tensor_of(value.type(), tensor_name(value.name())));
    for (const onnx::ValueInfoProto &input : graph.input())
        if (constants.count(input.name()) == 0)
            out.inputs.push_back(tensor_name(input.name()));
    for (const onnx::ValueInfoProto &output : graph.output())
        out.outputs.push_back(tensor_name(output.name()));
    for (const onnx::NodeProto &node : graph.node()) {
        OnnxNode &to = out.nodes.emplace_back();
        const bool own = node.domain().empty() || node.domain() == "ai.onnx";
        to.name = name_of(node);
        to.type = plain((own ? "" : node.domain() + ".") + node.op_type());
        for (const std::string &input : node.input())
            to.inputs.push_back(tensor_name(input));
        for (const std::string &output : node.output())
            to.outputs.push_back(tensor_name(output));
        for (const onnx::AttributeProto &each : node.attribute()) {
            to.attributes.push_back(attribute_of(each));
            if (own && node.op_type() == "Constant" && each.has_t() && node.output_size() > 0)
                out.tensors.push_back(constant_of(each.t(), to.outputs.front()));
        }
        skip_bodies(node, out);
    }
}

/// Removes the numbers of weights from a model. Only their sizes matter, and the library would copy them.
void drop_weights(onnx::GraphProto &graph) {
    const auto drop = [](onnx::TensorProto &tensor) {
        if (numbers_of(tensor) <= few)
            return;
        tensor.clear_raw_data();
        tensor.clear_float_data();
        tensor.clear_double_data();
        tensor.clear_int32_data();
        tensor.clear_int64_data();
        tensor.clear_uint64_data();
    };
    for (onnx::TensorProto &tensor : *graph.mutable_initializer())
        drop(tensor);
    for (onnx::NodeProto &node : *graph.mutable_node())
        for (onnx::AttributeProto &each : *node.mutable_attribute())
            if (each.has_t())
                drop(*each.mutable_t());
}

/// Infers the sizes of tensors by the library; `followed`: also sizes that nodes compute from sizes.
void infer(onnx::ModelProto &model, bool followed) {
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(false, 0, followed));
}

/// Whether the library survives infer(), which a child process tries: some versions crash at nodes of a newer
/// opset than they know, such as a Shape of a Pad with axes (opset 18).
bool survives(const onnx::ModelProto &model, bool followed) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            onnx::ModelProto copy = model;
            infer(copy, followed);
        } catch (const std::exception &) { // reading_of says so when it infers
        }
        _exit(0);
    }
    int status = 0;
    return child < 0 || waitpid(child, &status, 0) != child || WIFEXITED(status);
}

/// The graph of a model, with sizes inferred as far as the library can.
OnnxGraph reading_of(onnx::ModelProto &model, const InputSize &size) {
    OnnxGraph out;
    onnx::GraphProto &graph = *model.mutable_graph();
    set_open_sizes(graph, size, out);
    const bool followed = survives(model, true);
    if (!followed)
        out.remarks.push_back(
            "sizes that nodes compute of sizes are not inferred, since the ONNX library crashes there");
    try {
        if (followed || survives(model, false))
            infer(model, followed);
    } catch (const std::exception &error) {
        out.remarks.push_back("not every size could be inferred: " + plain(error.what()));
    }
    for (const onnx::OperatorSetIdProto &set : model.opset_import())
        if (set.domain().empty() || set.domain() == "ai.onnx")
            out.opset = bounded(static_cast<std::int64_t>(set.version()));
    add_graph(graph, out);
    return out;
}

/// Reads the model on standard input and writes its graph to standard output. Returns the exit code.
int read_and_write(const InputSize &size) {
    onnx::ModelProto model;
    if (!model.ParseFromFileDescriptor(STDIN_FILENO) || !model.has_graph()) {
        std::fputs("it is no model of ONNX\n", stderr);
        return 1;
    }
    drop_weights(*model.mutable_graph());
    std::cout << to_text(described::write(reading_of(model, size)));
    return std::cout.flush() ? 0 : 1;
}

} // namespace
} // namespace convcast

int main(int count, char **words) try {
    convcast::InputSize size;
    if (count > 1 && std::sscanf(words[1], "%dx%d", &size.height, &size.width) != 2)
        throw std::invalid_argument("expected height and width, for example 640x640");
    google::protobuf::SetLogHandler(nullptr); // what is wrong is said by convcast
    return convcast::read_and_write(size);
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
