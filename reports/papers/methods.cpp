// Makes the tables, figures, drawings and findings of an item as its methods say, and checks the methods.
#include "model/base/errors.hpp"
#include "reports/boxes.hpp"
#include "reports/explained.hpp"
#include "reports/html.hpp"
#include "reports/network_figures.hpp"
#include "reports/papers/evaluator.hpp"
#include "reports/profile_page.hpp"
#include "reports/report_figures.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using EachPart = std::function<void(const Expression &)>;

/// Calls `call` with an expression and every part of it, or of every expression in a sentence.
void each_part(const Expression &e, const EachPart &call) {
    call(e);
    for (const Expression &part : e.parts)
        each_part(part, call);
}
void each_part(const Sentence &sentence, const EachPart &call) {
    for (const SentencePart &part : sentence) {
        if (part.kind == SentencePart::Kind::value)
            each_part(part.value, call);
        for (const Sentence &alternative : part.alternatives)
            each_part(alternative, call);
    }
}

/// The rules that judge a claim whose verdict is this expression: those that it calls, each once.
std::vector<const VerdictRule *> rules_in(const std::string &expression) {
    std::set<std::string> called;
    each_part(parse_expression(expression), [&](const Expression &e) {
        if (e.kind == Expression::Kind::call)
            called.insert(e.token);
    });
    std::vector<const VerdictRule *> rules;
    for (const VerdictRule &rule : verdict_rules())
        if (called.contains(rule.name))
            rules.push_back(&rule);
    return rules;
}

/// The names that "shown" of a method may have: three figures of reports, and all curves of profiles.
const std::vector<std::string> &shown_figures() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> names = {"regime_maps", "regime_plane", "several_gpus"};
        for (const std::vector<std::string> &row : explained("Curves of a profile"))
            names.push_back(row.front());
        return names;
    }();
    return all;
}

/// The figures that one of shown_figures() names; none where what they show was not measured on our GPU.
std::vector<Figure> figures_of(const std::string &name, const Evaluator &e) {
    const GpuProfile &ours = e.context().ours().profile;
    const std::string title = title_of(e.item()) + ": ";
    if (name == "several_gpus") {
        const std::vector<ScalingPoint> points = scaling_of(e);
        if (points.empty())
            return {};
        return {scaling_figure(points, e.item().id, title + "efficiency on several GPUs", short_name(ours),
                               measured_scaling_of(e))};
    }
    if (name.starts_with("regime_")) {
        const StudyResults *results = e.results();
        if (results == nullptr || name == "regime_maps")
            return results == nullptr ? std::vector<Figure>() : regime_maps(results->statistics);
        std::optional<Figure> plane = regime_plane(results->statistics);
        if (!plane)
            return {};
        plane->id = e.item().id;
        plane->title = title + plane->title + ", " + short_name(ours);
        return {*plane};
    }
    const auto curve = ours.curves.find(name);
    if (curve == ours.curves.end())
        return {};
    Figure figure = curve_figure(name, curve->second, ours);
    figure.id = e.item().id;
    return {figure};
}

/// Answers an item by one method: run() adds to `answer`. Keeps references to the first three arguments.
class MethodRunner {
  public:
    MethodRunner(ItemAnswer &answer, const PaperMethod &method, Evaluator &evaluator, std::string place)
        : answer_(answer), method_(method), evaluator_(evaluator), place_(std::move(place)) {}

    void run() {
        for (const std::string &name : method_.shown)
            at("/shown", [&] {
                for (Figure &figure : figures_of(name, evaluator_))
                    answer_.figures.push_back(std::move(figure));
            });
        side_by_side(method_.figures, "/figures/", &MethodRunner::add_figure);
        for (std::size_t i = 0; i < method_.drawings.size(); ++i)
            at("/drawings/" + std::to_string(i), [&] { add_drawing(method_.drawings[i]); });
        side_by_side(method_.tables, "/tables/", &MethodRunner::add_table);
        side_by_side(method_.claims, "/claims/", &MethodRunner::add_claim);
    }

  private:
    std::string fill_in(const std::string &sentence, const PaperScope &scope) {
        return evaluator_.fill_in(sentence, scope);
    }
    std::optional<double> number(const std::string &expression, const PaperScope &scope) {
        return evaluator_.value(expression, scope).number;
    }
    std::string id_of(const std::optional<std::string> &id, const PaperScope &scope) {
        return id ? fill_in(*id, scope) : evaluator_.item().id;
    }

