// What names in a paper's answers stand for: of a network, the rungs of its ladder and what was recorded of
// them.
#include "model/base/comparison.hpp"
#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/network/network.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/scaling_forecast.hpp"
#include "reports/papers/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

std::int64_t all_of_grid(const std::array<std::int64_t, 3> &sizes) {
    return sizes[0] * sizes[1] * sizes[2];
}

/// Steps of training, the batch divided over so many GPUs; none where a GPU has no others beside it.
NetworkRun divided(const std::string &network, const GpuProfile &gpu, int devices,
                   std::vector<DeviceSplit> splits, std::int64_t batch, bool weak) {
    if (gpu.peers.empty())
        return {};
    ScalingQuestion question{{}, std::move(splits), {batch}, weak};
    question.devices.resize(static_cast<std::size_t>(devices));
    std::iota(question.devices.begin(), question.devices.end(), 0);
    return forecast_scaling(find_network(network), gpu, question);
}

/// What all launches of a line take of a call in streams.
PaperValue in_stream(const RungForecast &rung, std::size_t launch) {
    return launch < rung.in_stream_s.size() ? PaperValue(rung.in_stream_s[launch]) : PaperValue();
}

/// Of a launch: how long one takes, how long its activity record will say that it takes, and what all take of
/// a call whose launches follow each other in streams.
void add_forecast(PaperFacts &names, const std::string &before, const RungForecast &rung,
                  std::size_t launch) {
    const bool known = launch < rung.launches.size();
    names[before + "one_launch"] = known ? PaperValue(rung.launches[launch].time_s) : PaperValue();
    names[before + "one_record"] = known ? PaperValue(rung.launches[launch].record_s) : PaperValue();
    names[before + "in_stream_s"] = in_stream(rung, launch);
}

} // namespace

std::int64_t batch_of_paper(const std::string &network) {
    constexpr std::int64_t step_of_cibil = 2048;
    return network == "mnist" ? step_of_cibil : 1;
}

PaperFacts KnownRung::facts() const {
    PaperFacts names;
    add_facts(names, &rung);
    names["kernels"] =
        rung.launches.empty() ? PaperValue("does not compile") : PaperValue(rung.launches.size());
    names["launches"] = rung.launches.size();
    names["published"] = rung.published_s;
    names["papers"] = papers.stream_s;
    names["forecast"] = ours.call_s();
    names["measured"] = measured ? measured->measured_s() : std::nullopt;
    names["why"] = ours.why_not;
    names["papers_why"] = papers.why_not;
    names["stream"] = ours.stream_s;
    names["stream_measured"] =
        measured && measured->measured ? PaperValue(measured->measured->stream_s) : PaperValue();
    const NetworkTimes none, &times = measured && measured->measured ? *measured->measured : none;
    names["one_thread_measured"] = times.one_thread_s;
    names["threads_measured"] = times.threads_s;
    names["papers_low"] = papers.low_s;
    names["papers_high"] = papers.high_s;
    names["copy_s"] = ours.copy_s;
    names["papers_copy_s"] = papers.copy_s;
    names["of_two_stream"] = ours_of_two.stream_s;
    names["of_two_copy_s"] = ours_of_two.copy_s;
    names["papers_of_two_stream"] = papers_of_two.stream_s;
    names["papers_of_two_copy_s"] = papers_of_two.copy_s;
    return names;
}

std::string Evaluator::network() const {
    if (!item_.answer.network)
        throw UsageError("expected \"network\" in the item's answer, for example \"fashion_mnist\"");
    return *item_.answer.network;
}

std::int64_t Evaluator::batch() const {
    return method_.batch.value_or(batch_of_paper(network()));
}

