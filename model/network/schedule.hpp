// A network as launches on streams: which operators each computes, and which tensors it reads and writes.
// The forecast times this list and the executor runs it. As text: schedule_text.hpp.
#pragma once

#include "model/network/network.hpp"
#include "model/plan/plan.hpp"
#include "model/strategies/list.hpp"

#include <boost/describe.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convcast {

/// What a launch is.
enum class LaunchKind {
    convolution, ///< by a strategy's plan, which may be several kernels
    dense,       ///< a dense layer of few images, each weight read once
    columns,     ///< a dense layer of many images: a 1 x 1 convolution of one image with a column for each
    to_columns,  ///< changes the layout of a tensor from image after image to columns (Tensor)
    to_rows,     ///< changes it back
    pooling,     ///< maximum or mean
    gather,      ///< each output of some inputs: concat, slice, transpose, reshape, pad, resize, a transposed
                 ///< convolution
    placed,      ///< no kernel: a concat, slice or reshape whose tensors lie one in another (parts_of)
    elementwise, ///< each output of the inputs at the same place: bias, add, relu and the like
    softmax,
    layer_norm,
    unknown, ///< an operator of which only the bytes are known: it is forecast, and no kernel runs it
    loss,    ///< the end of a training step: likewise
};
BOOST_DESCRIBE_ENUM(LaunchKind, convolution, dense, columns, to_columns, to_rows, pooling, gather, placed,
                    elementwise, softmax, layer_norm, unknown, loss)

/// An operator's output, or the images, in one of two layouts: image after image, [image][number], or in
/// columns, [number][image], with the images side by side. By default the images as they are given.
struct Tensor {
    std::size_t of = Network::input_index; ///< index of the operator; input_index: the images
    bool columns = false;
    auto operator<=>(const Tensor &) const = default;
};

/// Bytes of a tensor of `batch` images.
double tensor_bytes(const Network &network, const Tensor &tensor, std::int64_t batch);

struct ScheduledLaunch {
    LaunchKind kind = LaunchKind::elementwise;
    std::vector<std::size_t> operators; ///< that it computes, in order; none where it only changes a layout
    std::vector<Tensor> reads; ///< inputs of the first operator, then what the operators behind it add
    Tensor writes;
    std::optional<ConvShape> shape;   ///< of a convolution or dense layer
    std::optional<Strategy> strategy; ///< of a plan; absent: the one with the shortest forecast
    std::optional<Plan> plan;         ///< by which it is forecast and run, with what prepares filters
    std::int64_t stream = 0;          ///< launches of one stream follow each other in the list's order
};

/// What a launch does with the sums of a convolution or dense layer before it stores them, in this order.
struct ElementSteps {
    std::optional<std::size_t> bias, add; ///< operators
    std::vector<std::size_t> functions;   ///< of one number
};
ElementSteps element_steps(const Network &network, const ScheduledLaunch &launch);

/// What a kernel of a convolution can do in a network. The lines that begin with "//:" in executor/kernels do
/// it: comments where a convolution is compiled alone, code in a network.
struct InNetwork {
    bool ends = false; ///< does the end of a launch: bias, addition and functions before it stores its sums
    bool starts_early = false; ///< may start before the launch before it has ended, whose end it waits for
    /// Starts early also behind a launch with lets_next_start. Others do not: CTAs of large kernels would
    /// crowd on the few SMs that are free first.
    bool starts_beside = false;
    bool lets_next_start = false;    ///< lets the next launch start beside its own last CTAs
    bool asks_for_filters = false;   ///< loads all filters before it waits for the launch before
    bool biases_with_pixels = false; ///< loads biases with the pixels, so that no sum waits for them
    bool straight_code = false;      ///< has no loops: a warp comes to each instruction once (N12)
};
/// All false for a kernel without such lines.
const InNetwork &in_network(const std::string &kernel);

/// Whether the last kernel of a plan, which stores the outputs, can do the end of a launch (InNetwork::ends).
bool ends_launch(const Plan &plan);

/// Whether the plan that was chosen for a convolution can do the end of a launch (N1).
using EndsLaunch = std::function<bool(const ConvShape &)>;

/// By operator, how many operators read its output; that the network gives it counts as one more.
std::vector<std::size_t> readers_of(const Network &network);

