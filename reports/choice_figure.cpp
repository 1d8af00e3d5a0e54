#include "reports/choice_figure.hpp"

#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/regime/words.hpp"
#include "reports/explained.hpp"
#include "reports/figure_layout.hpp"
#include "reports/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The axis of times over the fastest ends here at the latest; longer times are at its edge. Chosen.
constexpr double farthest = 4.0;
/// A strategy whose time over the fastest is nowhere below this is not drawn. Chosen.
constexpr double worth_a_line = 1.5;

/// A number of a shape that a question may run through several values.
struct Size {
    const char *name, *meaning;
    std::int64_t ConvShape::*value;
};
constexpr Size sizes[] = {
    {"n", "images", &ConvShape::n},
    {"c", "input channels", &ConvShape::c},
    {"h", "height of the map", &ConvShape::h},
    {"w", "width of the map", &ConvShape::w},
    {"k", "filters", &ConvShape::k},
    {"r", "height of a filter", &ConvShape::r},
    {"s", "width of a filter", &ConvShape::s},
    {"str", "stride", &ConvShape::stride_h},
    {"pad", "padding", &ConvShape::pad_h},
    {"dil", "dilation", &ConvShape::dilation_h},
    {"g", "groups", &ConvShape::groups},
};

/// A size that differs between the shapes, or several that are always equal.
struct Swept {
    std::vector<std::string> names, meanings;
    std::int64_t ConvShape::*value;
    /// "h = w: height of the map, width of the map"
    std::string label() const { return join(names, " = ") + ": " + join(meanings); }
};

/// The sizes that differ between the answers; those that are equal to each other in every answer are one.
std::vector<Swept> swept_sizes(std::span<const ChoiceAnswer> answers) {
    const auto are_equal = [&](std::int64_t ConvShape::*a, std::int64_t ConvShape::*b) {
        return std::ranges::all_of(
            answers, [&](const ChoiceAnswer &answer) { return answer.shape.*a == answer.shape.*b; });
    };
    std::vector<Swept> out;
    for (const Size &size : sizes) {
        const std::int64_t first = answers.front().shape.*size.value;
        if (std::ranges::all_of(
                answers, [&](const ChoiceAnswer &answer) { return answer.shape.*size.value == first; }))
            continue;
        Swept *equal =
            first_where(out, [&](const Swept &known) { return are_equal(known.value, size.value); });
        Swept &its = equal != nullptr ? *equal : out.emplace_back(Swept{{}, {}, size.value});
        its.names.push_back(size.name);
        its.meanings.push_back(size.meaning);
    }
    return out;
}

/// The value of a swept size in one answer.
double size_of(const ChoiceAnswer &answer, const Swept &swept) {
    return static_cast<double>(answer.shape.*swept.value);
}

/// A time over that of the fastest setting of the same answer.
double ratio_of(const ChoiceAnswer &answer, Seconds time) {
    return time / answer.fastest.front().time;
}

/// Whether three values or more are each the same multiple of the one before: a sweep by a factor.
bool is_geometric(const std::set<double> &values) {
    constexpr double same = 0.01; // sizes are rounded to integers
    double factor = 0.0, before = 0.0;
    for (const double value : values) {
        if (before > 0.0 && factor > 0.0 && std::abs(value / before / factor - 1.0) > same)
            return false;
        factor = before > 0.0 ? value / before : 0.0;
        before = value;
    }
    return values.size() > 2 && *values.begin() > 0.0;
}

/// The axis of a size: binary for powers of two, logarithmic for another factor, else linear.
Axis axis_of(std::span<const ChoiceAnswer> answers, const Swept &swept) {
    constexpr double margin = 1.2; // a factor on either side, so that marks are off the frame
    std::set<double> values;
    for (const ChoiceAnswer &answer : answers)
        values.insert(size_of(answer, swept));
    if (std::ranges::all_of(values, [](double value) {
            return value > 0.0 && std::exp2(std::round(std::log2(value))) == value;
        }))
        return {swept.label(), Scale::binary};
    if (is_geometric(values))
        return {swept.label(), Scale::logarithmic, *values.begin() / margin, *values.rbegin() * margin};
    return {swept.label(), Scale::linear};
}

