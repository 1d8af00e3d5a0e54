#include "model/network/onnx/import.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/network/onnx/numbers.hpp"
#include "model/network/onnx/view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr std::int64_t most_size = std::int64_t{1} << 31;
constexpr const char *image_name = "input";

/// What the name of an ONNX tensor stands for.
struct Value {
    std::string of;                 ///< an operator or "input"; "" of a constant
    ImageShape shape{};             ///< of that operator's output
    View view;                      ///< how its sizes lie in it
    std::optional<Numbers> numbers; ///< of a constant whose numbers are known, and of the sizes of a tensor
    std::vector<std::int64_t> constant_sizes;

    bool is_tensor() const { return !of.empty(); }
    std::vector<std::int64_t> sizes() const { return is_tensor() ? view.sizes() : constant_sizes; }
    std::int64_t constant_count() const {
        std::int64_t count = 1;
        for (const std::int64_t size : constant_sizes)
            count = std::min(most_size, count * std::clamp<std::int64_t>(size, 0, most_size));
        return count;
    }
};

/// Rows (0) or columns (1) of a window over a map.
struct Window {
    std::int64_t input = 1, window = 1, stride = 1, dilation = 1, begin = 0, end = 0;

    std::int64_t reach() const { return (window - 1) * dilation + 1; }
    /// Places of the window with this padding at the end.
    std::int64_t places(std::int64_t at_end) const {
        return input + begin + at_end < reach() ? 0 : (input + begin + at_end - reach()) / stride + 1;
    }
};

class Importer {
  public:
    Importer(const OnnxGraph &graph, const std::string &id, const std::string &file)
        : graph_(graph), file_(file) {
        out_.network.id = id;
        out_.network.title = file + " (ONNX)";
        out_.network.citation = "imported";
    }

    ImportedNetwork run() {
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
        read_input();
        for (const OnnxNode &node : graph_.nodes) {
            node_ = &node;
            take();
        }
        finish();
        if (!problems_.empty())
            throw InputError(problems_);
        return std::move(out_);
    }

  private:
    static bool passes_on(const OnnxNode &node) {
        return (node.type == "Identity" || node.type == "Dropout" || node.type == "Cast") &&
               !node.inputs.empty() && !node.outputs.empty();
    }
    /// The tensor whose numbers a tensor has.
    std::string root_of(const std::string &name) const {
        const auto found = same_.find(name);
        return found == same_.end() ? name : found->second;
    }
    int readers_of(const std::string &name) const {
        const auto found = readers_.find(root_of(name));
        return found == readers_.end() ? 0 : found->second;
    }

    // ---- inputs and outputs of the graph ----

    void read_input() {
        std::vector<std::string> images;
        for (const std::string &name : graph_.inputs)
            if (!constants_.contains(name) && readers_of(name) > 0)
                images.push_back(name);
        if (images.size() != 1)
            throw InputError(file_ + " (ONNX)",
                             fmt::format("expected one input, a batch of images, found {}: {}", images.size(),
                                         shortened(join_text(images), 200)));
        const auto tensor = inferred_.find(images.front());
        const std::vector<std::int64_t> sizes =
            tensor == inferred_.end() ? std::vector<std::int64_t>{} : tensor->second->sizes;
        if (sizes.size() != 4 || std::any_of(sizes.begin() + 1, sizes.end(),
                                             [](auto size) { return size < 1 || size > most_size; }))
            throw InputError(
                file_ + " (ONNX)",
                fmt::format(
                    "expected an input of images, channels, rows and columns of known sizes, found \"{}\" "
                    "of {}; --input-size HxW gives open rows and columns, for example --input-size 224x224",
                    shortened(images.front(), 80), sizes_text(sizes)));
        fixed_images_ = sizes[0];
        out_.network.input = {sizes[1], sizes[2], sizes[3]};
        if (!is_bounded(out_.network.input))
            throw InputError(file_ + " (ONNX)", "its input of " + sizes_text(sizes) +
                                                    " has more than 2^31 numbers an image; expected fewer");
        image_ = values_[images.front()] = tensor_value(image_name, out_.network.input);
    }

    void finish() {
        if (!problems_.empty())
            return;
        std::vector<std::string> outputs;
        for (const std::string &name : graph_.outputs)
            if (const auto found = values_.find(name); found != values_.end() && found->second.is_tensor())
                outputs.push_back(found->second.view.in_order() ? found->second.of
                                                                : plain(Value(found->second)).of);
        keep_used(outputs);
        std::vector<Operator> &operators = out_.network.operators;
        if (operators.empty() || std::find(outputs.begin(), outputs.end(), image_name) != outputs.end())
            return problem(
                file_ + " (ONNX)",
                "expected an output that is computed of the input, for example by a node of type Conv");
        if (outputs.size() > 1)
            out_.network.outputs = outputs;
        for (Operator &op : operators)
            if (const std::size_t i = static_cast<std::size_t>(&op - operators.data());
                op.from == std::vector<std::string>{i == 0 ? image_name : operators[i - 1].name})
                op.from.clear(); // the operator before it
    }

    /// Only what the outputs need; what they are comes last.
    void keep_used(const std::vector<std::string> &outputs) {
        std::set<std::string> used(outputs.begin(), outputs.end());
        std::vector<Operator> kept, &all = out_.network.operators;
        for (std::size_t i = all.size(); i-- > 0;)
            if (used.contains(all[i].name)) {
                used.insert(all[i].from.begin(), all[i].from.end());
                kept.push_back(std::move(all[i]));
            }
        std::reverse(kept.begin(), kept.end());
        all = std::move(kept);
    }

    // ---- names and operators ----

    static std::string join_text(const std::vector<std::string> &names) {
        return fmt::format("{}", fmt::join(names, ", "));
    }

    static std::string sizes_text(const std::vector<std::int64_t> &sizes) {
        std::string text;
        for (const std::int64_t size : sizes)
            text += (text.empty() ? "" : " x ") + (size > 0 ? std::to_string(size) : std::string("?"));
        return text.empty() ? "no known sizes" : text;
    }

    void problem(const std::string &place, const std::string &message) {
        problems_.push_back({place, message});
    }
    void problem(const std::string &message) {
        problem(file_ + " (ONNX): " + shortened(node_->name, 80), node_->type + ": " + message);
    }

