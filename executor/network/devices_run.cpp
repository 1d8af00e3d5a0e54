#include "executor/network/run_network.hpp"

#include "executor/network/bound_rung.hpp"
#include "executor/network/devices_step.hpp"
#include "executor/network/network_data.hpp"
#include "executor/network/network_source.hpp"
#include "executor/network/rank.hpp"
#include "executor/network/rank_steps.hpp"
#include "executor/network/settle.hpp"
#include "model/base/errors.hpp"
#include "model/network/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr float verified_rate = 0.5F; // learning rate of steps that are verified; chosen

/// `count` steps of training as one CUDA graph over all GPUs. If the driver cannot capture them, they are
/// queued on the streams, each kind of work for all GPUs before the next kind.
class RepeatedSteps {
  public:
    /// `stream` is one of the first GPU, which is the calling thread's device. launch() queues on it.
    RepeatedSteps(const SplitSteps &steps, StepPart part, std::int64_t count, cudaStream_t stream)
        : work_(steps.work(part, 0, count)), count_(count), stream_(stream) {
        try {
            graph_.emplace(stream, [&] { work_.enqueue(stream); });
        } catch (const DeviceLost &) {
            throw;
        } catch (const GpuError &error) {
            why_no_graph_ = error.what();
        }
    }

    void launch() const {
        if (graph_)
            graph_->launch(stream_);
        else
            work_.enqueue(stream_);
    }

    /// How the steps are issued, as NetworkCase::issued has it.
    std::string issued() const {
        return graph_ ? fmt::format("{} steps as one CUDA graph over all GPUs", count_)
                      : fmt::format("{} steps on streams, breadth first by one thread: {}", count_,
                                    why_no_graph_);
    }

  private:
    StreamedWork work_;
    std::int64_t count_;
    cudaStream_t stream_;
    std::optional<Graph> graph_;
    std::string why_no_graph_;
};

/// The time of a step, measured with events of the first GPU, and in `issued` how the steps were issued.
/// Queueing does not count, since many repetitions are queued while the first ones run.
Seconds seconds_of(const SplitSteps &steps, StepPart part, const DeviceGroup &group, std::string &issued) {
    const OnDevice here(group.ordinal(0));
    const Stream stream;
    const RepeatedSteps repeated(steps, part, timed_steps, stream.handle());
    issued = repeated.issued();
    return time_of_step(
        stream.handle(), [&] { repeated.launch(); }, [&](const Event &) { group.wait(); });
}

/// A rung on several GPUs, each with a share of the images. A thread of the host for each GPU queues its
/// launches and spins between calls. The GPUs exchange nothing.
class DividedRung {
  public:
    /// Takes the first GPUs of the group, one for each of `shares`, which are numbers of images. `rung` must
    /// take any number of images and have no constant memory.
    DividedRung(const LadderKernels &of_one, const DeviceGroup &group, const Rung &rung,
                std::span<const std::int64_t> shares, const NetworkData &pool)
        : work_(group.ordinal(0)) {
        const std::int64_t total = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
        ImageShare next;
        for (std::size_t i = 0; i < shares.size(); ++i) {
            next = {next.first + next.count, shares[i]};
            const OnDevice here(group.ordinal(i));
            LadderKernels &kernels = kernels_.emplace_back(of_one.on(group.facts(i)));
            LoadedRung &loaded =
                rungs_.emplace_back(kernels, rung, next.count, SharedBatch{.total = total, .sum = {}});
            loaded.memory.load(images_of(pool.images, next), pool.parameters);
            const Stream stream(Stream::Kind::ordered);
            loaded.bound.prepare(stream.handle());
            stream.wait();
            work_.add(i == 0 ? 0 : work_.add_stream(group.ordinal(i)),
                      [&loaded](cudaStream_t on) { loaded.bound.call(on); });
        }
        group.wait(); // memory was filled on other streams than those of calls
        threads_.emplace(work_);
    }

