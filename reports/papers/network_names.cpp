// The lists and names of a paper's answers that are about a network: the rungs of its ladder, its steps of
// training on several GPUs, and what was recorded of both.
#include "model/base/comparison.hpp"
#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/network/network.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/scaling_forecast.hpp"
#include "reports/papers/evaluator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

std::int64_t product_of(const std::array<std::int64_t, 3> &sizes) {
    return sizes[0] * sizes[1] * sizes[2];
}

/// Whether only the batch itself is divided (strong) or also one that grows with the GPUs (weak scaling).
enum class Scaling { strong, also_weak };

/// The forecast for our GPU of steps of training that are divided over `devices` GPUs in each of the ways
/// `splits`; no cases where our GPU's profile has no others beside it.
NetworkRun divided(const Evaluator &e, int devices, std::vector<DeviceSplit> splits, Scaling scaling) {
    const GpuProfile &gpu = e.context().ours().profile;
    if (gpu.peers.empty())
        return {};
    ScalingQuestion question{{}, std::move(splits), {e.batch()}, scaling == Scaling::also_weak};
    question.devices.resize(static_cast<std::size_t>(devices));
    std::iota(question.devices.begin(), question.devices.end(), 0);
    return forecast_scaling(find_network(e.network()), gpu, question);
}

/// The same with the images of the batch divided over as many GPUs as a host has.
NetworkRun divided_by_images(const Evaluator &e) {
    return divided(e, most_split_devices, {DeviceSplit::batch}, Scaling::also_weak);
}

/// The recorded steps on two GPUs, with forecasts by this version; no cases where nothing was recorded.
NetworkRun recorded_scaling(const Evaluator &e) {
    const NetworkRun *run = e.context().measured({RecordedPart::steps, e.network()});
    return run ? forecast_anew(*run, find_network(e.network()), e.context().ours().profile) : NetworkRun();
}

/// What was recorded of the ladder on our GPU; nullptr where nothing was.
const NetworkRun *recorded_ladder(const Evaluator &e, std::int64_t batch) {
    return e.context().measured({RecordedPart::ladder, e.network(), batch});
}

/// The rungs that the item names, in its order; all of the ladder where it names none.
std::vector<const KnownRung *> asked_rungs(Evaluator &e) {
    std::vector<const KnownRung *> asked;
    const std::vector<KnownRung> &all = e.rungs(e.batch());
    for (const std::string &name : e.item().answer.rungs)
        for (const KnownRung &known : all)
            if (known.rung.id == name)
                asked.push_back(&known);
    if (e.item().answer.rungs.empty())
        for (const KnownRung &known : all)
            asked.push_back(&known);
    return asked;
}

PaperRows rungs(Evaluator &e) {
    PaperRows rows;
    for (const KnownRung *known : asked_rungs(e))
        rows.push_back({known->facts()});
    return rows;
}

enum class Rungs { all, published }; ///< published: those whose time the paper prints

/// A row for each rung but the first, with the names of the rung before it behind "before.".
PaperRows steps(Evaluator &e, Rungs which) {
    PaperRows rows;
    PaperFacts before;
    for (const PaperRow &rung : rungs(e)) {
        if (which == Rungs::published && !rung.names.at("published").has_value())
            continue;
        if (!before.empty()) {
            rows.push_back(rung);
            for (const auto &[name, value] : before)
                rows.back().names["before." + name] = value;
        }
        before = rung.names;
    }
    return rows;
}