    /// The node's name as an operator can have it, each once; `end` for what a node has besides.
    std::string new_name(const std::string &end = "") {
        constexpr std::size_t longest = 180;
        std::string name =
            node_->name.empty() && !node_->outputs.empty() ? node_->outputs.front() : node_->name;
        name = name.substr(0, longest);
        for (char &c : name)
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

    Value tensor_value(const std::string &of, const ImageShape &shape) const {
        return {of, shape, View::of_images(shape), {}, {}};
    }

    static bool is_bounded(const ImageShape &shape) {
        double product = 1.0;
        for (const std::int64_t size : shape)
            product *= size < 1 ? 1e300 : static_cast<double>(size);
        return product <= static_cast<double>(most_size);
    }
    static bool is_size(std::int64_t size) { return size >= 1 && size <= most_size; }

    /// Appends an operator and gives its output, seen as images, channels, rows, columns. A wrong one is a
    /// problem.
    Value add(Operator op, const std::vector<Value> &inputs, const std::string &end = "") {
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
            problem(
                "its output is larger than 2^31 numbers of an image; expected sizes of a network that runs");
        if (answer.shape && is_bounded(*answer.shape))
            op.output = *answer.shape;
        else
            op.output = {1, 1, 1}, lose();
        index_[op.name] = out_.network.operators.size();
        out_.network.operators.push_back(std::move(op));
        return tensor_value(out_.network.operators.back().name, out_.network.operators.back().output);
    }
    Value add(OperatorKind kind, const std::vector<Value> &inputs, const std::string &end = "") {
        Operator op;
        op.kind = kind;
        return add(std::move(op), inputs, end);
    }

    /// The same numbers with an operator that changes each by itself: the view stays.
    Value each(Operator op, const Value &input, const std::string &end = "") {
        Value out = add(std::move(op), {input}, end);
        out.view = input.view;
        return out;
    }
    Value each(OperatorKind kind, const Value &input, const std::string &end = "") {
        Operator op;
        op.kind = kind;
        return each(std::move(op), input, end);
    }

    /// The value with its numbers in the order of its sizes, moved if they are not. It has as many sizes as
    /// before; of more than four only the first are told apart.
    Value plain(const Value &value) {
        const ImageShape shape = value.view.shape();
        Value out = tensor_value(value.of, shape);
        if (!value.view.in_order() || shape != value.shape) {
            Operator op;
            op.output = shape;
            const bool ordered = value.view.in_order();
            op.kind = ordered ? OperatorKind::reshape : OperatorKind::transpose;
            if (!ordered) {
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

    // ---- the inputs of a node ----

    const Value *input(std::size_t i) {
        if (i >= node_->inputs.size() || node_->inputs[i].empty())
            return nullptr;
        const std::string &name = node_->inputs[i];
        if (const auto found = values_.find(name); found != values_.end())
            return &found->second;
        const auto constant = constants_.find(name);
        if (constant == constants_.end())
            return nullptr;
        Value value;
        value.constant_sizes = constant->second->sizes;
        if (constant->second->numbers)
            value.numbers = Numbers{value.constant_sizes, *constant->second->numbers};
        return &(values_[name] = std::move(value));
    }
    const Value *tensor(std::size_t i) {
        const Value *found = input(i);
        return found && found->is_tensor() ? found : nullptr;
    }
    const Value *constant(std::size_t i) {
        const Value *found = input(i);
        return found && !found->is_tensor() ? found : nullptr;
    }
    /// Numbers of an input, or else of an attribute.
    std::vector<double> given(std::size_t i, const char *name) {
        const Value *found = constant(i);
        return found && found->numbers ? found->numbers->values : attribute(*node_, name);
    }

    void give(Value value, std::size_t output = 0) {
        if (output >= node_->outputs.size())
            return;
        given_.try_emplace(value.of, node_->outputs[output]);
        values_[node_->outputs[output]] = std::move(value);
    }

    // ---- nodes ----

    void take() {
        const auto is_lost = [&](const std::string &input) { return lost_.contains(input); };
        if (std::any_of(node_->inputs.begin(), node_->inputs.end(), is_lost))
            return lose(); // a consequence of what was said
        if (take_numbers() || take_view() || take_operator())
            return;
        take_unknown();
    }

    bool take_numbers() {
        if (node_->type == "Constant") {
            Value value;
            value.numbers = Numbers{};
            for (const char *name : {"value", "value_int", "value_ints", "value_float", "value_floats"})
                if (const std::vector<double> found = attribute(*node_, name); !found.empty())
                    value.numbers->values = found;
            if (const auto known = constants_.find(node_->outputs.empty() ? "" : node_->outputs.front());
                known != constants_.end())
                value.constant_sizes = known->second->sizes;
            else if (value.numbers->values.size() != 1)
                value.constant_sizes = {static_cast<std::int64_t>(value.numbers->values.size())};
            value.numbers->sizes = value.constant_sizes;
            if (value.numbers->values.empty() && value.constant_count() != 0)
                value.numbers.reset();
            give(std::move(value));
            return true;
        }
        if (node_->type == "Shape" && input(0) != nullptr) {
            Value value;
            std::vector<std::int64_t> sizes = input(0)->sizes();
            const auto count = static_cast<std::int64_t>(sizes.size());
            const auto place = [&](const char *name, std::int64_t otherwise) {
                const std::int64_t at = integers(*node_, name, {otherwise}).front();
                return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count);
            };
            const std::int64_t begin = place("start", 0), end = std::max(begin, place("end", count));
            value.numbers.emplace();
            for (std::int64_t i = begin; i < end; ++i)
                value.numbers->values.push_back(static_cast<double>(sizes[static_cast<std::size_t>(i)]));
            value.constant_sizes = value.numbers->sizes = {end - begin};
            give(std::move(value));
            return true;
        }
        std::vector<std::optional<Numbers>> inputs;
        for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
            if (tensor(i))
                return false;
            inputs.push_back(input(i) ? input(i)->numbers : std::nullopt);
        }
        if (const Value *in = input(0); in && take_constant_view(*in))
            return true;
        std::optional<Numbers> numbers = computed(*node_, inputs);
        if (!numbers)
            return false;
        Value value;
        value.constant_sizes = numbers->sizes;
        value.numbers = std::move(numbers);
        give(std::move(value));
        return true;
    }

    /// The sizes of a constant, such as weights, after a node that only changes them.
    bool take_constant_view(const Value &in) {
        const std::string &type = node_->type;
        Value out = in;
        std::vector<std::int64_t> &sizes = out.constant_sizes;
        const auto rank = static_cast<std::int64_t>(sizes.size());
        std::vector<std::int64_t> axes = as_integers(given(1, "axes"));
        if ((type == "Identity" || type == "Cast") && !in.numbers) {
        } else if (type == "Transpose") {
            std::vector<std::int64_t> order = integers(*node_, "perm");
            for (std::int64_t i = rank; order.empty() && i-- > 0;)
                order.push_back(i);
            for (std::size_t i = 0; i < order.size(); ++i)
                if (order[i] < 0 || order[i] >= rank || order.size() != sizes.size())
                    return false;
                else
                    sizes[i] = in.constant_sizes[static_cast<std::size_t>(order[i])];
            if (rank > 1)
                out.numbers.reset(); // in another order
        } else if (type == "Reshape" && input(1) && input(1)->numbers && !in.numbers) {
            sizes = as_integers(input(1)->numbers->values);
        } else if ((type == "Unsqueeze" || type == "Squeeze") && !axes.empty() && rank > 0) {
            const std::int64_t out_rank =
                type == "Squeeze" ? rank : rank + static_cast<std::int64_t>(axes.size());
            for (std::int64_t &axis : axes)
                axis = axis < 0 ? axis + out_rank : axis;
            std::sort(axes.begin(), axes.end());
            if (type == "Squeeze")
                std::reverse(axes.begin(), axes.end());
            for (const std::int64_t axis : axes) {
                if (axis < 0 || axis > static_cast<std::int64_t>(sizes.size()) ||
                    (type == "Squeeze" && (axis == static_cast<std::int64_t>(sizes.size()) ||
                                           sizes[static_cast<std::size_t>(axis)] != 1)))
                    return false;
                const auto at = sizes.begin() + axis;
                if (type == "Squeeze")
                    sizes.erase(at);
                else
                    sizes.insert(at, 1);
            }
            if (out.numbers)
                out.numbers->sizes = sizes;
        } else {
            return false;
        }
        give(std::move(out));
        return true;
    }

    /// What changes only the view.
    bool take_view() {
        const std::string &type = node_->type;
        const Value *in = tensor(0);
        if (!in)
            return false;
        Value value = *in;
        const auto rank = static_cast<std::int64_t>(value.view.rank());
        const std::vector<std::int64_t> to = integers(*node_, "to", {1});
        const bool real = to.front() == 1 || to.front() == 10 || to.front() == 11 || to.front() == 16;
        if (type == "Identity" || type == "Dropout" || (type == "Cast" && real)) {
            give(std::move(value));
            return true;
        }
        if (type == "Transpose") {
            std::vector<std::size_t> order;
            for (const std::int64_t at : integers(*node_, "perm"))
                order.push_back(static_cast<std::size_t>(at));
            std::vector<std::size_t> sorted = order;
            std::sort(sorted.begin(), sorted.end());
            for (std::size_t i = 0; i < sorted.size(); ++i)
                if (sorted[i] != i || static_cast<std::int64_t>(sorted.size()) != rank || order.front() != 0)
                    return false;
            if (order.empty())
                return false;
            value.view = value.view.transposed(order);
            give(std::move(value));
            return true;
        }
        if (type == "Squeeze" || type == "Unsqueeze") {
            std::vector<std::int64_t> axes = as_integers(given(1, "axes"));
            const std::int64_t out_rank =
                type == "Squeeze" ? rank : rank + static_cast<std::int64_t>(axes.size());
            for (std::int64_t &axis : axes)
                axis = axis < 0 ? axis + out_rank : axis;
            std::sort(axes.begin(), axes.end());
            if (type == "Squeeze")
                std::reverse(axes.begin(), axes.end());
            for (const std::int64_t axis : axes) {
                const auto at = static_cast<std::size_t>(axis);
                if (axis < 1 || at > value.view.rank() ||
                    (type == "Squeeze" && (at == value.view.rank() || value.view.size(at) != 1)))
                    return false;
                value.view = type == "Squeeze" ? value.view.without(at) : value.view.with_one(at);
            }
            give(std::move(value));
            return !axes.empty();
        }
        if (type == "Flatten" && integers(*node_, "axis", {1}).front() == 1)
            return reshape(value, {1, -1});
        if (type == "Reshape" && constant(1) && constant(1)->numbers)
            return reshape(value, as_integers(constant(1)->numbers->values));
        return false;
    }

    /// Absent: the first size is not that of the images, or the numbers are not as many.
    bool reshape(Value value, std::vector<std::int64_t> sizes) {
        const std::int64_t all = elements(value.shape);
        std::int64_t product = 1;
        std::optional<std::size_t> open;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (sizes[i] == 0 && i < value.view.rank())
                sizes[i] = value.view.size(i);
            if (i == 0 && fixed_images_ > 0 && sizes[i] == fixed_images_)
                sizes[i] = 1;
            if (sizes[i] == -1)
                open = i;
            else if (!is_size(sizes[i]) || (product *= sizes[i]) > most_size)
                return false;
        }
        if (open)
            sizes[*open] = all / product, product *= sizes[*open];
        if (sizes.empty() || sizes.front() != 1 || product != all)
            return false;
        auto view = value.view.reshaped(sizes);
        if (!view) {
            value = plain(value);
            view = value.view.reshaped(sizes);
        }
        if (!view)
            return false;
        value.view = *view;
        give(std::move(value));
        return true;
    }

    bool take_operator() {
        using Take = bool (Importer::*)();
        static const std::map<std::string, Take> takes = {{"Conv", &Importer::convolution},
                                                          {"ConvTranspose", &Importer::transposed},
                                                          {"Gemm", &Importer::gemm},
                                                          {"MatMul", &Importer::matmul},
                                                          {"BatchNormalization", &Importer::batch_norm},
                                                          {"LayerNormalization", &Importer::layer_norm},
                                                          {"Relu", &Importer::function},
                                                          {"LeakyRelu", &Importer::function},
                                                          {"Sigmoid", &Importer::function},
                                                          {"HardSigmoid", &Importer::function},
                                                          {"HardSwish", &Importer::function},
                                                          {"Swish", &Importer::function},
                                                          {"Gelu", &Importer::function},
                                                          {"Tanh", &Importer::function},
                                                          {"Erf", &Importer::function},
                                                          {"Clip", &Importer::function},
                                                          {"Add", &Importer::of_two},
                                                          {"Sub", &Importer::of_two},
                                                          {"Mul", &Importer::of_two},
                                                          {"Div", &Importer::of_two},
                                                          {"MaxPool", &Importer::pooling},
                                                          {"AveragePool", &Importer::pooling},
                                                          {"GlobalAveragePool", &Importer::global_pooling},
                                                          {"GlobalMaxPool", &Importer::global_pooling},
                                                          {"ReduceMean", &Importer::global_pooling},
                                                          {"Concat", &Importer::concat},
                                                          {"Split", &Importer::split},
                                                          {"Slice", &Importer::slice},
                                                          {"Pad", &Importer::pad},
                                                          {"Resize", &Importer::resize},
                                                          {"Upsample", &Importer::resize},
                                                          {"Softmax", &Importer::softmax}};
        const auto found = takes.find(node_->type);
        return found != takes.end() && (this->*found->second)();
    }

    // ---- windows ----

    /// Rows and columns of a window over the first input; absent where sizes or attributes do not fit.
    std::optional<std::array<Window, 2>> windows(const Value &in, const std::vector<std::int64_t> &window) {
        const std::vector<std::int64_t> strides = integers(*node_, "strides", {1, 1}),
                                        pads = integers(*node_, "pads", {0, 0, 0, 0}),
                                        dilations = integers(*node_, "dilations", {1, 1});
        const std::string pad = attribute_text(*node_, "auto_pad");
        if (window.size() != 2 || strides.size() != 2 || pads.size() != 4 || dilations.size() != 2 ||
            in.view.rank() != 4)
            return std::nullopt;
        std::array<Window, 2> out;
        for (std::size_t i = 0; i < 2; ++i) {
            Window &w = out[i];
            for (const std::int64_t size : {window[i], strides[i], dilations[i]})
                if (size < 1 || size > most_size)
                    return std::nullopt;
            w = {in.view.size(i + 2), window[i], strides[i], dilations[i], pads[i], pads[i + 2]};
            if (pad == "VALID")
                w.begin = w.end = 0;
            if (pad == "SAME_UPPER" || pad == "SAME_LOWER") {
                const std::int64_t both = std::max<std::int64_t>(
                    ((w.input + w.stride - 1) / w.stride - 1) * w.stride + w.reach() - w.input, 0);
                w.begin = pad == "SAME_UPPER" ? both / 2 : (both + 1) / 2;
                w.end = both - w.begin;
            }
            if (w.begin < 0 || w.end < 0 || w.begin > most_size || w.end > most_size)
                return std::nullopt;
        }
        return out;
    }

    bool convolution() {
        const Value *in = tensor(0), *filters = constant(1);
        if (!in || !filters || tensor(2) || filters->constant_sizes.size() != 4)
            return false;
        const std::vector<std::int64_t> sizes = filters->constant_sizes;
        auto w = windows(*in, {sizes[2], sizes[3]});
        if (!w)
            return false;
        Value from = plain(*in);
        // The same padding on both sides where that gives the same outputs; else pixels are put around the
        // image first.
        if ((*w)[0].places((*w)[0].begin) != (*w)[0].places((*w)[0].end) ||
            (*w)[1].places((*w)[1].begin) != (*w)[1].places((*w)[1].end)) {
            Operator op;
            op.kind = OperatorKind::pad;
            op.pad = {(*w)[0].begin, (*w)[1].begin};
            op.pad_end = {(*w)[0].end, (*w)[1].end};
            from = add(std::move(op), {from}, ".pad");
            (*w)[0].begin = (*w)[1].begin = 0;
        }
        Operator op;
        op.kind = OperatorKind::convolution;
        op.outputs = sizes[0];
        op.window = {sizes[2], sizes[3]};
        set_windows(op, *w);
        const std::int64_t groups = integers(*node_, "group", {1}).front();
        if (!std::all_of(sizes.begin(), sizes.end(), is_size) || !is_size(groups))
            return false;
        if (groups != 1)
            op.groups = groups;
        if (from.shape[0] / op.groups.value_or(1) != sizes[1]) {
            problem(fmt::format("its input has {} channels in {} groups, its filters have {}", from.shape[0],
                                op.groups.value_or(1), sizes[1]));
            lose();
            return true;
        }
        give(with_bias(add(std::move(op), {from}), 2));
        return true;
    }

    static void set_windows(Operator &op, const std::array<Window, 2> &w) {
        if (w[0].stride != 1 || w[1].stride != 1)
            op.stride = {w[0].stride, w[1].stride};
        if (w[0].begin != 0 || w[1].begin != 0)
            op.pad = {w[0].begin, w[1].begin};
        if (w[0].dilation != 1 || w[1].dilation != 1)
            op.dilation = {w[0].dilation, w[1].dilation};
    }

    Value with_bias(const Value &value, std::size_t i) {
        if (!constant(i))
            return value;
        Value out = each(OperatorKind::bias, value, ".bias");
        return out;
    }

    bool transposed() {
        const Value *in = tensor(0), *filters = constant(1);
        const std::string pads = attribute_text(*node_, "auto_pad");
        if (!in || !filters || tensor(2) || filters->constant_sizes.size() != 4 ||
            (!pads.empty() && pads != "NOTSET") || !integers(*node_, "output_shape").empty())
            return false;
        const std::vector<std::int64_t> sizes = filters->constant_sizes,
                                        more = integers(*node_, "output_padding", {0, 0});
        auto w = windows(*in, {sizes[2], sizes[3]});
        if (!w || more.size() != 2 || more[0] > (*w)[0].end || more[1] > (*w)[1].end)
            return false;
        Operator op;
        op.kind = OperatorKind::transposed_convolution;
        const std::int64_t groups = integers(*node_, "group", {1}).front();
        if (!std::all_of(sizes.begin(), sizes.end(), is_size) || !is_size(groups))
            return false;
        op.outputs = sizes[1] * groups;
        op.window = {sizes[2], sizes[3]};
        set_windows(op, *w);
        if (const TwoSizes end = {(*w)[0].end - more[0], (*w)[1].end - more[1]}; end != op.pad_or_none())
            op.pad_end = end;
        if (groups != 1)
            op.groups = groups;
        give(with_bias(add(std::move(op), {plain(*in)}), 2));
        return true;
    }

    bool pooling() {
        const Value *in = tensor(0);
        const std::vector<std::int64_t> window = integers(*node_, "kernel_shape");
        if (!in || node_->outputs.size() > 1)
            return false;
        const auto w = windows(*in, window);
        const bool means = node_->type == "AveragePool",
                   ceil = integers(*node_, "ceil_mode", {0}).front() != 0,
                   counts_pad = integers(*node_, "count_include_pad", {0}).front() != 0;
        if (!w || (*w)[0].dilation != 1 || (*w)[1].dilation != 1)
            return false;
        Operator op;
        op.kind = means ? OperatorKind::average_pooling : OperatorKind::max_pooling;
        op.window = {window[0], window[1]};
        op.stride = {(*w)[0].stride, (*w)[1].stride};
        TwoSizes begin{}, end{};
        bool padded = false;
        for (std::size_t i = 0; i < 2; ++i) {
            const Window &its = (*w)[i];
            begin[i] = its.begin, end[i] = its.end;
            if (ceil) { // as if there were more pixels at the end, unless a window had none of the others
                std::int64_t places =
                    (its.input + its.begin + its.end - its.window + its.stride - 1) / its.stride + 1;
                if ((places - 1) * its.stride >= its.input + its.begin)
                    --places;
                end[i] =
                    std::max<std::int64_t>((places - 1) * its.stride + its.window - its.input - its.begin, 0);
                if (means && counts_pad && end[i] > its.end)
                    return false; // divides by another number at the end
            }
            padded = padded || begin[i] > 0 || end[i] > 0;
        }
        if (begin != TwoSizes{})
            op.pad = begin;
        if (end != begin)
            op.pad_end = end;
        if (means && padded && !counts_pad)
            op.inside = true;
        give(add(std::move(op), {plain(*in)}));
        return true;
    }

    bool global_pooling() {
        const Value *in = tensor(0);
        if (!in || in->view.rank() != 4)
            return false;
        bool keep = true;
        if (node_->type == "ReduceMean") {
            std::vector<std::int64_t> axes = as_integers(given(1, "axes"));
            for (std::int64_t &axis : axes)
                axis = axis < 0 ? axis + 4 : axis;
            std::sort(axes.begin(), axes.end());
            keep = integers(*node_, "keepdims", {1}).front() != 0;
            if (axes != std::vector<std::int64_t>{2, 3})
                return false;
        }
        const Value from = plain(*in);
        Operator op;
        op.kind = node_->type == "GlobalMaxPool" ? OperatorKind::max_pooling : OperatorKind::average_pooling;
        op.window = {from.shape[1], from.shape[2]};
        Value out = add(std::move(op), {from});
        if (!keep)
            out.view = View::of_numbers(out.shape[0]);
        give(std::move(out));
        return true;
    }

    // ---- products with weights ----

    bool gemm() {
        const Value *in = tensor(0), *weights = constant(1);
        if (!in || !weights || tensor(2) || weights->constant_sizes.size() != 2 || in->view.rank() != 2 ||
            integers(*node_, "transA", {0}).front() != 0)
            return false;
        return dense(*in, weights->constant_sizes[integers(*node_, "transB", {0}).front() != 0 ? 0 : 1], 2);
    }

    bool dense(const Value &in, std::int64_t outputs, std::size_t bias) {
        if (!is_size(outputs))
            return false;
        Operator op;
        op.kind = OperatorKind::dense;
        op.outputs = outputs;
        Value from = in.view.in_order() ? in : plain(in); // a dense layer reads numbers in any sizes
        Value out = with_bias(add(std::move(op), {from}), bias);
        out.view = View::of_numbers(out.shape[0]);
        give(std::move(out));
        return true;
    }

    bool matmul() {
        const Value *in = tensor(0), *weights = constant(1);
        if (!in || !weights || weights->constant_sizes.size() != 2)
            return false;
        const std::int64_t outputs = weights->constant_sizes[1];
        if (!is_size(outputs))
            return false;
        if (in->view.rank() == 2)
            return dense(*in, outputs, 99);
        Value from = *in;
        if (in->view.size(in->view.rank() - 1) != in->shape[0])
            return false;
        auto view = from.view.with_channels(from.view.rank() - 1, from.shape[1] * from.shape[2], outputs);
        if (!view)
            return false;
        Operator op; // of channels, pixel by pixel
        op.kind = OperatorKind::convolution;
        op.outputs = outputs;
        op.window = {1, 1};
        Value out = add(std::move(op), {from});
        out.view = *view;
        give(std::move(out));
        return true;
    }

    // ---- norms ----

    /// Folded into the convolution before it where nothing else reads that.
    bool batch_norm() {
        const Value *in = tensor(0);
        if (!in || in->view.rank() < 2 || in->view.size(1) != in->shape[0] ||
            !in->view.with_channels(1, in->shape[1] * in->shape[2], in->shape[0]))
            return false;
        const Operator *before = producer(in->of);
        const auto is = [](const Operator *op, OperatorKind kind) { return op && op->kind == kind; };
        const bool sums = is(before, OperatorKind::convolution) || is(before, OperatorKind::dense) ||
                          is(before, OperatorKind::transposed_convolution);
        const bool biased = is(before, OperatorKind::bias) && !before->from.empty() &&
                            (is(producer(before->from.front()), OperatorKind::convolution) ||
                             is(producer(before->from.front()), OperatorKind::transposed_convolution)) &&
                            read_once(before->from.front());
        if (readers_of(node_->inputs[0]) == 1 && biased)
            give(*in);
        else if (readers_of(node_->inputs[0]) == 1 && sums)
            give(each(OperatorKind::bias, *in, ".bias"));
        else
            give(each(OperatorKind::bias, each(OperatorKind::scale, *in, ".scale"), ".bias"));
        return true;
    }

    const Operator *producer(const std::string &name) const {
        const auto found = index_.find(name);
        return found == index_.end() ? nullptr : &out_.network.operators[found->second];
    }

    /// Whether nothing but the operator behind it reads an operator, as far as names of the file stand for
    /// it.
    bool read_once(const std::string &of) const {
        const auto found = given_.find(of);
        return found == given_.end() || readers_of(found->second) == 1;
    }

    bool layer_norm() {
        const Value *in = tensor(0);
        const std::int64_t axis = integers(*node_, "axis", {-1}).front();
        if (!in || (axis != -1 && axis != static_cast<std::int64_t>(in->view.rank()) - 1) ||
            in->view.size(in->view.rank() - 1) != in->shape[0] ||
            !in->view.with_channels(in->view.rank() - 1, in->shape[1] * in->shape[2], in->shape[0]))
            return false;
        Operator op;
        op.kind = OperatorKind::layer_norm;
        op.alpha = attribute(*node_, "epsilon", {1e-5}).front();
        Value out = each(OperatorKind::scale, each(std::move(op), *in), ".scale");
        give(constant(2) ? each(OperatorKind::bias, out, ".bias") : out);
        return true;
    }

    // ---- number by number ----

    bool function() {
        const Value *in = tensor(0);
        if (!in || attribute_text(*node_, "approximate") == "tanh" ||
            (node_->type == "Swish" && attribute(*node_, "alpha", {1.0}).front() != 1.0))
            return false;
        for (const std::size_t limit : {1, 2})
            if (node_->type == "Clip" && input(limit) && !input(limit)->numbers)
                return false;
        static const std::map<std::string, OperatorKind> kinds = {
            {"Relu", OperatorKind::relu},
            {"LeakyRelu", OperatorKind::leaky_relu},
            {"Sigmoid", OperatorKind::logistic},
            {"HardSigmoid", OperatorKind::hard_logistic},
            {"HardSwish", OperatorKind::hard_swish},
            {"Gelu", OperatorKind::gelu},
            {"Swish", OperatorKind::silu},
            {"Erf", OperatorKind::erf},
            {"Tanh", OperatorKind::tanh},
            {"Clip", OperatorKind::clip}};
        Operator op;
        op.kind = kinds.at(node_->type);
        if (op.kind == OperatorKind::leaky_relu)
            op.alpha = attribute(*node_, "alpha", {0.01}).front();
        if (op.kind == OperatorKind::hard_logistic) {
            op.alpha = attribute(*node_, "alpha", {0.2}).front();
            op.beta = attribute(*node_, "beta", {0.5}).front();
        }
        if (op.kind == OperatorKind::clip) {
            const std::vector<double> low = given(1, "min"), high = given(2, "max");
            if (low.size() == 1 && std::abs(low[0]) < 1e30)
                op.low = low[0];
            if (high.size() == 1 && std::abs(high[0]) < 1e30)
                op.high = high[0];
        }
        give(each(std::move(op), *in));
        return true;
    }

    bool of_two() {
        const Value *a = input(0), *b = input(1);
        if (!a || !b)
            return false;
        if (a->is_tensor() && b->is_tensor())
            return two_tensors(*a, *b);
        const bool swapped = !a->is_tensor();
        if (swapped && (node_->type == "Div" || (node_->type == "Sub" && a->constant_count() != 1)))
            return false;
        return with_constant(swapped ? *b : *a, swapped ? *a : *b, swapped);
    }

    bool with_constant(const Value &value, const Value &constant, bool swapped) {
        const bool product = node_->type == "Mul" || node_->type == "Div";
        if (constant.constant_count() == 1) {
            if (!constant.numbers || constant.numbers->values.empty())
                return false;
            Operator op;
            op.kind = OperatorKind::linear;
            const double number = constant.numbers->values.front();
            if (product)
                op.alpha = node_->type == "Div" ? 1.0 / (number == 0.0 ? 1.0 : number) : number;
            else
                op.beta = node_->type == "Sub" && !swapped ? -number : number;
            if (node_->type == "Sub" && swapped)
                op.alpha = -1.0;
            give(scaled(std::move(op), value));
            return true;
        }
        // One number a channel: all sizes but that of the channels are 1.
        std::optional<std::size_t> its;
        const std::size_t rank = value.view.rank(), given_rank = constant.constant_sizes.size();
        for (std::size_t i = 0; i < given_rank; ++i)
            if (constant.constant_sizes[i] != 1) {
                if (its || given_rank > rank)
                    return false;
                its = rank - given_rank + i;
            }
        if (!its || value.view.size(*its) != value.shape[0] || constant.constant_count() != value.shape[0] ||
            !value.view.with_channels(*its, value.shape[1] * value.shape[2], value.shape[0]))
            return false;
        give(each(product ? OperatorKind::scale : OperatorKind::bias, value));
        return true;
    }

    /// A factor behind a factor is one, and none where they make 1.
    Value scaled(Operator op, const Value &value) {
        constexpr double exact = 1e-6;
        const Operator *before = producer(value.of);
        if (!op.alpha || op.beta || !before || before->kind != OperatorKind::linear || before->beta)
            return each(std::move(op), value);
        op.alpha = *op.alpha * before->alpha.value_or(1.0);
        const Value from{before->from.front(), value.shape, value.view, {}, {}};
        return std::abs(*op.alpha - 1.0) < exact ? from : each(std::move(op), from);
    }

    bool two_tensors(Value a, Value b) {
        if (node_->type == "Div")
            return false;
        if (node_->type == "Mul" && activation(a, b))
            return true;
        if (node_->type == "Sub") {
            Operator op;
            op.kind = OperatorKind::linear;
            op.alpha = -1.0;
            b = each(std::move(op), b, ".negative");
        }
        const OperatorKind kind = node_->type == "Mul" ? OperatorKind::multiply : OperatorKind::add;
        if (a.view == b.view && a.shape == b.shape) {
            Value out = add(kind, {a, b});
            out.view = a.view;
            give(std::move(out));
            return true;
        }
        if (a.view.rank() != b.view.rank() || a.view.rank() > 4)
            return false;
        a = plain(a), b = plain(b);
        const auto fits = [](const ImageShape &all, const ImageShape &part) {
            for (std::size_t i = 0; i < 3; ++i)
                if (part[i] != all[i] && part[i] != 1)
                    return false;
            return true;
        };
        if (!fits(a.shape, b.shape))
            std::swap(a, b);
        if (!fits(a.shape, b.shape))
            return false;
        Value out = add(kind, {a, b});
        out.view = View::of_rank(a.view.rank(), out.shape);
        give(std::move(out));
        return true;
    }

    /// x times logistic(x), and x times hard_logistic(x): one function.
    bool activation(const Value &a, const Value &b) {
        for (const auto &[x, gate] : {std::pair(&a, &b), std::pair(&b, &a)}) {
            const Operator *op = producer(gate->of);
            if (!op || gate->view != x->view)
                continue;
            constexpr double exact = 1e-6;
            const bool of_x = op->from == std::vector<std::string>{x->of};
            const bool hard = op->kind == OperatorKind::hard_logistic &&
                              std::abs(*op->alpha - 1.0 / 6.0) < exact && std::abs(*op->beta - 0.5) < exact;
            if (of_x && (op->kind == OperatorKind::logistic || hard)) {
                give(each(hard ? OperatorKind::hard_swish : OperatorKind::silu, *x));
                return true;
            }
            if (is_normal_gate(*op, x->of)) { // x (1 + erf(x / sqrt 2)) is twice GELU
                Operator twice;
                twice.kind = OperatorKind::linear;
                twice.alpha = 2.0;
                give(each(std::move(twice), each(OperatorKind::gelu, *x, ".gelu")));
                return true;
            }
        }
        return false;
    }

    /// Whether it is 1 + erf(x / sqrt 2).
    bool is_normal_gate(const Operator &gate, const std::string &x) const {
        constexpr double exact = 1e-5;
        if (gate.kind != OperatorKind::linear || gate.alpha || gate.beta != 1.0)
            return false;
        const Operator *error = producer(gate.from.front());
        const Operator *root =
            error && error->kind == OperatorKind::erf ? producer(error->from.front()) : nullptr;
        return root && root->kind == OperatorKind::linear && !root->beta &&
               std::abs(root->alpha.value_or(1.0) - std::sqrt(0.5)) < exact &&
               root->from == std::vector<std::string>{x};
    }

    // ---- what moves numbers ----

    std::optional<std::size_t> axis_of(const Value &value, std::int64_t axis) const {
        const auto rank = static_cast<std::int64_t>(value.view.rank());
        axis = axis < 0 ? axis + rank : axis;
        return axis >= 1 && axis < rank ? std::optional(static_cast<std::size_t>(axis)) : std::nullopt;
    }

    bool concat() {
        std::vector<Value> parts;
        for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
            if (!tensor(i))
                return false;
            parts.push_back(*tensor(i));
        }
        if (parts.empty() || !axis_of(parts.front(), integers(*node_, "axis", {1}).front()))
            return false;
        const std::size_t axis = *axis_of(parts.front(), integers(*node_, "axis", {1}).front());
        std::optional<View> view = parts.front().view;
        std::int64_t channels = 0;
        for (const Value &part : parts)
            channels += part.shape[0];
        bool by_channel = true; // of tensors whose channels lie the same
        for (const Value &part : parts) {
            const auto its = part.view.rank() > axis && part.view.size(axis) == part.shape[0]
                                 ? part.view.with_channels(axis, part.shape[1] * part.shape[2], channels)
                                 : std::nullopt;
            by_channel = by_channel && its && (&part == &parts.front() || *its == *view);
            view = by_channel ? its : view;
        }
        if (!by_channel) {
            if (axis != 1 || parts.front().view.rank() > 4)
                return false;
            for (Value &part : parts)
                part = plain(part);
        }
        Value out = add(OperatorKind::concat, parts);
        if (by_channel)
            out.view = *view;
        else
            out.view = View::of_rank(parts.front().view.rank(), out.shape);
        give(std::move(out));
        return true;
    }