    /// Queues a call on `first`, a stream of the first GPU, which is the calling thread's device.
    void call(cudaStream_t first) { threads_->enqueue(first); }

    /// The outputs of all images, in their order. The caller has waited for the GPUs.
    std::vector<float> outputs() const {
        std::vector<float> all;
        for (const LoadedRung &rung : rungs_) {
            const std::vector<float> part = rung.memory.output();
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }

    /// The tensor beyond whose end a kernel wrote; empty if none did.
    std::string overrun() const {
        std::string where;
        for (const LoadedRung &rung : rungs_)
            where = where.empty() ? rung.memory.overrun() : where;
        return where;
    }

  private:
    // One for each GPU, in deques, since rungs_ refers to kernels_, and work_ to rungs_.
    std::deque<LadderKernels> kernels_;
    std::deque<LoadedRung> rungs_;
    StreamedWork work_;
    std::optional<ThreadedWork> threads_;
};

/// Settles the cases of run_scaling(), each by the way that its split needs.
class Splits {
  public:
    Splits(Compiler &compiler, const DeviceGroup &group, const Network &network, const NetworkRun &run,
           const CaseOptions &options)
        : compiler_(compiler), group_(group), options_(options), ladder_(find_ladder(network)),
          kernels_(compiler, group.facts(0), ladder_, network), pool_(pool_of(network, run, options.seed)),
          parameters_(flattened(pool_.parameters)),
          first_(kernels_, pool_, {.rate = verified_rate}, options.time) {}

    void settle(NetworkCase &item) {
        if (item.split == DeviceSplit::batch_nccl)
            return settle_by_ranks(item);
        const OnDevice here(group_.ordinal(0));
        if (item.id)
            return settle_divided(item);
        item.split == DeviceSplit::one ? first_.settle_alone(item) : settle_by_copies(item);
    }

    /// Empty if no case used NCCL.
    const std::string &nccl_version() const { return nccl_version_; }
    /// Why the last case without times of its kernels has none; empty if all have them.
    const std::string &why_not_traced() const { return why_not_traced_; }

  private:
    /// The splits by rows, parameters and batch, in which GPUs exchange by copies.
    void settle_by_copies(NetworkCase &item) {
        const SplitSteps steps(group_, kernels_, item, pool_.images, item.batch, parameters_, verified_rate);
        item.reason = verify(steps, item);
        item.status = item.reason ? Status::wrong_result : Status::ok;
        if (!item.reason && options_.time)
            time(steps, item);
    }

    /// A rung (item.id, which the forecast took from the ladder) whose images the GPUs divide: its outputs
    /// must be those of one GPU with all images.
    void settle_divided(NetworkCase &item) {
        const Rung &rung = *rung_named(ladder_, *item.id);
        DividedRung divided(kernels_, group_, rung, item.shares, pool_);
        item.reason = verify_divided(divided, rung, item);
        item.status = item.reason ? Status::wrong_result : Status::ok;
        if (item.reason || !options_.time)
            return;
        const StopWatch::Call call = [&](cudaStream_t first) { divided.call(first); };
        item.measured.emplace().stream_s =
            median_time(watch(), call, L2State::warm, [this] { group_.wait(); });
        item.issued = "launches one by one, by a thread of the host for each GPU";
        trace(call, item);
    }

    /// Sets item.output_error. Returns the reason if the outputs are wrong.
    std::optional<std::string> verify_divided(DividedRung &divided, const Rung &rung, NetworkCase &item) {
        constexpr double limit = 1e-5; // relative, in L2: sums in another order differ by less
        DividedRung alone(kernels_, group_, rung, {&item.batch, 1}, pool_);
        const Stream stream(Stream::Kind::ordered);
        divided.call(stream.handle());
        alone.call(stream.handle());
        group_.wait();
        if (const std::string where = divided.overrun(); !where.empty())
            return "a kernel wrote beyond the end of " + where;
        const double error = relative_l2<float>(divided.outputs(), alone.outputs());
        item.output_error = error;
        if (error <= limit)
            return std::nullopt;
        return fmt::format("the outputs differ from one GPU's by {:.2e} in L2, more than {:.0e}", error,
                           limit);
    }

