// What the files import_*.cpp share: the graph while it is taken node by node. Each file has functions for
// some types of nodes. Such a function takes the node at hand, or returns false where it does not know it in
// this form; then the node becomes an operator `unknown`.
#pragma once

#include "model/base/errors.hpp"
#include "model/network/onnx/import.hpp"
#include "model/network/onnx/numbers.hpp"
#include "model/network/onnx/view.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::onnx {

inline constexpr const char *image_name = "input";

/// What the name of an ONNX tensor stands for.
struct Value {
    std::string of;     ///< an operator or "input"; "" of a constant
    ImageShape shape{}; ///< of that operator's output
    View view;          ///< how its sizes lie in it
    Numbers constant;   ///< where it is none of a tensor

    bool is_tensor() const { return !of.empty(); }
    std::vector<std::int64_t> sizes() const { return is_tensor() ? view.sizes() : constant.sizes; }
    /// The view with a size of `channels` instead of the tensor's channels; absent unless size `at` is all of
    /// these and the others are the pixels in their order.
    std::optional<View> with_channels(std::size_t at, std::int64_t channels) const {
        return at < view.rank() && view.size(at) == shape[0]
                   ? view.with_channels(at, shape[1] * shape[2], channels)
                   : std::nullopt;
    }
    bool has_channels_at(std::size_t at) const { return with_channels(at, shape[0]).has_value(); }
    /// A node's axis, which may be counted from the end; absent where it is that of the images, or none.
    std::optional<std::size_t> axis(std::int64_t axis) const {
        const auto rank = static_cast<std::int64_t>(view.rank());
        axis = axis < 0 ? axis + rank : axis;
        return axis >= 1 && axis < rank ? std::optional(static_cast<std::size_t>(axis)) : std::nullopt;
    }
};

class Importer;
/// By the type of a node, what takes it.
using Takes = std::map<std::string, bool (*)(Importer &node)>;
const Takes &element_nodes(), &layer_nodes(), &moving_nodes();

inline bool is_size(std::int64_t size) {
    return size >= 1 && size <= most_size;
}

/// Takes the nodes of a graph one after another; each adds operators to the network or gives another view of
/// a tensor.
class Importer {
  public:
    Importer(const OnnxGraph &graph, const std::string &file);
    Network run();
    /// After that, of the outputs of nodes that convolve, the operators. Those that no output of the network
    /// needs are not in it.
    const std::map<std::string, std::string> &convolutions() const { return convolutions_; }
    /// Images that the file says; 0: any.
    std::int64_t images() const { return fixed_images_; }
    /// What a reader of the forecast has to know: nodes that are not known and why, numbers that are no FP32.
    const std::vector<std::string> &remarks() const { return remarks_; }

    // ---- the node at hand ----
    const OnnxNode &onnx() const { return *node_; }
    const std::string &type() const { return node_->type; }
    std::size_t inputs() const { return node_->inputs.size(); }
    std::size_t outputs() const { return node_->outputs.size(); }
    /// What input number i of the node stands for: anything, only a tensor, only a constant; nullptr where it
    /// is none.
    const Value *input(std::size_t i);
    const Value *tensor(std::size_t i);
    const Numbers *constant(std::size_t i);
    /// The name of an input, for messages.
    std::string input_name(std::size_t i) const { return shortened(node_->inputs[i], 60); }
    /// Whether the numbers of all inputs that the node has from number `first` on are known.
    bool known_from(std::size_t first);
    /// Names of the node's outputs behind the first, without those that are left out.
    std::vector<std::string> other_outputs() const;
    /// Numbers of an input, or else of an attribute.
    std::vector<double> given(std::size_t i, const char *name);
    /// Numbers of an attribute, or its one number, or its text.
    std::vector<std::int64_t> integers(const char *name, std::vector<std::int64_t> otherwise = {}) const {
        return convcast::integers(*node_, name, std::move(otherwise));
    }
    std::int64_t integer(const char *name, std::int64_t otherwise) const {
        return integers(name, {otherwise}).front();
    }
    double real(const char *name, double otherwise) const {
        return attribute(*node_, name, {otherwise}).front();
    }
    std::string text(const char *name) const { return attribute_text(*node_, name); }

