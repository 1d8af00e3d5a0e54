#include "executor/network/run_network.hpp"

#include "executor/launch/kernel_source.hpp"
#include "executor/network/network_data.hpp"
#include "executor/network/network_source.hpp"
#include "executor/network/settle.hpp"
#include "executor/network/whole_kernel.hpp"
#include "executor/network/whole_network.hpp"
#include "executor/network/whole_reference.hpp"
#include "gpu/check.hpp"
#include "gpu/stopwatch.hpp"
#include "model/base/errors.hpp"
#include "model/base/hash.hpp"
#include "model/network/launch_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr double whole_limit = 1e-4; ///< relative error in L2 of FP32 against double, as in Winograd's gate
/// Computed in double at once; chosen: all tensors of these are kept in double
constexpr std::int64_t reference_images = 4;

class WholeRunner {
  public:
    WholeRunner(Compiler &compiler, const Device &device, const PlannedNetwork &plan,
                const WholeOptions &options)
        : compiler_(compiler), device_(device), plan_(plan), options_(options),
          whole_(compiler, device, plan, options.compile_threads), watch_(compiler, device.facts()),
          run_(plan.forecast), case_(run_.first()) {}

    NetworkRun run() {
        run_.conditions["gpu"] = device_.facts().name;
        run_.conditions["device_code_hash"] = device_code_hash();
        run_.conditions["whole_code_hash"] = code_hash();
        case_.weights =
            fmt::format("seed {}: uniform, sized so that activations keep their size (He); biases in +-0.1",
                        options_.seed);
        case_.device_bytes = memory_of(plan_).all_bytes();
        for (const std::string &note : whole_.notes())
            run_.assumptions.push_back(note);
        {
            const NetworkData data = network_data(plan_.network, plan_.batch(), options_.seed,
                                                  {.integers = options_.integers, .deep = true});
            whole_.load(data.images.pixels, data.parameters, watch_.stream());
            if (!options_.save_tensors.empty())
                save_inputs(options_.save_tensors, plan_.network, plan_.batch(), data);
        }
        case_.reason = verify();
        if (!options_.save_tensors.empty())
            save_outputs();
        case_.status = case_.reason ? Status::wrong_result : Status::ok;
        if (!case_.reason && options_.time)
            time();
        return std::move(run_);
    }

  private:
    /// Verifies the outputs of all images, and for the first and the last group of images also what each
    /// launch writes. Sets the errors. Returns a sentence on what is wrong; absent if nothing is.
    std::optional<std::string> verify() {
        const std::int64_t batch = plan_.batch(), at_once = std::min(batch, reference_images);
        const cudaStream_t stream = watch_.stream();
        whole_.poison_output();
        whole_.enqueue(stream);
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after a call");
        if (!whole_.output_guards_intact())
            return "a kernel wrote beyond the end of the output";
        WholeReference reference(compiler_, device_.facts().compute_capability(), plan_.network, at_once);
        L2Error all;
        std::vector<L2Error> by_launch(plan_.schedule.size());
        for (std::int64_t first = 0; first < batch; first += at_once) {
            const std::int64_t count = std::min(at_once, batch - first);
            reference.forward(
                whole_.images() + first * elements(plan_.network.input), count,
                [&](std::size_t op) { return whole_.parameters(op); }, stream);
            for (std::size_t i = 0; i < plan_.schedule.size(); ++i)
                if (gives_output(i))
                    all += compare(reference, i, first, stream);
            if (first > 0 && first + count < batch)
                continue; // neither the first group nor the last
            for (std::size_t i = 0; i < plan_.schedule.size();
                 ++i) { // again, since later launches reuse memory
                whole_.enqueue(i, stream);
                by_launch[i] += compare(reference, i, first, stream);
            }
        }
        std::optional<std::string> wrong;
        for (std::size_t i = 0; i < by_launch.size(); ++i) {
            case_.launches[i].l2_error = by_launch[i].relative();
            if (!wrong && !(by_launch[i].relative() <= limit()))
                wrong = too_far(join(case_.launches[i].operators, "+"), by_launch[i].relative());
        }
        case_.output_error = all.relative();
        if (!wrong && !(all.relative() <= limit()))
            wrong = too_far("the outputs", all.relative());
        return wrong;
    }

    /// Whether a launch writes an output of the network, which stays in memory until the call's end.
    bool gives_output(std::size_t launch) const {
        const Tensor &tensor = plan_.schedule[launch].writes;
        const std::vector<std::size_t> outputs = plan_.network.output_indices();
        return !tensor.columns && std::find(outputs.begin(), outputs.end(), tensor.of) != outputs.end();
    }

    /// Saves the outputs that the last call of all launches left.
    void save_outputs() {
        for (std::size_t i = 0; i < plan_.schedule.size(); ++i)
            if (gives_output(i)) {
                const std::size_t op = plan_.schedule[i].writes.of;
                std::vector<float> values(
                    static_cast<std::size_t>(plan_.batch() * elements(plan_.network.operators[op].output)));
                check(cudaMemcpy(values.data(), whole_.written(i), values.size() * sizeof(float),
                                 cudaMemcpyDeviceToHost),
                      "cudaMemcpy of an output");
                save_output(options_.save_tensors, plan_.network, plan_.batch(), op, values);
            }
    }

