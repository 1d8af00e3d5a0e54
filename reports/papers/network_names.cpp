// What names in a paper's answers stand for: of a network, the rungs of its ladder and what was recorded of
// them.
#include "model/base/document.hpp"
#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/network.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/scaling_forecast.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/evaluator.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

namespace convcast {
extern const std::vector<EmbeddedFile> shipped_recordings;

namespace {

/// A document that ships, as it is or packed; absent where none does.
std::optional<NetworkRun> recorded(const std::string &file) {
    for (const char *ending : {"", ".gz"})
        if (const EmbeddedFile *its = find_embedded(shipped_recordings, file + ending))
            return described::read_document<NetworkRun>(unpacked(its->text(), its->path), its->path,
                                                        NetworkRun().schema);
    return std::nullopt;
}

/// The same where it was measured on this GPU.
std::optional<NetworkRun> recorded_on(const GpuProfile &gpu, const std::string &file) {
    std::optional<NetworkRun> run = recorded(file);
    if (run && (!run->conditions.contains("gpu") || run->conditions.at("gpu") != gpu.name))
        run.reset();
    return run;
}

/// Of a network's training; accuracy does not depend on the GPU, which was an H200.
std::string training_file(const std::string &network) {
    return "data/recorded/h200/training/" + network + ".json";
}

} // namespace

std::optional<NetworkRun> recorded_ladder(const std::string &network, std::int64_t batch,
                                          const GpuProfile &gpu) {
    return recorded_on(gpu, fmt::format("data/recorded/h200/ladders/{}_b{}.json", network, batch));
}

std::optional<NetworkRun> recorded_two_gpus(const std::string &network, const GpuProfile &gpu) {
    std::optional<NetworkRun> run = recorded_on(gpu, "data/recorded/h200/scaling/two_gpus.json");
    if (run && run->network != network)
        run.reset();
    return run;
}

std::optional<NetworkRun> recorded_training(const std::string &network, const GpuProfile &gpu) {
    return recorded_on(gpu, training_file(network));
}

std::optional<std::int64_t> recorded_test_images(const std::string &network) {
    const std::optional<NetworkRun> run = recorded(training_file(network));
    return run ? std::optional(run->first().training->test_images) : std::nullopt;
}

std::vector<KnownRung> known_rungs(const std::string &network, std::int64_t batch,
                                   const std::vector<std::string> &names, const PaperContext &context) {
    const Network its = find_network(network);
    const Ladder ladder = find_ladder(its);
    const auto recorded = recorded_ladder(network, batch, context.ours().profile);
    std::vector<KnownRung> rungs;
    const auto add = [&](const Rung &rung) {
        KnownRung known{network, rung, forecast_rung(ladder, rung, its, batch, context.papers().profile),
                        forecast_rung(ladder, rung, its, batch, context.ours().profile), std::nullopt};
        if (recorded)
            for (const NetworkCase &result : recorded->cases)
                if (result.id == rung.id)
                    known.measured = result;
        rungs.push_back(std::move(known));
    };
    if (names.empty())
        for (const Rung &rung : ladder.rungs)
            add(rung);
    for (const std::string &name : names)
        for (const Rung &rung : ladder.rungs)
            if (rung.id == name)
                add(rung);
    return rungs;
}

std::int64_t batch_of_paper(const std::string &network) {
    constexpr std::int64_t step_of_cibil = 2048;
    return network == "mnist" ? step_of_cibil : 1;
}

namespace {

PaperValue text_value(const std::optional<std::string> &text) {
    return text ? PaperValue(*text) : PaperValue();
}

/// All that is known of a rung, by names that begin with `before`.
void add_rung(PaperFacts &names, const KnownRung &known, const std::string &before = "") {
    add_facts(names, &known.rung, before);
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
    names[before + "stream_measured"] = known.measured && known.measured->measured
                                            ? PaperValue(known.measured->measured->stream_s)
                                            : PaperValue();
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
            PaperFacts &names = rows.emplace_back().names;
            add_facts(names, &launch);
            names["computes"] = join(launch.operators);
            names["rung"] = known.rung.id;
            names["blocks"] = of_count(all_of_grid(launch.grid));
            names["threads"] = of_count(all_of_grid(launch.block));
            const bool each_stream = launch.each_stream.value_or(false);
            names["times_launched"] =
                of_count(launch.repeat.value_or(1) * (each_stream ? known.rung.streams.value_or(1) : 1));
            names["one_launch"] = i < known.ours.launches.size()
                                      ? PaperValue(known.ours.launches[i].time_s.value)
                                      : PaperValue();
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
NetworkRun by_images(const std::string &network, const GpuProfile &gpu, std::int64_t batch) {
    ScalingQuestion question;
    for (int device = 0; device < most_split_devices; ++device)
        question.devices.push_back(device);
    question.splits = {DeviceSplit::batch};
    question.batches = {batch};
    return forecast_scaling(find_network(network), gpu, question);
}

PaperRows rows_of(const NetworkRun &run) {
    PaperRows rows;
    for (const NetworkCase &c : run.cases)
        add_facts(rows.emplace_back().names, &c);
    return rows;
}

/// A batch divided over two GPUs in every way that needs no NCCL.
PaperRows over_two_gpus(const std::string &network, const GpuProfile &gpu, std::int64_t batch) {
    ScalingQuestion question;
    question.devices = {0, 1};
    question.splits = {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch};
    question.batches = {batch};
    question.weak = false;
    return rows_of(forecast_scaling(find_network(network), gpu, question));
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
    if (list == "two_gpus")
        return gpu.peers.empty() ? rows : over_two_gpus(network(), gpu, batch());
    if (list == "recorded_steps") {
        const std::optional<NetworkRun> run = recorded_two_gpus(network(), gpu);
        return run ? rows_of(*run) : rows;
    }
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
        if (!gpu.peers.empty())
            for (const ScalingAdvice &advice : by_images(network(), gpu, batch()).advice)
                add_facts(rows.emplace_back().names, &advice);
        return rows;
    }
    if (list == "recorded_rungs") {
        if (const auto run = recorded_ladder(network(), batch(), gpu))
            for (const NetworkCase &rung : run->cases)
                add_facts(rows.emplace_back().names, &rung);
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
            PaperFacts names;
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
        for (const KernelForecast &launch : known.ours.launches)
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
    PaperFacts facts;
    const auto run = recorded_training(network, gpu);
    add_facts<NetworkCase>(facts, run ? &run->first() : nullptr);
    add_facts<Training>(facts, run ? &*run->first().training : nullptr);
    const auto found = facts.find(fact);
    if (found == facts.end())
        throw UsageError("expected what was measured of a network, for example 'accuracy', found '" +
                         shortened(fact) + "'");
    return found->second;
}

} // namespace convcast
