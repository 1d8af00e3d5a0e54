#include "executor/timeline/timeline.hpp"

#include "executor/launch/kernel_source.hpp"
#include "executor/timeline/stamp.hpp"
#include "executor/verify/tensors.hpp"
#include "gpu/stopwatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

constexpr std::size_t guard_bytes = GuardedBuffer<std::byte>::guard_bytes;

/// Compiles the stamped kernels of some plans. `plans` must outlive this and not move: kernels are found by
/// address.
class StampedKernels : public KernelCache {
  public:
    StampedKernels(Compiler &compiler, int compute_capability, std::span<const StampedPlan> plans,
                   unsigned threads)
        : KernelCache(compiler, compute_capability) {
        std::vector<CompileRequest> all;
        for (const StampedPlan &stamped : plans) {
            std::size_t next = 0;
            for (const std::vector<Partition> *launches : {&stamped.plan.prepare, &stamped.plan.launches})
                for (const Partition &part : *launches)
                    requests_.emplace(&part, &stamped.requests.at(next++));
            all.insert(all.end(), stamped.requests.begin(), stamped.requests.end());
        }
        compile_ahead(std::move(all), threads);
        wait(); // so that the host has nothing else to do while calls are recorded
    }

  private:
    CompileRequest request_of(const Partition &partition, const ConvEnd &) const override {
        return *requests_.at(&partition);
    }

    std::map<const Partition *, const CompileRequest *> requests_;
};

/// Device memory for the output of one plan with the records behind it: guard, output, guard, records, guard.
class Output {
  public:
    Output(const StampedPlan &stamped, const ConvShape &shape)
        : memory_(stamped.records_offset + stamped.records * sizeof(CtaRecord), poison_of(shape)),
          poison_(poison_of(shape)), output_bytes_(static_cast<std::size_t>(shape.output_bytes())),
          records_offset_(stamped.records_offset), records_(stamped.records) {}

    std::byte *data() { return memory_.data(); }

    /// Poisons the output and its guards and zeroes the records.
    void poison() {
        memory_.poison();
        check(cudaMemset(memory_.data() + records_offset_, 0, records_ * sizeof(CtaRecord)), "cudaMemset");
    }

    bool guards_intact() const {
        const auto between = copy_of(memory_.data() + output_bytes_, records_offset_ - output_bytes_);
        return memory_.guards_intact() &&
               std::ranges::count(between, std::byte{poison_}) == std::ssize(between);
    }

    std::vector<CtaRecord> records() const {
        return copy_of(reinterpret_cast<const CtaRecord *>(memory_.data() + records_offset_), records_);
    }

  private:
    GuardedBuffer<std::byte> memory_;
    unsigned char poison_;
    std::size_t output_bytes_, records_offset_, records_;
};

/// The timeline of the last of `calls` calls, which all ran since the records were zeroed. Throws GpuError if
/// a CTA did not start once in each.
Timeline timeline_from(const StampedPlan &stamped, const std::vector<CtaRecord> &records,
                       std::uint32_t calls) {
    std::uint64_t begin = records.front().start_ns;
    std::uint64_t step = 0; // of the timer: the greatest common divisor of all times
    for (const CtaRecord &record : records)
        begin = std::min(begin, record.start_ns);
    std::vector<CtaSpan> spans;
    std::vector<std::string> kernels;
    std::size_t next = 0;
    for (const CallLaunch &launch : stamped.launches) {
        for (std::int64_t cta = 0; cta < launch.ctas; ++cta) {
            const CtaRecord &record = records.at(next++);
            if (record.starts != calls || record.end_ns < record.start_ns)
                throw GpuError(fmt::format("CTA {} of {}: {} starts in {} calls, from {} to {} ns", cta,
                                           launch.kernel, record.starts, calls, record.start_ns,
                                           record.end_ns));
            const std::uint64_t start = record.start_ns - begin, end = record.end_ns - begin;
            step = std::gcd(std::gcd(step, start), end);
            spans.push_back({std::ssize(kernels), cta, record.sm, Seconds(1e-9 * static_cast<double>(start)),
                             Seconds(1e-9 * static_cast<double>(end))});
        }
        kernels.push_back(launch.kernel);
    }
    Timeline timeline = timeline_of("stamps of the chip's global timer", kernels, spans);
    timeline.step_ns = static_cast<std::int64_t>(step);
    return timeline;
}

class Recorder {
  public:
    Recorder(Compiler &compiler, const Device &device, std::span<const StampedPlan> plans,
             const TimelineOptions &options)
        : options_(options), kernels_(compiler, device.facts().compute_capability()),
          watch_(compiler, device.facts()),
          stamped_(compiler, device.facts().compute_capability(), plans, options.compile_threads) {}