    // ---- what becomes of it ----
    /// Lets the name of the node's output stand for the value. True, for a node that is taken with it.
    bool give(Value value, std::size_t output = 0);
    bool give(Numbers constant) { return give(Value{{}, {}, {}, std::move(constant)}); }
    /// The same under another view.
    bool give(Value value, View view) {
        value.view = std::move(view);
        return give(std::move(value));
    }
    /// Says what is wrong with the node. What it gives is not known: true, since nothing is left to do for
    /// it.
    bool refuse(const std::string &message);
    /// Why the node is `unknown`; false.
    bool unknown_because(const std::string &why);
    /// Appends an operator and gives its output, seen as images, channels, rows, columns. A wrong one is a
    /// problem.
    Value add(Operator op, const std::vector<Value> &inputs, const std::string &end = "");
    /// The same numbers with an operator that changes each by itself: the view stays.
    Value each(Operator op, const Value &input, const std::string &end = "");
    /// The value with its numbers in the order of its sizes, moved if they are not. It has as many sizes as
    /// before; of more than four only the first are told apart.
    Value plain(const Value &value);
    /// The value's tensor under another shape; its view stays.
    Value with_shape(const Value &value, const ImageShape &shape, const std::string &end);
    /// That this operator is the convolution of the node.
    void convolves(const std::string &op) {
        if (outputs() > 0)
            convolutions_[node_->outputs.front()] = op;
    }

    // ---- the graph around it ----
    std::optional<std::int64_t> opset() const { return graph_.opset; }
    /// Whether a node gives the numbers of its input as they are.
    bool passes_on(const OnnxNode &node) const;
    int readers_of(const std::string &name) const;
    /// The operator of this name; nullptr where it is none.
    const Operator *producer(const std::string &name) const;
    /// Whether every tensor of the file that has the numbers of an operator, under any sizes, is read by one
    /// node: a chain of views with one reader at its end. Also where no tensor of the file has them.
    bool read_once(const std::string &of) const;

  private:
    /// The tensor whose numbers a tensor has.
    std::string root_of(const std::string &name) const;

    // ---- the graph as such ----
    /// Whether ONNX's operators are of a version that is read here.
    void check_opset();
    /// Tensors that nothing gives, or that are given twice.
    void check_tensors();
    /// Puts each node behind those whose outputs it reads. Nodes that are part of a cycle, or read what one
    /// gives, are left out; the cycle is a problem.
    void order_nodes();
    /// The cycle that a node left out of the order is part of, or leads into.
    std::vector<const OnnxNode *> cycle_from(const OnnxNode &first,
                                             const std::map<std::string, const OnnxNode *> &given_by) const;
    void say_remarks();

    // ---- inputs and outputs of the graph ----
    void read_input();
    void finish();
    /// Only what the outputs need; what they are comes last.
    void keep_used(const std::vector<std::string> &outputs);

    // ---- nodes ----
    void take();
    /// Takes a node that gives a constant: Constant, Shape, or what computed() knows. False for any other.
    bool take_numbers();
    /// Its inputs are read and its output is written; nothing else is known.
    void take_unknown();
    std::vector<std::int64_t> sizes_of_inputs();
    /// Why the node at hand is not known.
    std::string why_unknown();
    /// What reads the node's outputs is not looked at.
    void lose() { lost_.insert(node_->outputs.begin(), node_->outputs.end()); }
    void problem(const std::string &place, const std::string &message);
    void problem(const std::string &message);
    /// The node's name as an operator can have it, each once; `end` for what a node has besides.
    std::string new_name(const std::string &end = "");
    Value tensor_value(const std::string &of, const ImageShape &shape) const;

    const OnnxGraph &graph_;
    std::string file_;
    Network out_;
    std::map<std::string, const OnnxTensor *> constants_, inferred_;
    std::map<std::string, int> readers_; ///< of a tensor's root
    std::map<std::string, std::string>
        same_; ///< of a tensor that another's numbers are passed on to, that other
    std::map<std::string, std::vector<std::string>>
        given_; ///< of an operator, the tensors of the file that have its numbers
    std::map<std::string, std::string> convolutions_; ///< of a node's output, the operator
    std::map<std::string, Value> values_;
    Value image_;
    std::map<std::string, int> numbered_;      ///< how often a name was wanted
    std::map<std::string, std::size_t> index_; ///< of operators by name
    std::set<std::string> lost_;               ///< tensors of no known shape
    std::set<std::string> names_ = {image_name};
    std::vector<InputProblem> problems_;
    std::vector<const OnnxNode *> order_; ///< the nodes, each behind those that it reads
    std::string why_;                     ///< why the node at hand is not known, where its function says it
    std::map<std::string, std::string> whys_; ///< of an operator `unknown`, why it is
    std::vector<std::string> remarks_;
    std::int64_t fixed_images_ = 0; ///< that the file says; 0: any
    const OnnxNode *node_ = nullptr;
};

} // namespace convcast::onnx