/// The strategies that are drawn, each with its style: all that win somewhere, the most frequent winner
/// first, then those that come closest to winning, up to as many as there are colours.
std::map<std::string, std::size_t> drawn_strategies(std::span<const ChoiceAnswer> answers) {
    constexpr std::size_t most = 6;
    // Of each strategy its least time over the fastest, and minus the number of its wins.
    std::map<std::string, std::pair<double, int>> closest;
    for (const ChoiceAnswer &answer : answers)
        for (const BestOf &setting : answer.fastest) {
            auto &[ratio, not_first] = closest.try_emplace(setting.name, farthest, 0).first->second;
            ratio = std::min(ratio, ratio_of(answer, setting.time));
            not_first -= &setting == &answer.fastest.front() ? 1 : 0;
        }
    std::set<std::pair<std::pair<double, int>, std::string>> order;
    for (const auto &[name, entry] : closest)
        if (entry.first < worth_a_line)
            order.emplace(entry, name);
    std::map<std::string, std::size_t> styles;
    for (const auto &[entry, name] : order)
        if (styles.size() < most || entry.second < 0)
            styles.emplace(name, styles.size());
    return styles;
}

/// The end of that axis: the longest time that is drawn, rounded up to 0.5, and 1.5 at least.
double axis_end(std::span<const ChoiceAnswer> answers, const std::map<std::string, std::size_t> &styles) {
    constexpr double least = 1.5, step = 0.5;
    double end = least;
    for (const ChoiceAnswer &answer : answers)
        for (const BestOf &setting : answer.fastest)
            if (styles.contains(setting.name))
                end = std::max(end, std::ceil(ratio_of(answer, setting.time) / step) * step);
    return std::min(end, farthest);
}

/// The longest time over the fastest that ties with it, if that is nearly the same for every answer.
std::optional<double> tie_of(std::span<const ChoiceAnswer> answers) {
    constexpr double same = 0.02; // chosen: less is not seen
    std::optional<double> tie;
    for (const ChoiceAnswer &answer : answers) {
        if (!answer.longest_tie)
            return std::nullopt;
        const double ratio = ratio_of(answer, *answer.longest_tie);
        if (tie && std::abs(ratio - *tie) > same)
            return std::nullopt;
        tie = tie.value_or(ratio);
    }
    return tie;
}

/// Makes the figure of who_wins.
class ChoiceDrawing {
  public:
    explicit ChoiceDrawing(std::span<const ChoiceAnswer> answers)
        : answers_(answers), styles_(drawn_strategies(answers)), end_(axis_end(answers, styles_)) {
        for (const ChoiceAnswer &answer : answers)
            add_once(gpus_, answer.gpu);
        out_.figure = {"who_wins", "Which strategy is the fastest " + of_gpus()};
    }

    ChoiceFigure draw() {
        const std::vector<Swept> swept = swept_sizes(answers_);
        if (swept.size() == 1 && distinct(swept))
            lines(swept.front());
        else if (swept.size() == 2 && distinct(swept))
            map(swept[0], swept[1]);
        else
            rows();
        out_.figure.no_data = "no strategy has a time";
        return std::move(out_);
    }

  private:
    /// Whether the swept sizes tell all shapes of a GPU apart; if not, something else differs, as the type.
    bool distinct(const std::vector<Swept> &swept) const {
        std::set<std::pair<std::string, std::vector<double>>> places;
        for (const ChoiceAnswer &answer : answers_) {
            std::vector<double> place;
            for (const Swept &size : swept)
                place.push_back(size_of(answer, size));
            if (!places.emplace(answer.gpu, std::move(place)).second)
                return false;
        }
        return true;
    }

