#include "model/network/schedule.hpp"
#include "model/base/divide.hpp"
#include "model/network/operator_type.hpp"

#include <algorithm>
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

/// The place of an elementwise operator in the end of a launch: bias, then add, each once, then functions.
int place_in_end(OperatorKind kind) {
    return kind == OperatorKind::bias ? 1 : kind == OperatorKind::add ? 2 : 3;
}

/// Whether a convolution is a dense layer: 1 x 1 filters on a map of one pixel.
bool is_dense(const Operator &op, const ImageShape &input) {
    return op.kind == OperatorKind::convolution && input[1] * input[2] == 1 &&
           elements(op.output) == op.output[0] && op.groups.value_or(1) == 1 &&
           *op.window == TwoSizes{1, 1} && op.pad_or_none() == TwoSizes{};
}

/// What a launch is that begins with operator i.
LaunchKind kind_of(const Network &network, std::size_t i, std::int64_t batch) {
    const OperatorKind kind = network.operators[i].kind;
    switch (kind) {
    case OperatorKind::convolution:
        return batch < least_columns && is_dense(network.operators[i], network.input_shapes(i).front())
                   ? LaunchKind::dense
                   : LaunchKind::convolution;
    case OperatorKind::dense:
        return batch >= least_columns ? LaunchKind::columns : LaunchKind::dense;
    case OperatorKind::max_pooling:
    case OperatorKind::average_pooling:
        return LaunchKind::pooling;
    case OperatorKind::softmax:
        return LaunchKind::softmax;
    case OperatorKind::layer_norm:
        return LaunchKind::layer_norm;
    case OperatorKind::unknown:
        return LaunchKind::unknown;
    default: // every other operator runs by its device code, or is a loss
        return is_loss(kind)          ? LaunchKind::loss
               : is_elementwise(kind) ? LaunchKind::elementwise
                                      : LaunchKind::gather;
    }
}

/// Why the end of a convolution or dense layer cannot do an operator, for messages; nullptr if it can.
const char *why_no_end(const Network &network, const ScheduledLaunch &launch, OperatorKind kind) {
    const OperatorKind before = network.operators[launch.operators.back()].kind;
    if (kind == OperatorKind::scale || kind == OperatorKind::multiply)
        return "sums are stored behind bias, addition and functions of one number only";
    if (is_elementwise(before) && place_in_end(before) >= place_in_end(kind) && place_in_end(kind) < 3)
        return "a launch does bias, add and functions in this order, bias and add once";
    if (launch.kind == LaunchKind::dense && kind == OperatorKind::add)
        return "a dense layer of few images ends with bias and functions of one number only";
    return nullptr;
}

/// Makes schedule_of: each operator becomes part of the last launch if it can, else it gets its own.
class Scheduler {
  public:
    Scheduler(const Network &network, std::int64_t batch, const EndsLaunch &ends)
        : network_(network), batch_(batch), ends_(ends), readers_(readers_of(network)) {}

    std::vector<ScheduledLaunch> run() {
        for (std::size_t i = 0; i < network_.operators.size(); ++i)
            if (last_launch_can_take(i))
                append_to_last_launch(i);
            else
                start_launch(i);
        const std::size_t last = network_.operators.size() - 1;
        for (const std::size_t output : network_.output_indices())
            if (const Tensor wanted{output, false}; !available_.contains(wanted)) {
                change_layout(wanted);
                if (output != last) // the launch that writes the last operator's output stays at the end
                    std::swap(launches_.back(), launches_[launches_.size() - 2]);
            }
        place_parts(network_, launches_, batch_);
        return std::move(launches_);
    }

  private:
    /// Whether the last launch ends with operator i - 1 and can also compute operator i.
    bool last_launch_can_take(std::size_t i) const {
        if (i == 0 || launches_.back().operators.empty() || launches_.back().operators.back() != i - 1)
            return false;
        const ScheduledLaunch &launch = launches_.back();
        return !why_not_joined(network_, launch, i, readers_, available_,
                               [&] { return ends_(*launch.shape); }); // what has a plan has a shape
    }

    /// Its output takes the place of the launch's former one, which is stored no more.
    void append_to_last_launch(std::size_t i) {
        ScheduledLaunch &launch = launches_.back();
        available_.erase(launch.writes);
        append_operator(network_, launch, i);
        available_.insert(launch.writes);
    }

