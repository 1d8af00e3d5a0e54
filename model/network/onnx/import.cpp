// The graph as a whole: its input and outputs, names, operators, and what the inputs of a node stand for.
#include "model/network/onnx/importer.hpp"

#include "model/base/described.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast::onnx {
namespace {

/// The function that takes nodes of a type; nullptr if there is none.
Takes::mapped_type function_for(const std::string &type) {
    for (const Takes *takes : {&element_nodes(), &layer_nodes(), &moving_nodes()})
        if (const auto found = takes->find(type); found != takes->end())
            return found->second;
    return nullptr;
}

/// The id of a file's network: "mobilenet_v2" for "models/MobileNet-v2.onnx.gz".
std::string id_of(const std::string &file) {
    std::string id = lower(file.substr(file.rfind('/') + 1));
    for (const char *end : {".gz", ".onnx"})
        if (id.ends_with(end))
            id.resize(id.size() - std::string(end).size());
    std::replace_if(
        id.begin(), id.end(),
        [](char c) {
            return !is_id({&c, 1});
        },
        '_');
    return is_id(id) ? id : "network";
}

} // namespace

Importer::Importer(const OnnxGraph &graph, const std::string &file) : graph_(graph), file_(file) {
    out_.id = id_of(file);
    out_.title = file.substr(file.rfind('/') + 1) + " (ONNX)";
    out_.citation = "an ONNX file; `convcast import` made this of it";
}

Network Importer::run() {
    for (const OnnxTensor &tensor : graph_.tensors)
        tensor.constant ? (void)(constants_[tensor.name] = &tensor)
                        : (void)(inferred_[tensor.name] = &tensor);
    for (const OnnxNode &node : graph_.nodes) {
        if (passes_on(node))
            same_[node.outputs.front()] = root_of(node.inputs.front());
        else
            for (const std::string &input : node.inputs)
                ++readers_[root_of(input)];
    }
    for (const std::string &output : graph_.outputs)
        ++readers_[root_of(output)];
    check_opset();
    check_tensors();
    order_nodes();
    const std::size_t problems_of_graph = problems_.size();
    read_input();
    if (problems_.size() > problems_of_graph) // without an input there is no shape to compute with
        throw InputError(problems_);
    for (const OnnxNode *node : order_) {
        node_ = node;
        take();
    }
    finish();
    if (!problems_.empty())
        throw InputError(problems_);
    return std::move(out_);
}

bool Importer::passes_on(const OnnxNode &node) const {
    if (node.inputs.empty() || node.outputs.empty())
        return false;
    if (node.type == "Dropout" && node.inputs.size() > 2 && !node.inputs[2].empty()) {
        const auto training = constants_.find(node.inputs[2]);
        return training != constants_.end() && training->second->numbers == std::vector<double>{0.0};
    }
    return node.type == "Identity" || node.type == "Dropout" || node.type == "Cast";
}

std::string Importer::root_of(const std::string &name) const {
    const auto found = same_.find(name);
    return found == same_.end() ? name : found->second;
}

int Importer::readers_of(const std::string &name) const {
    const auto found = readers_.find(root_of(name));
    return found == readers_.end() ? 0 : found->second;
}

void Importer::read_input() {
    std::vector<std::string> images;
    for (const std::string &name : graph_.inputs)
        if (!constants_.contains(name) && readers_of(name) > 0)
            images.push_back(name);
    const std::string place = file_ + " (ONNX)";
    if (images.size() != 1)
        return problem(place, fmt::format("expected one input, a batch of images, found {}{}", images.size(),
                                          images.empty() ? "" : ": " + shortened(join(images), 200)));
    const auto tensor = inferred_.find(images.front());
    const std::vector<std::int64_t> sizes =
        tensor == inferred_.end() ? std::vector<std::int64_t>{} : tensor->second->sizes;
    const std::string found =
        fmt::format("found \"{}\" of {}", shortened(images.front(), 80), onnx::sizes_text(sizes));
    const auto any = [&](auto is) { return std::any_of(sizes.begin() + 1, sizes.end(), is); };
    if (sizes.size() != 4)
        return problem(place, "expected an input of images, channels, rows and columns, " + found +
                                  (sizes.empty() ? "; export it with an example of 4 sizes, such as "
                                                   "torch.zeros(1, 3, 224, 224)"
                                                 : "; a network of other inputs is not read"));
    if (sizes[1] < 1)
        return problem(place, "expected an input of known channels, " + found +
                                  "; export it with an example that has them, such as torch.zeros(1, 3, 224, "
                                  "224)");
    if (any([](auto size) { return size < 1; }))
        return problem(place, "expected an input of images, channels, rows and columns of known sizes, " +
                                  found +
                                  "; --input-size HxW gives open rows and columns, for example --input-size "
                                  "224x224");
    out_.input = {std::min(sizes[1], most_size), std::min(sizes[2], most_size),
                  std::min(sizes[3], most_size)};
    fixed_images_ = sizes[0];
    if (any([](auto size) { return size > most_size; }) || !is_bounded(out_.input))
        return problem(place, "expected an input of at most 2^31 numbers an image, " + found +
                                  "; export it with a smaller example");
    image_ = values_[images.front()] = tensor_value(image_name, out_.input);
}

