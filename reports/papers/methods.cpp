// Tables, figures and claims of an item, made as its answer's data say; and what is wrong with those data.
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
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

bool calls(const Expression &e, const std::string &function) {
    return (e.kind == Expression::Kind::call && e.token == function) ||
           std::any_of(e.parts.begin(), e.parts.end(),
                       [&](const Expression &part) { return calls(part, function); });
}

/// The rules of verdicts that an expression calls, each once.
std::vector<const VerdictRule *> rules_in(const Expression &e) {
    std::vector<const VerdictRule *> rules;
    for (const VerdictRule &rule : verdict_rules())
        if (calls(e, rule.name))
            rules.push_back(&rule);
    return rules;
}

/// What "shown" may name. A curve need not be in the profile of every GPU.
const std::vector<std::string> &shown_figures() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> names = {"regime_maps", "regime_plane", "several_gpus"};
        for (const std::vector<std::string> &row : explained("Curves of a profile"))
            names.push_back(row.front());
        return names;
    }();
    return all;
}

/// Answers an item by one method.
class MethodRunner {
  public:
    MethodRunner(ItemAnswer &answer, const PaperItem &item, const PaperMethod &method,
                 const PaperContext &context, std::string place)
        : answer_(answer), method_(method), evaluator_(item, method, context), place_(std::move(place)) {}

    void run() {
        for (const std::string &figure : method_.shown)
            at("/shown", [&] { add_shown(figure); });
        side_by_side(method_.figures, "/figures/", &MethodRunner::add_figure);
        for (std::size_t i = 0; i < method_.drawings.size(); ++i)
            at("/drawings/" + std::to_string(i), [&] { add_drawing(method_.drawings[i]); });
        side_by_side(method_.tables, "/tables/", &MethodRunner::add_table);
        side_by_side(method_.claims, "/claims/", &MethodRunner::add_claim);
    }

  private:
    std::string told(const std::string &sentence, const PaperScope &scope) {
        return evaluator_.told(sentence, scope);
    }
    std::string id_of(const std::optional<std::string> &id, const PaperScope &scope) {
        return id ? told(*id, scope) : evaluator_.item().id;
    }

    template <class Part> static bool is_beside(const Part &part) {
        if constexpr (requires { part.beside; })
            return part.beside.value_or(false);
        else
            return false;
    }

    /// Each part for each row of its lists where its condition is so; parts that stand beside each other row
    /// by row.
    template <class Part>
    void side_by_side(const std::vector<Part> &parts, const std::string &place,
                      void (MethodRunner::*add)(const Part &, const PaperScope &)) {
        for (std::size_t i = 0, next = 0; i < parts.size(); i = next) {
            for (next = i + 1; next < parts.size() && is_beside(parts[next]);)
                ++next;
            at(place + std::to_string(i), [&] {
                evaluator_.for_each(parts[i].each, {}, [&](const PaperScope &scope) {
                    for (std::size_t j = i; j < next; ++j)
                        at(place + std::to_string(j), [&] {
                            if (evaluator_.so(parts[j].when, scope))
                                (this->*add)(parts[j], scope);
                        });
                });
            });
        }
    }

    /// What goes wrong there is said with its place.
    template <class Call> void at(const std::string &part, Call call) {
        try {
            call();
        } catch (const UsageError &error) {
            throw InputError(place_ + part, error.what());
        }
    }