    /// `stamped` is one of the plans given to the constructor. Throws GpuError if there is no timeline.
    Timeline record(const StampedPlan &stamped, const ConvShape &shape) {
        const PreparedPlan prepared = prepare(stamped_, stamped.plan, shape);
        Output output(stamped, shape);
        ShapeData data(shape, kernels_, options_.seed);
        std::uint32_t calls = 0;
        const auto call_on = [&](Gate gate) {
            return [&calls, &prepared, &output, &tensors = data.tensors(gate)](cudaStream_t stream) {
                ++calls;
                prepared.call(tensors.input.data(), tensors.filters.data(), output.data(), stream);
            };
        };
        // Transformed algorithms (Winograd) have no exact results, so only others pass the gate of integers
        // too.
        const bool transformed = stamped.plan.transformed_fmas.has_value();
        if (!transformed) {
            output.poison();
            call_on(Gate::exact)(watch_.stream());
            check(cudaStreamSynchronize(watch_.stream()), "cudaStreamSynchronize after a stamped call");
            expect_right(data, Gate::exact, output);
        }
        const Gate gate = transformed ? Gate::transformed : Gate::rounding;
        const StopWatch::Call timed = call_on(gate);
        output.poison();
        calls = 0;
        const SampleSeries series = // one timed call, after two that load the code
            watch_.measure(
                timed,
                {.min_samples = 1, .max_samples = 1, .max_time = Seconds(0.0), .warm_up = Seconds(0.0)});
        expect_right(data, gate, output);
        Timeline timeline = timeline_from(stamped, output.records(), calls);
        timeline.call_s = series.samples.back().time;
        return timeline;
    }

  private:
    static void expect_right(ShapeData &data, Gate gate, Output &output) {
        const Verdict verdict = data.verdict(gate, Layout::channels_first, output.data());
        if (!verdict.passed)
            throw GpuError("with stamps the result is wrong: " + verdict.message);
        if (!output.guards_intact())
            throw GpuError("with stamps the kernel writes outside its output");
    }

    const TimelineOptions &options_;
    ReferenceKernels kernels_;
    StopWatch watch_;
    StampedKernels stamped_;
};

} // namespace

StampedPlan stamped(const Plan &plan, const ConvShape &shape, int compute_capability) {
    StampedPlan out;
    out.plan = plan;
    out.launches = launches_of(plan);
    constexpr std::size_t alignment = 256;
    out.records_offset = (static_cast<std::size_t>(shape.output_bytes()) + guard_bytes + alignment - 1) /
                         alignment * alignment;
    for (std::vector<Partition> *launches : {&out.plan.prepare, &out.plan.launches})
        for (Partition &part : *launches) {
            CompileRequest request = request_for(part, compute_capability);
            request.source = stamped_source(request.source, part.kernel);
            request.options.push_back(fmt::format("-DCONVCAST_SPANS_OFFSET={}ULL",
                                                  out.records_offset + out.records * sizeof(CtaRecord)));
            if (part.operands.empty())
                part.operands = {{Memory::input, 0}, {Memory::filters, 0}, {Memory::output, 0}};
            part.operands.push_back({Memory::output, 0});
            out.records += static_cast<std::size_t>(out.launches.at(out.requests.size()).ctas);
            out.requests.push_back(std::move(request));
        }
    return out;
}

std::vector<std::variant<Timeline, std::string>> record_timelines(Compiler &compiler, const Device &device,
                                                                  std::span<const PlanTask> tasks,
                                                                  const TimelineOptions &options) {
    std::vector<StampedPlan> plans;
    for (const PlanTask &task : tasks)
        plans.push_back(stamped(*task.plan, task.shape, device.facts().compute_capability()));
    Recorder recorder(compiler, device, plans, options);
    std::vector<std::variant<Timeline, std::string>> timelines;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        if (options.progress)
            options.progress(i, plans.size());
        const auto why =
            why_refused([&] { timelines.emplace_back(recorder.record(plans[i], tasks[i].shape)); });
        if (why)
            timelines.emplace_back(*why);
    }
    if (options.progress)
        options.progress(plans.size(), plans.size());
    return timelines;
}

bool add_timelines(Run &run, Compiler &compiler, const Device &device, const TimelineOptions &options,
                   const std::function<bool(const Case &)> &wanted,
                   const std::function<void(const Case &, const std::string *why_none)> &done) {
    std::vector<std::pair<const Case *, Measurement *>> open;
    std::vector<PlanTask> tasks;
    for (Case &item : run.cases) {
        if (item.status != Status::ok || !wanted(item))
            continue;
        for (Measurement &m : item.measurements)
            if (m.l2 == L2State::cold && !m.timeline) {
                open.emplace_back(&item, &m);
                tasks.push_back({&*item.prediction->plan, ConvShape::parse(item.shape)});
            }
    }
    auto timelines = record_timelines(compiler, device, tasks, options);
    bool all = true;
    for (std::size_t i = 0; i < timelines.size(); ++i) {
        const auto *why = std::get_if<std::string>(&timelines[i]);
        if (why == nullptr)
            open[i].second->timeline = std::move(std::get<Timeline>(timelines[i]));
        all = all && why == nullptr;
        done(*open[i].first, why);
    }
    return all;
}

} // namespace convcast
