#include "model/network/l2_content.hpp"

#include "model/work/tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace convcast {
namespace {

/// Counts the bytes that pass L2 between a launch that writes a tensor and one that reads it. Launches are
/// gone through in order: write() says that one is done.
class Passing {
  public:
    Passing(const Network &network, const std::vector<ScheduledLaunch> &schedule, std::int64_t batch)
        : network_(network), schedule_(schedule), batch_(batch), seen_(2 * network.operators.size() + 2),
          writer_(seen_.size(), none) {
        all_ = static_cast<double>(arena_of(network, schedule, batch).bytes) + bytes({}); // {}: the images
        for (const ScheduledLaunch &launch : schedule) {
            double parameters = 0.0;
            for (const std::size_t i : launch.operators)
                parameters += 4.0 * static_cast<double>(network.parameters(i));
            parameters_.push_back(parameters);
            all_ += parameters;
        }
    }

    /// All bytes that a run of the network touches.
    double all() const { return all_; }
    double bytes(const Tensor &tensor) const { return tensor_bytes(network_, tensor, batch_); }
    /// Bytes of a tensor, and the launch that has written them; absent: they are of the images.
    struct Written {
        std::optional<std::size_t> launch;
        double bytes = 0.0;
    };
    /// Which kernels wrote a tensor. Where a `placed` launch made it, those that wrote what it is made of.
    std::vector<Written> written(const Tensor &tensor) const {
        const std::size_t launch = writer_[place(tensor)];
        if (launch == none)
            return {{std::nullopt, bytes(tensor)}};
        if (schedule_[launch].kind != LaunchKind::placed)
            return {{launch, bytes(tensor)}};
        std::vector<Written> all;
        for (const Tensor &read : schedule_[launch].reads)
            for (const Written &part : written(read))
                all.push_back({part.launch, std::min(part.bytes, bytes(tensor))}); // a slice reads a part
        return all;
    }
    void write(std::size_t launch) { writer_[place(schedule_[launch].writes)] = launch; }

    /// Bytes that pass L2 from launch `writer`, which writes `tensor`, until launch `reader` has read it: the
    /// tensor, parameters, what the launches between write, and once each what they read that is older.
    double since(const Tensor &tensor, std::size_t writer, std::size_t reader) {
        double passed = bytes(tensor) + parameters_[reader];
        ++question_;
        for (std::size_t i = writer + 1; i < reader; ++i) {
            if (schedule_[i].kind == LaunchKind::placed)
                continue;
            passed += parameters_[i] + bytes(schedule_[i].writes);
            for (const Tensor &read : schedule_[i].reads) {
                const std::size_t at = place(read);
                const bool older = writer_[at] == none || writer_[at] < writer; // newer: counted already
                if (older && seen_[at] != question_)
                    passed += bytes(read);
                seen_[at] = question_;
            }
        }
        return std::min(passed, all_);
    }

  private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    /// Index of a tensor in seen_ and writer_. `of` + 1 of the images wraps around to 0.
    static std::size_t place(const Tensor &tensor) { return 2 * (tensor.of + 1) + (tensor.columns ? 1 : 0); }

    const Network &network_;
    const std::vector<ScheduledLaunch> &schedule_;
    std::int64_t batch_;
    double all_ = 0.0;
    std::vector<double> parameters_;  ///< bytes, by launch
    std::vector<std::size_t> seen_;   ///< by tensor, the last question that counted it
    std::vector<std::size_t> writer_; ///< by tensor, the launch that has written it, or `none`
    std::size_t question_ = 0;        ///< number of the call of since()
};

} // namespace

std::vector<HeldForLaunch> held_for_launches(const Network &network,
                                             const std::vector<ScheduledLaunch> &schedule, std::int64_t batch,
                                             const Gpu &gpu) {
    Passing passing(network, schedule, batch);
    // Parameters and images are read once in a run: everything else passes L2 until they are read again.
    const double kept_for_a_run = 1.0 - lost_from_l2(passing.all(), gpu);
    std::vector<HeldForLaunch> held;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        HeldForLaunch &its = held.emplace_back();
        its.parameters = kept_for_a_run;
        its.written_lost = 1.0 - kept_for_a_run; // until a launch that reads it says otherwise below
        for (const Tensor &read : schedule[i].reads) {
            const std::vector<Passing::Written> parts = passing.written(read);
            double all = 0.0, lost = 0.0; // bytes of all parts; share of them that L2 has lost
            for (const Passing::Written &part : parts)
                all += part.bytes;
            for (const Passing::Written &part : parts) {
                const double passed = part.launch ? passing.since(read, *part.launch, i) : passing.all();
                lost += part.bytes / all * lost_from_l2(passed, gpu);
                if (part.launch) // kept until the launch behind the last reader, which may overwrite it
                    held[*part.launch].written_lost = lost_from_l2(
                        std::min(passed + passing.bytes(schedule[i].writes), passing.all()), gpu);
            }
            its.reads.push_back(1.0 - lost);
        }
        passing.write(i);
    }
    return held;
}

std::map<std::string, HeldByL2> held_by_shape(const std::vector<ScheduledLaunch> &schedule,
                                              const std::vector<HeldForLaunch> &held) {
    std::map<std::string, HeldByL2> by_shape;
    std::map<std::string, double> launches;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        if (!schedule[i].shape || held[i].reads.empty())
            continue;
        const std::string shape = schedule[i].shape->id();
        HeldByL2 &its = by_shape[shape];
        const double before = launches[shape]++; // launches of this shape so far, for the means
        its.input = (its.input * before + held[i].reads.front()) / (before + 1.0);
        its.filters = (its.filters * before + held[i].parameters) / (before + 1.0);
        its.output_lost = (its.output_lost * before + held[i].written_lost) / (before + 1.0);
        std::size_t first = i; // behind the last launch that runs a kernel: what is placed runs none
        while (first > 0 && schedule[first - 1].kind == LaunchKind::placed)
            --first;
        const bool same = first > 0 && schedule[first - 1].shape && schedule[first - 1].shape->id() == shape;
        its.new_code = (its.new_code.value_or(0.0) * before + (same ? 0.0 : 1.0)) / (before + 1.0);
    }
    return by_shape;
}

} // namespace convcast
