#include "model/strategies/list.hpp"

#include "every_strategy.hpp"
#include "model/base/errors.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The strategy of this name; nullptr if there is none.
const StrategyKind *find_kind(const std::string &name) {
    const auto found = std::ranges::find(strategy_kinds(), name, &StrategyKind::name);
    return found == strategy_kinds().end() ? nullptr : *found;
}

/// The index of a knob among its strategy's. Throws UsageError, which quotes `text`, if there is none.
std::size_t find_knob(const std::string &text, const StrategyKind &kind, const std::string &name) {
    std::vector<std::string> known;
    for (const KnobDoc &knob : kind.knobs)
        known.push_back(knob.name);
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
        throw UsageError(fmt::format("strategy '{}': {} has no knob '{}'{} Knobs: {}", text, kind.name, name,
                                     did_you_mean(name, known), join(known)));
    return static_cast<std::size_t>(found - known.begin());
}

/// Sets the knobs that `rest`, "tile_w=128,tile_h=8", gives. `text` is the whole that a UsageError quotes.
void parse_knobs(Strategy &strategy, const std::string &text, std::string_view rest) {
    std::vector<std::string> items = split(rest, ','), seen;
    if (items.back().empty()) // no knobs, or a comma behind the last
        items.pop_back();
    for (const std::string &item : items) {
        const std::size_t equals = item.find('=');
        if (equals == std::string::npos)
            throw UsageError(fmt::format("strategy '{}': expected knob=value, got '{}'. Example: {}", text,
                                         item, to_text(Strategy{strategy.kind, strategy.kind->usual})));
        const std::string name = item.substr(0, equals), value = item.substr(equals + 1);
        const std::size_t place = find_knob(text, *strategy.kind, name);
        const KnobDoc &knob = strategy.kind->knobs[place];
        if (std::find(seen.begin(), seen.end(), name) != seen.end())
            throw UsageError(fmt::format("strategy '{}': '{}' stands twice", text, name));
        seen.push_back(name);
        const std::optional<int> number = number_of<int>(value);
        if (!number || *number < knob.low || *number > knob.high)
            throw UsageError(fmt::format("strategy '{}': {} must be an integer from {} to {}, got '{}'", text,
                                         name, knob.low, knob.high, value));
        strategy.knobs[place] = *number;
    }
}

} // namespace

const std::vector<const StrategyKind *> &strategy_kinds() {
    static const std::vector<const StrategyKind *> kinds = [] {
        std::vector<const StrategyKind *> all;
        for (const auto &[file, kind] : strategies::every) {
            all.push_back(&kind());
            if (kind().name != file)
                throw std::logic_error(fmt::format("model/strategies/{}.cpp registers a strategy named {}: "
                                                   "about.name must be the file's name",
                                                   file, kind().name));
        }
        std::ranges::sort(all, {},
                          [](const StrategyKind *kind) { return std::tie(kind->place, kind->name); });
        const auto twice = std::ranges::adjacent_find(all, {}, &StrategyKind::place);
        if (twice != all.end())
            throw std::logic_error(
                fmt::format("model/strategies/{}.cpp and {}.cpp both say that they stand at "
                            "place {} in lists: give one of them a number of its own in "
                            "`about`",
                            twice[0]->name, twice[1]->name, twice[0]->place));
        return all;
    }();
    return kinds;
}

std::vector<std::string> strategy_names() {
    std::vector<std::string> names;
    for (const StrategyKind *kind : strategy_kinds())
        names.push_back(kind->name);
    return names;
}

std::vector<StrategyDoc> strategy_docs() {
    std::vector<StrategyDoc> docs;
    for (const StrategyKind *kind : strategy_kinds())
        docs.push_back(*kind);
    return docs;
}

bool uses_tensor_cores(const std::string &strategy_name) {
    const StrategyKind *kind = find_kind(strategy_name);
    return kind != nullptr && kind->tensor_cores;
}

Strategy parse_strategy(const std::string &text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string name = text.substr(0, colon);
    const StrategyKind *kind = find_kind(name);
    if (kind == nullptr)
        throw UsageError(fmt::format(
            "unknown strategy '{}'{} Known: {}. Example: stride_fixed_block:segment_bytes=64,tile_w=128",
            name, did_you_mean(name, strategy_names()), join(strategy_names())));
    Strategy strategy{kind, kind->usual};
    parse_knobs(strategy, text, std::string_view(text).substr(std::min(colon + 1, text.size())));
    return strategy;
}

std::string to_text(const Strategy &strategy) {
    std::string text = strategy.kind->name;
    for (std::size_t i = 0; i < strategy.knobs.size(); ++i)
        text += fmt::format("{}{}={}", i == 0 ? ":" : ",", strategy.kind->knobs[i].name, strategy.knobs[i]);
    return text;
}

std::string name_of(const Strategy &strategy) {
    return strategy.kind->name;
}

int &knob_of(Strategy &strategy, const std::string &name) {
    return strategy.knobs[find_knob(strategy.kind->name, *strategy.kind, name)];
}

std::vector<Strategy> candidates(const std::string &strategy_name) {
    const StrategyKind *kind = find_kind(strategy_name);
    if (kind == nullptr)
        return {};
    const Strategy usual{kind, kind->usual};
    std::vector<Strategy> settings = {usual};
    for (std::size_t i = 0; i < kind->knobs.size(); ++i) {
        if (kind->knobs[i].candidates.empty())
            continue;
        std::vector<Strategy> next;
        for (const Strategy &setting : settings)
            for (const int value : kind->knobs[i].candidates) {
                next.push_back(setting);
                next.back().knobs[i] = value;
            }
        settings = std::move(next);
    }
    settings.insert(settings.begin(), usual); // the defaults, resolved by the rules
    return settings;
}

} // namespace convcast
