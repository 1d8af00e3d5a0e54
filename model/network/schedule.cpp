#include "model/network/schedule.hpp"
#include "model/base/divide.hpp"

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

/// Order in which a launch does what it does element by element: each once.
int step_of(OperatorKind kind) {
    return kind == OperatorKind::bias ? 1 : kind == OperatorKind::add ? 2 : 3;
}

LaunchKind kind_of(OperatorKind kind, std::int64_t batch) {
    switch (kind) {
    case OperatorKind::convolution:
        return LaunchKind::convolution;
    case OperatorKind::dense:
        return batch >= least_columns ? LaunchKind::columns : LaunchKind::dense;
    case OperatorKind::max_pooling:
    case OperatorKind::average_pooling:
        return LaunchKind::pooling;
    case OperatorKind::softmax:
        return LaunchKind::softmax;
    case OperatorKind::half_squared_error:
    case OperatorKind::cross_entropy:
        return LaunchKind::loss;
    case OperatorKind::bias:
    case OperatorKind::relu:
    case OperatorKind::logistic:
    case OperatorKind::add:
        break;
    }
    return LaunchKind::elementwise;
}

class Scheduler {
  public:
    Scheduler(const Network &network, std::int64_t batch, const EndsLaunch &ends)
        : network_(network), batch_(batch), ends_(ends), readers_(network.operators.size(), 0) {
        for (std::size_t i = 0; i < network.operators.size(); ++i)
            for (const std::size_t source : network.sources(i))
                if (source != Network::input_index)
                    ++readers_[source];
    }

    std::vector<ScheduledLaunch> run() {
        for (std::size_t i = 0; i < network_.operators.size(); ++i)
            if (joins(i))
                join(i);
            else
                begin(i);
        const Tensor last{network_.operators.size() - 1, false};
        if (!there_.contains(last))
            turn(last);
        return std::move(launches_);
    }

  private:
    /// Whether operator i can be done where its only input is written.
    bool joins(std::size_t i) const {
        const OperatorKind kind = network_.operators[i].kind;
        if (i == 0 || !is_elementwise(kind) || readers_[i - 1] != 1)
            return false;
        const std::vector<std::size_t> sources = network_.sources(i);
        if (std::count(sources.begin(), sources.end(), i - 1) != 1)
            return false;
        const ScheduledLaunch &launch = launches_.back();
        if (launch.operators.empty() || launch.operators.back() != i - 1)
            return false;
        const OperatorKind before = network_.operators[i - 1].kind;
        if (is_elementwise(before) && step_of(before) >= step_of(kind))
            return false;
        for (const std::size_t source : sources)
            if (source != i - 1 && !is_there({source, launch.writes.columns}))
                return false;
        switch (launch.kind) {
        case LaunchKind::elementwise:
            return true;
        case LaunchKind::convolution:
        case LaunchKind::columns:
            return kind != OperatorKind::logistic && ends_(*launch.shape);
        case LaunchKind::dense:
            return kind != OperatorKind::logistic && kind != OperatorKind::add;
        default:
            return false;
        }
    }

    void join(std::size_t i) {
        ScheduledLaunch &launch = launches_.back();
        there_.erase(launch.writes);
        for (const std::size_t source : network_.sources(i))
            if (source != i - 1)
                launch.reads.push_back({source, launch.writes.columns});
        launch.operators.push_back(i);
        launch.writes.of = i;
        there_.insert(launch.writes);
    }

    void begin(std::size_t i) {
        const Operator &op = network_.operators[i];
        const std::vector<std::size_t> sources = network_.sources(i);
        ScheduledLaunch launch;
        launch.kind = kind_of(op.kind, batch_);
        launch.operators = {i};
        launch.shape = as_convolution(op, network_.input_shapes(i).front(), batch_);
        if (launch.kind == LaunchKind::columns) {
            launch.shape->n = 1;
            launch.shape->h = 1, launch.shape->w = batch_;
        }
        const bool columns = launch.kind == LaunchKind::columns ||
                             (launch.kind == LaunchKind::elementwise && sources.size() == 1 &&
                              there_.contains({sources[0], true}));
        for (const std::size_t source : sources)
            launch.reads.push_back(read(source, columns));
        launch.writes = {i, columns};
        there_.insert(launch.writes);
        launches_.push_back(std::move(launch));
    }

    bool is_there(const Tensor &tensor) const { return tensor == Tensor{} || there_.contains(tensor); }