    void add_shown(const std::string &name) {
        const GpuProfile &ours = evaluator_.context().ours().profile;
        const PaperItem &item = evaluator_.item();
        if (name == "regime_maps") {
            if (const StudyResults *results = evaluator_.context().measured(evaluator_.study()))
                for (Figure &figure : regime_maps(results->statistics))
                    answer_.figures.push_back(std::move(figure));
        } else if (name == "regime_plane") {
            const StudyResults *results = evaluator_.context().measured(evaluator_.study());
            if (std::optional<Figure> figure = results ? regime_plane(results->statistics) : std::nullopt) {
                figure->id = item.id;
                figure->title = title_of(item) + ": " + figure->title + ", " + short_name(ours);
                answer_.figures.push_back(std::move(*figure));
            }
        } else if (name == "several_gpus") {
            if (const std::vector<ScalingPoint> points = evaluator_.scaling(); !points.empty())
                answer_.figures.push_back(scaling_figure(points, item.id,
                                                         title_of(item) + ": efficiency on several GPUs",
                                                         short_name(ours), evaluator_.measured_scaling()));
        } else if (const auto curve = ours.curves.find(name); curve != ours.curves.end()) {
            answer_.figures.push_back(curve_figure(name, curve->second, ours));
            answer_.figures.back().id = item.id;
        }
    }

    void add_table(const PaperTableMethod &method, const PaperScope &each) {
        PaperTable table{id_of(method.id, each),
                         told(method.title, each),
                         static_cast<int>(method.words.value_or(1)),
                         {},
                         {},
                         ""};
        for (const PaperColumn &column : method.columns)
            table.head.push_back(told(column.head, each));
        evaluator_.for_each(method.over, each, [&](const PaperScope &scope) {
            if (!evaluator_.so(method.where, scope))
                return;
            std::vector<std::string> &row = table.rows.emplace_back();
            for (const PaperColumn &column : method.columns)
                row.push_back(told(column.cell, scope));
        });
        for (const PaperNote &note : method.notes)
            evaluator_.for_each(note.each, each, [&](const PaperScope &scope) {
                const std::string text = told(note.says, scope);
                if (!text.empty())
                    table.note += (table.note.empty() ? "" : " ") + text;
            });
        answer_.tables.push_back(std::move(table));
    }

    void add_drawing(const PaperDrawingMethod &method) {
        if (!evaluator_.so(method.when, {}))
            return;
        std::vector<Box> boxes;
        for (const PaperBoxes &its : method.boxes)
            evaluator_.for_each(its.over, {}, [&](const PaperScope &scope) {
                const auto number = [&](const std::string &text) {
                    return evaluator_.value(text, scope).number;
                };
                const auto x = number(its.x), y = number(its.y), width = number(its.width),
                           height = number(its.height);
                if (evaluator_.so(its.where, scope) && x && y && width && height)
                    boxes.push_back({*x, *y, *width, *height,
                                     its.style ? std::optional(style_of(*its.style, scope)) : std::nullopt,
                                     its.text ? told(*its.text, scope) : ""});
            });
        const std::string title = told(method.title, {});
        answer_.drawings.push_back({id_of(method.id, {}), title, told(method.caption, {}),
                                    boxes_svg(boxes, title, width_for(boxes))});
    }