void Importer::finish() {
    if (!problems_.empty())
        return;
    std::vector<std::string> outputs;
    for (const std::string &name : graph_.outputs)
        if (const auto found = values_.find(name); found != values_.end() && found->second.is_tensor())
            outputs.push_back(found->second.view.in_order() ? found->second.of
                                                            : plain(Value(found->second)).of);
    std::erase(outputs, image_name); // there is nothing to compute for it
    keep_used(outputs);
    std::vector<Operator> &operators = out_.operators;
    if (operators.empty())
        return problem(
            file_ + " (ONNX)",
            "expected an output that is computed of the input, for example by a node of type Conv");
    if (outputs.size() > 1)
        out_.outputs = outputs;
    for (Operator &op : operators)
        if (const std::size_t i = static_cast<std::size_t>(&op - operators.data());
            op.from == std::vector<std::string>{i == 0 ? image_name : operators[i - 1].name})
            op.from.clear(); // the operator before it
    say_remarks();
}

void Importer::keep_used(const std::vector<std::string> &outputs) {
    std::set<std::string> used(outputs.begin(), outputs.end());
    std::vector<Operator> kept, &all = out_.operators;
    for (std::size_t i = all.size(); i-- > 0;)
        if (used.contains(all[i].name)) {
            used.insert(all[i].from.begin(), all[i].from.end());
            kept.push_back(std::move(all[i]));
        }
    std::reverse(kept.begin(), kept.end());
    all = std::move(kept);
}

void Importer::problem(const std::string &place, const std::string &message) {
    problems_.push_back({place, message});
}

void Importer::problem(const std::string &message) {
    problem(file_ + " (ONNX): " + shortened(node_->name, 80), node_->type + ": " + message);
}

std::string Importer::new_name(const std::string &end) {
    constexpr std::size_t longest = 180; // with end and number less than the 200 of is_operator_name
    std::string name = node_->name.empty() && !node_->outputs.empty() ? node_->outputs.front() : node_->name;
    name = name.substr(0, longest);
    for (char &c : name) // what is_operator_name does not allow
        if (c <= 0x20 || c >= 0x7F || std::string("+#=\"'\\,;<>&").find(c) != std::string::npos)
            c = '_';
    if (name.empty() || name == image_name)
        name = node_->type + "_node";
    name += end;
    std::string own = name;
    while (!names_.insert(own).second)
        own = name + "_" + std::to_string(++numbered_[name] + 1);
    return own;
}

Value Importer::tensor_value(const std::string &of, const ImageShape &shape) const {
    return {of, shape, View::of_images(shape), {}};
}

Value Importer::add(Operator op, const std::vector<Value> &inputs, const std::string &end) {
    op.name = new_name(end);
    std::vector<ImageShape> shapes;
    for (const Value &input : inputs) {
        op.from.push_back(input.of);
        shapes.push_back(input.shape);
    }
    const ShapeAnswer answer = output_shape(op, shapes);
    if (!answer.shape)
        problem(answer.problem);
    else if (!is_bounded(*answer.shape))
        problem("its output is larger than 2^31 numbers of an image; expected sizes of a network that runs");
    if (answer.shape && is_bounded(*answer.shape))
        op.output = *answer.shape;
    else
        op.output = {1, 1, 1}, lose();
    index_[op.name] = out_.operators.size();
    out_.operators.push_back(std::move(op));
    return tensor_value(out_.operators.back().name, out_.operators.back().output);
}