    /// A hash of the sources and of the text generated from operators' device code for this plan's launches.
    std::string code_hash() const {
        std::vector<std::string> texts = {whole_code_hash()};
        for (const ScheduledLaunch &launch : plan_.schedule)
            if (launch.kind != LaunchKind::placed)
                texts.push_back(
                    launch.plan ? function_text(plan_.network, element_steps(plan_.network, launch).functions)
                                : operator_kernel(plan_.network, launch, plan_.batch()).text);
        return content_hash(texts);
    }

    double limit() const { return options_.integers ? 0.0 : whole_limit; }

    std::string too_far(const std::string &what, double error) const {
        return fmt::format("{}: {:.2e} from the reference in relative L2, more than {:.0e}", what, error,
                           limit());
    }

    /// The error of what a launch has just written, against the reference, whose images begin at `first`. No
    /// error for a launch that only turns the images.
    L2Error compare(WholeReference &reference, std::size_t launch, std::int64_t first, cudaStream_t stream) {
        const Tensor &tensor = plan_.schedule[launch].writes;
        if (tensor.of == Network::input_index)
            return {};
        return reference.compare(tensor.of, whole_.written(launch), first, tensor.columns ? plan_.batch() : 0,
                                 stream);
    }

    /// Sets the times of the network and of its launches.
    void time() {
        const Graph graph(watch_.stream(), [&] { whole_.enqueue(watch_.stream()); });
        const StopWatch::Call as_graph = [&](cudaStream_t stream) { graph.launch(stream); };
        const StopWatch::Call one_by_one = [&](cudaStream_t stream) { whole_.enqueue(stream); };
        TracedTimes &traced = case_.traced.emplace();
        traced.graph_s = timed(as_graph, L2State::warm);
        traced.graph_cold_s = timed(as_graph, L2State::cold);
        traced.stream_s = timed(one_by_one, L2State::warm);
        const TimeSpread call = replayed(graph, traced.graph_s.median_s);
        NetworkTimes &measured = case_.measured.emplace();
        measured.time_s = call.median_s, measured.low_s = call.p05_s, measured.high_s = call.p95_s;
        measured.samples = call.samples;
        time_launches(as_graph, one_by_one);
    }

    /// Times single calls by the stopwatch, at most 100 and for 0.4 s; notes method and clock in the
    /// conditions.
    TimeSpread timed(const StopWatch::Call &call, L2State l2) {
        StopWatchOptions timing;
        timing.l2 = l2;
        timing.max_samples = 100;
        timing.max_time = Seconds(0.4);
        const SampleSeries series = watch_.measure(call, timing);
        std::vector<double> times;
        for (const Sample &sample : series.samples)
            times.push_back(sample.time.value);
        run_.conditions["method"] = series.method;
        run_.conditions["sm_clock_mhz"] = fmt::format("{:.0f}", series.samples.back().sm_clock.value / 1e6);
        return time_spread(std::move(times));
    }

    /// Times a call as it is in a row of replays of the graph between two events, without gaps of the host.
    /// `traced` says about how long a call takes: a row has as many replays as fill 20 ms, within 5 and 100.
    TimeSpread replayed(const Graph &graph, Seconds traced) {
        constexpr int rows = 15, least = 5, most = 100;
        constexpr double row_s = 0.02;
        const int replays = std::clamp(static_cast<int>(row_s / traced.value), least, most);
        const cudaStream_t stream = watch_.stream();
        const Event begin, end;
        std::vector<double> times;
        for (int row = 0; row <= rows; ++row) {
            begin.record(stream);
            for (int i = 0; i < replays; ++i)
                graph.launch(stream);
            end.record(stream);
            end.wait();
            if (row > 0) // the first warms up
                times.push_back(end.since(begin).value / replays);
        }
        return time_spread(std::move(times));
    }

    /// Sets when each launch begins and ends, from calls of the graph. With several streams, from calls
    /// launch by launch, whose records name the host's call. Says so if records and nodes do not match.
    void time_launches(const StopWatch::Call &as_graph, const StopWatch::Call &one_by_one) {
        const bool several = streams_of(plan_.schedule) > 1;
        const std::vector<TracedCall> calls = traced_calls(watch_, several ? one_by_one : as_graph, several);
        const std::vector<LaunchMeasurement> times = launch_times(plan_, calls);
        for (std::size_t i = 0; i < times.size(); ++i)
            case_.launches[i].measured = times[i];
        const auto other = std::find_if(calls.begin(), calls.end(), [&](const TracedCall &nodes) {
            return std::ssize(nodes) != *case_.nodes;
        });
        if (other != calls.end() && options_.say)
            options_.say(fmt::format("no times of launches: {} records of activity, {} nodes in the graph",
                                     other->size(), *case_.nodes));
    }

    Compiler &compiler_;
    const Device &device_;
    const PlannedNetwork &plan_;
    const WholeOptions &options_;
    WholeNetwork whole_;
    StopWatch watch_;
    NetworkRun run_;
    NetworkCase &case_; ///< of `run_`
};

} // namespace

NetworkRun run_whole(Compiler &compiler, const Device &device, const PlannedNetwork &plan,
                     const WholeOptions &options) {
    if (const auto why = why_not_whole(plan.network))
        throw UsageError("run: " + *why);
    return WholeRunner(compiler, device, plan, options).run();
}

} // namespace convcast
