// Evaluates the expressions and sentences by which data/papers states a claim: operators, functions, formats.
#include "reports/papers/evaluator.hpp"

#include "model/base/errors.hpp"
#include "model/plan/occupancy.hpp"
#include "reports/html.hpp"
#include "reports/ratios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using Kind = Expression::Kind;
using Arguments = Evaluator::Arguments;
using Function = Evaluator::Function;
using Doubles = std::vector<double>;

/// A number that is not missing. Throws UsageError of a text; `whose` says what the number is for.
double number_of(const PaperValue &value, const std::string &whose) {
    if (!value.number)
        throw UsageError("expected a number for " + whose + ", found '" + shortened(value.text.value_or("")) +
                         "'");
    return *value.number;
}

/// A value that is not missing, in one of sentence_formats() or as in ".2f"; a text as it stands.
std::string formatted(const PaperValue &value, const std::string &format = "") {
    if (format == "?")
        return "";
    if (value.text)
        return *value.text;
    const double v = *value.number;
    if (format.empty())
        return fmt::format("{}", v);
    if (format == "times")
        return times(v);
    if (format == "µs")
        return microseconds(Seconds(v));
    if (format == "grouped")
        return grouped_digits(v);
    if (format == "signed")
        return signed_percent(v);
    if (format == "hex")
        return fmt::format("{:#x}", std::llround(v));
    return fmt::format(fmt::runtime("{:" + format + "}"), v);
}

/// The verdict of a claim of several parts, each judged by itself: "parts(gain(a), gain(b))".
ClaimVerdict verdict_of_parts(const Arguments &parts) {
    const auto hold = std::ranges::count(parts, "holds", &PaperValue::text);
    return hold == std::ssize(parts) ? ClaimVerdict::holds
           : hold > 0                ? ClaimVerdict::in_part
                                     : ClaimVerdict::differs;
}

/// The y of a profile's curve where x is the number `at`; of "most" the largest y, of "end" the last x.
/// Missing where the profile has no such curve, or the curve no such point.
PaperValue of_curve(const GpuProfile &profile, const std::string &name, const PaperValue &at) {
    const auto curve = profile.curves.find(name);
    if (curve == profile.curves.end())
        return {};
    const CurveSeries &series = curve->second.series.front();
    if (at.text == "most")
        return std::ranges::max(series.y);
    if (at.text == "end")
        return series.x.back();
    const auto found = std::ranges::find(series.x, at.number);
    return found == series.x.end() ? PaperValue()
                                   : series.y[static_cast<std::size_t>(found - series.x.begin())];
}

/// A member or a function (`what`) of a published number; missing where there is no such number (nullptr).
template <class What> PaperValue of_cell(const PublishedCell *cell, What what) {
    return cell != nullptr ? PaperValue(std::invoke(what, *cell)) : PaperValue();
}

/// A statistic (`of`) of those values that are numbers; missing where none is.
template <double (*of)(const Doubles &)> PaperValue of_numbers(const Arguments &values) {
    Doubles numbers;
    for (const PaperValue &v : values)
        if (v.number)
            numbers.push_back(*v.number);
    return numbers.empty() ? PaperValue() : PaperValue(of(numbers));
}
// By names of their own, as functions with overloads are no arguments of templates.
double geometric_mean(const Doubles &n) {
    return geometric_mean_of(n);
}
double arithmetic_mean(const Doubles &n) {
    return mean_of(n);
}
double sum(const Doubles &n) {
    return std::accumulate(n.begin(), n.end(), 0.0);
}
double least(const Doubles &n) {
    return std::ranges::min(n);
}
double most(const Doubles &n) {
    return std::ranges::max(n);
}

std::string listed(const Arguments &values) {
    std::vector<std::string> texts;
    for (const PaperValue &v : values)
        texts.push_back(formatted(v));
    return join(texts);
}