    /// Sets item.kernels: when each kernel and each copy of a call ran. If no records come, the case stays as
    /// it is and why_not_traced_ has the reason.
    void trace(const StopWatch::Call &call, NetworkCase &item) {
        const auto why = why_refused([&] {
            item.kernels = device_times(
                traced_calls(watch(), call, /*several_streams=*/true, [this] { group_.wait(); }));
        });
        if (why)
            why_not_traced_ = *why;
        else if (item.kernels.empty())
            why_not_traced_ = watch().why_events().value_or("calls left different records of activity");
    }

    /// A stopwatch on the first GPU, made when it is first needed.
    StopWatch &watch() { return watch_ ? *watch_ : watch_.emplace(compiler_, group_.facts(0)); }

    /// The split batch_nccl, on the first GPUs of the group, each a rank in a thread of its own.
    void settle_by_ranks(NetworkCase &item) {
        if (const auto why = why_no_nccl()) {
            item.status = Status::unsupported;
            item.reason = why;
            return;
        }
        std::vector<int> ordinals;
        for (int i = 0; i < item.devices; ++i)
            ordinals.push_back(group_.ordinal(static_cast<std::size_t>(i)));
        NetworkCase settled = item;
        as_ranks(ordinals, [&](Rank &rank) {
            LadderKernels kernels = kernels_.on(group_.facts(static_cast<std::size_t>(rank.index())));
            RankCases cases(kernels, pool_, settings_of(ladder_), options_.time);
            NetworkCase own = item;
            cases.settle(rank, own);
            if (rank.index() != 0)
                return;
            settled = std::move(own);
            nccl_version_ = rank.nccl_version();
        });
        item = std::move(settled);
    }

    /// A sentence if NCCL cannot be used; absent if it can.
    std::optional<std::string> why_no_nccl() const {
        if (!group_.distinct())
            return "NCCL takes every GPU once, and one stands in --devices several times; the split 'batch' "
                   "sums by copies";
        return why_not([] { const Nccl nccl; });
    }

    /// Sets the errors of the case after one step and after verified_steps. Returns the reason if it is
    /// wrong.
    std::optional<std::string> verify(const SplitSteps &steps, NetworkCase &item) {
        const Stream stream;
        steps.work(StepPart::step, 0, 1).enqueue(stream.handle());
        StepOutcome outcome = steps.outcome(0);
        steps.work(StepPart::step, 1, verified_steps - 1).enqueue(stream.handle());
        outcome.parameters = steps.outcome(verified_steps - 1).parameters;
        return why_not_as_one_gpu(outcome, {0, item.batch}, first_.alone(item.batch), item);
    }

    /// Times a step in a graph of many, and its parts; then traces the kernels of one step queued on streams.
    void time(const SplitSteps &steps, NetworkCase &item) {
        NetworkTimes &times = item.measured.emplace();
        std::string issued, issued_part; // parts are issued as whole steps are
        times.time_s = seconds_of(steps, StepPart::step, group_, issued);
        item.issued = issued;
        times.forward_s = seconds_of(steps, StepPart::forward, group_, issued_part);
        times.computation_s = seconds_of(steps, StepPart::computation, group_, issued_part);
        times.backward_s = *times.time_s - *times.forward_s;
        times.communication_s = *times.time_s - *times.computation_s;
        const StreamedWork step = steps.work(StepPart::step, 0, 1);
        trace([&](cudaStream_t stream) { step.enqueue(stream); }, item);
    }

