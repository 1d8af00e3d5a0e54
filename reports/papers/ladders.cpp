// The computations about networks that run: the rungs of a ladder, layers, training, several images and
// several GPUs.
#include "model/network/network.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/scaling_forecast.hpp"
#include "reports/network_figures.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/ladder_answers.hpp"
#include "reports/papers/verdicts.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

std::string network_of(const PaperItem &item, const PaperContext &context) {
    return item.answer.network.value_or(context.paper_id() == "cibil" ? "mnist" : "fashion_mnist");
}

std::string micro_with_unit(const std::optional<Seconds> &time) {
    return time ? microseconds(*time) + " µs" : "–";
}

/// "1.15×" of one time over another; absent if one is.
std::optional<double> gain(const std::optional<Seconds> &before, const std::optional<Seconds> &after) {
    return before && after ? std::optional<double>(*before / *after) : std::nullopt;
}

/// How a step of the ladder turns out here, beside what was published of it.
ClaimAnswer step_of(const PaperItem &item, const KnownRung &before, const KnownRung &after,
                    const PaperContext &context) {
    const auto published = gain(before.rung.published_s, after.rung.published_s),
               measured = gain(before.measured_s(), after.measured_s()),
               forecast = gain(before.forecast(), after.forecast()),
               papers = gain(before.papers.stream_s, after.papers.stream_s);
    const std::string ours = short_name(context.ours().profile);
    ClaimAnswer finding{item.id,
                        before.rung.id + " to " + after.rung.id,
                        published ? times(*published) : "no number",
                        "–",
                        ClaimVerdict::open,
                        ""};
    const auto found = measured ? measured : forecast;
    if (!found) {
        finding.sentence = after.ours.why_not.value_or(before.ours.why_not.value_or("no forecast"));
        return finding;
    }
    finding.found = fmt::format("{} ({}{})", times(*found), measured ? "" : "forecast ", ours);
    finding.verdict = published ? verdict_of_ratio(*published, *found) : verdict_of_gain(*found);
    finding.sentence = fmt::format(
        "{} to {}: {} on the {}{}{}{}.", micro_with_unit(measured ? before.measured_s() : before.forecast()),
        micro_with_unit(measured ? after.measured_s() : after.forecast()), times(*found), ours,
        measured && forecast ? fmt::format(", forecast {}", times(*forecast)) : "",
        papers ? fmt::format(", forecast {} on the {}", times(*papers), short_name(context.papers().profile))
               : "",
        published ? fmt::format("; published {}", times(*published)) : "");
    return finding;
}

/// The same step as it is forecast for the paper's own GPU; of steps that the paper prints no times of,
/// nothing.
void add_step_on_papers(ItemAnswer &answer, const PaperItem &item, const KnownRung &before,
                        const KnownRung &after, const PaperContext &context) {
    const auto published = gain(before.rung.published_s, after.rung.published_s),
               forecast = gain(before.papers.stream_s, after.papers.stream_s);
    if (!published || !forecast)
        return;
    const std::string gpu = short_name(context.papers().profile);
    answer.findings.push_back(
        {item.id, fmt::format("{} to {}, forecast for {}", before.rung.id, after.rung.id, gpu),
         times(*published), fmt::format("{} (forecast, {})", times(*forecast), gpu),
         verdict_of_ratio(*published, *forecast),
         fmt::format("{} to {}: {} forecast for the paper's own GPU, the {}; published {}.",
                     micro_with_unit(before.papers.stream_s), micro_with_unit(after.papers.stream_s),
                     times(*forecast), gpu, times(*published))});
}

/// The launches of rungs with grid and block, once each.
PaperTable launches_table(const PaperItem &item, const std::vector<KnownRung> &rungs) {
    PaperTable table{item.id + "_launches",
                     "Their kernels",
                     3,
                     {"kernel", "computes", "first in", "images of a launch's group", "blocks of a group",
                      "threads of a block", "launches", "forecast of one launch, µs"},
                     {},
                     "A launch has so many blocks for each group of images; of several streams each launches "
                     "for its share."};
    std::vector<std::string> seen;
    for (const KnownRung &known : rungs)
        for (std::size_t i = 0; i < known.rung.launches.size(); ++i) {
            const LadderLaunch &launch = known.rung.launches[i];
            if (std::find(seen.begin(), seen.end(), launch.kernel) != seen.end())
                continue;
            seen.push_back(launch.kernel);
            std::string computes;
            for (const std::string &op : launch.operators)
                computes += (computes.empty() ? "" : ", ") + op;
            table.rows.push_back(
                {launch.kernel, computes, known.rung.id, std::to_string(launch.group_images.value_or(1)),
                 std::to_string(launch.grid[0] * launch.grid[1] * launch.grid[2]),
                 std::to_string(launch.block[0] * launch.block[1] * launch.block[2]),
                 std::to_string(launch.repeat.value_or(1) *
                                (launch.each_stream.value_or(false) ? known.rung.streams.value_or(1) : 1)),
                 i < known.ours.launches.size() ? microseconds(known.ours.launches[i].time_s) : "–"});
        }
    return table;
}