    /// Adds a launch for operator i, behind changes of the layout of inputs that exist in the other one only.
    void start_launch(std::size_t i) {
        const Operator &op = network_.operators[i];
        const std::vector<std::size_t> sources = network_.sources(i);
        // A function of one tensor keeps the columns of its input: any layout suits it, and none is changed.
        const bool columns =
            kind_of(network_, i, batch_) == LaunchKind::columns ||
            (is_elementwise(op.kind) && sources.size() == 1 && available_.contains({sources[0], true}));
        ScheduledLaunch launch = launch_of(network_, i, batch_, columns);
        for (const std::size_t source : sources)
            launch.reads.push_back(ensure_available({source, columns}));
        available_.insert(launch.writes);
        launches_.push_back(std::move(launch));
    }

    /// Adds a change of layout if the tensor does not exist in the wanted one. Returns `wanted`.
    Tensor ensure_available(const Tensor &wanted) {
        if (wanted != Tensor{} && !available_.contains(wanted)) // Tensor{}: the images, which are given
            change_layout(wanted);
        return wanted;
    }

    void change_layout(const Tensor &wanted) {
        available_.insert(wanted);
        launches_.push_back(layout_change_to(wanted));
    }

    const Network &network_;
    std::int64_t batch_;
    const EndsLaunch &ends_;
    std::vector<std::size_t> readers_; ///< of readers_of
    std::set<Tensor> available_;       ///< what the launches so far store
    std::vector<ScheduledLaunch> launches_;
};

} // namespace

double tensor_bytes(const Network &network, const Tensor &tensor, std::int64_t batch) {
    return 4.0 * static_cast<double>(batch * elements(network.shape_of(tensor.of)));
}

std::vector<std::size_t> readers_of(const Network &network) {
    std::vector<std::size_t> readers(network.operators.size(), 0);
    for (std::size_t i = 0; i < network.operators.size(); ++i)
        for (const std::size_t source : network.sources(i))
            if (source != Network::input_index)
                ++readers[source];
    for (const std::size_t output : network.output_indices())
        ++readers[output];
    return readers;
}

std::optional<std::string> why_not_joined(const Network &network, const ScheduledLaunch &launch,
                                          std::size_t i, const std::vector<std::size_t> &readers,
                                          const std::set<Tensor> &available,
                                          const std::function<bool()> &ends) {
    const std::size_t last = launch.operators.back();
    const OperatorKind kind = network.operators[i].kind;
    const std::string &name = network.operators[i].name, &its_input = network.operators[last].name;
    if (!is_elementwise(kind))
        return name + " is no bias, add or function of one number, and only these end another launch";
    const std::vector<std::size_t> sources = network.sources(i);
    if (std::count(sources.begin(), sources.end(), last) != 1)
        return name + " does not read " + its_input + ", or reads it twice";
    if (readers[last] != 1)
        return its_input + " is read by another operator too, so that it must be written";
    if (network.operators[i].output != network.operators[last].output)
        return its_input + " has another shape than what " + name + " makes";
    for (const std::size_t source : sources) {
        const Tensor other{source, launch.writes.columns};
        if (source != last && other != Tensor{} && !available.contains(other))
            return "the other input of " + name + " is not there yet in this layout";
        if (source != last && network.shape_of(source) != network.operators[i].output &&
            (launch.writes.columns || launch.shape))
            return "the other input of " + name + " has another shape";
    }
    switch (launch.kind) {
    case LaunchKind::elementwise:
    case LaunchKind::gather:
        return std::nullopt;
    case LaunchKind::pooling:
        if (const std::size_t first = launch.operators.front();
            !is_whole_channel(network.operators[first], network.input_shapes(first).front()))
            return std::nullopt;
        break;
    case LaunchKind::convolution:
    case LaunchKind::columns:
        if (const char *why = why_no_end(network, launch, kind))
            return why;
        return ends() ? std::nullopt
                      : std::optional<std::string>("kernels of this strategy do not end with bias, add or "
                                                   "relu; those of implicit_gemm, winograd, "
                                                   "depthwise_register and grouped_register do");
    case LaunchKind::dense:
        if (const char *why = why_no_end(network, launch, kind))
            return why;
        return std::nullopt;
    default:
        break;
    }
    return "nothing is done behind " + its_input + " where it is written";
}

