#include "model/choose/why.hpp"

#include "model/base/readable.hpp"
#include "model/time/term.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace convcast {
namespace {

/// A text names leaves until they explain this share of the margin, and no more than so many (chosen).
constexpr double explained_share = 0.8;
constexpr std::size_t most_named = 3;

/// Seconds that the leaf adds to this case beyond what it adds to the best one.
double difference(const TermDifference &term) {
    return term.here_s.value - term.there_s.value;
}

/// "FMA 12 us against 30 us": the best case's time first.
std::string both_times(const TermDifference &term) {
    return fmt::format("{} {} against {}", term.name, readable(term.there_s.value, "s"),
                       readable(term.here_s.value, "s"));
}

} // namespace

Margin margin_of(const Term &item, std::int64_t rank, const Term &best, const std::string &best_strategy) {
    Margin margin;
    margin.rank = rank;
    margin.best = best_strategy;
    margin.factor = item.value_s / best.value_s;
    for (const Bar &bar : waterfall(item))
        margin.terms.push_back({bar.name, bar.added_s, Seconds(0.0)});
    for (const Bar &bar : waterfall(best)) {
        const auto same = std::find_if(margin.terms.begin(), margin.terms.end(),
                                       [&](const TermDifference &term) { return term.name == bar.name; });
        if (same != margin.terms.end())
            same->there_s = bar.added_s;
        else
            margin.terms.push_back({bar.name, Seconds(0.0), bar.added_s});
    }
    std::stable_sort(margin.terms.begin(), margin.terms.end(),
                     [](const TermDifference &a, const TermDifference &b) {
                         return std::abs(difference(a)) > std::abs(difference(b));
                     });
    // The largest leaf that speaks for the margin decides: of a slower case, one that takes longer.
    const double direction = margin.factor < 1.0 ? -1.0 : 1.0;
    for (const TermDifference &term : margin.terms)
        if (margin.decides.empty() && difference(term) * direction > 0.0)
            margin.decides = term.name;
    return margin;
}

std::string why_text(const Margin &margin, const std::string &name) {
    const bool behind = margin.factor >= 1.0;
    std::string text = fmt::format("{} than {} (rank {})",
                                   behind ? fmt::format("{:.2f}x faster", margin.factor)
                                          : fmt::format("{:.2f}x slower", 1.0 / margin.factor),
                                   name, margin.rank);
    if (margin.decides.empty())
        return text + ": no term differs";
    const double direction = behind ? 1.0 : -1.0;
    double total = 0.0, named = 0.0;
    for (const TermDifference &term : margin.terms)
        total += difference(term) * direction;
    std::string reasons, but;
    std::size_t count = 0;
    for (const TermDifference &term : margin.terms) {
        const double gain = difference(term) * direction;
        if (gain > 0.0 && count < most_named && named < explained_share * total) {
            reasons += (reasons.empty() ? ": " : ", ") + both_times(term);
            named += gain;
            ++count;
        } else if (gain < 0.0 && but.empty() && -gain > (1.0 - explained_share) * total) {
            but = "; but " + both_times(term);
        }
    }
    return text + (reasons.empty() ? ": " + margin.decides + " decides" : reasons) + but;
}

} // namespace convcast
