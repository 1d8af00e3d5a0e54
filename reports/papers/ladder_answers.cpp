#include "reports/papers/ladder_answers.hpp"

#include "model/base/document.hpp"
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

/// The recorded training of a network that ships: accuracy does not depend on the GPU, which was an H200.
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

std::int64_t batch_of_paper(const std::string &network) {
    constexpr std::int64_t step_of_cibil = 2048;
    return network == "mnist" ? step_of_cibil : 1;
}

} // namespace convcast