ScheduledLaunch launch_of(const Network &network, std::size_t i, std::int64_t batch, bool columns) {
    const Operator &op = network.operators[i];
    ScheduledLaunch launch;
    launch.kind = op.kind == OperatorKind::dense ? (columns ? LaunchKind::columns : LaunchKind::dense)
                                                 : kind_of(network, i, batch);
    launch.operators = {i};
    launch.shape = as_convolution(op, network.input_shapes(i).front(), batch);
    if (launch.kind == LaunchKind::columns) { // a 1 x 1 convolution of one image, a pixel for each image
        launch.shape->n = 1;
        launch.shape->h = 1, launch.shape->w = batch;
    }
    launch.writes = {i, columns};
    return launch;
}

ScheduledLaunch layout_change_to(const Tensor &wanted) {
    ScheduledLaunch launch;
    launch.kind = wanted.columns ? LaunchKind::to_columns : LaunchKind::to_rows;
    launch.reads = {{wanted.of, !wanted.columns}};
    launch.writes = wanted;
    return launch;
}

void append_operator(const Network &network, ScheduledLaunch &launch, std::size_t i) {
    for (const std::size_t source : network.sources(i))
        if (source != launch.operators.back())
            launch.reads.push_back({source, launch.writes.columns});
    launch.operators.push_back(i);
    launch.writes.of = i;
}

std::int64_t streams_of(const std::vector<ScheduledLaunch> &schedule) {
    std::int64_t streams = 1;
    for (const ScheduledLaunch &launch : schedule)
        streams = std::max(streams, launch.stream + 1);
    return streams;
}

std::vector<std::vector<std::size_t>> waits_of(const std::vector<ScheduledLaunch> &schedule) {
    std::map<Tensor, std::size_t> writer;
    std::vector<std::vector<std::size_t>> waits;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        std::map<std::int64_t, std::size_t> last_writer; // by stream
        for (const Tensor &tensor : schedule[i].reads)
            if (const auto found = writer.find(tensor);
                found != writer.end() && schedule[found->second].stream != schedule[i].stream) {
                std::size_t &of_stream = last_writer[schedule[found->second].stream];
                of_stream = std::max(of_stream, found->second);
            }
        std::vector<std::size_t> &launches = waits.emplace_back();
        for (const auto &[stream, launch] : last_writer)
            launches.push_back(launch);
        writer[schedule[i].writes] = i;
    }
    return waits;
}

ElementSteps element_steps(const Network &network, const ScheduledLaunch &launch) {
    ElementSteps steps;
    for (const std::size_t i : launch.operators)
        if (const OperatorKind kind = network.operators[i].kind; kind == OperatorKind::bias)
            steps.bias = i;
        else if (kind == OperatorKind::add)
            steps.add = i;
        else if (is_elementwise(kind))
            steps.functions.push_back(i);
    return steps;
}

std::int64_t outputs_of_thread(const Network &network, const ScheduledLaunch &launch, std::int64_t batch) {
    // Code of form `gather` is long; four copies of it in a kernel are code that every launch waits for (N3).
    if (!launch.operators.empty() &&
        type_of(network.operators[launch.operators.front()].kind).form == DeviceForm::gather)
        return 1;
    const ImageShape &shape = network.shape_of(launch.writes.of);
    return shape[1] * shape[2] * (launch.writes.columns ? batch : 1) % 4 == 0 ? 4 : 1;
}

bool is_whole_channel(const Operator &op, const ImageShape &input) {
    return (*op.window)[0] == input[1] && (*op.window)[1] == input[2] && op.pad_or_none() == TwoSizes{} &&
           op.pad_end_or_same() == TwoSizes{};
}