/// Published blocks and threads of a layer beside those of the launch that computes it.
void add_sizes(ItemAnswer &answer, const PaperItem &item, const std::vector<KnownRung> &rungs) {
    for (const PublishedCell &cell : item.published) {
        const bool blocks = cell.at == "blocks", threads = cell.at == "threads of a block";
        if (!blocks && !threads)
            continue;
        const LadderLaunch *found = nullptr;
        for (const KnownRung &known : rungs)
            for (const LadderLaunch &launch : known.rung.launches)
                if (std::find(launch.operators.begin(), launch.operators.end(), cell.of) !=
                    launch.operators.end())
                    found = &launch; // of the last rung that the item names
        if (found == nullptr)
            continue;
        const auto &size = blocks ? found->grid : found->block;
        answer.findings.push_back(exact(item, cell, static_cast<double>(size[0] * size[1] * size[2]),
                                        "the launch of " + found->kernel));
    }
}

ItemAnswer rungs_at(const PaperItem &item, const PaperContext &context, std::int64_t batch) {
    ItemAnswer answer;
    const std::string network = network_of(item, context);
    const bool as_paper = batch == batch_of_paper(network);
    const std::vector<KnownRung> known = known_rungs(network, batch, item.answer.rungs, context);
    if (known.empty()) {
        answer.findings.push_back({item.id, item.title, "–", "–", ClaimVerdict::open,
                                   "The ladder of " + network + " has none of these implementations yet."});
        return answer;
    }
    answer.tables.push_back(
        rungs_table(item, "Implementations in the ladder of " + network, known, batch, context));
    if (as_paper) {
        answer.tables.push_back(launches_table(item, known));
        add_sizes(answer, item, known);
    }
    for (std::size_t i = 1; i < known.size(); ++i) {
        answer.findings.push_back(step_of(item, known[i - 1], known[i], context));
        if (!as_paper)
            answer.findings.back().claim += fmt::format(", {} images", count_text(batch));
        add_step_on_papers(answer, item, known[i - 1], known[i], context);
    }
    if (known.size() == 1) {
        const KnownRung &only = known.front();
        answer.findings.push_back(
            {item.id, only.rung.title, micro_with_unit(only.rung.published_s),
             micro_with_unit(only.measured_s()), only.measured_s() ? ClaimVerdict::holds : ClaimVerdict::open,
             fmt::format("The implementation {} runs: {} on the {}, forecast {}.", only.rung.id,
                         micro_with_unit(only.measured_s()), short_name(context.ours().profile),
                         micro_with_unit(only.forecast()))});
    }
    return answer;
}

ItemAnswer rungs(const PaperItem &item, const PaperContext &context) {
    return rungs_at(item, context, batch_of_paper(network_of(item, context)));
}

/// The same rungs with many images in a call.
ItemAnswer rungs_of_many(const PaperItem &item, const PaperContext &context) {
    constexpr std::int64_t many = 1024;
    return rungs_at(item, context, many);
}

// ---- the whole ladder

