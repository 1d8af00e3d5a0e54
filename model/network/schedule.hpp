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
    to_columns,  ///< a tensor of images turned so that its images lie side by side
    to_rows,     ///< and back
    pooling,     ///< of either kind
    gather, ///< each output from some inputs: concat, slice, transpose, reshape, pad, resize, a transposed
            ///< convolution
    placed, ///< no kernel: a concat, slice or reshape whose tensors lie one in another (parts_of)
    elementwise, ///< each output from the inputs at its place: bias, add, relu and the like
    softmax,
    layer_norm,
    unknown, ///< bytes that are moved, which only the forecast knows
    loss,    ///< of training, which only the forecast knows
};
BOOST_DESCRIBE_ENUM(LaunchKind, convolution, dense, columns, to_columns, to_rows, pooling, gather, placed,
                    elementwise, softmax, layer_norm, unknown, loss)

/// An operator's output, or the images; image after image unless it lies in columns, [number][image].
struct Tensor {
    std::size_t of = Network::input_index; ///< operator
    bool columns = false;
    auto operator<=>(const Tensor &) const = default;
};

/// Bytes of a tensor of so many images.
double tensor_bytes(const Network &network, const Tensor &tensor, std::int64_t batch);

struct ScheduledLaunch {
    LaunchKind kind = LaunchKind::elementwise;
    std::vector<std::size_t> operators; ///< that it computes, in order; none where it only turns a tensor
    std::vector<Tensor>
        reads; ///< of the first operator, and behind them the other inputs of those that join it
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

/// What a kernel can do in a network, by its lines for networks: those of executor/kernels that begin with
/// "//:".
struct InNetwork {
    bool ends = false;         ///< does bias, addition and functions of one number before it stores
    bool starts_early = false; ///< waits itself for the end of the launch before it
    /// Starts early also where that launch lets it start beside its own last CTAs. CTAs of large kernels
    /// would crowd on the few SMs that are free first.
    bool starts_beside = false;
    bool lets_next_start = false;    ///< before its last CTAs end
    bool asks_for_filters = false;   ///< for all of them, before it waits
    bool biases_with_pixels = false; ///< reads them together, and not behind its sums
    bool straight_code = false;      ///< no loops: a warp comes to each instruction once (N12)
};
/// All false of a kernel without such lines.
const InNetwork &in_network(const std::string &kernel);

/// Whether the kernel that stores a plan's outputs can do bias, addition and functions before.
bool ends_launch(const Plan &plan);

/// Whether the kernel that was chosen for a convolution can do bias, add and ReLU where it stores (N1).
using EndsLaunch = std::function<bool(const ConvShape &)>;

/// Operators that read each operator's output.
std::vector<std::size_t> readers_of(const Network &network);

/// Why operator `i` is not done where a launch writes, behind the launch's last operator: the end of a
/// sentence; absent if it can be. `there`: the tensors that lie somewhere when the launch begins; `ends` is
/// asked of a launch with a plan (N1).
std::optional<std::string> why_not_joined(const Network &network, const ScheduledLaunch &launch,
                                          std::size_t i, const std::vector<std::size_t> &readers,
                                          const std::set<Tensor> &there, const std::function<bool()> &ends);

/// The launch that begins with operator i, which reads and writes in columns or image by image; without what
/// it reads. `columns` of a dense layer says by which kernel.
ScheduledLaunch launch_of(const Network &network, std::size_t i, std::int64_t batch, bool columns);

/// The launch that only lays a tensor out as it is wanted.
ScheduledLaunch turn_of(const Tensor &wanted);

/// A tensor that lies in another.
struct PartOfTensor {
    Tensor part, whole;
    std::int64_t begin = 0; ///< number of `whole` with which it begins
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

/// Does operator i where the launch writes, behind its last operator.
void join(const Network &network, ScheduledLaunch &launch, std::size_t i);

/// Whether a pooling's windows are whole channels, each computed by a warp or a CTA.
bool is_whole_channel(const Operator &pooling, const ImageShape &input);

/// Neighbouring outputs that a thread of a gather, a pooling or an elementwise launch computes: 4 where maps
/// are whole fours and each output is one number of what is read.
std::int64_t outputs_of_thread(const Network &network, const ScheduledLaunch &launch, std::int64_t batch);

/// CTAs of a launch that is no plan's, all of 256 threads.
struct LaunchGrid {
    std::int64_t x = 1, y = 1;
    /// Of a CTA, that share an output of a dense layer or of a pooling of whole channels, or a pixel of a
    /// layer norm.
    std::int64_t row_threads = 0;
};
LaunchGrid grid_of(const Network &network, const ScheduledLaunch &launch, std::int64_t batch);

/// Dense layers of so many images or more are computed in columns.
inline constexpr std::int64_t least_columns = 8;

/// The launches of a network, each input computed before it is read; the last one writes the network's output
/// image by image.
std::vector<ScheduledLaunch> schedule_of(const Network &network, std::int64_t batch, const EndsLaunch &ends);

/// Streams of a schedule: the highest number and one.
std::int64_t streams_of(const std::vector<ScheduledLaunch> &schedule);

/// Of each launch, the launches of other streams that must have ended before it begins: those that wrote what
/// it reads, of each stream the last one.
std::vector<std::vector<std::size_t>> waits_of(const std::vector<ScheduledLaunch> &schedule);

/// Where tensors lie in one piece of memory, those that are needed at the same time apart.
struct TensorPlace {
    Tensor tensor;
    std::int64_t offset_bytes = 0, bytes = 0;
};
struct Arena {
    std::vector<TensorPlace> places; ///< of all tensors but the images
    std::int64_t bytes = 0;
};
/// On one stream tensors share memory by lifetime; on several each has its own.
Arena arena_of(const Network &network, const std::vector<ScheduledLaunch> &schedule, std::int64_t batch);

} // namespace convcast