Value Importer::each(Operator op, const Value &input, const std::string &end) {
    Value out = add(std::move(op), {input}, end);
    out.view = input.view;
    return out;
}

Value Importer::plain(const Value &value) {
    const ImageShape shape = value.view.shape();
    Value out = tensor_value(value.of, shape);
    if (!value.view.in_order() || shape != value.shape) {
        const bool ordered = value.view.in_order();
        Operator op{.kind = ordered ? OperatorKind::reshape : OperatorKind::transpose, .output = shape};
        if (!ordered) { // the transpose from the order in memory, slowest first, to that of the axes
            const std::vector<Factor> factors = value.view.factors();
            std::vector<Factor> sorted = factors;
            std::sort(sorted.begin(), sorted.end(),
                      [](const Factor &a, const Factor &b) { return a.stride > b.stride; });
            op.sizes.emplace(), op.order.emplace();
            for (const Factor &factor : sorted)
                op.sizes->push_back(factor.size);
            for (const Factor &factor : factors)
                op.order->push_back(std::find(sorted.begin(), sorted.end(), factor) - sorted.begin());
        }
        out = add(std::move(op), {value}, ordered ? ".sizes" : ".order");
    }
    out.view = View::of_rank(value.view.rank(), out.shape);
    return out;
}

Value Importer::with_shape(const Value &value, const ImageShape &shape, const std::string &end) {
    if (value.shape == shape)
        return value;
    return each({.kind = OperatorKind::reshape, .output = shape}, value, end);
}

const Value *Importer::input(std::size_t i) {
    if (i >= node_->inputs.size() || node_->inputs[i].empty())
        return nullptr;
    const std::string &name = node_->inputs[i];
    if (const auto found = values_.find(name); found != values_.end())
        return &found->second;
    const auto constant = constants_.find(name);
    if (constant == constants_.end())
        return nullptr;
    Value value;
    value.constant = {constant->second->sizes, constant->second->numbers.value_or(std::vector<double>{}),
                      is_real(*constant->second)};
    return &(values_[name] = std::move(value));
}

const Value *Importer::tensor(std::size_t i) {
    const Value *found = input(i);
    return found && found->is_tensor() ? found : nullptr;
}

const Numbers *Importer::constant(std::size_t i) {
    const Value *found = input(i);
    return found && !found->is_tensor() ? &found->constant : nullptr;
}

bool Importer::known_from(std::size_t first) {
    for (std::size_t i = first; i < node_->inputs.size(); ++i)
        if (!node_->inputs[i].empty() && !(constant(i) && constant(i)->known()))
            return false;
    return true;
}

std::vector<std::string> Importer::other_outputs() const {
    std::vector<std::string> names;
    for (std::size_t i = 1; i < node_->outputs.size(); ++i)
        if (!node_->outputs[i].empty())
            names.push_back(node_->outputs[i]);
    return names;
}

std::vector<double> Importer::given(std::size_t i, const char *name) {
    const Numbers *found = constant(i);
    return found && found->known() ? found->values : attribute(*node_, name);
}

const Operator *Importer::producer(const std::string &name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &out_.operators[found->second];
}

bool Importer::read_once(const std::string &of) const {
    const auto found = given_.find(of);
    const auto once = [&](const std::string &tensor) { return readers_of(tensor) == 1; };
    return found == given_.end() || std::all_of(found->second.begin(), found->second.end(), once);
}

bool Importer::give(Value value, std::size_t output) {
    if (output < node_->outputs.size()) {
        given_[value.of].push_back(node_->outputs[output]);
        values_[node_->outputs[output]] = std::move(value);
    }
    return true;
}

bool Importer::refuse(const std::string &message) {
    problem(message);
    lose();
    return true;
}

bool Importer::unknown_because(const std::string &why) {
    why_ = why;
    return false;
}

void Importer::take() {
    why_.clear();
    const auto is_lost = [&](const std::string &input) { return lost_.contains(input); };
    if (std::any_of(node_->inputs.begin(), node_->inputs.end(), is_lost))
        return lose(); // a consequence of what was said
    try {
        const auto function = function_for(type());
        if (!take_numbers() && !(function && function(*this)))
            take_unknown();
    } catch (const UsageError &error) { // of windows_of: an attribute that no node can have
        refuse(error.what());
    }
}