    Compiler &compiler_;
    const DeviceGroup &group_;
    const CaseOptions &options_;
    Ladder ladder_;
    LadderKernels kernels_; ///< for the first GPU
    NetworkData pool_;
    std::vector<float> parameters_;
    RankCases first_; ///< the first GPU alone, with which others are compared
    std::string nccl_version_, why_not_traced_;
    std::optional<StopWatch> watch_;
};

} // namespace

void run_scaling(Compiler &compiler, const DeviceGroup &group, const Network &network, NetworkRun &run,
                 const CaseOptions &options) {
    run.conditions["gpu"] = group.facts(0).name;
    run.conditions["split_code_hash"] = network_code_hash(split_sources);
    run.conditions["network_code_hash"] = network_code_hash(); // of rungs whose images GPUs divide
    if (!group.distinct())
        run.conditions["several_shares_a_gpu"] =
            "a GPU stands in the list several times: what is measured is right, and no speed-up";
    for (std::size_t i = 0; i < group.notes().size(); ++i)
        run.conditions["no_peer_access_" + std::to_string(i + 1)] = group.notes()[i];
    Splits splits(compiler, group, network, run, options);
    settle_cases(
        run, "a GPU", [&](NetworkCase &item) { splits.settle(item); },
        [&](const NetworkCase &item) {
            add_rates(run.cases);
            if (!splits.nccl_version().empty())
                run.conditions["nccl"] = splits.nccl_version();
            if (!splits.why_not_traced().empty())
                run.conditions["not_traced"] = splits.why_not_traced();
            if (options.done)
                options.done(run, item);
        });
}

void run_ranks(Compiler &compiler, const Device &device, Rank &rank, const Network &network, NetworkRun &run,
               const CaseOptions &options) {
    run.conditions["gpu"] = device.facts().name;
    run.conditions["split_code_hash"] = network_code_hash(split_sources);
    run.conditions["ranks"] = std::to_string(rank.count());
    run.conditions["nccl"] = rank.nccl_version();
    const Ladder ladder = find_ladder(network);
    const NetworkData pool = pool_of(network, run, options.seed);
    LadderKernels kernels(compiler, device.facts(), ladder, network);
    RankCases cases(kernels, pool, settings_of(ladder), options.time);
    for (NetworkCase &item : run.cases) {
        if (item.status == Status::infeasible)
            continue;
        if (item.split == DeviceSplit::one)
            cases.settle_alone(item);
        else
            cases.settle(rank, item);
        add_rates(run.cases);
        if (options.done)
            options.done(run, item);
    }
}

Parameters train_split(Compiler &compiler, const DeviceGroup &group, const Network &network,
                       DeviceSplit split, const LabelledImages &images, const TrainingOptions &options,
                       NetworkRun &run) {
    NetworkCase &item = run.cases.emplace_back(
        case_of(network, split, static_cast<int>(group.size()),
                std::min<std::int64_t>(options.descent.batch, std::ssize(images.labels))));
    if (item.reason)
        throw UsageError(*item.reason);
    const Ladder ladder = find_ladder(network);
    LadderKernels kernels(compiler, group.facts(0), ladder, network);
    const std::vector<float> start =
        flattened(options.start ? *options.start : seeded_parameters(network, options.seed));
    const SplitSteps steps(group, kernels, item, images, std::ssize(images.labels), start,
                           static_cast<float>(options.descent.rate));
    const OnDevice here(group.ordinal(0));
    const Stream stream;
    const RepeatedSteps epoch(steps, StepPart::step, steps.batches(), stream.handle());
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < options.epochs; ++i)
        epoch.launch();
    const StepOutcome outcome = steps.outcome(steps.batches() - 1);
    item.training.emplace().descent = {
        .batch = item.batch, .epochs = options.epochs, .rate = options.descent.rate};
    set_training_time(
        item, options.epochs * steps.batches(),
        Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()));
    run.conditions["split"] = to_text(split) + " over " + std::to_string(group.size()) + " shares";
    run.conditions["issued"] = epoch.issued();
    return by_operator(network, outcome.parameters.front());
}

} // namespace convcast
