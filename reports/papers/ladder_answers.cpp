#include "reports/papers/ladder_answers.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/rung_forecast.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/recordings.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace convcast {
namespace {

bool measured_on(const std::map<std::string, std::string> &conditions, const GpuProfile &gpu) {
    const auto name = conditions.find("gpu");
    return name != conditions.end() && name->second == gpu.name;
}

/// The training that ships, whatever GPU it ran on.
std::optional<TrainingRun> any_training(const std::string &network) {
    for (const char *ending : {".json", ".json.gz"}) {
        const std::string file = "data/recorded/h200/training/" + network + ending;
        if (const auto bytes = recording(file))
            return described::read_document<TrainingRun>(unpacked(*bytes, file), file, "convcast/training/1");
    }
    return std::nullopt;
}

} // namespace

std::optional<LadderRun> recorded_ladder(const std::string &network, std::int64_t batch,
                                         const GpuProfile &gpu) {
    const std::string file = fmt::format("data/recorded/h200/ladders/{}_b{}.json", network, batch);
    const auto text = recording(file);
    if (!text)
        return std::nullopt;
    LadderRun run = described::read_document<LadderRun>(*text, file, "convcast/ladder_run/1");
    return measured_on(run.conditions, gpu) ? std::optional(std::move(run)) : std::nullopt;
}

std::optional<Scaling> recorded_two_gpus(const std::string &network, const GpuProfile &gpu) {
    const char *const file = "data/recorded/h200/scaling/two_gpus.json";
    const auto text = recording(file);
    if (!text)
        return std::nullopt;
    Scaling run = described::read_document<Scaling>(*text, file, "convcast/scaling/1");
    if (run.network != network || !measured_on(run.conditions, gpu))
        return std::nullopt;
    return run;
}

std::optional<TrainingRun> recorded_training(const std::string &network, const GpuProfile &gpu) {
    std::optional<TrainingRun> run = any_training(network);
    if (run && !measured_on(run->conditions, gpu))
        run.reset();
    return run;
}

std::optional<std::int64_t> recorded_test_images(const std::string &network) {
    const std::optional<TrainingRun> run = any_training(network);
    return run ? std::optional(run->test_images) : std::nullopt;
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
            for (const RungResult &result : recorded->rungs)
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

PaperTable rungs_table(const PaperItem &item, const std::string &title, const std::vector<KnownRung> &rungs,
                       std::int64_t batch, const PaperContext &context) {
    const std::string papers = short_name(context.papers().profile),
                      ours = short_name(context.ours().profile);
    // An item may answer with one image and with several at once.
    const bool as_paper = batch == batch_of_paper(rungs.empty() ? "" : rungs.front().network);
    PaperTable table{item.id + "_rungs" + (as_paper ? "" : fmt::format("_b{}", batch)),
                     title,
                     2,
                     {"implementation", "what it does", "kernels", "published, µs",
                      "forecast " + papers + ", µs", "forecast " + ours + ", µs", "measured " + ours + ", µs",
                      "forecast / measured"},
                     {},
                     ""};
    for (const KnownRung &known : rungs) {
        const auto measured = known.measured_s(), forecast = known.forecast();
        table.rows.push_back(
            {known.rung.id, known.rung.title,
             known.rung.launches.empty() ? "does not compile" : std::to_string(known.rung.launches.size()),
             batch == 1 ? micro_text(known.rung.published_s) : "–", micro_text(known.papers.stream_s),
             micro_text(forecast), micro_text(measured),
             measured && forecast ? fmt::format("{:.2f}", *forecast / *measured) : "–"});
    }
    table.note =
        fmt::format("Batch {}. {}: launches of a stream, with assumed latencies, nothing fitted. {}: one "
                    "CUDA graph, L2 as the call before left it.",
                    count_text(batch), papers, ours);
    std::vector<std::string> reasons; // why the paper's GPU has no time, each with its rungs
    std::vector<std::string> of;
    for (const KnownRung &known : rungs)
        if (const std::string why = known.papers.why_not.value_or(""); !why.empty()) {
            const auto found = std::find(reasons.begin(), reasons.end(), why);
            if (found == reasons.end())
                reasons.push_back(why), of.push_back(known.rung.id);
            else
                of[static_cast<std::size_t>(found - reasons.begin())] += ", " + known.rung.id;
        }
    for (std::size_t i = 0; i < reasons.size(); ++i)
        table.note += fmt::format(" No time of {} for {}: {}.", of[i], papers, reasons[i]);
    return table;
}

std::int64_t batch_of_paper(const std::string &network) {
    constexpr std::int64_t step_of_cibil = 2048;
    return network == "mnist" ? step_of_cibil : 1;
}

} // namespace convcast
