#include "model/choice.hpp"

#include "model/choose/why.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// The strategy's name in a setting's text: "winograd" of "winograd:tile=4".
std::string name_in(const std::string &setting) {
    return setting.substr(0, setting.find(':'));
}

/// Removes strategies on tensor cores from a ranking, which is sorted by time alone. Returns their fastest
/// setting; absent if there is none, or it has no time.
std::optional<BestOf> take_out_tensor_cores(Ranking &ranking) {
    const auto is_out = [](const RankedSetting &setting) { return uses_tensor_cores(name_in(setting.text)); };
    std::optional<BestOf> fastest;
    const auto first = std::find_if(ranking.settings.begin(), ranking.settings.end(), is_out);
    if (first != ranking.settings.end() && first->time)
        fastest = BestOf{name_in(first->text), 0, *first->time, first->text, {}};
    std::erase_if(ranking.settings, is_out);
    std::erase_if(ranking.refused,
                  [](const RefusedStrategy &refused) { return uses_tensor_cores(name_of(refused.setting)); });
    return fastest;
}

/// Inserts a setting, unless it is there or has no time, at the rank that its time has among `times`, those
/// of all ranked settings. If it cannot run it goes to the refused.
void insert(Choice &choice, Case item, const std::vector<std::optional<Seconds>> &times) {
    if (item.status != Status::ok) {
        if (std::none_of(choice.refused.begin(), choice.refused.end(),
                         [&](const Case &other) { return other.kernel() == item.kernel(); }))
            choice.refused.push_back(std::move(item));
        return;
    }
    if (!item.prediction->time_s ||
        std::any_of(choice.ranked.begin(), choice.ranked.end(),
                    [&](const Case &other) { return other.strategy == item.strategy; }))
        return;
    const std::int64_t rank =
        1 + std::count_if(times.begin(), times.end(), [&](const std::optional<Seconds> &time) {
            return time && *time < *item.prediction->time_s;
        });
    const auto at = std::upper_bound(choice.ranks.begin(), choice.ranks.end(), rank) - choice.ranks.begin();
    choice.ranks.insert(choice.ranks.begin() + at, rank);
    choice.ranked.insert(choice.ranked.begin() + at, std::move(item));
}

void add_margins(Choice &choice) {
    const Case &best = choice.ranked.front();
    for (std::size_t i = 1; i < choice.ranked.size(); ++i)
        if (Prediction &forecast = *choice.ranked[i].prediction; forecast.time_s)
            forecast.margin =
                margin_of(*forecast.term, choice.ranks[i], *best.prediction->term, *best.strategy);
}

} // namespace

Choice choice_of(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
                 const std::vector<std::string> &strategies, const Extent &extent) {
    Ranking all = rank(shape, profile, knowledge, strategies, std::numeric_limits<std::size_t>::max(),
                       TensorCores::in_order);
    Choice out;
    if (!extent.tensor_cores && strategies.empty())
        out.left_out = take_out_tensor_cores(all);
    out.settings = std::ssize(all.settings);
    std::vector<std::optional<Seconds>> times;
    const Gpu gpu(profile);
    for (std::size_t i = 0; i < all.settings.size(); ++i) {
        RankedSetting &setting = all.settings[i];
        times.push_back(setting.time);
        const std::string name = name_in(setting.text);
        const bool first = std::none_of(out.best.begin(), out.best.end(),
                                        [&](const BestOf &best) { return best.name == name; });
        const auto rank_here = static_cast<std::int64_t>(i) + 1;
        if (first)
            out.best.push_back({name, rank_here, setting.time.value_or(Seconds(0.0)), setting.text, {}});
        const bool shown = i < extent.top || (extent.why && setting.time && first);
        if (!shown && !(first && extent.regimes))
            continue;
        Case item = forecast_planned(std::move(setting.planned), shape, gpu, knowledge);
        if (first && extent.regimes && item.prediction->regimes)
            out.best.back().regime = item.prediction->regimes->tier2;
        if (shown) {
            out.ranks.push_back(rank_here);
            out.ranked.push_back(std::move(item));
        }
    }
    if (!out.ranks.empty() && out.ranks.front() == 1 && times.front()) {
        std::vector<Seconds> known;
        for (const std::optional<Seconds> &time : times)
            if (time)
                known.push_back(*time);
        out.ranked.front().prediction->tied_s = mean_of_ties(known);
    }
    for (RefusedStrategy &refused : all.refused)
        out.refused.push_back(refused_case(refused.setting, shape, profile, std::move(refused.why)));
    for (const std::string &text : extent.placed) {
        Case item = predict(parse_strategy(text), shape, profile, knowledge);
        out.placed.push_back(*item.strategy);
        insert(out, std::move(item), times);
    }
    if ((extent.why || !extent.placed.empty()) && !out.ranked.empty())
        add_margins(out);
    return out;
}

bool has_times(const Choice &choice) {
    return !choice.ranked.empty() && choice.ranked.front().prediction->time_s.has_value();
}

} // namespace convcast