    /// The tensor as it is wanted, turned first if it lies otherwise.
    Tensor read(std::size_t source, bool columns) {
        const Tensor wanted{source, columns};
        if (!is_there(wanted))
            turn(wanted);
        return wanted;
    }

    void turn(const Tensor &wanted) {
        ScheduledLaunch launch;
        launch.kind = wanted.columns ? LaunchKind::to_columns : LaunchKind::to_rows;
        launch.reads = {{wanted.of, !wanted.columns}};
        launch.writes = wanted;
        there_.insert(wanted);
        launches_.push_back(std::move(launch));
    }

    const Network &network_;
    std::int64_t batch_;
    const EndsLaunch &ends_;
    std::vector<std::size_t> readers_; ///< of each operator's output
    std::set<Tensor> there_;
    std::vector<ScheduledLaunch> launches_;
};

} // namespace

ElementSteps element_steps(const Network &network, const ScheduledLaunch &launch) {
    ElementSteps steps;
    for (const std::size_t i : launch.operators)
        switch (network.operators[i].kind) {
        case OperatorKind::bias:
            steps.bias = i;
            break;
        case OperatorKind::add:
            steps.add = i;
            break;
        case OperatorKind::relu:
        case OperatorKind::logistic:
            steps.activation = i;
            break;
        default:
            break;
        }
    return steps;
}

bool is_whole_channel(const Operator &op, const ImageShape &input) {
    return (*op.window)[0] == input[1] && (*op.window)[1] == input[2] &&
           (!op.pad || *op.pad == decltype(op.pad)::value_type{});
}

LaunchGrid grid_of(const Network &network, const ScheduledLaunch &launch, std::int64_t batch) {
    constexpr std::int64_t threads = 256, warps = 8, warp = 32, tile = 32;
    const std::int64_t numbers = elements(network.shape_of(launch.writes.of));
    switch (launch.kind) {
    case LaunchKind::dense: {
        constexpr std::int64_t inputs_of_thread = 8; // two loads of four
        std::int64_t row = threads;
        while (row > warp && row * inputs_of_thread > launch.shape->c)
            row /= 2;
        return {ceil_div(launch.shape->k, threads / row), 1, row};
    }
    case LaunchKind::pooling: {
        const std::size_t op = launch.operators.front();
        const bool by_warp = is_whole_channel(network.operators[op], network.input_shapes(op).front());
        return {ceil_div(batch * numbers, by_warp ? warps : threads)};
    }
    case LaunchKind::softmax:
        return {batch};
    case LaunchKind::to_columns:
        return {ceil_div(numbers, tile), ceil_div(batch, tile)};
    case LaunchKind::to_rows:
        return {ceil_div(batch, tile), ceil_div(numbers, tile)};
    default:
        return {ceil_div(batch * numbers, threads)};
    }
}

std::vector<ScheduledLaunch> schedule_of(const Network &network, std::int64_t batch, const EndsLaunch &ends) {
    return Scheduler(network, batch, ends).run();
}

bool ends_launch(const Plan &plan) {
    const std::string &kernel = plan.launches.back().kernel;
    return kernel == "implicit_gemm" || kernel == "implicit_gemm_rows" || kernel == "winograd_output";
}

Arena arena_of(const Network &network, const std::vector<ScheduledLaunch> &schedule, std::int64_t batch) {
    constexpr std::int64_t aligned = 256;
    std::map<Tensor, std::size_t> last_read;
    for (std::size_t i = 0; i < schedule.size(); ++i)
        for (const Tensor &tensor : schedule[i].reads)
            last_read[tensor] = i;
    last_read[schedule.back().writes] = schedule.size();

    Arena arena;
    std::vector<TensorPlace> taken; // in order of their offsets
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        const Tensor &tensor = schedule[i].writes;
        TensorPlace place{tensor, 0, 4 * batch * elements(network.shape_of(tensor.of))};
        place.bytes = round_up(place.bytes, aligned);
        auto before = taken.begin();
        for (; before != taken.end() && place.offset_bytes + place.bytes > before->offset_bytes; ++before)
            place.offset_bytes = before->offset_bytes + before->bytes;
        taken.insert(before, place);
        arena.places.push_back(place);
        arena.bytes = std::max(arena.bytes, place.offset_bytes + place.bytes);
        std::erase_if(taken, [&](const TensorPlace &other) {
            const auto found = last_read.find(other.tensor);
            return found == last_read.end() || found->second <= i;
        });
    }
    return arena;
}

} // namespace convcast