Figure whole_ladder_figure(const PaperItem &item, const std::vector<KnownRung> &known,
                           const PaperContext &context) {
    const std::string ours = short_name(context.ours().profile),
                      papers = short_name(context.papers().profile);
    Figure figure{item.id, title_of(item) + ": published, forecast and measured", "", {}, {}};
    figure.caption =
        fmt::format("One image. Measured: one CUDA graph on the {}, L2 as the call before left it. "
                    "The forecast for the {} is of launches in a stream.",
                    ours, papers);
    figure.x = {"time, µs", Scale::logarithmic, {}, {}, {}};
    figure.y.scale = Scale::category;
    Series published{"published, " + papers, drawn_as::cudnn},
        on_papers{"forecast, " + papers, drawn_as::cudnn, Drawn::points, true},
        measured{"measured, " + ours, drawn_as::papers_kernel},
        on_ours{"forecast, " + ours, drawn_as::papers_kernel, Drawn::points, true};
    for (const KnownRung &rung : known) {
        const auto y = static_cast<double>(figure.y.categories.size());
        const auto add = [&](Series &series, const std::optional<Seconds> &time) {
            if (time)
                series.points.push_back({time->value * 1e6,
                                         y,
                                         rung.rung.id + ", " + series.name + ": " + micro_with_unit(time),
                                         {}});
        };
        add(published, rung.rung.published_s);
        add(on_papers, rung.papers.stream_s);
        add(measured, rung.measured_s());
        add(on_ours, rung.forecast());
        figure.y.categories.push_back(rung.rung.id);
    }
    for (Series *series : {&published, &on_papers, &on_ours, &measured})
        if (!series->points.empty())
            figure.series.push_back(std::move(*series));
    figure.no_data = "no time is known";
    return figure;
}

/// The speed-up over one thread of a CPU: both times are of each one's own CPU and GPU.
void add_over_cpu(ItemAnswer &answer, const PaperItem &item, const std::vector<KnownRung> &known,
                  const LadderRun &run, const PaperContext &context) {
    const PublishedCell *cell = cell_of(item, "conv2 + maxpool2 fused too", "printed speed-up");
    if (cell == nullptr || !run.sequential_s)
        return;
    for (const KnownRung &rung : known)
        if (rung.rung.id == "both_fused" && rung.measured_s()) {
            const double here = *run.sequential_s / *rung.measured_s();
            answer.findings.push_back(
                {item.id, "the four kernels over one thread of a CPU", printed(*cell),
                 fmt::format("{} ({})", times(here), short_name(context.ours().profile)),
                 verdict_of_ratio(cell->value, here),
                 fmt::format("{} of one thread of that host's CPU over {} of the four kernels in one graph.",
                             micro_with_unit(run.sequential_s), micro_with_unit(rung.measured_s()))});
        }
}

ItemAnswer whole_ladder(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{
        item.id,
        "Time of the program, published, and the speed-ups that follow",
        1,
        {"version", "time, ms", "speed-up that follows", "speed-up printed", "over the version before"},
        {},
        ""};
    const PublishedCell *first = nullptr, *before = nullptr;
    for (const PublishedCell &cell : item.published) {
        if (cell.at != "time")
            continue;
        first = first == nullptr ? &cell : first;
        const PublishedCell *printed_ratio = cell_of(item, cell.of, "printed speed-up");
        table.rows.push_back({cell.of, grouped_digits(std::round(cell.value * 1e6) / 1e3),
                              times(first->value / cell.value),
                              printed_ratio == nullptr ? "–" : printed(*printed_ratio),
                              before == nullptr ? "–" : times(before->value / cell.value)});
        if (printed_ratio != nullptr)
            answer.findings.push_back(
                exact(item, *printed_ratio, first->value / cell.value, "the printed times"));
        before = &cell;
    }
    const std::string network = network_of(item, context);
    const std::int64_t batch = batch_of_paper(network);
    const std::vector<KnownRung> known = known_rungs(network, batch, {}, context);
    answer.figures.push_back(whole_ladder_figure(item, known, context));
    answer.tables.push_back(std::move(table));
    answer.tables.push_back(rungs_table(item, "The same versions and further ones", known, batch, context));
    std::vector<const KnownRung *> published;
    for (const KnownRung &rung : known)
        if (rung.rung.published_s)
            published.push_back(&rung);
    for (std::size_t i = 1; i < published.size(); ++i) {
        answer.findings.push_back(step_of(item, *published[i - 1], *published[i], context));
        add_step_on_papers(answer, item, *published[i - 1], *published[i], context);
    }
    if (const auto run = recorded_ladder(network, batch, context.ours().profile))
        add_over_cpu(answer, item, known, *run, context);
    return answer;
}

