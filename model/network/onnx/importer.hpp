// What the files import_*.cpp share: the graph while it is taken node by node. A function for a node takes
// it, or returns false where the node is not of those that it knows; then the node becomes an operator
// `unknown`.
#pragma once

#include "model/base/errors.hpp"
#include "model/network/onnx/convolutions.hpp"
#include "model/network/onnx/import.hpp"
#include "model/network/onnx/numbers.hpp"
#include "model/network/onnx/view.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
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
};

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

  private:
    /// Whether a node gives the numbers of its input as they are.
    bool passes_on(const OnnxNode &node) const;
    /// The tensor whose numbers a tensor has.
    std::string root_of(const std::string &name) const;
    int readers_of(const std::string &name) const;

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

    // ---- names and operators ----
    void problem(const std::string &place, const std::string &message);
    void problem(const std::string &message);
    /// The same, and what the node gives is not known: true, since nothing is left to do for it.
    bool refuse(const std::string &message);
    /// Why the node is `unknown`; false.
    bool unknown_because(const std::string &why);
    /// The node's name as an operator can have it, each once; `end` for what a node has besides.
    std::string new_name(const std::string &end = "");
    Value tensor_value(const std::string &of, const ImageShape &shape) const;
    static bool is_size(std::int64_t size) { return size >= 1 && size <= most_size; }
    /// Appends an operator and gives its output, seen as images, channels, rows, columns. A wrong one is a
    /// problem.
    Value add(Operator op, const std::vector<Value> &inputs, const std::string &end = "");
    /// The same numbers with an operator that changes each by itself: the view stays.
    Value each(Operator op, const Value &input, const std::string &end = "");
    /// The value with its numbers in the order of its sizes, moved if they are not. It has as many sizes as
    /// before; of more than four only the first are told apart.
    Value plain(const Value &value);

    // ---- the inputs of a node ----
    /// What input number i of the node stands for: anything, only a tensor, only a constant; nullptr where it
    /// is none.
    const Value *input(std::size_t i);
    const Value *tensor(std::size_t i);
    const Numbers *constant(std::size_t i);
    /// Whether the numbers of all inputs that the node has from number `first` on are known.
    bool known_from(std::size_t first);
    /// Names of the node's outputs behind the first, without those that are left out.
    std::vector<std::string> other_outputs() const;
    /// Numbers of an input, or else of an attribute.
    std::vector<double> given(std::size_t i, const char *name);
    /// The one number of an attribute.
    std::int64_t integer(const char *name, std::int64_t otherwise) const {
        return integers(*node_, name, {otherwise}).front();
    }
    /// Lets the name of the node's output stand for the value. True, for a node that is taken with it.
    bool give(Value value, std::size_t output = 0);
    bool give(Numbers constant) { return give(Value{{}, {}, {}, std::move(constant)}); }
    /// The same under another view.
    bool give(Value value, View view) {
        value.view = std::move(view);
        return give(std::move(value));
    }

    // ---- nodes ----
    void take();
    bool take_numbers();
    /// What changes only the view.
    bool take_view();
    /// Gives the value under these sizes, of which 0 keeps one and -1 follows from the others. False where
    /// the first is not that of the images, or the numbers are not as many.
    bool reshape(Value value, std::vector<std::int64_t> sizes);
    /// Nodes that are a function of each number, and those that a function of this class takes.
    using Take = bool (Importer::*)();
    static const std::map<std::string, OperatorKind> &functions();
    static const std::map<std::string, Take> &takes();
    static bool is_taken(const std::string &type);
    bool take_operator();

    // ---- windows ----
    /// Rows and columns of a window over the first input; absent where it has no rows and columns, or where
    /// attributes are wrong, which is a problem.
    std::optional<std::array<Window, 2>> windows(const Value &in, const std::vector<std::int64_t> &window);
    /// Whether sizes of filters or the number of groups are none that a convolution can have, which is said.
    bool refuse_filters(const std::vector<std::int64_t> &sizes, std::int64_t groups);
    /// Whether input number i of the node, `what` it is, has other than a number for each channel.
    bool refuse_length(std::size_t i, const char *what, std::int64_t channels);
    bool convolution();
    static void set_windows(Operator &op, const std::array<Window, 2> &w);
    Value with_bias(const Value &value, std::size_t i);
    /// With pixels around its images.
    Value padded(const Value &value, const TwoSizes &begin, const TwoSizes &end);
    bool transposed();
    /// Sets what is cut off the outputs of a transposed convolution at both ends, by the node's pads or the
    /// size that it says. Less than nothing at the end: so many more pixels. Whether they are such.
    bool set_transposed_pads(std::array<Window, 2> &w) const;
    bool pooling();
    bool global_pooling();

    // ---- products with weights ----
    bool gemm();
    /// `outputs_at` is which of the two sizes of the weights is that of the outputs, `bias` the number of the
    /// input with what is added.
    bool dense(const Value &in, const Numbers &weights, std::size_t outputs_at, std::size_t bias);
    bool matmul();

    // ---- norms ----
    /// Folded into the convolution before it where nothing else reads that.
    bool batch_norm();
    const Operator *producer(const std::string &name) const;
    /// Whether every tensor of the file that has the numbers of an operator, under any sizes, is read by one
    /// node: a chain of views with one reader at its end. Also where no tensor of the file has them.
    bool read_once(const std::string &of) const;
    bool layer_norm();

    // ---- number by number ----
    bool function(OperatorKind kind);
    bool of_two();
    bool with_constant(const Value &value, const Numbers &constant, bool swapped);
    /// The value as one a channel of which a constant has a number: the value itself where the constant has a
    /// number for each of its channels, each number as a channel where it has one for each of them.
    std::optional<Value> by_channel(const Value &value, const Numbers &constant);
    /// The sum of all inputs.
    bool power();
    bool sum();
    /// The larger or the smaller of one tensor and numbers.
    bool bound();
    /// The value's tensor under another shape; its view stays.
    Value with_shape(const Value &value, const ImageShape &shape, const std::string &end);
    Value negative(const Value &value) {
        return each({.kind = OperatorKind::linear, .alpha = -1.0}, value, ".negative");
    }
    /// A factor behind a factor is one, and none where they make 1.
    Value scaled(Operator op, const Value &value);
    bool two_tensors(const Value &a, const Value &b);
    /// Of two tensors number by number, one of which may have sizes of 1 where the other has more.
    std::optional<Value> joined(OperatorKind kind, Value a, Value b);
    /// x times logistic(x), and x times hard_logistic(x): one function.
    bool activation(const Value &a, const Value &b);
    /// Whether it is 1 + erf(x / sqrt 2).
    bool is_normal_gate(const Operator &gate, const std::string &x) const;

    // ---- what moves numbers ----
    std::optional<std::size_t> axis_of(const Value &value, std::int64_t axis) const;
    bool concat();
    /// A part of a tensor of images, channels, rows and columns.
    Value part(const Value &from, const ImageShape &begin, const ImageShape &count, const ImageShape &step,
               const std::string &end);
    bool split();
    bool slice();
    bool pad();
    bool resize();
    /// Rows or columns of an input and of its output, and how far from each other in the input the places of
    /// two neighbours of the output lie.
    struct Resized {
        std::int64_t in = 1, out = 1;
        double step = 1.0;

        double ratio() const { return static_cast<double>(in) / static_cast<double>(out); }
    };
    /// The rule by which the node finds places in its input; absent where a network's file has none like it.
    std::optional<ResizeMode> resize_mode(bool old, const std::array<Resized, 2> &sizes) const;
    /// Whether a nearest resize takes row floor(y in / out) for each row y of its output.
    static bool takes_floors(const std::string &transform, const std::string &rounds, const Resized &its);
    bool softmax();
    /// What reads the node's outputs is not looked at.
    void lose() { lost_.insert(node_->outputs.begin(), node_->outputs.end()); }
    /// Its inputs are read and its output is written; nothing else is known.
    std::vector<std::int64_t> sizes_of_inputs();
    void take_unknown();
    /// Why the node at hand is not known.
    std::string why_unknown();

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