    /// The point of a setting at (x, y). Adds what the CSV says of it, whose place is the point's id.
    Point point(const ChoiceAnswer &answer, const BestOf &setting, double x, double y) {
        const std::size_t knobs = setting.setting.find(':');
        const std::string regime = setting.regime ? words_of(*setting.regime) : "";
        out_.cases.push_back({"", answer.shape.id(), setting.name,
                              knobs == std::string::npos ? "" : setting.setting.substr(knobs + 1), regime,
                              ""});
        return {x, y,
                fmt::format("{}, {}: {} {} µs, {} the fastest{}", answer.gpu, answer.shape.id(),
                            setting.setting, microseconds(setting.time),
                            times(ratio_of(answer, setting.time)), regime.empty() ? "" : ", " + regime),
                static_cast<std::int64_t>(out_.cases.size()) - 1};
    }

    /// An empty series for each drawn strategy, by its style.
    std::vector<Series> all_series(Drawn drawn) const {
        std::vector<Series> series(styles_.size());
        for (const auto &[name, style] : styles_)
            series[style] = {name, style, drawn};
        return series;
    }

    std::string of_gpus() const {
        return gpus_.size() == 1 ? "on " + gpus_.front()
                                 : fmt::format("on {} GPUs or parts of one", gpus_.size());
    }

    /// Says in the caption how many strategies are not drawn, if any.
    void say_left_out() {
        std::set<std::string> out;
        for (const ChoiceAnswer &answer : answers_)
            for (const BestOf &setting : answer.fastest)
                if (!styles_.contains(setting.name))
                    out.insert(setting.name);
        if (!out.empty())
            out_.figure.caption += " " + remark("who_wins_left_out", out.size(), times(worth_a_line));
    }

    /// Draws times over a swept size, a line for each strategy.
    void lines(const Swept &swept) {
        Figure &figure = out_.figure;
        figure.x = axis_of(answers_, swept);
        figure.y = {"time / the fastest", Scale::linear, 0.95, end_};
        figure.caption = remark("who_wins_lines", of_gpus());
        if (const std::optional<double> tie = tie_of(answers_)) {
            figure.bands = {{Guide::horizontal, 1.0, *tie, "a tie by interval"}};
            figure.caption += " " + remark("who_wins_tie");
        }
        bool turns = false;
        for (const std::string &gpu : gpus_) {
            std::vector<const ChoiceAnswer *> along;
            for (const ChoiceAnswer &answer : answers_)
                if (answer.gpu == gpu)
                    along.push_back(&answer);
            std::ranges::sort(along, {}, [&](const ChoiceAnswer *answer) { return size_of(*answer, swept); });
            std::vector<Series> series = all_series(Drawn::lines);
            for (const ChoiceAnswer *answer : along)
                for (const BestOf &setting : answer->fastest)
                    if (const auto style = styles_.find(setting.name); style != styles_.end())
                        series[style->second].points.push_back(point(
                            *answer, setting, size_of(*answer, swept), ratio_of(*answer, setting.time)));
            turns = add_turns(along, swept, series) || turns;
            add_plot(gpu, std::move(series));
        }
        if (turns)
            figure.caption += " Vertical lines: from here to the right the fastest has another regime.";
        say_left_out();
    }

    /// Adds vertical lines where the fastest has another regime than at the size before: references if there
    /// is one plot, else series of the plot that `along` is drawn in. Returns whether there are any.
    bool add_turns(const std::vector<const ChoiceAnswer *> &along, const Swept &swept,
                   std::vector<Series> &series) {
        bool any = false;
        for (std::size_t i = 1; i < along.size(); ++i) {
            const std::optional<Regime> before = along[i - 1]->fastest.front().regime,
                                        now = along[i]->fastest.front().regime;
            if (!before || !now || *before == *now)
                continue;
            any = true;
            const double from = size_of(*along[i - 1], swept), to = size_of(*along[i], swept);
            const double x =
                from > 0.0 && out_.figure.x.scale != Scale::linear ? std::sqrt(from * to) : (from + to) / 2.0;
            const std::string name = std::string("turns ") + words_of(*now);
            std::vector<Reference> &known = out_.figure.references;
            const bool named = first_with(known, &Reference::label, name) != nullptr;
            if (gpus_.size() == 1)
                known.push_back({Guide::vertical, x, named ? "" : name, static_cast<std::size_t>(*now)});
            else
                series.push_back(
                    {name,
                     turn_styles_.try_emplace(name, styles_.size() + turn_styles_.size()).first->second,
                     Drawn::curve,
                     false,
                     {{x, 0.95, name}, {x, end_, name}}});
        }
        return any;
    }

