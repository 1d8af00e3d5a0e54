// What names in a paper's answers stand for: of a network, the rungs of its ladder and what was recorded of
// them.
#include "model/base/errors.hpp"
#include "model/network/network.hpp"
#include "model/network/scaling_forecast.hpp"
#include "reports/papers/evaluator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <utility>

namespace convcast {
namespace {

PaperValue text_value(const std::optional<std::string> &text) {
    return text ? PaperValue(*text) : PaperValue();
}

/// All that is known of a rung, by names that begin with `before`.
void add_rung(std::map<std::string, PaperValue> &names, const KnownRung &known,
              const std::string &before = "") {
    names[before + "id"] = known.rung.id;
    names[before + "title"] = known.rung.title;
    names[before + "kernels"] = known.rung.launches.empty() ? PaperValue(std::string("does not compile"))
                                                            : of_count(std::ssize(known.rung.launches));
    names[before + "launches"] = of_count(std::ssize(known.rung.launches));
    names[before + "published"] = known.rung.published_s;
    names[before + "papers"] = known.papers.stream_s;
    names[before + "forecast"] = known.forecast();
    names[before + "measured"] = known.measured_s();
    names[before + "why"] = text_value(known.ours.why_not);
    names[before + "papers_why"] = text_value(known.papers.why_not);
    names[before + "stream"] = known.ours.stream_s;
    names[before + "stream_measured"] =
        known.measured ? PaperValue(known.measured->stream_warm_s) : PaperValue();
    names[before + "trains"] = known.rung.trains.value_or(false) ? 1.0 : 0.0;
}

std::int64_t all_of_grid(const std::array<std::int64_t, 3> &sizes) {
    return sizes[0] * sizes[1] * sizes[2];
}

/// Each rung beside the one before it; of rungs with published times where `published` is asked for.
PaperRows steps_of(const std::vector<KnownRung> &rungs, bool published) {
    PaperRows rows;
    const KnownRung *before = nullptr;
    for (const KnownRung &rung : rungs) {
        if (published && !rung.rung.published_s)
            continue;
        if (before != nullptr) {
            PaperRow &row = rows.emplace_back();
            add_rung(row.names, rung);
            add_rung(row.names, *before, "before.");
        }
        before = &rung;
    }
    return rows;
}

/// The launches of rungs, each kernel once.
PaperRows launches_of(const std::vector<KnownRung> &rungs) {
    PaperRows rows;
    for (const KnownRung &known : rungs)
        for (std::size_t i = 0; i < known.rung.launches.size(); ++i) {
            const LadderLaunch &launch = known.rung.launches[i];
            if (std::any_of(rows.begin(), rows.end(), [&](const PaperRow &row) {
                    return row.names.at("kernel").text == launch.kernel;
                }))
                continue;
            rows.push_back(
                {{{"kernel", launch.kernel},
                  {"computes", join(launch.operators)},
                  {"rung", known.rung.id},
                  {"images", of_count(launch.group_images.value_or(1))},
                  {"blocks", of_count(all_of_grid(launch.grid))},
                  {"threads", of_count(all_of_grid(launch.block))},
                  {"times_launched",
                   of_count(launch.repeat.value_or(1) *
                            (launch.each_stream.value_or(false) ? known.rung.streams.value_or(1) : 1))},
                  {"one_launch", i < known.ours.launches.size()
                                     ? PaperValue(known.ours.launches[i].time_s.value)
                                     : PaperValue()}}});
        }
    return rows;
}

/// Why the paper's GPU has no time, each reason with its rungs.
PaperRows refusals_of(const std::vector<KnownRung> &rungs) {
    PaperRows rows;
    for (const KnownRung &known : rungs)
        if (const std::string why = known.papers.why_not.value_or(""); !why.empty()) {
            const auto found = std::find_if(rows.begin(), rows.end(), [&](const PaperRow &row) {
                return row.names.at("why").text == why;
            });
            if (found == rows.end())
                rows.push_back({{{"of", known.rung.id}, {"why", why}}});
            else
                *found->names.at("of").text += ", " + known.rung.id;
        }
    return rows;
}

/// A batch divided over as many GPUs as a host has.
Scaling by_images(const std::string &network, const GpuProfile &gpu, std::int64_t batch) {
    ScalingQuestion question;
    for (int device = 0; device < most_split_devices; ++device)
        question.devices.push_back(device);
    question.splits = {DeviceSplit::batch};
    question.batches = {batch};
    return forecast_scaling(find_network(network), gpu, question);
}

std::string how_divided(DeviceSplit split) {
    return split == DeviceSplit::one ? "nothing" : to_text(split);
}

/// A batch divided over two GPUs in every way that needs no NCCL.
PaperRows divided_over_two(const std::string &network, const GpuProfile &gpu, std::int64_t batch) {
    ScalingQuestion question;
    question.devices = {0, 1};
    question.splits = {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch};
    question.batches = {batch};
    question.weak = false;
    PaperRows rows;
    for (const ScalingCase &c : forecast_scaling(find_network(network), gpu, question).cases) {
        if (!c.forecast || c.batch != batch)
            continue;
        const ScalingTimes &t = *c.forecast;
        PaperRow &row = rows.emplace_back();
        row.names = {{"divided", how_divided(c.split)}, {"devices", of_count(c.devices)},
                     {"step", t.step_s.value},          {"forward", t.forward_s.value},
                     {"backward", t.backward_s.value},  {"exchange", t.communication_s.value}};
        if (c.forecast_rates) {
            row.names["speed_up"] = c.forecast_rates->speed_up;
            row.names["efficiency"] = c.forecast_rates->efficiency;
            row.names["over_communication"] = c.forecast_rates->computation_over_communication;
        }
    }
    return rows;
}

PaperRows recorded_steps(const std::string &network, const GpuProfile &gpu) {
    PaperRows rows;
    if (const std::optional<Scaling> run = recorded_two_gpus(network, gpu))
        for (const ScalingCase &c : run->cases)
            rows.push_back({{{"divided", how_divided(c.split)},
                             {"devices", of_count(c.devices)},
                             {"images", of_count(c.batch)},
                             {"step", c.measured ? PaperValue(c.measured->step_s.value) : PaperValue()}}});
    return rows;
}

} // namespace

std::vector<ScalingPoint> scaling_points_of(const std::string &network, const GpuProfile &gpu,
                                            std::int64_t batch) {
    if (gpu.peers.empty())
        return {};
    const std::vector<ScalingPoint> points = scaling_points(by_images(network, gpu, batch), batch);
    return points.size() < 2 ? std::vector<ScalingPoint>{} : points;
}

std::string Evaluator::network() const {
    if (!item_.answer.network)
        throw UsageError("expected \"network\" in the item's answer, for example \"fashion_mnist\"");
    return *item_.answer.network;
}

std::int64_t Evaluator::batch() const {
    return method_.batch.value_or(batch_of_paper(network()));
}

const std::vector<KnownRung> &Evaluator::rungs(std::int64_t batch) {
    const auto found = rungs_.find(batch);
    return found != rungs_.end()
               ? found->second
               : rungs_.emplace(batch, known_rungs(network(), batch, {}, context_)).first->second;
}

PaperRows Evaluator::network_rows(const std::string &list) {
    PaperRows rows;
    const GpuProfile &gpu = context_.ours().profile;
    if (list == "divided_over_two")
        return gpu.peers.empty() ? rows : divided_over_two(network(), gpu, batch());
    if (list == "recorded_steps")
        return recorded_steps(network(), gpu);
    if (list == "several_gpus") {
        for (const ScalingPoint &p : scaling_points_of(network(), gpu, batch()))
            rows.push_back({{{"devices", of_count(p.gpus)},
                             {"step", p.strong_s.value},
                             {"efficiency", p.strong_efficiency},
                             {"weak_step", p.weak_s.value},
                             {"weak_efficiency", p.weak_efficiency},
                             {"exchange", p.exchange_s.value}}});
        return rows;
    }
    if (list == "advice") {
        const auto shown = [](const std::optional<std::int64_t> &n) {
            return n ? of_count(*n) : PaperValue();
        };
        if (!gpu.peers.empty())
            for (const ScalingAdvice &advice : by_images(network(), gpu, batch()).advice)
                rows.push_back({{{"devices", of_count(advice.devices)},
                                 {"pays_from", shown(advice.pays_from)},
                                 {"efficient_from", shown(advice.efficient_from)}}});
        return rows;
    }
    if (list == "errors") {
        if (const auto run = recorded_ladder(network(), batch(), context_.ours().profile))
            for (const RungResult &rung : run->rungs)
                rows.push_back({{{"rung", rung.status == Status::ok ? PaperValue(rung.id) : PaperValue()},
                                 {"output", rung.relative_l2_error},
                                 {"gradient", rung.gradient_error}}});
        return rows;
    }
    std::vector<KnownRung> asked;
    const std::vector<std::string> &names = item_.answer.rungs;
    for (const std::string &name : names)
        for (const KnownRung &known : rungs(batch()))
            if (known.rung.id == name)
                asked.push_back(known);
    if (names.empty())
        asked = rungs(batch());
    if (list == "steps" || list == "published_steps")
        return steps_of(asked, list == "published_steps");
    if (list == "launches")
        return launches_of(asked);
    if (list == "refusals")
        return refusals_of(asked);
    for (const KnownRung &known : asked)
        add_rung(rows.emplace_back().names, known);
    return rows;
}

/// rung(id, what[, images]): of a rung of the network's ladder.
PaperValue Evaluator::rung(const std::vector<PaperValue> &arguments) {
    if (!arguments[0].text || !arguments[1].text)
        return {};
    const std::int64_t images = arguments.size() == 3 && arguments[2].number
                                    ? static_cast<std::int64_t>(*arguments[2].number)
                                    : batch();
    for (const KnownRung &known : rungs(images))
        if (known.rung.id == arguments[0].text) {
            std::map<std::string, PaperValue> names;
            add_rung(names, known);
            const auto found = names.find(*arguments[1].text);
            if (found == names.end())
                throw UsageError("expected what is known of a rung, for example 'measured', found '" +
                                 shortened(*arguments[1].text) + "'");
            return found->second;
        }
    return {};
}

/// What a layer of a network takes of a rung's graph, by the operators of its launches; launches without
/// operators clear what the convolution adds to. Missing where there is no forecast of it.
PaperValue Evaluator::layer(const std::string &id, const std::string &layer) {
    const auto layer_of = [](const std::vector<std::string> &operators) -> std::string {
        if (operators.empty() || operators.front().starts_with("conv"))
            return "convolution";
        const std::string &last = operators.back();
        return last.starts_with("relu")   ? "ReLU"
               : last.starts_with("pool") ? "max pooling"
                                          : "fully connected";
    };
    for (const KnownRung &known : rungs(batch())) {
        if (known.rung.id != id)
            continue;
        if (layer == "total")
            return known.forecast();
        if (layer == "memory copies")
            return known.ours.copy_s;
        std::optional<Seconds> sum;
        for (const RungLaunchForecast &launch : known.ours.launches)
            if (launch.in_graph_s && layer_of(launch.operators) == layer)
                sum = (sum ? *sum : Seconds(0.0)) + *launch.in_graph_s;
        return sum;
    }
    return {};
}

/// "blocks", "threads" or "kernel" of the launch that computes an operator, in the last rung that the item
/// names.
PaperValue Evaluator::launch(const std::string &of, const std::string &what) {
    const LadderLaunch *found = nullptr;
    for (const std::string &name : item_.answer.rungs)
        for (const KnownRung &known : rungs(batch()))
            if (known.rung.id == name)
                for (const LadderLaunch &launch : known.rung.launches)
                    if (std::find(launch.operators.begin(), launch.operators.end(), of) !=
                        launch.operators.end())
                        found = &launch;
    if (found == nullptr)
        return {};
    return what == "kernel"   ? PaperValue(found->kernel)
           : what == "blocks" ? of_count(all_of_grid(found->grid))
                              : of_count(all_of_grid(found->block));
}

PaperValue network_fact(const std::string &network, const std::string &fact, const PaperContext &context) {
    const GpuProfile &gpu = context.ours().profile;
    if (fact == "ladder")
        return recorded_ladder(network, batch_of_paper(network), gpu) ? PaperValue(1.0) : PaperValue();
    if (fact == "sequential") {
        const auto run = recorded_ladder(network, 1, gpu);
        return run ? PaperValue(run->sequential_s) : PaperValue();
    }
    if (fact == "input_edge")
        return of_count(find_network(network).input[1]);
    if (fact == "test_images_anywhere") {
        const auto images = recorded_test_images(network);
        return images ? of_count(*images) : PaperValue();
    }
    const auto run = recorded_training(network, gpu);
    const std::map<std::string, std::function<PaperValue()>> facts = {
        {"accuracy", [&] { return PaperValue(run->accuracy); }},
        {"epochs", [&] { return of_count(run->epochs); }},
        {"training_batch", [&] { return of_count(run->descent.batch); }},
        {"training_time", [&] { return PaperValue(run->time_s.value); }},
        {"test_images", [&] { return of_count(run->test_images); }},
        {"checked", [&] { return of_count(run->checked); }},
        {"disagreements", [&] { return of_count(run->disagreements); }}};
    const auto found = facts.find(fact);
    if (found == facts.end())
        throw UsageError("expected what was measured of a network, for example 'accuracy', found '" +
                         shortened(fact) + "'");
    return run ? found->second() : PaperValue();
}

} // namespace convcast