    /// Calls `add` with each part (figure, table or claim) for each row of its `each` where its `when` holds.
    /// Parts with `beside` go with the part before: all for the first row, then all for the next.
    template <class Part>
    void side_by_side(const std::vector<Part> &parts, const std::string &place,
                      void (MethodRunner::*add)(const Part &, const PaperScope &)) {
        const auto is_beside = [](const Part &part) {
            if constexpr (requires { part.beside; })
                return part.beside.value_or(false);
            return false;
        };
        for (std::size_t i = 0, next = 0; i < parts.size(); i = next) {
            for (next = i + 1; next < parts.size() && is_beside(parts[next]);)
                ++next; // parts i up to next stand beside each other
            at(place + std::to_string(i), [&] {
                evaluator_.for_each(parts[i].each, {}, [&](const PaperScope &scope) {
                    for (std::size_t j = i; j < next; ++j)
                        at(place + std::to_string(j), [&] {
                            if (evaluator_.holds(parts[j].when, scope))
                                (this->*add)(parts[j], scope);
                        });
                });
            });
        }
    }

    /// Calls `call`; a UsageError in it becomes an InputError at `part` of the method, as "/claims/3".
    template <class Call> void at(const std::string &part, Call call) {
        try {
            call();
        } catch (const UsageError &error) {
            throw InputError(place_ + part, error.what());
        }
    }

    /// Adds a table of the rows for which `where` holds. It is for the row `each` of the method's lists.
    void add_table(const PaperTableMethod &method, const PaperScope &each) {
        PaperTable table{id_of(method.id, each),
                         fill_in(method.title, each),
                         static_cast<int>(method.words.value_or(1)),
                         {},
                         {},
                         ""};
        for (const PaperColumn &column : method.columns)
            table.head.push_back(fill_in(column.head, each));
        evaluator_.for_each(method.over, each, [&](const PaperScope &scope) {
            if (!evaluator_.holds(method.where, scope))
                return;
            std::vector<std::string> &row = table.rows.emplace_back();
            for (const PaperColumn &column : method.columns)
                row.push_back(fill_in(column.cell, scope));
        });
        for (const PaperNote &note : method.notes)
            evaluator_.for_each(note.each, each, [&](const PaperScope &scope) {
                const std::string text = fill_in(note.says, scope);
                if (!text.empty())
                    table.note += (table.note.empty() ? "" : " ") + text;
            });
        answer_.tables.push_back(std::move(table));
    }

    /// Adds a drawing of boxes, if its condition holds.
    void add_drawing(const PaperDrawingMethod &method) {
        if (!evaluator_.holds(method.when, {}))
            return;
        std::vector<Box> boxes;
        for (const PaperBoxes &its : method.boxes)
            evaluator_.for_each(its.over, {}, [&](const PaperScope &scope) {
                const auto x = number(its.x, scope), y = number(its.y, scope),
                           width = number(its.width, scope), height = number(its.height, scope);
                if (evaluator_.holds(its.where, scope) && x && y && width && height)
                    boxes.push_back({*x, *y, *width, *height,
                                     its.style ? std::optional(style_of(*its.style, scope)) : std::nullopt,
                                     its.text ? fill_in(*its.text, scope) : ""});
            });
        const std::string title = fill_in(method.title, {});
        answer_.drawings.push_back({id_of(method.id, {}), title, fill_in(method.caption, {}),
                                    boxes_svg(boxes, title, width_for(boxes))});
    }

    /// Adds a figure, or one with a panel for each row of `panels`; `each` as of add_table.
    void add_figure(const PaperFigureMethod &method, const PaperScope &each) {
        Figure figure{
            id_of(method.id, each), fill_in(method.title, each), fill_in(method.caption, each), {}, {}};
        Axis values{fill_in(method.axis, each),
                    method.scale == PaperScale::linear ? Scale::linear : Scale::logarithmic};
        if (method.x) {
            figure.x = {method.x_axis.value_or(""), Scale::binary};
            figure.y = std::move(values);
        } else {
            figure.x = std::move(values);
            figure.y.scale = Scale::category;
        }
        for (const PaperMark &mark : method.marks)
            evaluator_.for_each(mark.each, each, [&](const PaperScope &scope) {
                add_mark(figure, mark, method.x ? Guide::horizontal : Guide::vertical, scope);
            });
        if (method.panels.empty())
            figure.add_drawn(series_of(figure, method, each));
        else
            evaluator_.for_each(method.panels, each, [&](const PaperScope &scope) {
                Figure plot; // which leaves out series without points
                plot.add_drawn(series_of(figure, method, scope));
                figure.panels.push_back({fill_in(*method.panel, scope), std::move(plot.series)});
            });
        figure.no_data = fill_in(method.no_data, each);
        answer_.figures.push_back(std::move(figure));
    }