/// What the values of all rows of a list come to, by name. Only "count" is called without values.
using Aggregate = PaperValue (*)(const Arguments &values);
const std::map<std::string, Aggregate> aggregates = {
    {"count", [](const Arguments &v) { return PaperValue(v.size()); }},
    {"first", [](const Arguments &v) { return v.front(); }},
    {"last", [](const Arguments &v) { return v.back(); }},
    {"list", [](const Arguments &v) { return PaperValue(listed(v)); }},
    {"geomean", of_numbers<geometric_mean>},
    {"mean", of_numbers<arithmetic_mean>},
    {"sum", of_numbers<sum>},
    {"least", of_numbers<least>},
    {"most", of_numbers<most>}};

/// A function of numbers alone: `of` takes them as a vector. Throws UsageError where an argument is a text.
template <class Of> Function numeric(const char *name, std::size_t least, std::size_t most, Of of) {
    return {name, least, most, [of](Evaluator &, const Arguments &a, const PaperScope &) {
                Doubles numbers;
                for (std::size_t i = 0; i < a.size(); ++i)
                    numbers.push_back(number_of(a[i], "argument " + std::to_string(i + 1)));
                return PaperValue(of(numbers));
            }};
}

constexpr std::size_t any_number = 1000; ///< of arguments: more than anybody writes

} // namespace

const std::vector<Function> &Evaluator::functions() {
    using E = Evaluator &;
    using A = const Arguments &;
    using S = const PaperScope &;
    using N = const Doubles &;
    constexpr bool takes_missing = true;
    static const std::vector<Function> all = [] {
        std::vector<Function> known = {
            {"if", 2, 3, nullptr},
            {"or", 0, any_number,
             [](E, A a, S) {
                 const auto first = std::ranges::find_if(a, &PaperValue::has_value);
                 return first == a.end() ? PaperValue() : *first;
             },
             takes_missing},
            {"has", 1, 1, [](E, A a, S) { return PaperValue(a[0].has_value()); }, takes_missing},
            {"when", 1, 1, [](E, A a, S) { return a[0].is_true() ? PaperValue(true) : PaperValue(); },
             takes_missing},
            {"min", 0, any_number, [](E, A a, S) { return of_numbers<least>(a); }, takes_missing},
            {"max", 0, any_number, [](E, A a, S) { return of_numbers<most>(a); }, takes_missing},
            {"time", 1, 2,
             [](E e, A a, S s) { return e.time(formatted(a[0]), s)[a.size() == 2 ? formatted(a[1]) : ""]; }},
            {"value", 1, 1, [](E e, A a, S s) { return e.value_of_name(formatted(a[0]), s); }},
            {"cell", 1, 3, [](E e, A a, S) { return of_cell(e.cell(a), &PublishedCell::value); }},
            {"printed", 1, 3, [](E e, A a, S) { return of_cell(e.cell(a), printed); }},
            {"factor", 1, 3, [](E e, A a, S) { return of_cell(e.cell(a), ratio_of); }},
            {"curve", 2, 2,
             [](E e, A a, S) { return of_curve(e.context_.ours().profile, formatted(a[0]), a[1]); }},
            {"rung", 2, 3,
             [](E e, A a, S) {
                 const std::int64_t batch =
                     a.size() == 3 ? std::llround(number_of(a[2], "argument 3")) : e.batch();
                 return e.rung(formatted(a[0]), formatted(a[1]), batch);
             }},
            {"of_network", 1, 1, [](E e, A a, S) { return e.of_network(formatted(a[0])); }},
            // Arguments: threads, registers of each, shared bytes, and 'ours' or 'paper', whose GPU it is on.
            {"resident_ctas", 4, 4,
             [](E e, A a, S) {
                 const auto integer = [&](std::size_t i) {
                     return std::llround(number_of(a[i], "argument " + std::to_string(i + 1)));
                 };
                 const ForecastGpu &gpu = a[3].text == "ours" ? e.context_.ours() : e.context_.papers();
                 return PaperValue(resident_ctas(Gpu(gpu.profile), integer(0), integer(1), integer(2)));
             }},
            {"contains", 2, 2,
             [](E, A a, S) {
                 return PaperValue(a[0].text && a[1].text &&
                                   a[0].text->find(*a[1].text) != std::string::npos);
             }},
            {"parts", 2, 8, [](E, A a, S) { return PaperValue(verdict_of_parts(a)); }},
            numeric("floor", 1, 1, [](N n) { return std::floor(n[0]); }),
            numeric("round", 1, 1, [](N n) { return std::round(n[0]); }),
            numeric("abs", 1, 1, [](N n) { return std::abs(n[0]); }),
            numeric("ceil_div", 2, 2, [](N n) { return std::ceil(n[0] / n[1]); })};
        for (const auto &[name, of] : aggregates)
            known.push_back({name.c_str(), 0, any_number, nullptr});
        for (const VerdictRule &rule : verdict_rules())
            if (rule.of != nullptr)
                known.push_back(numeric(rule.name, rule.least, rule.most, rule.of));
        return known;
    }();
    return all;
}