    /// A part of a tensor of images, channels, rows and columns.
    Value part(const Value &from, const ImageShape &begin, const ImageShape &count, const ImageShape &step,
               const std::string &end) {
        Operator op;
        op.kind = OperatorKind::slice;
        op.begin = begin;
        if (step != ImageShape{1, 1, 1})
            op.step = step;
        op.output = count;
        return add(std::move(op), {from}, end);
    }

    bool split() {
        const Value *in = tensor(0);
        if (!in || in->view.rank() > 4)
            return false;
        const auto axis = axis_of(*in, integers(*node_, "axis", {0}).front());
        if (!axis)
            return false;
        std::vector<std::int64_t> counts = as_integers(given(1, "split"));
        const std::int64_t all = in->view.size(*axis);
        if (counts.empty() && node_->outputs.empty())
            return false;
        if (counts.empty()) {
            const auto parts = static_cast<std::int64_t>(node_->outputs.size());
            const std::int64_t each = (all + parts - 1) / parts;
            for (std::int64_t i = 0; i < parts; ++i)
                counts.push_back(std::min(each, all - i * each));
        }
        const Value from = plain(*in);
        const std::size_t rank = in->view.rank();
        std::int64_t begin = 0;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            ImageShape first{0, 0, 0}, count = from.shape;
            first[*axis - 1] = begin, count[*axis - 1] = counts[i];
            begin += counts[i];
            if (counts[i] < 1 || begin > all)
                return false;
            Value out = part(from, first, count, {1, 1, 1}, i == 0 ? "" : "." + std::to_string(i));
            out.view = View::of_rank(rank, out.shape);
            give(std::move(out), i);
        }
        return true;
    }

    bool slice() {
        const Value *in = tensor(0);
        std::vector<std::int64_t> starts = as_integers(given(1, "starts")),
                                  ends = as_integers(given(2, "ends")), axes = as_integers(given(3, "axes")),
                                  steps = as_integers(given(4, "steps"));
        if (!in || in->view.rank() > 4 || starts.empty() || starts.size() != ends.size())
            return false;
        const Value from = plain(*in);
        ImageShape begin{0, 0, 0}, count = from.shape, step{1, 1, 1};
        for (std::size_t i = 0; i < starts.size(); ++i) {
            const auto axis = axis_of(*in, i < axes.size() ? axes[i] : static_cast<std::int64_t>(i));
            const std::int64_t by = i < steps.size() ? steps[i] : 1;
            if (!axis || by < 1)
                return false;
            const std::int64_t size = in->view.size(*axis);
            const auto place = [&](std::int64_t at) {
                return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
            };
            const std::int64_t first = place(starts[i]), last = place(ends[i]);
            begin[*axis - 1] = first, step[*axis - 1] = by, count[*axis - 1] = (last - first + by - 1) / by;
            if (last <= first)
                return false;
        }
        Value out = count == from.shape ? from : part(from, begin, count, step, "");
        out.view = View::of_rank(in->view.rank(), out.shape);
        give(std::move(out));
        return true;
    }

    bool pad() {
        const Value *in = tensor(0);
        const std::vector<std::int64_t> pads = as_integers(given(1, "pads"));
        const std::string mode = attribute_text(*node_, "mode");
        if (!in || in->view.rank() != 4 || pads.size() != 8 || (!mode.empty() && mode != "constant"))
            return false;
        for (std::size_t i = 0; i < 8; ++i)
            if (pads[i] < 0 || (pads[i] > 0 && i % 4 < 2))
                return false;
        Operator op;
        op.kind = OperatorKind::pad;
        op.pad = {pads[2], pads[3]};
        if (pads[2] != pads[6] || pads[3] != pads[7])
            op.pad_end = {pads[6], pads[7]};
        if (const std::vector<double> value = given(2, "value"); value.size() == 1 && value[0] != 0.0)
            op.alpha = value[0];
        give(add(std::move(op), {plain(*in)}));
        return true;
    }

    bool resize() {
        const Value *in = tensor(0);
        const bool upsample = node_->type == "Upsample";
        const std::string policy = attribute_text(*node_, "keep_aspect_ratio_policy");
        if (!in || in->view.rank() != 4 || integers(*node_, "antialias", {0}).front() != 0 ||
            !integers(*node_, "axes").empty() || (!policy.empty() && policy != "stretch"))
            return false;
        const std::vector<double> scales = given(upsample ? 1 : 2, "scales"), sizes = given(3, "");
        const Value from = plain(*in);
        Operator op;
        op.kind = OperatorKind::resize;
        op.output = from.shape;
        if (sizes.size() == 4 ? sizes[1] != static_cast<double>(from.shape[0])
                              : scales.size() != 4 || scales[0] != 1.0 || scales[1] != 1.0)
            return false;
        for (std::size_t i = 0; i < 2; ++i) {
            const double size =
                sizes.size() == 4 ? sizes[i + 2] : scales[i + 2] * static_cast<double>(from.shape[i + 1]);
            // Else a place lies otherwise than the sizes say.
            if (!(size >= 1.0 && size <= static_cast<double>(most_size)) || size != std::floor(size))
                return false;
            op.output[i + 1] = static_cast<std::int64_t>(size);
        }
        const std::string mode = attribute_text(*node_, "mode");
        const std::string places = attribute_text(*node_, "coordinate_transformation_mode");
        if (mode.empty() || mode == "nearest") {
            const std::string transform = upsample ? "asymmetric" : places.empty() ? "half_pixel" : places;
            const std::string rounds = upsample ? "floor" : attribute_text(*node_, "nearest_mode");
            for (std::size_t i = 1; i < 3; ++i)
                if (!takes_floors(transform, rounds, from.shape[i], op.output[i]))
                    return false;
            op.mode = ResizeMode::nearest;
        } else if (mode == "linear" && places == "align_corners") {
            op.mode = ResizeMode::bilinear_corners;
        } else if (mode == "linear" && !upsample &&
                   (places.empty() || places == "half_pixel" ||
                    (places == "pytorch_half_pixel" && op.output[1] > 1 && op.output[2] > 1))) {
            op.mode = ResizeMode::bilinear;
        } else {
            return false;
        }
        give(op.output == from.shape ? from : add(std::move(op), {from}));
        return true;
    }

    /// Whether a nearest resize takes row floor(y in / out) for each row y of its output.
    static bool takes_floors(const std::string &transform, const std::string &rounds, std::int64_t in,
                             std::int64_t out) {
        constexpr std::int64_t most_rows = 1 << 20;
        if ((transform != "half_pixel" && transform != "asymmetric") || out > most_rows)
            return false;
        const double ratio = static_cast<double>(in) / static_cast<double>(out);
        for (std::int64_t y = 0; y < out; ++y) {
            const auto at = static_cast<double>(y);
            const double place = transform == "asymmetric" ? at * ratio : (at + 0.5) * ratio - 0.5;
            const double row = rounds == "floor"               ? std::floor(place)
                               : rounds == "ceil"              ? std::ceil(place)
                               : rounds == "round_prefer_ceil" ? std::floor(place + 0.5)
                                                               : std::ceil(place - 0.5);
            if (std::clamp(row, 0.0, static_cast<double>(in - 1)) != static_cast<double>(y * in / out))
                return false;
        }
        return true;
    }

    bool softmax() {
        const Value *in = tensor(0);
        const std::int64_t axis = integers(*node_, "axis", {-1}).front();
        if (!in || in->view.rank() != 2 || (axis != 1 && axis != -1) || !in->view.in_order())
            return false;
        give(each(OperatorKind::softmax, *in));
        return true;
    }

    /// What reads the node's outputs is not looked at.
    void lose() { lost_.insert(node_->outputs.begin(), node_->outputs.end()); }

    /// Its inputs are read and its output is written; nothing else is known.
    void take_unknown() {
        std::vector<Value> inputs;
        std::set<std::string> seen;
        for (std::size_t i = 0; i < node_->inputs.size(); ++i)
            if (tensor(i) && seen.insert(tensor(i)->of).second)
                inputs.push_back(*tensor(i));
        if (inputs.empty())
            inputs.push_back(image_);
        for (std::size_t i = 0; i < node_->outputs.size(); ++i) {
            const std::string &name = node_->outputs[i];
            if (name.empty() || readers_of(name) == 0)
                continue;
            const auto known = inferred_.find(name);
            const std::vector<std::int64_t> sizes =
                known == inferred_.end() ? std::vector<std::int64_t>{} : known->second->sizes;
            if (sizes.empty() || std::any_of(sizes.begin() + 1, sizes.end(),
                                             [](auto size) { return size < 1 || size > most_size; }))
                return lose(),
                       problem("it is not known, and the shape of its output " + shortened(name, 60) +
                               " is not in the file; expected an operator of docs/networks.md, or a file "
                               "with all shapes, as "
                               "onnx.shape_inference.infer_shapes writes it");
            double product = 1.0;
            for (std::size_t at = 1; at < sizes.size(); ++at)
                product *= static_cast<double>(sizes[at]);
            if (product > static_cast<double>(most_size))
                return lose(), problem("the shape of its output is larger than 2^31 numbers of an image");
            std::vector<ViewSize> view = {{}};
            std::int64_t stride = 1;
            for (std::size_t at = sizes.size(); at-- > 1; stride *= sizes[at])
                view.insert(view.begin() + 1, ViewSize{{sizes[at], stride}});
            Operator op;
            op.kind = OperatorKind::unknown;
            op.node = shortened(node_->type, 60);
            op.output = View(view).shape();
            Value out = add(std::move(op), inputs, i == 0 ? "" : "." + std::to_string(i));
            out.view = View(view);
            give(std::move(out), i);
        }
    }
    const OnnxGraph &graph_;
    std::string file_;
    ImportedNetwork out_;
    std::map<std::string, const OnnxTensor *> constants_, inferred_;
    std::map<std::string, int> readers_; ///< of a tensor's root
    std::map<std::string, std::string>
        same_; ///< of a tensor that another's numbers are passed on to, that other
    std::map<std::string, std::string> given_; ///< of an operator, the first tensor of the file that it gives
    std::map<std::string, Value> values_;
    Value image_;
    std::map<std::string, int> numbered_;      ///< how often a name was wanted
    std::map<std::string, std::size_t> index_; ///< of operators by name
    std::set<std::string> lost_;               ///< tensors of no known shape
    std::set<std::string> names_ = {image_name};
    std::vector<InputProblem> problems_;
    std::int64_t fixed_images_ = 0;
    const OnnxNode *node_ = nullptr;
};

} // namespace

ImportedNetwork import_onnx(const OnnxGraph &graph, const std::string &id, const std::string &file) {
    ImportedNetwork imported = Importer(graph, id, file).run();
    // What the importer makes is checked as if it had been read: one place says what a network is.
    (void)read_network(to_text(described::write(imported.network)), file);
    return imported;
}

} // namespace convcast
