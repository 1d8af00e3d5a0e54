// What names in a paper's answers stand for: of a network, the rungs of its ladder and what was recorded of
// them.
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

std::int64_t all_of_grid(const std::array<std::int64_t, 3> &sizes) {
    return sizes[0] * sizes[1] * sizes[2];
}

/// Steps of training, the batch divided over so many GPUs; none where a GPU has no others beside it.
NetworkRun divided(const Evaluator &e, int devices, std::vector<DeviceSplit> splits, bool weak) {
    const GpuProfile &gpu = e.context().ours().profile;
    if (gpu.peers.empty())
        return {};
    ScalingQuestion question{{}, std::move(splits), {e.batch()}, weak};
    question.devices.resize(static_cast<std::size_t>(devices));
    std::iota(question.devices.begin(), question.devices.end(), 0);
    return forecast_scaling(find_network(e.network()), gpu, question);
}

/// A batch divided over as many GPUs as a host has.
NetworkRun by_images(const Evaluator &e) {
    return divided(e, most_split_devices, {DeviceSplit::batch}, true);
}

/// Recorded steps on two GPUs with forecasts by this version; no cases where there are none.
NetworkRun recorded_scaling(const Evaluator &e) {
    const NetworkRun *run = e.context().measured({RecordedPart::steps, e.network()});
    return run ? forecast_anew(*run, find_network(e.network()), e.context().ours().profile) : NetworkRun();
}

const NetworkRun *recorded_ladder(const Evaluator &e, std::int64_t batch) {
    return e.context().measured({RecordedPart::ladder, e.network(), batch});
}

/// Those that the item names, in its order; all where it names none.
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

/// Each rung beside the one before it; `published`: of those whose time is.
PaperRows steps(Evaluator &e, bool published) {
    PaperRows rows;
    PaperFacts before;
    for (const PaperRow &rung : rungs(e)) {
        if (published && !rung.names.at("published").there())
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
            names["blocks"] = all_of_grid(launch.grid);
            names["threads"] = all_of_grid(launch.block);
            const bool each_stream = launch.each_stream.value_or(false);
            names["times_launched"] =
                launch.repeat.value_or(1) * (each_stream ? known->rung.streams.value_or(1) : 1);
            for (const auto &[before, its] : known->forecasts()) {
                add_facts(names, i < its->launches.size() ? &its->launches[i] : nullptr, before);
                names[before + "in_stream_s"] =
                    i < its->in_stream_s.size() ? PaperValue(its->in_stream_s[i]) : PaperValue();
            }
            const auto compiled = ladder.work.kernels.find(launch.kernel);
            add_facts(names, compiled != ladder.work.kernels.end() ? &compiled->second : nullptr);
            static const std::vector<KernelTime> none;
            const std::vector<KernelTime> &kernels = known->measured ? known->measured->kernels : none;
            const auto copy = std::ranges::find_if(kernels, &KernelTime::is_copy); // they are behind
            const bool kept = copy - kernels.begin() == std::ssize(known->rung.launches);
            add_facts(names, kept ? &kernels[i] : nullptr, "recorded.");
        }
    return rows;
}

/// Kernels and copies of the ladder and of calls on several GPUs, by their activity records. Where those of
/// our GPU have no copies, GPUs and occupancies, as older ones, another GPU's stand in; each row names it.
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

PaperValue fact_of(const PaperFacts &facts, const std::string &name, const std::string &expected) {
    const auto found = facts.find(name);
    if (found == facts.end())
        throw UsageError("expected " + expected + ", found '" + shortened(name) + "'" +
                         did_you_mean(name, names_in(facts)));
    return found->second;
}

} // namespace

std::int64_t batch_of_paper(const std::string &network) {
    static std::map<std::string, std::int64_t> read; // each ladder once
    return made_once(read, network,
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
    names["papers"] = papers.stream_s;
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
            {"steps", [](E e) { return steps(e, false); }},
            {"published_steps", [](E e) { return steps(e, true); }},
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
                 return rows_of(
                     divided(e, 2, {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch}, false)
                         .cases);
             }},
            {"several_gpus", [](E e) { return rows_of(scaling_of(e)); }},
            {"advice", [](E e) { return rows_of(by_images(e).advice); }}};
}

std::vector<ScalingPoint> scaling_of(const Evaluator &e) {
    const std::vector<ScalingPoint> points = scaling_points(by_images(e), DeviceSplit::batch, e.batch());
    return points.size() < 2 ? std::vector<ScalingPoint>{} : points;
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

PaperValue Evaluator::rung(const std::string &id, const std::string &what, std::int64_t batch) {
    const auto known = std::ranges::find(rungs(batch), id, [](const KnownRung &its) { return its.rung.id; });
    return known == rungs(batch).end()
               ? PaperValue()
               : fact_of(known->facts(), what, "what is known of a rung, for example 'measured'");
}

PaperValue Evaluator::of_network(const std::string &fact) {
    const PaperFacts &facts = made_once(facts_, "network", [&] {
        const RecordedOf of{RecordedPart::training, network()};
        // Accuracy is tested with the same images on every GPU.
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
