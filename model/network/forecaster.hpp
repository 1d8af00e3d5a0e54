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

/// A GPU for one question: forecasts of convolutions are kept by shape.
class NetworkForecaster {
  public:
    /// `unchanged`: of the GPU whose numbers the profile has, each times 2, 1 or 1/2; it outlives this one.
    /// Settings so far behind the fastest there that this cannot bring them to the front are not asked again.
    NetworkForecaster(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
                      const NetworkQuestion &question, const NetworkForecaster *unchanged = nullptr);
    NetworkForecaster(const NetworkForecaster &) = delete;
    NetworkForecaster &operator=(const NetworkForecaster &) = delete;

    const Network &network() const { return network_; }
    std::int64_t batch() const { return question_.batch; }

    // ---- which strategy a convolution takes ----

    /// A convolution's candidates, best first, and the plan of the first.
    struct Ways {
        std::vector<NetworkCandidate> candidates;
        Strategy strategy; ///< the first
        Plan plan;
        Seconds time_s;               ///< N8
        Seconds best_s{1e9};          ///< the shortest forecast
        std::optional<Strategy> ends; ///< the first that can do bias, add and ReLU where it stores
        std::vector<Strategy> close; ///< those that numbers twice or half as large may bring to the front, or
                                     ///< first among those that end launches
    };
    /// By the strategy or, without one, the forecast's choice; or why there is none.
    using WaysOrWhy = std::variant<Ways, std::string>;
    const WaysOrWhy &ways_or_why(const ConvShape &shape, const std::optional<Strategy> &strategy);
    /// Throws UsageError if there is none.
    const Ways &ways_of(const ConvShape &shape, const std::optional<Strategy> &strategy = std::nullopt);

    /// Ranks these shapes on all cores, so that they are there when they are asked.
    void rank_ahead(const std::vector<ConvShape> &shapes);

    /// N1: whether the shape takes a strategy that ends launches, though another is faster without the end.
    /// Only where there is one.
    void prefer_ending(const ConvShape &shape, bool ends);
    void prefer_none() { ending_.clear(); }
    bool could_end(const ConvShape &shape);

    /// Settings that tie have their own forecasts and not their mean, which takes a ranking of all.
    void leave_ties() { ties_ = false; }

    // ---- how long launches run ----

    /// By itself, without the gap before it.
    NetworkLaunch launch(const ScheduledLaunch &scheduled, const HeldForLaunch &held);
    /// The launches' times and what they add up to.
    PlannedNetwork timed(std::vector<ScheduledLaunch> schedule);
    /// N4: all of the network in one launch.
    Seconds light_of(double fmas) const;

  private:
    HeldByL2 at_its_start(const Plan &plan, HeldByL2 held) const;
    HeldByL2 held_for(const ConvShape &shape) const;
    const WaysOrWhy &known(const ConvShape &shape, const std::optional<Strategy> &strategy);
    std::vector<PlannedStrategy> settings_of(const ConvShape &shape, std::string &why) const;
    WaysOrWhy ranked(const ConvShape &shape) const;
    WaysOrWhy named(const ConvShape &shape, const Strategy &strategy);
    void time_planned(const ScheduledLaunch &scheduled, NetworkLaunch &launch);
    Seconds gap() const;
    double fmas_of(const ScheduledLaunch &launch) const;
    double share_of_sms(const ScheduledLaunch &launch) const;
    void overlap(PlannedNetwork &plan) const;

    const Network &network_;
    bool early_;
    GpuProfile profile_;
    Gpu gpu_;
    const Knowledge &knowledge_;
    const NetworkQuestion &question_;
    const NetworkForecaster *unchanged_;
    Seconds whole_floor_; ///< of an empty kernel alone
    Machine machine_;
    std::map<std::string, HeldByL2> held_;
    bool ties_ = true;
    std::map<std::string, WaysOrWhy> known_;  ///< by shape, and by strategy where one is named
    std::map<std::string, WaysOrWhy> ending_; ///< of the shapes that take a strategy that ends launches
};

} // namespace convcast