    /// The series of the figure, or of one of its panels, with a point for every row that `over` gives. Adds
    /// the categories of rows to the figure.
    std::vector<Series> series_of(Figure &figure, const PaperFigureMethod &method, const PaperScope &each) {
        std::vector<Series> all;
        for (const PaperSeries &its : method.series)
            evaluator_.for_each(its.each, each, [&](const PaperScope &scope) {
                all.push_back({fill_in(its.name, scope), style_of(its.style, scope), drawn_as(its),
                               its.hollow.value_or(false)});
                all.back().unlisted = its.unlisted.value_or(false);
            });
        evaluator_.for_each(method.over, each, [&](const PaperScope &scope) {
            if (evaluator_.holds(method.where, scope))
                add_points(figure, all, method, scope);
        });
        return all;
    }

    /// The place of a row on the axis of categories, which gets the row's category where it lacks it. Panels
    /// have their categories in common; without panels each row has its own, even of the same name.
    double category_of(Figure &figure, const PaperFigureMethod &method, const PaperScope &scope) {
        const std::string name = fill_in(*method.category, scope);
        std::vector<std::string> &all = figure.y.categories;
        const auto found = method.panels.empty() ? all.end() : std::find(all.begin(), all.end(), name);
        const auto place = static_cast<double>(found - all.begin());
        return found != all.end() ? place : figure.add_row(name);
    }

    static Drawn drawn_as(const PaperSeries &series) {
        return series.drawn == PaperDrawn::lines  ? Drawn::lines
               : series.drawn == PaperDrawn::bars ? Drawn::bars
                                                  : Drawn::points;
    }

    /// The number of a style, which is a colour and a mark (PaperSeries::style), from an expression.
    std::size_t style_of(const std::string &expression, const PaperScope &scope) {
        constexpr auto last_style = static_cast<double>(styles::context);
        const double style = number(expression, scope).value_or(-1.0);
        if (!(style >= 0.0 && style <= last_style))
            throw UsageError("expected a style from 0 to 38, for example \"1\"");
        return static_cast<std::size_t>(style);
    }

    /// Adds a line at a value, or a band between two; nothing where a value is missing. `across` is the
    /// direction of a line across the axis of the values.
    void add_mark(Figure &figure, const PaperMark &mark, Guide across, const PaperScope &scope) {
        const std::optional<double> from = number(mark.at, scope),
                                    to = mark.to ? number(*mark.to, scope) : from;
        if (from && to && mark.to)
            figure.bands.push_back({across, *from, *to, fill_in(mark.label, scope)});
        else if (from && to)
            figure.references.push_back({across, *from, fill_in(mark.label, scope)});
    }

    /// Adds a point for this row to each series in `all`, which has a series for each row of each
    /// PaperSeries::each, in their order. A series whose value is missing here gets no point.
    void add_points(Figure &figure, std::vector<Series> &all, const PaperFigureMethod &method,
                    const PaperScope &scope) {
        const double place =
            method.x ? number(*method.x, scope).value_or(0.0) : category_of(figure, method, scope);
        std::size_t next = 0;
        for (const PaperSeries &its : method.series)
            evaluator_.for_each(its.each, scope, [&](const PaperScope &inner) {
                Series &series = all[next++];
                const std::optional<double> v = number(its.value, inner),
                                            begins = its.begins ? number(*its.begins, inner) : std::nullopt;
                if (v && (!its.begins || begins))
                    series.points.push_back({method.x ? place : *v,
                                             method.x ? *v : place,
                                             fill_in(its.label, inner),
                                             {},
                                             begins});
            });
    }