LaunchGrid grid_of(const Network &network, const ScheduledLaunch &launch, std::int64_t batch) {
    constexpr std::int64_t threads = 256, warp = 32, tile = 32; // as executor/network/whole.cu has them
    const ImageShape &output = network.shape_of(launch.writes.of);
    const std::int64_t image_elements = elements(output);
    switch (launch.kind) {
    case LaunchKind::dense: {
        // As many threads share an output as have two loads of four inputs each, from a warp to the CTA.
        constexpr std::int64_t inputs_of_thread = 8;
        std::int64_t per_output = threads;
        while (per_output > warp && per_output * inputs_of_thread > launch.shape->c)
            per_output /= 2;
        return {.x = ceil_div(launch.shape->k, threads / per_output), .threads_per_result = per_output};
    }
    case LaunchKind::pooling:
        if (const std::size_t op = launch.operators.front();
            is_whole_channel(network.operators[op], network.input_shapes(op).front())) {
            const ImageShape input = network.input_shapes(op).front();
            // A warp computes a window of up to 16 pixels a lane, which whole.cu unrolls, else a CTA does.
            constexpr std::int64_t most_of_warp = 512;
            const std::int64_t per_window = input[1] * input[2] <= most_of_warp ? warp : threads;
            return {.x = ceil_div(batch * image_elements, threads / per_window),
                    .threads_per_result = per_window};
        }
        [[fallthrough]]; // other windows are a thread's, as an output of the two kinds below is
    case LaunchKind::elementwise:
    case LaunchKind::gather:
        return {.x = ceil_div(batch * image_elements, threads * outputs_of_thread(network, launch, batch))};
    case LaunchKind::layer_norm: {
        // A lane for each of a CTA's pixels, so that a row of its loads is contiguous. Small maps are cut
        // into fewer pixels for each CTA, until about every SM has one, but into no less than a sector of L2.
        constexpr std::int64_t sector_floats = 8, enough_ctas = 128;
        const std::int64_t pixels = output[1] * output[2];
        std::int64_t of_cta = warp;
        while (of_cta > sector_floats && ceil_div(pixels, of_cta) * batch < enough_ctas)
            of_cta /= 2;
        return {.x = ceil_div(pixels, of_cta), .y = batch, .threads_per_result = threads / of_cta};
    }
    case LaunchKind::softmax: // an image's numbers have one sum, so one CTA computes them
        return {.x = batch};
    // The kernel transposes [rows][columns] with columns along x: to_columns has [batch][image_elements].
    case LaunchKind::to_columns:
        return {.x = ceil_div(image_elements, tile), .y = ceil_div(batch, tile)};
    case LaunchKind::to_rows:
        return {.x = ceil_div(batch, tile), .y = ceil_div(image_elements, tile)};
    case LaunchKind::unknown: // no kernel runs them: taken as a thread for each output
    case LaunchKind::loss:
    case LaunchKind::placed:
    case LaunchKind::convolution: // have the grids of their plan
    case LaunchKind::columns:
        break;
    }
    return {.x = ceil_div(batch * image_elements, threads)};
}

std::vector<ScheduledLaunch> schedule_of(const Network &network, std::int64_t batch, const EndsLaunch &ends) {
    return Scheduler(network, batch, ends).run();
}

std::vector<PartOfTensor> parts_of(const Network &network, const ScheduledLaunch &launch) {
    const Operator &op = network.operators[launch.operators.front()];
    if (op.kind != OperatorKind::concat) {
        const std::int64_t first_channel = op.begin ? (*op.begin)[0] : 0;
        return {{launch.writes, launch.reads.front(), first_channel * op.output[1] * op.output[2]}};
    }
    std::vector<PartOfTensor> parts;
    std::int64_t begin = 0;
    for (const Tensor &read : launch.reads) {
        parts.push_back({read, launch.writes, begin});
        begin += elements(network.shape_of(read.of));
    }
    return parts;
}

namespace {

/// The tensors that lie in others, by what launches of LaunchKind::placed say.
class Parts {
  public:
    Parts() = default;
    Parts(const Network &network, const std::vector<ScheduledLaunch> &schedule) {
        for (const ScheduledLaunch &launch : schedule)
            if (launch.kind == LaunchKind::placed)
                add(parts_of(network, launch));
    }

    void add(const std::vector<PartOfTensor> &parts) {
        for (const PartOfTensor &part : parts)
            by_part_.emplace(part.part, part);
    }
    bool is_part(const Tensor &tensor) const { return by_part_.contains(tensor); }
    /// The outermost tensor that a tensor lies in, and where; the tensor itself if it lies in no other.
    PartOfTensor place_of(const Tensor &tensor) const {
        PartOfTensor place{.part = tensor, .whole = tensor, .begin = 0};
        for (auto found = by_part_.find(tensor); found != by_part_.end(); found = by_part_.find(place.whole))
            place.whole = found->second.whole, place.begin += found->second.begin;
        return place;
    }

  private:
    std::map<Tensor, PartOfTensor> by_part_;
};

/// Whether an operator need not move numbers: those of its output follow each other in its input (reshape,
/// slice), or those of each input in its output (concat). Of several images only a reshape's do.
bool only_places(const Network &network, std::size_t i, std::int64_t batch) {
    const Operator &op = network.operators[i];
    const ImageShape input = network.input_shapes(i).front();
    switch (op.kind) {
    case OperatorKind::reshape:
        return true;
    case OperatorKind::concat:
        return batch == 1;
    case OperatorKind::slice: // whole channels
        return batch == 1 && op.step.value_or(ImageShape{1, 1, 1}) == ImageShape{1, 1, 1} &&
               input[1] == op.output[1] && input[2] == op.output[2];
    default:
        return false;
    }
}

} // namespace