/// Why a launch cannot also compute operator `i` behind its last operator, before it stores: the end of a
/// sentence; absent if it can (N1). `readers`: of readers_of. `available`: the tensors that are computed
/// before the launch, by layout. `ends`: whether the plan can do the end; asked only if it has one.
std::optional<std::string> why_not_joined(const Network &network, const ScheduledLaunch &launch,
                                          std::size_t i, const std::vector<std::size_t> &readers,
                                          const std::set<Tensor> &available,
                                          const std::function<bool()> &ends);

/// The launch that begins with operator i; its `reads` are left empty. `columns`: it reads and writes in
/// columns. A dense layer in columns is LaunchKind::columns, image by image LaunchKind::dense.
ScheduledLaunch launch_of(const Network &network, std::size_t i, std::int64_t batch, bool columns);

/// The launch that writes a tensor in the wanted layout, which it reads in the other one.
ScheduledLaunch layout_change_to(const Tensor &wanted);

/// A tensor that lies in another.
struct PartOfTensor {
    Tensor part, whole;
    std::int64_t begin = 0; ///< index in `whole` of the first number of `part`
};
/// What the operator of a launch says of where tensors lie: the inputs of a concat in its output, the output
/// of a slice or reshape in its input. Requires an operator of these kinds.
std::vector<PartOfTensor> parts_of(const Network &network, const ScheduledLaunch &launch);

/// Makes `placed` of each launch that is a concat, slice or reshape alone where its tensors may lie one in
/// another. That takes one stream; one image, unless it is a reshape, since the images of a part would not
/// follow each other; parts that begin at a whole sector of 32 bytes, since a kernel that starts early may
/// have read the rest of a sector before it was written; and tensors that are neither the images nor what the
/// last launch writes. A tensor lies in one other at most.
void place_parts(const Network &network, std::vector<ScheduledLaunch> &schedule, std::int64_t batch);

/// Lets a launch also compute operator i, behind its last operator: why_not_joined has nothing against it.
void append_operator(const Network &network, ScheduledLaunch &launch, std::size_t i);

/// Whether a pooling has one window a channel, all of it. A warp or a CTA computes such a window together.
bool is_whole_channel(const Operator &pooling, const ImageShape &input);

/// Neighbouring outputs that a thread of a gather, a pooling or an elementwise launch computes: 4, which it
/// stores by one access, where each channel has a multiple of 4 numbers and an output takes few instructions.
std::int64_t outputs_of_thread(const Network &network, const ScheduledLaunch &launch, std::int64_t batch);

/// CTAs of a launch that is no plan's, each of 256 threads.
struct LaunchGrid {
    std::int64_t x = 1, y = 1;
    /// Threads of a CTA that compute one result together: an output of a dense layer or of a pooling of whole
    /// channels, a pixel of a layer norm. 0 for other kinds.
    std::int64_t threads_per_result = 0;
};
LaunchGrid grid_of(const Network &network, const ScheduledLaunch &launch, std::int64_t batch);

/// Dense layers of at least this many images are computed in columns. The kernel for fewer, `dense` of
/// executor/network/whole.cu, keeps a sum of each image in every thread.
inline constexpr std::int64_t least_columns = 8;

/// The launches of a network on one stream (N1), each behind those that compute its inputs; the last one
/// writes the network's output image by image. `ends` says which convolutions can do the end of a launch.
std::vector<ScheduledLaunch> schedule_of(const Network &network, std::int64_t batch, const EndsLaunch &ends);

/// Number of streams of a schedule: the highest that a launch has, plus one.
std::int64_t streams_of(const std::vector<ScheduledLaunch> &schedule);

/// By launch, the launches of other streams that must have ended before it begins: those that write what it
/// reads, and of each stream only the last of these.
std::vector<std::vector<std::size_t>> waits_of(const std::vector<ScheduledLaunch> &schedule);

/// Where a tensor lies in an Arena.
struct TensorPlace {
    Tensor tensor;
    std::int64_t offset_bytes = 0, bytes = 0;
};
/// One piece of device memory for all tensors but the images.
struct Arena {
    std::vector<TensorPlace> places; ///< by launch, of what it writes
    std::int64_t bytes = 0;
};
/// On one stream tensors share memory by lifetime; on several streams each has its own.
Arena arena_of(const Network &network, const std::vector<ScheduledLaunch> &schedule, std::int64_t batch);

} // namespace convcast