/// All of the network's ladder.
const std::vector<KnownRung> &Evaluator::rungs(std::int64_t batch) {
    return made_once(rungs_, batch, [&] {
        const Network its = find_network(network());
        const Ladder ladder = find_ladder(its);
        const NetworkRun *recorded = context_.measured({RecordedPart::ladder, network(), batch});
        std::vector<KnownRung> all;
        for (const Rung &rung : ladder.rungs) {
            KnownRung &known = all.emplace_back();
            known.rung = rung;
            known.papers = context_.papers().rung(its, ladder, rung, batch);
            known.ours = context_.ours().rung(its, ladder, rung, batch);
            if (ladder.divided_rung == rung.id) {
                known.papers_of_two = context_.papers().rung(its, ladder, rung, ceil_div(batch, 2));
                known.ours_of_two = context_.ours().rung(its, ladder, rung, ceil_div(batch, 2));
            }
            if (recorded)
                for (const NetworkCase &result : recorded->cases)
                    if (result.id == rung.id)
                        known.measured = result;
        }
        return all;
    });
}

/// Those that the item names, in its order; all where it names none.
std::vector<const KnownRung *> Evaluator::asked_rungs() {
    std::vector<const KnownRung *> asked;
    const std::vector<KnownRung> &all = rungs(batch());
    for (const std::string &name : item_.answer.rungs)
        for (const KnownRung &known : all)
            if (known.rung.id == name)
                asked.push_back(&known);
    if (item_.answer.rungs.empty())
        for (const KnownRung &known : all)
            asked.push_back(&known);
    return asked;
}

/// Each rung beside the one before it.
PaperRows Evaluator::steps_of(const std::vector<const KnownRung *> &rungs) {
    PaperRows rows;
    for (std::size_t i = 1; i < rungs.size(); ++i) {
        PaperFacts &names = rows.emplace_back().names;
        names = rungs[i]->facts();
        for (const auto &[name, value] : rungs[i - 1]->facts())
            names["before." + name] = value;
    }
    return rows;
}

PaperRows Evaluator::published_steps() {
    std::vector<const KnownRung *> rungs = asked_rungs();
    std::erase_if(rungs, [](const KnownRung *known) { return !known->rung.published_s; });
    return steps_of(rungs);
}

PaperRows Evaluator::launches() {
    PaperRows rows;
    const Ladder ladder = find_ladder(find_network(network()));
    for (const KnownRung *known : asked_rungs())
        for (std::size_t i = 0; i < known->rung.launches.size(); ++i) {
            const LadderLaunch &launch = known->rung.launches[i];
            PaperFacts &names = rows.emplace_back().names;
            add_facts(names, &launch);
            names["computes"] = join(launch.operators);
            names["rung"] = known->rung.id;
            names["blocks"] = all_of_grid(launch.grid);
            names["threads"] = all_of_grid(launch.block);
            const bool each_stream = launch.each_stream.value_or(false);
            names["times_launched"] =
                launch.repeat.value_or(1) * (each_stream ? known->rung.streams.value_or(1) : 1);
            add_forecast(names, "", known->ours, i);
            add_forecast(names, "papers_", known->papers, i);
            names["of_two_in_stream_s"] = in_stream(known->ours_of_two, i);
            names["papers_of_two_in_stream_s"] = in_stream(known->papers_of_two, i);
            const auto compiled = ladder.work.kernels.find(launch.kernel);
            const bool declared = compiled != ladder.work.kernels.end();
            names["registers"] = declared ? PaperValue(compiled->second.registers) : PaperValue();
            names["static_bytes"] =
                declared ? PaperValue(compiled->second.static_shared_bytes) : PaperValue();
            static const std::vector<KernelTime> none;
            const std::vector<KernelTime> &kernels = known->measured ? known->measured->kernels : none;
            const auto copy = std::ranges::find_if(kernels, &KernelTime::is_copy); // they are behind
            const bool kept = copy - kernels.begin() == std::ssize(known->rung.launches);
            add_facts<KernelTime>(names, kept ? &kernels[i] : nullptr, "recorded.");
        }
    return rows;
}

/// Kernels and copies of the ladder and of calls on several GPUs, by their activity records. Where those of
/// our GPU have no copies, GPUs and occupancies, as older ones, another GPU's stand in; each row names it.
PaperRows Evaluator::recorded_kernels() {
    const auto in_full = [](const NetworkRun &run) {
        return std::ranges::any_of(run.cases, [](const NetworkCase &item) {
            return std::ranges::any_of(item.kernels, [](const KernelTime &its) {
                return its.is_copy() || its.device || its.occupancy;
            });
        });
    };
    PaperRows rows;
    for (const RecordedOf &of :
         {RecordedOf{RecordedPart::ladder, network(), batch()}, RecordedOf{RecordedPart::steps, network()}}) {
        const NetworkRun *run = context_.measured_where(of, in_full);
        if (run == nullptr)
            continue;
        for (const NetworkCase &item : run->cases)
            for (const KernelTime &kernel : item.kernels) {
                PaperFacts &names = rows.emplace_back().names;
                add_facts(names, &item);
                add_facts(names, &kernel, "recorded.");
                names["recorded_on"] = short_name(condition_of(run->conditions, "gpu"));
            }
    }
    return rows;
}