void place_parts(const Network &network, std::vector<ScheduledLaunch> &schedule, std::int64_t batch) {
    constexpr std::int64_t sector_floats = 8;
    if (streams_of(schedule) > 1)
        return;
    Parts placed;
    for (ScheduledLaunch &launch : schedule) {
        if (launch.kind != LaunchKind::gather || launch.operators.size() != 1 ||
            !only_places(network, launch.operators.front(), batch) || launch.writes == schedule.back().writes)
            continue;
        const std::vector<PartOfTensor> parts = parts_of(network, launch);
        std::set<Tensor> distinct; // a concat of one tensor twice has to copy
        const bool may = std::ranges::all_of(parts, [&](const PartOfTensor &part) {
            return part.begin % sector_floats == 0 && part.part != Tensor{} && part.whole != Tensor{} &&
                   !placed.is_part(part.part) && distinct.insert(part.part).second;
        });
        if (!may)
            continue;
        launch.kind = LaunchKind::placed;
        placed.add(parts);
    }
}

const InNetwork &in_network(const std::string &kernel) {
    static const std::map<std::string, InNetwork> kernels = {
        {"implicit_gemm", {.ends = true, .starts_early = true}},
        {"implicit_gemm_rows", {.ends = true, .starts_early = true}},
        {"grouped_register", {.ends = true, .starts_early = true, .asks_for_filters = true}},
        {"depthwise_register",
         {.ends = true,
          .starts_early = true,
          .starts_beside = true,
          .asks_for_filters = true,
          .biases_with_pixels = true,
          .straight_code = true}},
        {"winograd_input", {.starts_early = true, .starts_beside = true}},
        {"winograd_output", {.ends = true, .lets_next_start = true}}};
    static const InNetwork nothing;
    const auto found = kernels.find(kernel);
    return found == kernels.end() ? nothing : found->second;
}

bool ends_launch(const Plan &plan) {
    return in_network(plan.launches.back().kernel).ends;
}

Arena arena_of(const Network &network, const std::vector<ScheduledLaunch> &schedule, std::int64_t batch) {
    constexpr std::int64_t aligned = 256; // bytes, as cudaMalloc aligns
    const Parts parts(network, schedule);
    std::map<Tensor, std::size_t> last_use; // launch that reads or writes it last; of what lies in no other
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        for (const Tensor &tensor : schedule[i].reads)
            last_use[parts.place_of(tensor).whole] = i;
        last_use[parts.place_of(schedule[i].writes).whole] = i;
    }
    last_use[parts.place_of(schedule.back().writes).whole] = schedule.size(); // outputs stay to the end
    for (const std::size_t output : network.output_indices())
        last_use[parts.place_of({output, false}).whole] = schedule.size();
    const bool reuses = streams_of(schedule) == 1; // else a launch may run while another still reads

    Arena arena;
    std::map<Tensor, std::int64_t> offsets; // bytes; of what lies in no other
    std::vector<TensorPlace> taken;         // by tensors that are still read, in order of their offsets
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        const PartOfTensor part = parts.place_of(schedule[i].writes);
        if (!offsets.contains(part.whole)) {
            TensorPlace place{part.whole, 0, 4 * batch * elements(network.shape_of(part.whole.of))};
            place.bytes = round_up(place.bytes, aligned);
            auto next =
                taken.begin(); // first fit: behind all places that the gap before `next` is too small for
            for (; next != taken.end() && place.offset_bytes + place.bytes > next->offset_bytes; ++next)
                place.offset_bytes = next->offset_bytes + next->bytes;
            taken.insert(next, place);
            offsets[part.whole] = place.offset_bytes;
            arena.bytes = std::max(arena.bytes, place.offset_bytes + place.bytes);
        }
        const std::int64_t bytes = 4 * batch * elements(network.shape_of(part.part.of));
        arena.places.push_back({part.part, offsets.at(part.whole) + 4 * part.begin,
                                part.part == part.whole ? round_up(bytes, aligned) : bytes});
        std::erase_if(taken,
                      [&](const TensorPlace &other) { return reuses && last_use.at(other.tensor) <= i; });
    }
    return arena;
}

} // namespace convcast