ItemAnswer sequential(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const auto run = recorded_ladder(network_of(item, context), 1, context.ours().profile);
    const PublishedCell *cell = cell_of(item, "sequential");
    ClaimAnswer finding{item.id,
                        "one thread of a CPU, one image",
                        cell == nullptr ? "–" : printed(*cell),
                        "–",
                        ClaimVerdict::open,
                        "Nothing was measured on " + short_name(context.ours().profile) + "."};
    if (run && run->sequential_s && cell != nullptr) {
        const double ms = run->sequential_s->value * 1e3;
        finding.found = fmt::format("{:.2f} ms", ms);
        // Printed to one digit: 0.01 s is anything from 5 to 15 ms.
        finding.verdict = std::abs(run->sequential_s->value - cell->value) <= 0.5 * cell->value
                              ? ClaimVerdict::holds
                              : ClaimVerdict::differs;
        finding.sentence = fmt::format(
            "executor/network/sequential.cpp at -O2 takes {:.2f} ms on one thread of the GPU's host; "
            "the table of section 6 prints 13.744 ms.",
            ms);
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

// ---- layers, data, training

ItemAnswer network_layers(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const Network network = find_network(network_of(item, context));
    PaperTable table{item.id, "Operators of " + network.id,
                     2,       {"operator", "kind", "output", "parameters", "multiply-adds"},
                     {},      "Of one image."};
    double fmas = 0.0;
    std::int64_t all = 0;
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const Operator &op = network.operators[i];
        const std::vector<ImageShape> inputs = network.input_shapes(i);
        const std::int64_t its = parameters(op, inputs.front());
        const double products = work_of(op, inputs, 1).fmas.value_or(0.0);
        table.rows.push_back({op.name, boost::describe::enum_to_string(op.kind, "?"), to_text(op.output),
                              its > 0 ? count_text(its) : "–",
                              products > 0.0 ? grouped_digits(products) : "–"});
        fmas += products, all += its;
    }
    answer.tables.push_back(std::move(table));
    answer.findings.push_back({item.id, "the layers chain", "as drawn", "as drawn", ClaimVerdict::holds,
                               fmt::format("{} operators with {} parameters and {} multiply-adds an image; "
                                           "every shape follows from the one before.",
                                           network.operators.size(), count_text(all), grouped_digits(fmas))});
    return answer;
}

ItemAnswer data_set(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::string name = network_of(item, context);
    const Network network = find_network(name);
    if (const PublishedCell *edge = cell_of(item, "edge"))
        answer.findings.push_back(
            exact(item, *edge, static_cast<double>(network.input[1]), "the network's input"));
    if (const PublishedCell *tests = cell_of(item, "test images")) {
        if (const auto images = recorded_test_images(name))
            answer.findings.push_back(
                exact(item, *tests, static_cast<double>(*images), "the recorded training"));
        else
            answer.findings.push_back(
                {item.id, "test images", printed(*tests), "–", ClaimVerdict::open,
                 "No training on these files is recorded; the reader refuses files that "
                 "are cut or of another kind."});
    }
    return answer;
}

ItemAnswer training(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::string name = network_of(item, context);
    const PublishedCell *cell = cell_of(item, "accuracy");
    const auto run = recorded_training(name, context.ours().profile);
    ClaimAnswer finding{item.id,
                        "accuracy on the test images",
                        cell == nullptr ? "no number" : printed(*cell),
                        "–",
                        ClaimVerdict::open,
                        fmt::format("No training on {} is recorded; `convcast run --network {} --data "
                                    "FOLDER` trains and tests there.",
                                    short_name(context.ours().profile), name)};
    if (run) {
        const double percent = 100.0 * run->accuracy;
        finding.found = fmt::format("{:.2f} %", percent);
        finding.verdict =
            cell == nullptr || percent >= cell->value - 0.05 ? ClaimVerdict::holds : ClaimVerdict::differs;
        finding.sentence = fmt::format(
            "{} epochs in batches of {} take {:.2f} s and classify {:.2f} % of {} test images right; of the "
            "first {} the CPU in double classifies {} otherwise.",
            run->epochs, count_text(run->descent.batch), run->time_s.value, percent,
            count_text(run->test_images), count_text(run->checked), run->disagreements);
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// Outputs and gradients of the rungs against the double-precision reference.
ItemAnswer verified(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::string name = network_of(item, context);
    const auto run = recorded_ladder(name, batch_of_paper(name), context.ours().profile);
    if (!run) {
        answer.findings.push_back(not_measured(item, "the kernels compute it", "the equation", context));
        return answer;
    }
    PaperTable table{item.id, "Errors against the reference in double",
                     1,       {"implementation", "outputs, relative L2", "gradient, relative L2"},
                     {},      "The reference's gradient is tested against finite differences."};
    double output = 0.0, gradient = 0.0;
    for (const RungResult &rung : run->rungs) {
        const auto text = [](const std::optional<double> &error) {
            return error ? fmt::format("{:.1e}", *error) : std::string("–");
        };
        if (rung.status == Status::ok)
            table.rows.push_back({rung.id, text(rung.relative_l2_error), text(rung.gradient_error)});
        output = std::max(output, rung.relative_l2_error.value_or(0.0));
        gradient = std::max(gradient, rung.gradient_error.value_or(0.0));
    }
    answer.tables.push_back(std::move(table));
    answer.findings.push_back(
        {item.id, "the kernels compute it", "the equation", fmt::format("within {:.1e}", output),
         ClaimVerdict::holds,
         fmt::format("Outputs are within {:.1e} of the reference{}.", output,
                     gradient > 0.0 ? fmt::format(", gradients within {:.1e}", gradient) : "")});
    return answer;
}

// ---- several images, several GPUs

ItemAnswer images_at_once(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::string name = network_of(item, context);
    PaperTable table{item.id, "Time of an image, several at once",
                     1,       {"implementation", "images", "forecast, µs an image", "measured, µs an image"},
                     {},      "All images of a call are in one launch of each kernel."};
    std::optional<double> one, many;
    for (const std::string id : {"dense_tree", "batch"})
        for (const std::int64_t images : {1, 1024, 10000})
            for (const KnownRung &known : known_rungs(name, images, {id}, context)) {
                const auto each = [&](const std::optional<Seconds> &time) {
                    return time ? std::optional<double>(time->value * 1e6 / static_cast<double>(images))
                                : std::nullopt;
                };
                const auto shown = [](const std::optional<double> &us) {
                    return us ? fmt::format("{:.3g}", *us) : std::string("–");
                };
                const auto measured = each(known.measured_s()), forecast = each(known.forecast());
                table.rows.push_back({id, count_text(images), shown(forecast), shown(measured)});
                const auto found = measured ? measured : forecast;
                std::optional<double> &least = images == 1 ? one : many;
                if (found && (!least || *found < *least))
                    least = found;
            }
    answer.tables.push_back(std::move(table));
    ClaimAnswer finding{item.id,
                        "computations at the same time",
                        "no number",
                        "–",
                        ClaimVerdict::open,
                        "No implementation computes several images."};
    if (one && many) {
        finding.found = fmt::format("{} an image", times(*one / *many));
        finding.verdict = verdict_of_gain(*one / *many);
        finding.sentence = fmt::format(
            "The kernels of one image wait for each other, so streams have nothing to overlap within it; of "
            "many images at once each takes {:.3g} µs instead of {:.3g} µs.",
            *many, *one);
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// The rung that trains; nullptr where the ladder has none.
const KnownRung *training_rung(const std::vector<KnownRung> &known) {
    for (const KnownRung &rung : known)
        if (rung.rung.trains.value_or(false) && rung.forecast())
            return &rung;
    return nullptr;
}

/// The batch divided, on up to as many GPUs as a host has.
ScalingQuestion by_images(std::int64_t batch) {
    ScalingQuestion question;
    for (int device = 0; device < most_split_devices; ++device)
        question.devices.push_back(device);
    question.splits = {DeviceSplit::batch};
    question.batches = {batch};
    return question;
}

/// A batch divided over two GPUs in every way that needs no NCCL.
Scaling two_gpus(const Network &network, const GpuProfile &gpu, std::int64_t batch) {
    ScalingQuestion question;
    question.devices = {0, 1};
    question.splits = {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch};
    question.batches = {batch};
    question.weak = false;
    return forecast_scaling(network, gpu, question);
}

/// The step of a split over two GPUs as it was measured.
std::optional<Seconds> measured_step(const std::optional<Scaling> &run, DeviceSplit split,
                                     std::int64_t batch) {
    if (run)
        for (const ScalingCase &c : run->cases)
            if (c.split == split && c.batch == batch && c.measured)
                return c.measured->step_s;
    return std::nullopt;
}

/// Steps of one GPU and of two, both measured or both forecast.
struct OneAndTwo {
    Seconds one, two;
    bool measured;
    double speed_up() const { return one / two; }
    std::string beside(Seconds forecast) const {
        return measured ? ", measured; forecast " + microseconds(forecast) + " µs" : ", forecast";
    }
};
OneAndTwo one_and_two(const std::optional<Seconds> &one, const std::optional<Seconds> &two,
                      Seconds forecast_one, Seconds forecast_two) {
    return one && two ? OneAndTwo{*one, *two, true} : OneAndTwo{forecast_one, forecast_two, false};
}

/// What the thesis divides and what it proposes to: a step on two GPUs against one, by one of the splits.
ItemAnswer split_over_two(const PaperItem &item, const PaperContext &context, DeviceSplit split,
                          const std::string &claim, const std::string &published,
                          std::optional<double> published_ratio) {
    ItemAnswer answer;
    const std::string name = network_of(item, context);
    const std::int64_t batch = batch_of_paper(name);
    const GpuProfile &gpu = context.ours().profile;
    ClaimAnswer finding{item.id,
                        claim,
                        published,
                        "–",
                        ClaimVerdict::open,
                        "There is no forecast for several GPUs of this kind."};
    if (gpu.peers.empty())
        return answer.findings.push_back(std::move(finding)), answer;
    const Scaling scaling = two_gpus(find_network(name), gpu, batch);
    PaperTable table{item.id + "_two_gpus",
                     fmt::format("A step of {} images on two GPUs", count_text(batch)),
                     1,
                     {"divided", "GPUs", "measured step, µs", "speed-up", "forecast step, µs", "forward, µs",
                      "backward, µs", "of it exchange, µs", "speed-up, forecast", "efficiency",
                      "computation / communication"},
                     {},
                     "Measured and forecast for " + short_name(gpu) +
                         "; what is not measured is the forecast's."};
    const std::optional<Scaling> run = recorded_two_gpus(name, gpu);
    const auto step_of = [&](DeviceSplit of) { return measured_step(run, of, batch); };
    const ScalingCase *one = nullptr, *two = nullptr;
    for (const ScalingCase &c : scaling.cases) {
        if (!c.forecast || c.batch != batch)
            continue;
        one = c.split == DeviceSplit::one ? &c : one;
        two = c.split == split ? &c : two;
        const ScalingTimes &t = *c.forecast;
        const auto &rates = c.forecast_rates;
        const auto two_digits = [](double v) { return fmt::format("{:.2f}", v); };
        table.rows.push_back(
            {c.split == DeviceSplit::one ? "nothing" : to_text(c.split), std::to_string(c.devices),
             step_of(c.split) ? microseconds(*step_of(c.split)) : "–",
             step_of(c.split) && step_of(DeviceSplit::one)
                 ? times(*step_of(DeviceSplit::one) / *step_of(c.split))
                 : "–",
             microseconds(t.step_s), microseconds(t.forward_s), microseconds(t.backward_s),
             c.devices == 1 ? "–" : microseconds(t.communication_s), rates ? times(rates->speed_up) : "–",
             rates ? two_digits(rates->efficiency) : "–",
             rates && rates->computation_over_communication
                 ? two_digits(*rates->computation_over_communication)
                 : "–"});
    }
    answer.tables.push_back(std::move(table));
    if (one != nullptr && two != nullptr) {
        const OneAndTwo steps = one_and_two(step_of(DeviceSplit::one), step_of(split), one->forecast->step_s,
                                            two->forecast->step_s);
        finding.found = fmt::format("{} on two ({}{})", times(steps.speed_up()),
                                    steps.measured ? "" : "forecast, ", short_name(gpu));
        finding.verdict = published_ratio ? verdict_of_ratio(*published_ratio, steps.speed_up())
                                          : verdict_of_gain(steps.speed_up());
        finding.sentence =
            fmt::format("Two GPUs take {} µs for a step of {} images where one takes {} µs: {} ({}{}).",
                        microseconds(steps.two), count_text(batch), microseconds(steps.one),
                        times(steps.speed_up()), short_name(gpu), steps.beside(two->forecast->step_s));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// The thesis divides the rows of each image; its Table 3 has the times of the forward part.
ItemAnswer rows_divided(const PaperItem &item, const PaperContext &context) {
    std::optional<double> published;
    const PublishedCell *one = nullptr, *two = nullptr;
    const Paper paper = find_paper(context.paper_id());
    for (const PaperItem &other : paper.items)
        if (other.id == "table_3")
            one = cell_of(other, "total", "optimized"), two = cell_of(other, "total", "two GPUs");
    if (one != nullptr && two != nullptr)
        published = one->value / two->value;
    return split_over_two(item, context, DeviceSplit::rows, "rows divided over two GPUs shorten a step",
                          published ? times(*published) + ", forward part" : "no number", published);
}

ItemAnswer parameters_divided(const PaperItem &item, const PaperContext &context) {
    return split_over_two(item, context, DeviceSplit::parameters,
                          "two GPUs that divide the parameters too shorten a step", "no number",
                          std::nullopt);
}

ItemAnswer scalability(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::string name = network_of(item, context);
    const std::int64_t batch = batch_of_paper(name);
    const std::vector<KnownRung> known = known_rungs(name, batch, {}, context);
    const KnownRung *step = training_rung(known);
    ClaimAnswer finding{item.id,
                        "more GPUs shorten a step of training",
                        "no number",
                        "–",
                        ClaimVerdict::open,
                        "There is no forecast for several GPUs of this kind."};
    const GpuProfile &gpu = context.ours().profile;
    if (step == nullptr || gpu.peers.empty())
        return answer.findings.push_back(std::move(finding)), answer;
    const Scaling scaling = forecast_scaling(find_network(name), gpu, by_images(batch));
    const std::vector<ScalingPoint> points = scaling_points(scaling, batch);
    if (points.size() < 2)
        return answer.findings.push_back(std::move(finding)), answer;
    PaperTable table{item.id,
                     "A step of " + count_text(batch) + " images on several GPUs, forecast",
                     1,
                     {"GPUs", "the batch divided, µs", "speed-up", "efficiency", "a batch for each, µs",
                      "efficiency, weak", "of it exchange, µs", "computation / communication"},
                     {},
                     ""};
    const std::optional<Scaling> run = recorded_two_gpus(name, gpu);
    const OneAndTwo steps =
        one_and_two(measured_step(run, DeviceSplit::one, batch),
                    measured_step(run, DeviceSplit::batch, batch), points[0].strong_s, points[1].strong_s);
    table.note = steps.measured ? fmt::format("Forecast. Measured on one and two GPUs: {} and {} µs.",
                                              microseconds(steps.one), microseconds(steps.two))
                                : "Forecast.";
    for (const ScalingPoint &p : points)
        table.rows.push_back(
            {std::to_string(p.gpus), microseconds(p.strong_s),
             times(p.strong_efficiency * static_cast<double>(p.gpus)),
             fmt::format("{:.2f}", p.strong_efficiency), microseconds(p.weak_s),
             fmt::format("{:.2f}", p.weak_efficiency), microseconds(p.exchange_s),
             p.gpus == 1 ? "–" : fmt::format("{:.1f}", (p.strong_s - p.exchange_s) / p.exchange_s)});
    answer.tables.push_back(std::move(table));
    answer.figures.push_back(scaling_figure(
        points, item.id, title_of(item) + ": efficiency on several GPUs, forecast", short_name(gpu)));
    const auto two = std::find_if(scaling.advice.begin(), scaling.advice.end(),
                                  [](const ScalingAdvice &advice) { return advice.devices == 2; });
    const ScalingAdvice advice = two == scaling.advice.end() ? ScalingAdvice{} : *two;
    const auto shown = [](const std::optional<std::int64_t> &n) {
        return n ? count_text(*n) : std::string("no size");
    };
    finding.found = fmt::format("{} on two ({}{})", times(steps.speed_up()),
                                steps.measured ? "" : "forecast, ", short_name(gpu));
    finding.verdict = verdict_of_gain(steps.speed_up());
    finding.sentence =
        fmt::format("Two GPUs that divide a batch of {} images take {} µs for a step where one takes {} µs: "
                    "{} ({}{}). By the "
                    "forecast they are faster from {} images on, and from {} on with an efficiency of 0.9.",
                    count_text(batch), microseconds(steps.two), microseconds(steps.one),
                    times(steps.speed_up()), short_name(gpu), steps.beside(points[1].strong_s),
                    shown(advice.pays_from), shown(advice.efficient_from));
    if (run) {
        std::optional<std::int64_t> faster, efficient;
        for (const ScalingCase &c : run->cases) {
            const auto one = measured_step(run, DeviceSplit::one, c.batch);
            if (c.split != DeviceSplit::batch || !c.measured || !one)
                continue;
            constexpr double good_efficiency = 0.9;
            const double speed_up = *one / c.measured->step_s;
            if (speed_up > 1.0 && !faster)
                faster = c.batch;
            if (speed_up >= good_efficiency * c.devices && !efficient)
                efficient = c.batch;
        }
        finding.sentence +=
            fmt::format(" Of the sizes that were measured they are so from {} and from {} on.", shown(faster),
                        shown(efficient));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// Halves of the features that two GPUs exchange after pooling, at the bandwidth between two of ours.
ItemAnswer exchange(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::string name = network_of(item, context);
    const Network network = find_network(name);
    const GpuProfile &gpu = context.ours().profile;
    const PublishedCell *cell = cell_of(item, "GPU to GPU");
    ClaimAnswer finding{
        item.id, "GPU to GPU",       cell == nullptr ? "–" : printed(*cell),
        "–",     ClaimVerdict::open, "The profile of " + short_name(gpu) + " has no other GPU."};
    double bandwidth = 0.0;
    for (const PeerLink &link : gpu.peers)
        if (link.bandwidth_bytes_per_s)
            bandwidth = std::max(bandwidth, link.bandwidth_bytes_per_s->value);
    if (bandwidth > 0.0 && cell != nullptr) {
        double features = 0.0;
        for (const Operator &op : network.operators)
            if (op.kind == OperatorKind::max_pooling)
                features = static_cast<double>(elements(op.output));
        const double bytes = sizeof(float) * features / 2.0 * static_cast<double>(batch_of_paper(name));
        finding.found = fmt::format("{:.0f} GB/s ({})", bandwidth / 1e9, short_name(gpu));
        finding.verdict = verdict_of_number(cell->value, bandwidth / 1e9);
        finding.sentence = fmt::format(
            "Half of the features of a batch are {:.2f} MB: {:.0f} µs at the published rate, {:.1f} µs at "
            "the {:.0f} "
            "GB/s measured between two of ours, which NVLink joins.",
            bytes / 1e6, bytes / (cell->value * 1e9) * 1e6, bytes / bandwidth * 1e6, bandwidth / 1e9);
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// What launches cost that one graph saves, where the thesis hopes for a thread per GPU.
ItemAnswer launch_overhead(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::string name = network_of(item, context);
    const std::vector<KnownRung> known = known_rungs(name, batch_of_paper(name), {}, context);
    ClaimAnswer finding{item.id,
                        "saved of the overhead of launches",
                        "about 10 %",
                        "–",
                        ClaimVerdict::open,
                        "No step of training has a forecast."};
    if (const KnownRung *step = training_rung(known); step != nullptr && step->ours.stream_s) {
        const bool measured = step->measured && step->measured->stream_warm_s && step->measured->graph_warm_s;
        const Seconds stream = measured ? *step->measured->stream_warm_s : *step->ours.stream_s,
                      graph = measured ? *step->measured->graph_warm_s : *step->forecast();
        const double saved = 100.0 * (1.0 - graph / stream);
        finding.found = fmt::format("{:.1f} % ({}{})", saved, measured ? "" : "forecast ",
                                    short_name(context.ours().profile));
        constexpr double expected = 0.10;
        finding.verdict = verdict_of_ratio(1.0 / (1.0 - expected), stream / graph);
        finding.sentence = fmt::format("A CUDA graph does here what threads were to do: a step of {} "
                                       "launches takes {} µs instead of {} µs.",
                                       step->rung.launches.size(), microseconds(graph), microseconds(stream));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

} // namespace

std::map<std::string, Computation> ladder_computations() {
    return {{"rungs", {rungs}},
            {"rungs_of_many", {rungs_of_many}},
            {"ladder", {whole_ladder}},
            {"sequential", {sequential}},
            {"network_layers", {network_layers}},
            {"data_set", {data_set}},
            {"training", {training}},
            {"verified", {verified}},
            {"images_at_once", {images_at_once}},
            {"scalability", {scalability}},
            {"rows_divided", {rows_divided}},
            {"parameters_divided", {parameters_divided}},
            {"exchange", {exchange}},
            {"launch_overhead", {launch_overhead}}};
}

} // namespace convcast