PaperValue Evaluator::value(const std::string &expression, const PaperScope &scope) {
    return value(made_once(expressions_, expression, [&] { return parse_expression(expression); }), scope);
}

bool Evaluator::holds(const std::optional<std::string> &condition, const PaperScope &scope) {
    return !condition || value(*condition, scope).is_true();
}

PaperValue Evaluator::value(const Expression &e, const PaperScope &scope) {
    switch (e.kind) {
    case Kind::number:
        return std::strtod(e.token.c_str(), nullptr);
    case Kind::text:
        return e.token;
    case Kind::name:
        return value_of_name(e.token, scope);
    case Kind::operation:
        return operation(e, scope);
    default:
        return call(e, scope);
    }
}

/// An operator of one operand or two. With a missing operand it gives a missing value; only && and || take a
/// missing one as false. "+" joins texts; "==" compares texts as well as numbers.
PaperValue Evaluator::operation(const Expression &e, const PaperScope &scope) {
    const PaperValue a = value(e.parts[0], scope);
    if (e.parts.size() == 1)
        return !a.has_value()   ? a
               : e.token == "-" ? PaperValue(-number_of(a, "-"))
                                : PaperValue(!a.is_true());
    const std::string &token = e.token;
    if (token == "&&")
        return a.is_true() && value(e.parts[1], scope).is_true();
    if (token == "||")
        return a.is_true() || value(e.parts[1], scope).is_true();
    const PaperValue b = value(e.parts[1], scope);
    if (!a.has_value() || !b.has_value())
        return {};
    if (token == "==" || token == "!=")
        return (a.number == b.number && a.text == b.text) == (token == "==");
    if (token == "+" && (a.text || b.text))
        return formatted(a) + formatted(b);
    const double x = number_of(a, token), y = number_of(b, token);
    return token == "+"    ? x + y
           : token == "-"  ? x - y
           : token == "*"  ? x * y
           : token == "/"  ? x / y
           : token == "%"  ? std::fmod(x, y)
           : token == "<"  ? x < y
           : token == ">"  ? x > y
           : token == "<=" ? x <= y
                           : x >= y;
}

