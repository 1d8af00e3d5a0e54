// Launches of a network on a GPU: which strategy a convolution takes, how long each launch runs by itself,
// and when it begins and ends in a schedule. Equations N2 to N4, N8 and N9 of docs/equations.md.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/machine.hpp"
#include "model/network/forecast.hpp"
#include "model/network/l2_content.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// Forecasts schedules of one network on one GPU, for one question. Keeps forecasts of convolutions.
class NetworkForecaster {
  public:
    /// Network, knowledge and question outlive it. So does `unchanged`, a forecaster of this GPU before
    /// numbers of its profile were doubled or halved: only settings that this can bring to the front
    /// (Ways::close) are asked again. nullptr: all are.
    NetworkForecaster(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
                      const NetworkQuestion &question, const NetworkForecaster *unchanged = nullptr);
    NetworkForecaster(const NetworkForecaster &) = delete;
    NetworkForecaster &operator=(const NetworkForecaster &) = delete;

    const Network &network() const { return network_; }
    std::int64_t batch() const { return question_.batch; }

    // ---- which strategy a convolution takes ----

    /// The strategies that can compute a convolution, best first, and the plan of the first. Times are
    /// without the preparation of filters, which a network does once.
    struct Ways {
        std::vector<NetworkCandidate> candidates; ///< at most NetworkQuestion::top
        Strategy strategy;                        ///< the first candidate's
        Plan plan;                                ///< likewise
        Seconds time_s;               ///< forecast of the convolution: the mean of those that tie (N8)
        Seconds best_s{1e9};          ///< the shortest forecast of all
        std::optional<Strategy> ends; ///< the fastest that can do the end of a launch (InNetwork::ends)
        /// Those that numbers twice or half as large may make the fastest, or the fastest with an end.
        std::vector<Strategy> close;
    };
    /// For a named strategy, or absent for the forecast's choice; or a sentence on why there is none.
    using WaysOrWhy = std::variant<Ways, std::string>;
    const WaysOrWhy &ways_or_why(const ConvShape &shape, const std::optional<Strategy> &strategy);
    /// Throws UsageError with the sentence if there is none.
    const Ways &ways_of(const ConvShape &shape, const std::optional<Strategy> &strategy = std::nullopt);

    /// Ranks these shapes on all cores and keeps the results, so that ways_or_why need not.
    void rank_ahead(const std::vector<ConvShape> &shapes);

    /// N1: from now on ways of this shape are those of Ways::ends, though others are faster without the end
    /// of a launch; or with `ends` false the fastest again. Only for shapes with could_end.
    void prefer_ending(const ConvShape &shape, bool ends);
    void prefer_none() { ending_.clear(); }
    /// Whether the fastest strategy of a shape cannot do the end of a launch and another can.
    bool could_end(const ConvShape &shape);

    /// From now on a named strategy has its own forecast, not the mean of its ties, for which all are ranked.
    void leave_ties() { ties_ = false; }

    // ---- how long launches run ----

    /// The forecast of one launch by itself, without the gap before it. `held`: what L2 has for it.
    NetworkLaunch launch(const ScheduledLaunch &scheduled, const HeldForLaunch &held);
    /// The schedule with plans, the launches' times, and when the network ends (N2, N9).
    PlannedNetwork timed(std::vector<ScheduledLaunch> schedule);
    /// N4: the least time of the network, with its `fmas` multiply-adds and all its bytes in one launch.
    Seconds light_of(double fmas) const;

  private:
    HeldByL2 at_its_start(const Plan &plan, HeldByL2 held) const;
    HeldByL2 held_for(const ConvShape &shape) const;
    const WaysOrWhy &kept_ways(const ConvShape &shape, const std::optional<Strategy> &strategy);
    std::vector<PlannedStrategy> settings_of(const ConvShape &shape, std::string &why) const;
    WaysOrWhy ranked_ways(const ConvShape &shape) const;
    WaysOrWhy ways_by(const ConvShape &shape, const Strategy &strategy);
    void time_planned(const ScheduledLaunch &scheduled, NetworkLaunch &launch);
    Seconds gap() const;
    double fmas_of(const ScheduledLaunch &launch) const;
    double share_of_sms(const ScheduledLaunch &launch) const;
    void overlap(PlannedNetwork &plan) const;

    const Network &network_;
    bool early_;         ///< every launch may start before the one before it has ended
    GpuProfile profile_; ///< as in a CUDA graph (N2)
    Gpu gpu_;
    const Knowledge &knowledge_;
    const NetworkQuestion &question_;
    const NetworkForecaster *unchanged_;
    Seconds lone_launch_floor_; ///< time of an empty kernel alone, as the given profile has it
    Machine machine_;
    std::map<std::string, HeldByL2> held_; ///< by shape (held_by_shape)
    bool ties_ = true;
    std::map<std::string, WaysOrWhy> known_;  ///< by shape, and by strategy where one is named
    std::map<std::string, WaysOrWhy> ending_; ///< by shape, of those that prefer_ending was asked for
};

} // namespace convcast
