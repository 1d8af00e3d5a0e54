// What the files import_*.cpp share: the graph while its nodes are taken one after another. Each file has
// functions for some types of nodes. Such a function takes the node at hand: it calls give() or refuse(). If
// it does not know the node in this form it returns false; then the node becomes an operator `unknown`.
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

/// What the name of an ONNX tensor stands for: the output of an operator of the network, or a constant.
struct Value {
    std::string of{};   ///< the operator, or "input"; "" for a constant
    ImageShape shape{}; ///< of the operator's output
    View view{};        ///< how the axes of the ONNX tensor lie in that output
    Numbers constant{}; ///< if `of` is ""

    bool is_tensor() const { return !of.empty(); }
    /// Of the ONNX tensor; that of the images counts as 1.
    std::vector<std::int64_t> sizes() const { return is_tensor() ? view.sizes() : constant.sizes; }
    /// The view with `channels` channels instead of the operator's. Absent unless `axis` is all of its
    /// channels and the other axes are the pixels in their order.
    std::optional<View> with_channels(std::size_t axis, std::int64_t channels) const {
        return axis < view.rank() && view.size(axis) == shape[0]
                   ? view.with_channels(axis, shape[1] * shape[2], channels)
                   : std::nullopt;
    }
    bool has_channels_at(std::size_t axis) const { return with_channels(axis, shape[0]).has_value(); }
    /// The index of an axis, which may be counted from the end; absent if it is that of the images, or none.
    std::optional<std::size_t> axis(std::int64_t axis) const {
        const auto rank = static_cast<std::int64_t>(view.rank());
        axis = axis < 0 ? axis + rank : axis;
        return axis >= 1 && axis < rank ? std::optional(static_cast<std::size_t>(axis)) : std::nullopt;
    }
};

class Importer;
/// By type of node, the function that takes it.
using Takes = std::map<std::string, bool (*)(Importer &node)>;
const Takes &element_nodes(), &layer_nodes(), &moving_nodes();

inline bool is_size(std::int64_t size) {
    return size >= 1 && size <= most_size;
}

/// Makes a network of a graph: each node adds operators, or gives a view of a tensor or a constant.
class Importer {
  public:
    /// The graph outlives it; the file's name is for messages and the network's id.
    Importer(const OnnxGraph &graph, const std::string &file);
    /// To be called once. Throws InputError with all that is wrong with the graph.
    Network run();
    /// After run(): by output of a node that convolves, its operator, which may have been dropped as unused.
    const std::map<std::string, std::string> &convolutions() const { return convolutions_; }
    /// Images of a batch, as the file says; 0: any number.
    std::int64_t images() const { return fixed_images_; }
    /// After run(), for readers of a forecast: nodes that are not known and why, numbers that are no FP32.
    const std::vector<std::string> &remarks() const { return remarks_; }

    // ---- the node at hand ----
    const OnnxNode &onnx() const { return *node_; }
    const std::string &type() const { return node_->type; }
    std::size_t inputs() const { return node_->inputs.size(); }
    std::size_t outputs() const { return node_->outputs.size(); }
    /// What input number i of the node stands for: anything, only a tensor, only a constant. nullptr if it is
    /// left out or stands for nothing of the kind. Owned by the importer.
    const Value *input(std::size_t i);
    const Value *tensor(std::size_t i);
    const Numbers *constant(std::size_t i);
    /// The name of an input that the node has, for messages.
    std::string input_name(std::size_t i) const { return shortened(node_->inputs[i], 60); }
    /// Whether all inputs from number `first` on are left out or constants whose values are known.
    bool known_from(std::size_t first);
    /// Names of the node's outputs behind the first, without those that are left out.
    std::vector<std::string> other_outputs() const;
    /// The numbers of constant input i, or if they are not known of the attribute `name`; none if there is
    /// neither. Older opsets have as attributes what newer ones have as inputs.
    std::vector<double> given(std::size_t i, const char *name);
    // Numbers of an attribute, or its one number, or its text; without it `otherwise` or "".
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
    /// Lets the name of one of the node's outputs stand for the value. Returns true: the node is taken.
    bool give(Value value, std::size_t output = 0);
    bool give(Numbers constant) { return give(Value{.constant = std::move(constant)}); }
    /// Gives the value under another view.
    bool give(Value value, View view) {
        value.view = std::move(view);
        return give(std::move(value));
    }
    /// Adds a problem of the node; nodes that read its outputs are passed over. Returns true: it is taken.
    bool refuse(const std::string &message);
    /// Keeps why the node will become an operator `unknown`, for the remarks. Returns false: not taken.
    bool unknown_because(const std::string &why);
    /// Appends an operator, whose name is the node's with `end` behind it, and returns its output, seen as
    /// images, channels, rows and columns. That its inputs do not fit is added to the problems.
    Value add(Operator op, const std::vector<Value> &inputs, const std::string &end = "");
    /// As add(), for an operator that changes each number by itself: its output has the view of its input.
    Value each(Operator op, const Value &input, const std::string &end = "");
    /// The value with its numbers in the order of its axes; a transpose or reshape is appended if they lie
    /// otherwise. It keeps its rank up to four; further axes are joined to the fourth.
    Value plain(const Value &value);
    /// The value in another shape of as many numbers, by a reshape if it is not its own; the view stays.
    Value with_shape(const Value &value, const ImageShape &shape, const std::string &end);
    /// Notes that this operator is the convolution of the node.
    void convolves(const std::string &op) {
        if (outputs() > 0)
            convolutions_[node_->outputs.front()] = op;
    }