    /// Adds a finding for a claim. It stays open, with the sentence `otherwise`, where the verdict, or the
    /// number that `exact` computes, is missing. PaperClaim::check saw which fields are there.
    void add_claim(const PaperClaim &claim, const PaperScope &scope) {
        const PaperItem &item = evaluator_.item();
        ClaimAnswer finding;
        finding.item = item.id;
        finding.found = dash;
        finding.sentence = fill_in(claim.otherwise.value_or("That was not measured on {ours}."), scope);
        if (claim.exact) {
            const PublishedCell *cell = cell_of(item, fill_in(claim.cell[0], scope),
                                                claim.cell.size() > 1 ? fill_in(claim.cell[1], scope) : "");
            if (cell == nullptr)
                return;
            finding.claim = title_of(*cell);
            finding.published = printed(*cell);
            if (const std::optional<double> found = number(*claim.exact, scope))
                finding = exact(item, *cell, *found, fill_in(*claim.from, scope));
            finding.rules = {&verdict_rules().back()};
        } else {
            finding.claim = fill_in(*claim.claim, scope);
            finding.published = claim.published ? fill_in(*claim.published, scope) : "without a number";
            finding.rules = rules_in(*claim.verdict);
            if (const auto verdict = evaluator_.value(*claim.verdict, scope).text) {
                if (!boost::describe::enum_from_string(verdict->c_str(), finding.verdict))
                    throw UsageError("expected a verdict, for example ratio(1.39, found), found '" +
                                     shortened(*verdict) + "'");
                finding.found = fill_in(*claim.found, scope);
                finding.sentence = fill_in(*claim.says, scope);
            }
        }
        finding.batch = method_.batch.value_or(0);
        answer_.findings.push_back(std::move(finding));
    }

    ItemAnswer &answer_;
    const PaperMethod &method_;
    Evaluator &evaluator_;
    std::string place_;
};

/// What messages call published numbers: "performance, 3x3".
std::vector<std::string> titles_of(const std::vector<PublishedCell> &cells) {
    std::vector<std::string> titles;
    for (const PublishedCell &cell : cells)
        titles.push_back(title_of(cell));
    return titles;
}

} // namespace

void check_names(const PaperItem &item, const PaperMethod &method, const PaperMethod &names,
                 const std::string &place, const FieldProblem &problem) {
    const std::vector<std::string> values = Evaluator::names(names), times = names_in(names.times),
                                   functions = names_in(Evaluator::functions());
    std::vector<std::string> lists = names_in(Evaluator::lists()), own = names_in(names.lists);
    lists.insert(lists.end(), own.begin(), own.end());
    each_text(method, [&](const std::string &path, const std::string &text, PaperTextKind kind) {
        const auto require = [&](const std::string &name, const std::vector<std::string> &known,
                                 const std::string &what) {
            require_one_of(name, known, what, place + path, problem);
        };
        const auto check_call = [&](const Expression &e) {
            require(e.token, functions, "a function");
            std::vector<std::string> texts; // where all arguments are texts
            for (const Expression &part : e.parts)
                if (part.kind == Expression::Kind::text)
                    texts.push_back(part.token);
            const bool of_cell = e.token == "cell" || e.token == "printed" || e.token == "factor";
            if (of_cell && !texts.empty() && texts.size() < 3 && texts.size() == e.parts.size() &&
                cell_of(item, texts[0], texts.size() > 1 ? texts[1] : "") == nullptr)
                require(join(texts), titles_of(item.published), "a published number of this item");
            if (e.token == "time" && !texts.empty() && e.parts[0].kind == Expression::Kind::text)
                require(texts[0], times, "one of \"times\"");
        };
        const auto check = [&](const Expression &e) {
            if (e.kind == Expression::Kind::call)
                check_call(e);
            std::string name = e.token;
            while (name.starts_with("outer."))
                name = name.substr(6);
            if (e.kind == Expression::Kind::name && !name.starts_with("knob.") &&
                std::ranges::find(lists, name) == lists.end())
                require(name, values, "a value");
        };
        if (kind == PaperTextKind::expression)
            each_part(parse_expression(text), check);
        else if (kind == PaperTextKind::sentence || kind == PaperTextKind::setting)
            each_part(parse_sentence(text), check);
        else if (kind == PaperTextKind::list)
            require(text, lists, "a list");
        else if (kind == PaperTextKind::time)
            require(text, times, "one of \"times\"");
    });
    for (std::size_t i = 0; i < method.shown.size(); ++i)
        require_one_of(method.shown[i], shown_figures(), "a figure that reports have",
                       place + "/shown/" + std::to_string(i), problem, "regime_maps");
}

void add_answer(ItemAnswer &to, const PaperMethod &method, Evaluator &evaluator, const std::string &place) {
    MethodRunner(to, method, evaluator, place).run();
}

} // namespace convcast
