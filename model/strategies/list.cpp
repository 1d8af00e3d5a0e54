#include "model/strategies/list.hpp"

#include "model/base/errors.hpp"

#include <boost/mp11.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// Calls `visitor` with a default value of every strategy, in order.
template <class Visitor> void for_each_strategy(Visitor visitor) {
    boost::mp11::mp_for_each<Strategy>(visitor);
}

template <class S> const Knob<S> &find_knob(const std::string &text, const std::string &name) {
    std::vector<std::string> known;
    for (const Knob<S> &knob : S::knobs()) {
        if (name == knob.name)
            return knob;
        known.emplace_back(knob.name);
    }
    throw UsageError("strategy '" + text + "': " + S::name + " has no knob '" + name + "'" +
                     did_you_mean(name, known) + " Knobs: " + join(known));
}

template <class S> S parse_knobs(const std::string &text, std::string_view rest) {
    S strategy;
    std::vector<std::string> seen;
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string item(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        const std::size_t equals = item.find('=');
        if (equals == std::string::npos)
            throw UsageError("strategy '" + text + "': expected knob=value, got '" + item +
                             "'. Example: " + to_text(Strategy(S{})));
        const std::string name = item.substr(0, equals), value = item.substr(equals + 1);
        const Knob<S> &knob = find_knob<S>(text, name);
        if (std::find(seen.begin(), seen.end(), name) != seen.end())
            throw UsageError("strategy '" + text + "': '" + name + "' stands twice");
        seen.push_back(name);
        int number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc{} || end != value.data() + value.size() || number < knob.low ||
            number > knob.high)
            throw UsageError("strategy '" + text + "': " + name + " must be an integer from " +
                             std::to_string(knob.low) + " to " + std::to_string(knob.high) + ", got '" +
                             value + "'");
        strategy.*knob.member = number;
    }
    return strategy;
}

} // namespace

std::vector<std::string> strategy_names() {
    std::vector<std::string> names;
    for_each_strategy([&](auto strategy) { names.emplace_back(decltype(strategy)::name); });
    return names;
}

bool uses_tensor_cores(const std::string &strategy_name) {
    bool found = false;
    for_each_strategy([&](auto strategy) {
        using S = decltype(strategy);
        if constexpr (requires { S::tensor_cores; })
            found = found || (S::tensor_cores && strategy_name == S::name);
    });
    return found;
}

std::vector<StrategyDoc> strategy_docs() {
    std::vector<StrategyDoc> docs;
    for_each_strategy([&](auto strategy) {
        using S = decltype(strategy);
        StrategyDoc doc{S::name, S::doc, {}};
        for (const Knob<S> &knob : S::knobs())
            doc.knobs.push_back({knob.name, knob.doc, knob.low, knob.high, knob.candidates});
        docs.push_back(std::move(doc));
    });
    return docs;
}

Strategy parse_strategy(const std::string &text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string name = text.substr(0, colon);
    std::optional<Strategy> found;
    for_each_strategy([&](auto strategy) {
        using S = decltype(strategy);
        if (name == S::name)
            found = parse_knobs<S>(text, std::string_view(text).substr(std::min(colon + 1, text.size())));
    });
    if (!found)
        throw UsageError("unknown strategy '" + name + "'" + did_you_mean(name, strategy_names()) +
                         " Known: " + join(strategy_names()) +
                         ". Example: stride_fixed_block:segment_bytes=64,tile_w=128");
    return *found;
}

std::string to_text(const Strategy &strategy) {
    return std::visit(
        [](const auto &s) {
            using S = std::decay_t<decltype(s)>;
            std::string text = S::name;
            char separator = ':';
            for (const Knob<S> &knob : S::knobs()) {
                text += separator + std::string(knob.name) + "=" + std::to_string(s.*knob.member);
                separator = ',';
            }
            return text;
        },
        strategy);
}

std::string name_of(const Strategy &strategy) {
    return std::visit([](const auto &s) { return std::string(s.name); }, strategy);
}

Settings<Strategy> settings_of(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu) {
    return std::visit(
        [&](const auto &s) -> Settings<Strategy> {
            if constexpr (requires { s.settings(shape, gpu); }) {
                auto found = s.settings(shape, gpu);
                if (auto *why = std::get_if<Infeasible>(&found))
                    return std::move(*why);
                const auto &settings = std::get<0>(found);
                return std::vector<Strategy>(settings.begin(), settings.end());
            } else {
                return std::vector<Strategy>{s};
            }
        },
        strategy);
}

std::variant<PlannedStrategy, Infeasible> plan_of_setting(const Strategy &setting, const ConvShape &shape,
                                                          const Gpu &gpu) {
    return std::visit(
        [&](const auto &s) -> std::variant<PlannedStrategy, Infeasible> {
            auto result = s.plan(shape, gpu);
            if (auto *why = std::get_if<Infeasible>(&result))
                return std::move(*why);
            auto &planned = std::get<0>(result);
            return PlannedStrategy{planned.strategy, std::move(planned.feasible)};
        },
        setting);
}

std::vector<Strategy> candidates(const std::string &strategy_name) {
    std::vector<Strategy> list;
    for_each_strategy([&](auto prototype) {
        using S = decltype(prototype);
        if (strategy_name != S::name)
            return;
        std::vector<S> settings = {S{}};
        for (const Knob<S> &knob : S::knobs()) {
            if (knob.candidates.empty())
                continue;
            std::vector<S> next;
            for (const S &setting : settings)
                for (const int value : knob.candidates) {
                    next.push_back(setting);
                    next.back().*knob.member = value;
                }
            settings = std::move(next);
        }
        list.emplace_back(S{}); // the defaults, resolved by the rules
        list.insert(list.end(), settings.begin(), settings.end());
    });
    return list;
}

} // namespace convcast