    // ---- the graph around it ----
    std::optional<std::int64_t> opset() const { return graph_.opset; }
    /// Whether a node gives its input's numbers as they are: Identity, Cast, Dropout without training.
    bool passes_on(const OnnxNode &node) const;
    /// How many nodes and outputs of the graph read a tensor, or another that has its numbers passed on.
    int readers_of(const std::string &name) const;
    /// The operator of this name; nullptr if there is none.
    const Operator *producer(const std::string &name) const;
    /// Whether nothing but the end of one chain of nodes reads the numbers of an operator: every tensor of
    /// the file that has them, under any sizes, has one reader, or no tensor has them.
    bool read_once(const std::string &of) const;

  private:
    /// The tensor whose numbers a tensor has by nodes that pass them on; the tensor itself if none do.
    std::string root_of(const std::string &name) const;

    // ---- the graph as such: these add what is wrong to the problems ----
    /// That its opset is not read here.
    void check_opset();
    /// Tensors that nothing gives, or that are given twice.
    void check_tensors();
    /// Sets order_: each node behind those whose outputs it reads. Nodes that are part of a cycle, or read
    /// what one gives, are left out; the cycle is a problem.
    void order_nodes();
    /// The cycle that a node left out of order_ is part of, or reads from; each node reads the next one.
    std::vector<const OnnxNode *> cycle_from(const OnnxNode &first,
                                             const std::map<std::string, const OnnxNode *> &given_by) const;
    void say_remarks();

    // ---- inputs and outputs of the graph ----
    /// Sets the network's input; a graph of other than one input of images is a problem.
    void read_input();
    /// Sets the network's outputs, drops unused operators, makes remarks.
    void finish();
    void keep_used(const std::vector<std::string> &outputs);

    // ---- nodes ----
    void take();
    /// Takes a node that gives a constant: Constant, Shape, or what computed() knows. False for any other.
    bool take_numbers();
    /// Appends an operator `unknown` for each output that is read; a problem if its sizes are not known.
    void take_unknown();
    std::vector<std::int64_t> sizes_of_inputs();
    /// Why the node at hand is not known: the reason of unknown_because, or what can be said of its type.
    std::string why_unknown();
    /// Marks the node's outputs: nodes that read them are passed over, since a problem has been said.
    void lose() { lost_.insert(node_->outputs.begin(), node_->outputs.end()); }
    void problem(const std::string &place, const std::string &message);
    /// Of the node at hand.
    void problem(const std::string &message);
    /// The node's name with `end`, as an operator can be named, and numbered if there is one of that name.
    std::string new_name(const std::string &end = "");
    /// The output of an operator seen as images, channels, rows and columns.
    Value tensor_value(const std::string &of, const ImageShape &shape) const;

    const OnnxGraph &graph_;
    std::string file_;
    Network out_;
    /// Tensors of the file by name: constants, and sizes of the others as far as the file has them.
    std::map<std::string, const OnnxTensor *> constants_, inferred_;
    std::map<std::string, int> readers_;      ///< readers_of, by root_of
    std::map<std::string, std::string> same_; ///< root_of, for the outputs of nodes that pass numbers on
    /// By operator, the tensors of the file that have its numbers.
    std::map<std::string, std::vector<std::string>> given_;
    std::map<std::string, std::string> convolutions_; ///< by output of a node, the operator
    std::map<std::string, Value> values_;             ///< by tensor of the file
    Value image_;                                     ///< the network's input
    std::map<std::string, int> numbered_;             ///< how often a name was given a number
    std::map<std::string, std::size_t> index_;        ///< of operators by name
    std::set<std::string> lost_;                      ///< tensors whose readers are passed over
    std::set<std::string> names_ = {image_name};      ///< that operators have
    std::vector<InputProblem> problems_;
    std::vector<const OnnxNode *> order_; ///< the nodes, each behind those that it reads
    std::string why_;                     ///< why the node at hand is not known, where its function says it
    std::map<std::string, std::string> whys_; ///< by operator `unknown`, why it is
    std::vector<std::string> remarks_;
    std::int64_t fixed_images_ = 0;  ///< images()
    const OnnxNode *node_ = nullptr; ///< the node at hand
};

} // namespace convcast::onnx