bool Importer::take_numbers() {
    if (node_->type == "Constant") {
        Numbers numbers;
        for (const char *name : {"value", "value_int", "value_ints", "value_float", "value_floats"})
            if (const std::vector<double> found = attribute(*node_, name); !found.empty()) {
                numbers.values = found;
                numbers.real = std::string_view(name).starts_with("value_float");
            }
        if (const auto known = constants_.find(node_->outputs.empty() ? "" : node_->outputs.front());
            known != constants_.end()) {
            numbers.sizes = known->second->sizes;
            numbers.real = is_real(*known->second);
        } else if (numbers.values.size() != 1)
            numbers.sizes = {static_cast<std::int64_t>(numbers.values.size())};
        return give(std::move(numbers));
    }
    if (node_->type == "Shape" && input(0) != nullptr) {
        std::vector<std::int64_t> sizes = input(0)->sizes();
        if (tensor(0) && !sizes.empty())
            sizes.front() = std::max<std::int64_t>(1, fixed_images_); // of any number of images: one
        const auto count = static_cast<std::int64_t>(sizes.size());
        const auto place = [&](const char *name, std::int64_t otherwise) {
            const std::int64_t at = integer(name, otherwise);
            return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count);
        };
        const std::int64_t begin = place("start", 0), end = std::max(begin, place("end", count));
        return give(Numbers{{end - begin}, {sizes.begin() + begin, sizes.begin() + end}});
    }
    std::vector<std::optional<Numbers>> inputs;
    for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
        if (tensor(i))
            return false;
        inputs.push_back(constant(i) ? std::optional(*constant(i)) : std::nullopt);
    }
    std::optional<Numbers> numbers = computed(*node_, inputs);
    return numbers && give(std::move(*numbers));
}

/// The sizes of the first output of a node that works number by number or reduces, as they follow from its
/// inputs. Empty for other nodes, and if an input's sizes are not known or do not fit.
std::vector<std::int64_t> Importer::sizes_of_inputs() {
    static const std::set<std::string> number_by_number = {
        "Abs",  "Add",  "Ceil", "Celu",  "Cos",        "Div",   "Elu",      "Exp",
        "Log",  "Max",  "Min",  "Mish",  "Mul",        "Neg",   "Pow",      "PRelu",
        "Sign", "Sin",  "Sqrt", "Round", "Reciprocal", "Floor", "Softplus", "Softsign",
        "Sub",  "Selu", "Mod",  "Sum",   "Mean",       "Where", "Cast",     "ThresholdedRelu"};
    if (number_by_number.contains(node_->type)) {
        std::vector<std::int64_t>
            all; // of each axis the size of the inputs that is not 1; last axes correspond
        for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
            const Value *value = input(i);
            if (!value)
                return {};
            const std::vector<std::int64_t> own = value->sizes();
            if (own.size() > all.size())
                all.insert(all.begin(), own.size() - all.size(), 1);
            for (std::size_t k = 0; k < own.size(); ++k) {
                std::int64_t &size = all[all.size() - own.size() + k];
                if (size != 1 && own[k] != 1 && size != own[k])
                    return {};
                size = std::max(size, own[k]);
            }
        }
        return all;
    }
    const Value *value = tensor(0);
    if (!node_->type.starts_with("Reduce") || !value || !known_from(1))
        return {};
    std::vector<std::int64_t> sizes = value->view.sizes();
    const auto rank = static_cast<double>(sizes.size());
    const bool stays = attribute(*node_, "keepdims", {1.0}).front() != 0.0;
    std::vector<double> axes = given(1, "axes");
    for (double &axis : axes)
        axis += axis < 0.0 ? rank : 0.0;
    std::ranges::sort(axes, std::greater());
    for (const double axis : axes) {
        if (!(axis >= 1.0 && axis < rank))
            return {};
        const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(axis);
        stays ? void(*at = 1) : void(sizes.erase(at));
    }
    return axes.empty() ? std::vector<std::int64_t>{} : sizes;
}