PaperRows Evaluator::recorded_rungs() {
    const NetworkRun *run = context_.measured({RecordedPart::ladder, network(), batch()});
    return run ? rows_of(run->cases) : PaperRows();
}

/// A batch divided over two GPUs in every way that needs no NCCL.
PaperRows Evaluator::two_gpus() {
    return rows_of(divided(network(), context_.ours().profile, 2,
                           {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch}, batch(), false)
                       .cases);
}

/// Recorded steps on two GPUs with forecasts by this version; no cases where there are none.
NetworkRun Evaluator::recorded_scaling() const {
    const NetworkRun *run = context_.measured({RecordedPart::steps, network()});
    return run ? forecast_anew(*run, find_network(network()), context_.ours().profile) : NetworkRun();
}

/// A batch divided over as many GPUs as a host has.
NetworkRun Evaluator::by_images() const {
    return divided(network(), context_.ours().profile, most_split_devices, {DeviceSplit::batch}, batch(),
                   true);
}

std::vector<ScalingPoint> Evaluator::scaling() const {
    const std::vector<ScalingPoint> points = scaling_points(by_images(), DeviceSplit::batch, batch());
    return points.size() < 2 ? std::vector<ScalingPoint>{} : points;
}

std::vector<ScalingPoint> Evaluator::measured_scaling() const {
    return scaling_points(recorded_scaling(), DeviceSplit::batch, batch(), &NetworkCase::measured);
}

PaperRows Evaluator::several_gpus() {
    PaperRows rows;
    for (const ScalingPoint &p : scaling())
        rows.push_back({{{"devices", p.gpus},
                         {"step", p.strong_s},
                         {"efficiency", p.strong_efficiency},
                         {"weak_step", p.weak_s},
                         {"weak_efficiency", p.weak_efficiency},
                         {"exchange", p.exchange_s}}});
    return rows;
}

/// rung(id, what[, images]): of a rung of the network's ladder.
PaperValue Evaluator::rung(const std::string &id, const std::string &what, std::int64_t batch) {
    for (const KnownRung &known : rungs(batch))
        if (known.rung.id == id) {
            const PaperFacts names = known.facts();
            const auto found = names.find(what);
            if (found == names.end())
                throw UsageError("expected what is known of a rung, for example 'measured', found '" +
                                 shortened(what) + "'");
            return found->second;
        }
    return {};
}

/// What was recorded of a network on our GPU: "sequential", "accuracy", "epochs" ...; missing where nothing
/// was.
PaperValue Evaluator::of_network(const std::string &fact) {
    const std::string id = network();
    const PaperFacts &facts = made_once(facts_, "network " + id, [&] {
        const RecordedOf of{RecordedPart::training, id};
        const NetworkRun *training = context_.measured(of), *anywhere = context_.measured_anywhere(of),
                         *ladder = context_.measured({RecordedPart::ladder, id, 1});
        PaperFacts all;
        add_facts<NetworkCase>(all, training ? &training->first() : nullptr);
        add_facts<Training>(all, training ? &*training->first().training : nullptr);
        all["sequential"] = ladder ? PaperValue(ladder->sequential_s) : PaperValue();
        all["input_edge"] = find_network(id).input[1];
        // Accuracy is tested with the same images on every GPU.
        all["test_images_anywhere"] =
            anywhere ? PaperValue(anywhere->first().training->test_images) : PaperValue();
        return all;
    });
    const auto found = facts.find(fact);
    if (found == facts.end())
        throw UsageError("expected what was measured of a network, for example 'accuracy', found '" +
                         shortened(fact) + "'");
    return found->second;
}

} // namespace convcast
