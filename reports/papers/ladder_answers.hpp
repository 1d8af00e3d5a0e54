// What the answers about networks draw on: recorded ladders and trainings, and forecasts of rungs for the
// paper's GPU and for ours.
#pragma once

#include "model/network/ladder.hpp"
#include "model/network/scaling.hpp"
#include "model/network/training.hpp"
#include "reports/papers/answer.hpp"
#include "reports/papers/context.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// What was recorded of steps of training over two such GPUs; absent where nothing was.
std::optional<Scaling> recorded_two_gpus(const std::string &network, const GpuProfile &gpu);

/// What was recorded of a network's ladder on a GPU; absent where nothing was.
std::optional<LadderRun> recorded_ladder(const std::string &network, std::int64_t batch,
                                         const GpuProfile &gpu);
/// What was recorded of a network's training on a GPU; absent where nothing was.
std::optional<TrainingRun> recorded_training(const std::string &network, const GpuProfile &gpu);
/// Images that the recorded training was tested with, which are the same on every GPU; absent where none was.
std::optional<std::int64_t> recorded_test_images(const std::string &network);

/// A rung with all that is known of it.
struct KnownRung {
    std::string network;
    Rung rung;
    RungForecast papers, ours;
    std::optional<RungResult> measured; ///< on our GPU

    std::optional<Seconds> forecast() const { return ours.graph_s ? ours.graph_s : ours.stream_s; }
    std::optional<Seconds> measured_s() const {
        return measured ? measured->graph_warm_s : std::optional<Seconds>{};
    }
};

/// Those of the ladder that `names` names, all where it names none. A name that the ladder lacks is left out.
std::vector<KnownRung> known_rungs(const std::string &network, std::int64_t batch,
                                   const std::vector<std::string> &names, const PaperContext &context);

/// A number that was recorded of a network on our GPU: "sequential", "accuracy", "epochs" ...; missing where
/// nothing was. Throws UsageError.
struct PaperValue;
PaperValue network_fact(const std::string &network, const std::string &fact, const PaperContext &context);

/// Images of a call that the studies of a network's paper are of: one, or the batch of a step of training.
std::int64_t batch_of_paper(const std::string &network);

} // namespace convcast