std::string Importer::why_unknown() {
    if (!why_.empty())
        return why_;
    for (const std::string &name : node_->inputs)
        if (const auto found = constants_.find(name);
            found != constants_.end() && found->second->external && found->second->type.starts_with("int"))
            return "its sizes '" + shortened(name, 60) + "' lie in another file, " +
                   shortened(*found->second->external, 60) +
                   ", which is not read; onnx.save(model, file, save_as_external_data=False) puts them into "
                   "the file";
    static const std::set<std::string> integers = {
        "ConvInteger",    "MatMulInteger",    "QLinearConv",          "QLinearMatMul",
        "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"};
    if (integers.contains(node_->type))
        return "it computes with integers of 8 bits";
    return function_for(type()) ? "in this form, with these inputs or attributes" : "no operator of convcast";
}

void Importer::take_unknown() {
    std::vector<Value> inputs;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < node_->inputs.size(); ++i)
        if (tensor(i) && seen.insert(tensor(i)->of).second)
            inputs.push_back(*tensor(i));
    if (inputs.empty()) // an operator has to read something
        inputs.push_back(image_);
    for (std::size_t i = 0; i < node_->outputs.size(); ++i) {
        const std::string &name = node_->outputs[i];
        if (name.empty() || readers_of(name) == 0)
            continue;
        const auto known = inferred_.find(name);
        // As the file says, or as they follow from the inputs.
        const std::vector<std::int64_t> sizes = known != inferred_.end() ? known->second->sizes
                                                : i == 0                 ? sizes_of_inputs()
                                                                         : std::vector<std::int64_t>{};
        if (sizes.empty() || std::any_of(sizes.begin() + 1, sizes.end(),
                                         [](auto size) { return size < 1 || size > most_size; }))
            return (void)refuse("it is not known (" + why_unknown() + "), and the shape of its output " +
                                shortened(name, 60) +
                                " is not in the file; expected an operator of docs/networks.md, or a file "
                                "with all shapes, as "
                                "onnx.shape_inference.infer_shapes writes it");
        double product = 1.0;
        for (std::size_t axis = 1; axis < sizes.size(); ++axis)
            product *= static_cast<double>(sizes[axis]);
        if (product > static_cast<double>(most_size))
            return (void)refuse("its output of " + onnx::sizes_text(sizes) +
                                " is larger than 2^31 numbers of an image; expected sizes of a network that "
                                "runs");
        std::vector<ViewAxis> axes = {{}};
        std::int64_t stride = 1;
        for (std::size_t axis = sizes.size(); axis-- > 1; stride *= sizes[axis])
            axes.insert(axes.begin() + 1, ViewAxis{{sizes[axis], stride}});
        const View view(std::move(axes));
        Value out =
            add({.kind = OperatorKind::unknown, .node = shortened(node_->type, 60), .output = view.shape()},
                inputs, i == 0 ? "" : "." + std::to_string(i));
        out.view = view;
        whys_[out.of] = why_unknown();
        give(std::move(out), i);
    }
}

} // namespace convcast::onnx

namespace convcast {

Network import_onnx(const OnnxGraph &graph, const std::string &file, std::vector<std::string> *remarks) {
    onnx::Importer importer(graph, file);
    Network network = importer.run();
    if (remarks)
        *remarks = importer.remarks();
    // What the importer makes is checked as if it had been read: one place says what a network is.
    (void)read_network(to_text(described::write(network)), file);
    return network;
}

NetworkConvolutions convolutions_of_network(const OnnxGraph &graph, const std::string &file) {
    NetworkConvolutions found;
    try {
        onnx::Importer importer(graph, file);
        const Network network = importer.run();
        found.images = importer.images();
        std::map<std::string, ConvShape> by_name;
        for (std::size_t i = 0; i < network.operators.size(); ++i)
            if (const Operator &op = network.operators[i]; op.kind == OperatorKind::convolution)
                if (const auto shape = as_convolution(op, network.input_shapes(i).front(), 1))
                    by_name.emplace(op.name, *shape);
        for (const auto &[tensor, name] : importer.convolutions())
            if (const auto its = by_name.find(name); its != by_name.end())
                found.of.emplace(tensor, its->second);
    } catch (const InputError &) { // no network: convolutions_of says of each convolution what it lacks
    }
    return found;
}

} // namespace convcast
