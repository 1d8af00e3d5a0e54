#include "model/choose/ranking.hpp"

#include "model/base/parallel.hpp"
#include "model/time/call.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

Ranking rank(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
             const std::vector<std::string> &strategies, std::size_t top, TensorCores order) {
    struct Candidate {
        std::size_t of = 0; ///< index of its strategy
        Strategy setting;
        std::optional<PlannedStrategy> planned;
        Infeasible why; ///< where nothing is planned
        std::optional<Seconds> time;
        std::string text;
    };
    const Gpu gpu(profile);
    const std::vector<std::string> names = strategies.empty() ? strategy_names() : strategies;
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < names.size(); ++i)
        for (const Strategy &setting : candidates(names[i])) {
            Candidate &item = all.emplace_back();
            item.of = i;
            item.setting = setting;
        }
    in_parallel(all.size(), [&](std::size_t i) {
        Candidate &item = all[i];
        auto result = compiled_plan(item.setting, shape, gpu, knowledge.facts);
        if (auto *why = std::get_if<Infeasible>(&result)) {
            item.why = std::move(*why);
            return;
        }
        item.planned = std::move(std::get<PlannedStrategy>(result));
        item.time = forecast_call_time(item.planned->feasible.plan, shape, gpu, knowledge.calibration);
        item.text = to_text(item.planned->strategy);
    });

    std::vector<Candidate *> ranked;
    std::vector<Candidate *> refused(names.size()); // the first setting that was, where none was feasible
    std::vector<std::set<std::string>> seen(names.size());
    for (Candidate &item : all) {
        if (item.planned) {
            if (seen[item.of].insert(item.text).second)
                ranked.push_back(&item);
        } else if (!refused[item.of]) {
            refused[item.of] = &item;
        }
    }
    const auto place_of = [&](const Candidate *item) {
        return std::tuple(order == TensorCores::behind && uses_tensor_cores(names[item->of]),
                          item->time ? item->time->value : 0.0, std::string_view(item->text));
    };
    std::sort(ranked.begin(), ranked.end(),
              [&](const Candidate *a, const Candidate *b) { return place_of(a) < place_of(b); });
    ranked.resize(std::min(ranked.size(), top));

    Ranking ranking;
    for (Candidate *item : ranked)
        ranking.settings.push_back({std::move(*item->planned), item->time});
    for (std::size_t i = 0; i < names.size(); ++i)
        if (seen[i].empty() && refused[i])
            ranking.refused.push_back({refused[i]->setting, std::move(refused[i]->why)});
    return ranking;
}

} // namespace convcast