/// A row for each launch of the asked rungs: the launch, its forecasts, what its kernel declares, and the
/// activity that was recorded of it ("recorded.time_s"), where the recording has one for each launch.
PaperRows launches(Evaluator &e) {
    PaperRows rows;
    const Ladder ladder = find_ladder(find_network(e.network()));
    for (const KnownRung *known : asked_rungs(e))
        for (std::size_t i = 0; i < known->rung.launches.size(); ++i) {
            const LadderLaunch &launch = known->rung.launches[i];
            PaperFacts &names = rows.emplace_back().names;
            add_facts(names, &launch);
            names["computes"] = join(launch.operators);
            names["rung"] = known->rung.id;
            names["blocks"] = product_of(launch.grid);
            names["threads"] = product_of(launch.block);
            const bool each_stream = launch.each_stream.value_or(false);
            names["times_launched"] =
                launch.repeat.value_or(1) * (each_stream ? known->rung.streams.value_or(1) : 1);
            for (const auto &[before, its] : known->forecasts()) {
                add_facts(names, i < its->launches.size() ? &its->launches[i] : nullptr, before);
                names[before + "in_stream_s"] =
                    i < its->in_stream_s.size() ? PaperValue(its->in_stream_s[i]) : PaperValue();
            }
            const auto declared = ladder.work.kernels.find(launch.kernel);
            add_facts(names, declared != ladder.work.kernels.end() ? &declared->second : nullptr);
            static const std::vector<KernelTime> none;
            const std::vector<KernelTime> &kernels = known->measured ? known->measured->kernels : none;
            const auto copies = std::ranges::find_if(kernels, &KernelTime::is_copy); // behind all kernels
            const bool one_each = copies - kernels.begin() == std::ssize(known->rung.launches);
            add_facts(names, one_each ? &kernels[i] : nullptr, "recorded.");
        }
    return rows;
}

/// Kernels and copies of the ladder and of steps on two GPUs, by their activity records. Older recordings
/// hold neither copies nor GPUs nor occupancies. Where ours is such a one, a recording of another GPU stands
/// in; "recorded_on" of each row names the GPU.
PaperRows recorded_kernels(Evaluator &e) {
    const auto in_full = [](const NetworkRun &run) {
        return std::ranges::any_of(run.cases, [](const NetworkCase &item) {
            return std::ranges::any_of(item.kernels, [](const KernelTime &its) {
                return its.is_copy() || its.device || its.occupancy;
            });
        });
    };
    PaperRows rows;
    for (const RecordedOf &of : {RecordedOf{RecordedPart::ladder, e.network(), e.batch()},
                                 RecordedOf{RecordedPart::steps, e.network()}})
        if (const NetworkRun *run = e.context().measured(of, in_full))
            for (const NetworkCase &item : run->cases)
                for (const KernelTime &kernel : item.kernels) {
                    PaperFacts &names = rows.emplace_back().names;
                    add_facts(names, &item);
                    add_facts(names, &kernel, "recorded.");
                    names["recorded_on"] = short_name(condition_of(run->conditions, "gpu"));
                }
    return rows;
}

/// The operators of the network, with their values, parameters and multiply-adds for one image.
PaperRows operators(Evaluator &e) {
    PaperRows rows;
    const Network its = find_network(e.network());
    for (std::size_t i = 0; i < its.operators.size(); ++i) {
        const Operator &op = its.operators[i];
        const ImageShape input = its.input_shapes(i).front();
        PaperFacts &names = rows.emplace_back().names;
        add_facts(names, &op);
        names["output"] = to_text(op.output);
        names["parameters"] = parameters(op, input);
        names["multiply_adds"] = fmas_of(op, input, 1);
        names["values"] = elements(op.output);
    }
    return rows;
}

/// A fact, which may be missing. Throws UsageError, which says what was `expected`, of an unknown name.
PaperValue fact_of(const PaperFacts &facts, const std::string &name, const std::string &expected) {
    const auto found = facts.find(name);
    if (found == facts.end())
        throw UsageError("expected " + expected + ", found '" + shortened(name) + "'" +
                         did_you_mean(name, names_in(facts)));
    return found->second;
}

} // namespace

std::int64_t batch_of_paper(const std::string &network) {
    static std::map<std::string, std::int64_t> batches; // so that each ladder is read once
    return made_once(batches, network,
                     [&] { return find_ladder(find_network(network)).published_images.value_or(1); });
}

KnownRung::Forecasts KnownRung::forecasts() const {
    return {{{"forecast.", &ours}, {"papers.", &papers}, {"half.", &half}, {"papers_half.", &papers_half}}};
}

PaperFacts KnownRung::facts() const {
    PaperFacts names;
    add_facts(names, &rung);
    for (const auto &[before, its] : forecasts())
        add_facts<NetworkTimes>(names, its, before);
    const bool timed = measured && measured->measured;
    add_facts(names, timed ? &*measured->measured : nullptr, "measured.");
    names["published"] = rung.published_s;
    names["forecast"] = ours.call_s();
    names["papers"] = papers.stream_s; // launch by launch; "forecast" is as one CUDA graph
    names["measured"] = measured ? measured->measured_s() : std::nullopt;
    names["launches"] = rung.launches.size();
    names["kernels"] =
        rung.launches.empty() ? PaperValue("does not compile") : PaperValue(rung.launches.size());
    return names;
}