    /// Draws a mark for each shape: its colour is the winner, its shape the winner's regime.
    void map(const Swept &across, const Swept &up) {
        Figure &figure = out_.figure;
        figure.x = axis_of(answers_, across);
        figure.y = axis_of(answers_, up);
        figure.caption = remark("who_wins_map", of_gpus());
        for (const std::string &gpu : gpus_) {
            SeriesBy<std::pair<std::size_t, int>> series; // by winner and regime
            for (const ChoiceAnswer &answer : answers_) {
                if (answer.gpu != gpu)
                    continue;
                const BestOf &first = answer.fastest.front();
                const std::size_t style = styles_.at(first.name);
                const std::optional<Regime> regime = first.regime;
                const std::string name = first.name + (regime ? std::string(", ") + words_of(*regime) : "");
                // One regime is hollow, another has the same colour with the next mark.
                const std::size_t look = regime == Regime::bulk_hidden ? style + style_count : style;
                series
                    .of({style, regime ? static_cast<int>(*regime) : -1},
                        {name, look, Drawn::points, regime == Regime::exposed})
                    .points.push_back(point(answer, first, size_of(answer, across), size_of(answer, up)));
            }
            add_plot(gpu, series.take());
        }
    }

    /// Adds the series as the only plot, or as the plot of one of several GPUs.
    void add_plot(const std::string &gpu, std::vector<Series> series) {
        if (gpus_.size() == 1)
            out_.figure.series = std::move(series);
        else
            out_.figure.panels.push_back({gpu, std::move(series)});
    }

    /// Draws a row for each answer, with a mark for each strategy at its time over the fastest.
    void rows() {
        constexpr std::size_t most = 60; // that a page holds
        if (answers_.size() > most)
            throw UsageError(fmt::format("choose: --figure has a row for each shape and GPU, and {} are more "
                                         "than the {} that a page holds; ask for fewer, or run one or two "
                                         "sizes through values, for example: --sweep h=w=28:224:28",
                                         answers_.size(), most));
        Figure &figure = out_.figure;
        figure.x = {"time / the fastest", Scale::linear, 0.95, end_};
        figure.y.scale = Scale::category;
        figure.caption = remark("who_wins_rows");
        if (const std::optional<double> tie = tie_of(answers_))
            figure.bands = {{Guide::vertical, 1.0, *tie, "a tie by interval"}};
        std::vector<Series> series = all_series(Drawn::points);
        const bool shapes = std::ranges::any_of(
            answers_, [&](const ChoiceAnswer &answer) { return answer.shape != answers_.front().shape; });
        for (const ChoiceAnswer &answer : answers_) {
            const BestOf &first = answer.fastest.front();
            std::vector<std::string> names;
            if (gpus_.size() > 1 || !shapes)
                names.push_back(answer.gpu);
            if (shapes)
                names.push_back(answer.shape.id());
            const double row =
                figure.add_row(fmt::format("{}: {} µs{}", join(names), microseconds(first.time),
                                           first.regime ? std::string(", ") + words_of(*first.regime) : ""));
            for (const BestOf &setting : answer.fastest)
                if (const auto style = styles_.find(setting.name); style != styles_.end())
                    series[style->second].points.push_back(
                        point(answer, setting, setting.time / first.time, row));
        }
        figure.series = std::move(series);
        say_left_out();
    }

    std::span<const ChoiceAnswer> answers_;
    std::map<std::string, std::size_t> styles_, turn_styles_;
    double end_;                    ///< of the axis of times over the fastest
    std::vector<std::string> gpus_; ///< in the order of the answers
    ChoiceFigure out_;
};

} // namespace

ChoiceFigure who_wins(std::span<const ChoiceAnswer> answers) {
    return ChoiceDrawing(answers).draw();
}

} // namespace convcast
