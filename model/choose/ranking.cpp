#include "model/choose/ranking.hpp"

#include "model/base/parallel.hpp"
#include "model/time/call.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// A key that is different for any two settings: the index of the strategy, then the values of its knobs.
std::u32string key_of(std::size_t strategy, const Strategy &setting) {
    std::u32string key(1, static_cast<char32_t>(strategy));
    for (const int value : setting.knobs)
        key += static_cast<char32_t>(value);
    return key;
}

/// A setting that `choose` tries, and the settings that it stands for: itself, or those of its open knobs.
struct Candidate {
    std::size_t strategy = 0; ///< index of its strategy among the names
    Strategy setting;
    std::vector<std::size_t> settings; ///< indices of tried settings; none where it cannot run
    std::optional<Infeasible> why;     ///< why it cannot run
    std::size_t best = 0;              ///< index of that of its settings which has the shortest forecast
};

/// A setting without open knobs, which candidates may share. Most lose, so only their times are kept.
struct TriedSetting {
    Strategy setting;
    bool compared = false;        ///< it has rivals of the same candidate, so that its time is needed
    std::optional<double> time_s; ///< that it is compared by, as of compared_by
    /// Its place in the ranking, or why it has none. nullptr unless it is the best of a candidate.
    std::unique_ptr<std::variant<RankedSetting, Infeasible>> outcome;
};

} // namespace

Seconds mean_of_ties(const std::vector<Seconds> &times) {
    const Seconds shortest = *std::ranges::min_element(times);
    Seconds total;
    double ties = 0.0;
    for (const Seconds time : times)
        if (time <= shortest * tie_of(shortest))
            total += time, ties += 1.0;
    return total / ties;
}

Ranking rank(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
             const std::vector<std::string> &strategies, std::size_t top, TensorCores order) {
    const Gpu gpu(profile);
    const std::vector<std::string> names = strategies.empty() ? strategy_names() : strategies;
    std::vector<Candidate> all;
    std::vector<TriedSetting> tried;
    std::unordered_map<std::u32string, std::size_t> places; // of settings in `tried`, by their keys
    // Each setting is tried once, whichever candidates it belongs to.
    for (std::size_t i = 0; i < names.size(); ++i)
        for (const Strategy &setting : candidates(names[i])) {
            Candidate &item = all.emplace_back(
                Candidate{.strategy = i, .setting = setting, .settings = {}, .why = {}, .best = 0});
            auto found = setting.kind->settings(setting, shape, gpu);
            if (auto *why = std::get_if<Infeasible>(&found)) {
                item.why = std::move(*why);
                continue;
            }
            for (const Strategy &one : std::get<0>(found)) {
                const std::size_t place = places.try_emplace(key_of(i, one), tried.size()).first->second;
                if (place == tried.size())
                    tried.push_back({.setting = one, .compared = false, .time_s = {}, .outcome = {}});
                tried[place].compared = tried[place].compared || std::get<0>(found).size() > 1;
                item.settings.push_back(place);
            }
        }
    // The best setting of each candidate is found by its time as compared_by gives it, without a calibration.
    in_parallel(tried.size(), [&](std::size_t i) {
        if (tried[i].compared)
            tried[i].time_s = compared_by(tried[i].setting, shape, gpu, knowledge.facts);
    });
    for (Candidate &item : all) {
        if (item.why)
            continue;
        std::vector<std::optional<double>> times;
        for (const std::size_t place : item.settings)
            times.push_back(tried[place].time_s);
        item.best = item.settings[best_setting(times)];
        if (!tried[item.best].outcome)
            tried[item.best].outcome = std::make_unique<std::variant<RankedSetting, Infeasible>>();
    }
    // Only these are ranked, by their forecasts with the calibration.
    in_parallel(tried.size(), [&](std::size_t i) {
        if (!tried[i].outcome)
            return;
        auto planned = compiled_setting(tried[i].setting, shape, gpu, knowledge.facts);
        if (auto *why = std::get_if<Infeasible>(&planned)) {
            *tried[i].outcome = std::move(*why);
            return;
        }
        auto &good = std::get<PlannedStrategy>(planned);
        const std::optional<Seconds> time =
            forecast_call_time(good.feasible.plan, shape, gpu, knowledge.calibration);
        std::string text = to_text(good.strategy);
        *tried[i].outcome = RankedSetting{std::move(good), time, std::move(text)};
    });

    std::vector<std::pair<std::size_t, RankedSetting *>> ranked;       // with the index of the strategy
    std::vector<std::optional<RefusedStrategy>> refused(names.size()); // by strategy, the first
    std::vector<std::set<std::string>> seen(names.size());             // by strategy, the texts of settings
    for (Candidate &item : all) {
        auto *outcome = item.why ? nullptr : tried[item.best].outcome.get();
        if (auto *best = outcome != nullptr ? std::get_if<RankedSetting>(outcome) : nullptr) {
            if (seen[item.strategy].insert(best->text).second)
                ranked.emplace_back(item.strategy, best);
        } else if (!refused[item.strategy]) {
            refused[item.strategy] = {item.setting, item.why ? *item.why : std::get<Infeasible>(*outcome)};
        }
    }
    const auto sort_key = [&](const std::pair<std::size_t, RankedSetting *> &entry) {
        const auto &[strategy, item] = entry;
        return std::tuple(order == TensorCores::behind && uses_tensor_cores(names[strategy]),
                          item->time ? item->time->value : 0.0, std::string_view(item->text));
    };
    std::ranges::sort(ranked, {}, sort_key);
    ranked.resize(std::min(ranked.size(), top));

    Ranking ranking;
    for (const auto &[strategy, item] : ranked)
        ranking.settings.push_back(std::move(*item));
    for (std::size_t i = 0; i < names.size(); ++i)
        if (seen[i].empty() && refused[i])
            ranking.refused.push_back(std::move(*refused[i]));
    return ranking;
}

} // namespace convcast