std::vector<Evaluator::List> network_lists() {
    using E = Evaluator &;
    return {{"operators", operators},
            {"rungs", rungs},
            {"steps", [](E e) { return steps(e, Rungs::all); }},
            {"published_steps", [](E e) { return steps(e, Rungs::published); }},
            {"launches", launches},
            {"recorded_rungs",
             [](E e) {
                 const NetworkRun *run = recorded_ladder(e, e.batch());
                 return run ? rows_of(run->cases) : PaperRows();
             }},
            {"recorded_kernels", recorded_kernels},
            {"recorded_steps", [](E e) { return rows_of(recorded_scaling(e).cases); }},
            {"two_gpus", // in every way that needs no NCCL
             [](E e) {
                 return rows_of(divided(e, 2,
                                        {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch},
                                        Scaling::strong)
                                    .cases);
             }},
            {"several_gpus", [](E e) { return rows_of(scaling_of(e)); }},
            {"advice", [](E e) { return rows_of(divided_by_images(e).advice); }}};
}

std::vector<ScalingPoint> scaling_of(const Evaluator &e) {
    const std::vector<ScalingPoint> points =
        scaling_points(divided_by_images(e), DeviceSplit::batch, e.batch());
    return points.size() < 2 ? std::vector<ScalingPoint>{} : points; // one GPU alone says nothing of scaling
}

std::vector<ScalingPoint> measured_scaling_of(const Evaluator &e) {
    return scaling_points(recorded_scaling(e), DeviceSplit::batch, e.batch(), &NetworkCase::measured);
}

const std::vector<KnownRung> &Evaluator::rungs(std::int64_t batch) {
    return made_once(rungs_, batch, [&] {
        const Network its = find_network(network());
        const Ladder ladder = find_ladder(its);
        const NetworkRun *recorded = recorded_ladder(*this, batch);
        std::vector<KnownRung> all;
        for (const Rung &rung : ladder.rungs) {
            const auto forecast = [&](const ForecastGpu &gpu, std::int64_t images) {
                return gpu.rung(its, ladder, rung, images);
            };
            KnownRung &known = all.emplace_back(
                KnownRung{rung, forecast(context_.ours(), batch), forecast(context_.papers(), batch)});
            if (ladder.divided_rung == rung.id) {
                known.half = forecast(context_.ours(), ceil_div(batch, 2));
                known.papers_half = forecast(context_.papers(), ceil_div(batch, 2));
            }
            if (recorded)
                for (const NetworkCase &result : recorded->cases)
                    if (result.id == rung.id)
                        known.measured = result;
        }
        return all;
    });
}

PaperValue Evaluator::rung(const std::string &id, const std::string &fact, std::int64_t batch) {
    const std::vector<KnownRung> &all = rungs(batch);
    const auto known = std::ranges::find(all, id, [](const KnownRung &its) { return its.rung.id; });
    return known == all.end()
               ? PaperValue()
               : fact_of(known->facts(), fact, "what is known of a rung, for example 'measured'");
}

PaperValue Evaluator::of_network(const std::string &fact) {
    const PaperFacts &facts = made_once(facts_, "network", [&] {
        const RecordedOf of{RecordedPart::training, network()};
        // `anywhere` may be a training on another GPU: its accuracy was tested with the same images.
        const NetworkRun *training = context_.measured(of),
                         *anywhere = context_.measured(of, [](const NetworkRun &) { return true; }),
                         *ladder = recorded_ladder(*this, 1);
        PaperFacts all;
        add_facts(all, training ? &training->first() : nullptr);
        add_facts(all, training ? &*training->first().training : nullptr);
        all["sequential"] = ladder ? PaperValue(ladder->sequential_s) : PaperValue();
        all["input_edge"] = find_network(network()).input[1];
        all["test_images_anywhere"] =
            anywhere ? PaperValue(anywhere->first().training->test_images) : PaperValue();
        return all;
    });
    return fact_of(facts, fact, "what was measured of a network, for example 'accuracy'");
}

} // namespace convcast