    void add_figure(const PaperFigureMethod &method, const PaperScope &each) {
        Figure figure{id_of(method.id, each), told(method.title, each), told(method.caption, each), {}, {}};
        Axis values{told(method.axis, each),
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
                figure.panels.push_back({told(*method.panel, scope), std::move(plot.series)});
            });
        figure.no_data = told(method.no_data, each);
        answer_.figures.push_back(std::move(figure));
    }

    /// All series with the points of every row of the figure, or of one of its panels. Adds the rows to the
    /// categories of the figure that are not there yet.
    std::vector<Series> series_of(Figure &figure, const PaperFigureMethod &method, const PaperScope &each) {
        std::vector<Series> all;
        for (const PaperSeries &its : method.series)
            evaluator_.for_each(its.each, each, [&](const PaperScope &scope) {
                all.push_back({told(its.name, scope), style_of(its.style, scope), drawn_as(its),
                               its.hollow.value_or(false)});
                all.back().unlisted = its.unlisted.value_or(false);
            });
        evaluator_.for_each(method.over, each, [&](const PaperScope &scope) {
            if (evaluator_.so(method.where, scope))
                add_points(figure, all, method, scope);
        });
        return all;
    }

    /// The place of a row among the categories. Without panels each row has its own.
    double category_of(Figure &figure, const PaperFigureMethod &method, const PaperScope &scope) {
        const std::string name = told(*method.category, scope);
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

    std::size_t style_of(const std::string &expression, const PaperScope &scope) {
        constexpr double most_styles = 38.0;
        const double style = evaluator_.value(expression, scope).number.value_or(-1.0);
        if (!(style >= 0.0 && style <= most_styles))
            throw UsageError("expected a style from 0 to 38, for example \"1\"");
        return static_cast<std::size_t>(style);
    }

    /// `across`: the lines that mark a value.
    void add_mark(Figure &figure, const PaperMark &mark, Guide across, const PaperScope &scope) {
        const PaperValue from = evaluator_.value(mark.at, scope),
                         to = mark.to ? evaluator_.value(*mark.to, scope) : PaperValue();
        if (!from.number || (mark.to && !to.number))
            return;
        if (mark.to)
            figure.bands.push_back({across, *from.number, *to.number, told(mark.label, scope)});
        else
            figure.references.push_back({across, *from.number, told(mark.label, scope)});
    }

    /// Of a row of the figure a point of each series.
    void add_points(Figure &figure, std::vector<Series> &all, const PaperFigureMethod &method,
                    const PaperScope &scope) {
        const double place = method.x ? evaluator_.value(*method.x, scope).number.value_or(0.0)
                                      : category_of(figure, method, scope);
        std::size_t next = 0;
        for (const PaperSeries &its : method.series)
            evaluator_.for_each(its.each, scope, [&](const PaperScope &inner) {
                Series &series = all[next++];
                const PaperValue v = evaluator_.value(its.value, inner),
                                 begins = its.begins ? evaluator_.value(*its.begins, inner) : PaperValue();
                if (v.number && (!its.begins || begins.number))
                    series.points.push_back({method.x ? place : *v.number,
                                             method.x ? *v.number : place,
                                             told(its.label, inner),
                                             {},
                                             begins.number});
            });
    }

    void add_claim(const PaperClaim &claim, const PaperScope &scope) {
        if (claim.exact)
            return add_exact(claim, scope);
        ClaimAnswer finding =
            open_claim(claim, told(*claim.claim, scope),
                       claim.published ? told(*claim.published, scope) : "without a number", scope);
        const PaperValue verdict = evaluator_.value(*claim.verdict, scope);
        if (verdict.text && !boost::describe::enum_from_string(verdict.text->c_str(), finding.verdict))
            throw UsageError("expected a verdict, for example ratio(1.39, found), found '" +
                             shortened(*verdict.text) + "'");
        finding.rules = rules_in(parse_expression(*claim.verdict));
        if (verdict.text) {
            finding.found = told(*claim.found, scope);
            finding.sentence = told(*claim.says, scope);
        }
        add_finding(std::move(finding));
    }

    /// A claim of which what would decide it is not at hand.
    ClaimAnswer open_claim(const PaperClaim &claim, std::string what, std::string published,
                           const PaperScope &scope) {
        return {
            evaluator_.item().id, std::move(what),
            std::move(published), dash,
            ClaimVerdict::open,   told(claim.otherwise.value_or("That was not measured on {ours}."), scope)};
    }

    void add_finding(ClaimAnswer finding) {
        finding.batch = method_.batch.value_or(0);
        answer_.findings.push_back(std::move(finding));
    }

    void add_exact(const PaperClaim &claim, const PaperScope &scope) {
        const PaperItem &item = evaluator_.item();
        const PublishedCell *cell = cell_of(item, told(claim.cell[0], scope),
                                            claim.cell.size() > 1 ? told(claim.cell[1], scope) : "");
        if (cell == nullptr)
            return;
        const PaperValue found = evaluator_.value(*claim.exact, scope);
        ClaimAnswer finding = found.number ? exact(item, *cell, *found.number, told(*claim.from, scope))
                                           : open_claim(claim, title_of(*cell), printed(*cell), scope);
        finding.rules = {&verdict_rules().back()};
        add_finding(std::move(finding));
    }

    ItemAnswer &answer_;
    const PaperMethod &method_;
    Evaluator evaluator_;
    std::string place_;
};