/// An aggregate over the rows of a list: "mean(rungs, forecast / measured, trains)". Its arguments are the
/// list (left out: the study's shapes), an expression that is computed in each row, and a condition that
/// leaves rows out. "count" also takes a condition alone, or nothing. Rows without a value are left out;
/// without any value the aggregate is missing, but a count is 0.
PaperValue Evaluator::over_rows(const Expression &e, const PaperScope &scope) {
    const auto is_list = [&](const std::string &name) {
        return names_.lists.contains(name) || std::ranges::find(lists(), name, &List::name) != lists().end();
    };
    const bool counts = e.token == "count";
    auto next = e.parts.begin();
    std::string over = "shapes";
    if (next != e.parts.end() && next->kind == Kind::name && is_list(next->token))
        over = (next++)->token;
    const auto arguments = e.parts.end() - next; // besides the list
    if (arguments > 2 || (arguments == 0 && !counts))
        throw UsageError(e.token +
                         " is of an expression and a condition, for example geomean(chen / chang, h < 32)");
    const Expression *of = counts && arguments < 2 ? nullptr : &*next++; // nullptr: only the rows are counted
    const Expression *condition = next == e.parts.end() ? nullptr : &*next;
    Arguments found;
    for_each({over}, scope, [&](const PaperScope &inner) {
        if (condition != nullptr && !value(*condition, inner).is_true())
            return;
        if (PaperValue v = of == nullptr ? PaperValue(true) : value(*of, inner); v.has_value())
            found.push_back(std::move(v));
    });
    return found.empty() && !counts ? PaperValue() : aggregates.at(e.token)(found);
}

/// A call of a function. Throws UsageError of an unknown name or a wrong number of arguments.
PaperValue Evaluator::call(const Expression &e, const PaperScope &scope) {
    const auto f = std::ranges::find(functions(), e.token, &Function::name);
    if (f == functions().end())
        throw UsageError("expected a function, for example geomean, found '" + shortened(e.token) + "'" +
                         did_you_mean(e.token, names_in(functions())));
    if (e.parts.size() < f->least || e.parts.size() > f->most)
        throw UsageError(fmt::format("{} is of {} values, found {}", e.token,
                                     f->least == f->most ? fmt::format("{}", f->least)
                                                         : fmt::format("{} to {}", f->least, f->most),
                                     e.parts.size()));
    if (e.token == "if") {
        const bool so = value(e.parts[0], scope).is_true();
        return so ? value(e.parts[1], scope) : e.parts.size() == 3 ? value(e.parts[2], scope) : PaperValue();
    }
    if (f->of == nullptr)
        return over_rows(e, scope);
    Arguments values;
    for (const Expression &part : e.parts)
        values.push_back(value(part, scope));
    return f->takes_missing || std::ranges::all_of(values, &PaperValue::has_value)
               ? f->of(*this, values, scope)
               : PaperValue();
}

/// The published number that the texts [of], [of, at] or [item, of, at] name; nullptr if there is none.
const PublishedCell *Evaluator::cell(const Arguments &of_at) const {
    std::vector<std::string> texts;
    for (const PaperValue &v : of_at)
        texts.push_back(formatted(v));
    if (texts.size() < 3)
        return cell_of(item_, texts[0], texts.size() == 2 ? texts[1] : "");
    for (const PaperItem &item : context_.paper().items)
        if (item.id == texts[0])
            return cell_of(item, texts[1], texts[2]);
    return nullptr;
}

std::string Evaluator::fill_in(const std::string &sentence, const PaperScope &scope) {
    const Sentence &parsed = made_once(sentences_, sentence, [&] { return parse_sentence(sentence); });
    return *fill_in(parsed, scope, Missing::dash); // present, as only Missing::refused gives nothing
}

/// Absent where missing values are refused and the sentence has one outside of its choices: an alternative of
/// a choice is taken only where it has all values.
std::optional<std::string> Evaluator::fill_in(const Sentence &sentence, const PaperScope &scope,
                                              Missing missing) {
    std::string out;
    for (const SentencePart &part : sentence) {
        if (part.kind == SentencePart::Kind::words) {
            out += part.words;
        } else if (part.kind == SentencePart::Kind::value) {
            const PaperValue v = value(part.value, scope);
            if (!v.has_value() && missing == Missing::refused)
                return std::nullopt;
            out += v.has_value() ? formatted(v, part.words) : dash;
        } else {
            for (const Sentence &alternative : part.alternatives)
                if (const std::optional<std::string> text = fill_in(alternative, scope, Missing::refused)) {
                    out += *text;
                    break;
                }
        }
    }
    return out;
}

} // namespace convcast