/// Looks through all expressions of a method for names and functions that there are not.
class NameCheck {
  public:
    NameCheck(const PaperItem &item, const PaperMethod &method, std::vector<InputProblem> &problems)
        : item_(item), method_(method), problems_(problems), names_(Evaluator::names(method)),
          lists_(names_in(Evaluator::lists())), functions_(names_in(Evaluator::functions())),
          times_(names_in(method.times)) {
        const std::vector<std::string> own = names_in(method.lists);
        lists_.insert(lists_.end(), own.begin(), own.end());
    }

    void check(const std::string &place) {
        each_text(method_, [&](const std::string &path, const std::string &text, PaperTextKind kind) {
            const std::string its = place + path;
            if (kind == PaperTextKind::expression)
                tree(parse_expression(text), its);
            else if (kind == PaperTextKind::sentence || kind == PaperTextKind::setting)
                parts(parse_sentence(text), its);
            else if (kind == PaperTextKind::list)
                require_one_of(text, lists_, "a list", its, problems_);
            else if (kind == PaperTextKind::time)
                require_one_of(text, times_, "one of \"times\"", its, problems_);
        });
        for (std::size_t i = 0; i < method_.shown.size(); ++i)
            require_one_of(method_.shown[i], shown_figures(), "a figure that reports have",
                           place + "/shown/" + std::to_string(i), problems_, "regime_maps");
    }

  private:
    void parts(const Sentence &sentence, const std::string &place) {
        for (const SentencePart &part : sentence) {
            if (part.kind == SentencePart::Kind::value)
                tree(part.value, place);
            for (const Sentence &alternative : part.alternatives)
                parts(alternative, place);
        }
    }

    void tree(const Expression &e, const std::string &place) {
        if (e.kind == Expression::Kind::call)
            call(e, place);
        if (e.kind == Expression::Kind::name) {
            std::string name = e.token;
            while (name.starts_with("outer."))
                name = name.substr(6);
            const bool list = std::find(lists_.begin(), lists_.end(), name) != lists_.end();
            if (!list && !name.starts_with("knob."))
                require_one_of(name, names_, "a value", place, problems_);
        }
        for (const Expression &part : e.parts)
            tree(part, place);
    }

    void call(const Expression &e, const std::string &place) {
        require_one_of(e.token, functions_, "a function", place, problems_);
        std::vector<std::string> texts; // where all arguments are texts
        for (const Expression &part : e.parts)
            if (part.kind == Expression::Kind::text)
                texts.push_back(part.token);
        const bool of_cell = e.token == "cell" || e.token == "printed" || e.token == "factor";
        if (of_cell && !texts.empty() && texts.size() < 3 && texts.size() == e.parts.size() &&
            cell_of(item_, texts[0], texts.size() > 1 ? texts[1] : "") == nullptr)
            require_one_of(join(texts), cells(), "a published number of this item", place, problems_);
        if (e.token == "time" && !texts.empty() && e.parts[0].kind == Expression::Kind::text)
            require_one_of(texts[0], times_, "one of \"times\"", place, problems_);
    }

    std::vector<std::string> cells() const {
        std::vector<std::string> names;
        for (const PublishedCell &cell : item_.published)
            names.push_back(title_of(cell));
        return names;
    }

    const PaperItem &item_;
    const PaperMethod &method_;
    std::vector<InputProblem> &problems_;
    std::vector<std::string> names_, lists_, functions_, times_;
};

} // namespace

void check_names(const PaperItem &item, const PaperMethod &method, const std::string &place,
                 std::vector<InputProblem> &problems) {
    NameCheck(item, method, problems).check(place);
}

void add_answer(ItemAnswer &to, const PaperMethod &method, const PaperItem &item, const PaperContext &context,
                const std::string &place) {
    MethodRunner(to, item, method, context, place).run();
}

} // namespace convcast
