// Evaluates the expressions and sentences by which data/papers states a claim: operators, functions, formats.
#include "reports/papers/evaluator.hpp"

#include "model/base/errors.hpp"
#include "model/paper/papers.hpp"
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
#include <iterator>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using Kind = Expression::Kind;
using Arguments = Evaluator::Arguments;
using Function = Evaluator::Function;

double number_of(const PaperValue &value, const std::string &whose) {
    if (!value.number)
        throw UsageError("expected a number for " + whose + ", found '" + shortened(value.text.value_or("")) +
                         "'");
    return *value.number;
}

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

/// Of several parts: all, some or none hold.
ClaimVerdict verdict_of_parts(const Arguments &parts) {
    const auto hold =
        std::count_if(parts.begin(), parts.end(), [](const PaperValue &v) { return v.text == "holds"; });
    return hold == std::ssize(parts) ? ClaimVerdict::holds
           : hold > 0                ? ClaimVerdict::in_part
                                     : ClaimVerdict::differs;
}

/// Of the numbers that are there the one that `before` puts before all others.
template <class Before> PaperValue first_by(const Arguments &values, Before before) {
    PaperValue found;
    for (const PaperValue &v : values)
        if (v.number && (!found.number || before(*v.number, *found.number)))
            found = v;
    return found;
}

/// Of pairs of a name and a number the name of the least number.
PaperValue name_of_least(const Arguments &pairs) {
    PaperValue name, least;
    for (std::size_t i = 1; i < pairs.size(); i += 2)
        if (pairs[i].number && (!least.number || *pairs[i].number < *least.number))
            name = pairs[i - 1].text.value_or(""), least = pairs[i];
    return name;
}

/// A curve of a profile where x is this; or its "most", or its "end": the last x.
PaperValue of_curve(const GpuProfile &profile, const std::string &name, const PaperValue &at) {
    const auto curve = profile.curves.find(name);
    if (curve == profile.curves.end())
        return {};
    const CurveSeries &series = curve->second.series.front();
    if (at.text == "most")
        return *std::max_element(series.y.begin(), series.y.end());
    if (at.text == "end")
        return series.x.back();
    const auto found = std::find(series.x.begin(), series.x.end(), at.number);
    return found == series.x.end() ? PaperValue()
                                   : series.y[static_cast<std::size_t>(found - series.x.begin())];
}

/// A member or a function of a published number, where there is one.
template <class What> PaperValue of_cell(const PublishedCell *cell, What what) {
    return cell != nullptr ? PaperValue(std::invoke(what, *cell)) : PaperValue();
}

template <class T> T argument(const Arguments &a, std::size_t i) {
    const double value = number_of(a[i], "argument " + std::to_string(i + 1));
    if constexpr (std::is_same_v<T, std::int64_t>)
        return std::llround(value);
    else if constexpr (std::is_same_v<T, std::size_t>)
        return static_cast<std::size_t>(std::max(value, 0.0));
    else
        return T(value);
}

template <auto F, class R, class... P> Function with_arguments(const char *name, R (*)(P...)) {
    return {name, sizeof...(P), sizeof...(P), [](Evaluator &, const Arguments &a, const PaperScope &) {
                return [&]<std::size_t... I>(std::index_sequence<I...>) {
                    return PaperValue(F(argument<P>(a, I)...));
                }
                (std::index_sequence_for<P...>());
            }};
}

/// A function of C++ by its name in expressions.
template <auto F> Function function(const char *name) {
    return with_arguments<F>(name, F);
}

double ceil_div_of(double a, double b) {
    return std::ceil(a / b);
}
double edge_after(double size, double filter, double stride) {
    return std::floor((size - filter) / stride) + 1.0;
}

constexpr std::size_t any_number = 1000; ///< of arguments

} // namespace

const std::vector<Function> &Evaluator::functions() {
    using E = Evaluator &;
    using A = const Arguments &;
    using S = const PaperScope &;
    static const std::vector<Function> all = [] {
        std::vector<Function> known = {
            // Evaluator::call computes these itself: they look at rows, or not at all of their arguments.
            {"geomean", 0, any_number, nullptr},
            {"mean", 0, any_number, nullptr},
            {"sum", 0, any_number, nullptr},
            {"least", 0, any_number, nullptr},
            {"most", 0, any_number, nullptr},
            {"count", 0, any_number, nullptr},
            {"list", 0, any_number, nullptr},
            {"first", 0, any_number, nullptr},
            {"last", 0, any_number, nullptr},
            {"if", 2, 3, nullptr},
            {"or", 0, any_number,
             [](E, A a, S) {
                 const auto there = std::find_if(a.begin(), a.end(), [](const auto &v) { return v.there(); });
                 return there == a.end() ? PaperValue() : *there;
             },
             true},
            {"has", 1, 1, [](E, A a, S) { return PaperValue(a[0].there()); }, true},
            {"when", 1, 1, [](E, A a, S) { return a[0].so() ? PaperValue(true) : PaperValue(); }, true},
            {"min", 0, any_number, [](E, A a, S) { return first_by(a, std::less<>()); }, true},
            {"max", 0, any_number, [](E, A a, S) { return first_by(a, std::greater<>()); }, true},
            {"least_of", 0, any_number, [](E, A a, S) { return name_of_least(a); }, true},
            {"time", 1, 2,
             [](E e, A a, S s) {
                 return e.of_time(formatted(a[0]), a.size() == 2 ? formatted(a[1]) : "", s);
             }},
            {"value", 1, 1, [](E e, A a, S s) { return e.named(formatted(a[0]), s); }},
            {"cell", 1, 3, [](E e, A a, S) { return of_cell(e.cell(a), &PublishedCell::value); }},
            {"printed", 1, 3, [](E e, A a, S) { return of_cell(e.cell(a), printed); }},
            {"factor", 1, 3, [](E e, A a, S) { return of_cell(e.cell(a), ratio_of); }},
            {"curve", 2, 2,
             [](E e, A a, S) { return of_curve(e.context_.ours().profile, formatted(a[0]), a[1]); }},
            {"rung", 2, 3,
             [](E e, A a, S) {
                 return e.rung(formatted(a[0]), formatted(a[1]),
                               a.size() == 3 ? argument<std::int64_t>(a, 2) : e.batch());
             }},
            {"of_network", 1, 1, [](E e, A a, S) { return e.of_network(formatted(a[0])); }},
            {"resident_ctas", 3, 4, // with a fourth argument, 'ours', on our GPU
             [](E e, A a, S) {
                 const bool ours = a.size() == 4 && a[3].text == "ours";
                 const ForecastGpu &gpu = ours ? e.context_.ours() : e.context_.papers();
                 return PaperValue(resident_ctas(Gpu(gpu.profile), argument<std::int64_t>(a, 0),
                                                 static_cast<int>(argument<std::int64_t>(a, 1)),
                                                 argument<std::int64_t>(a, 2)));
             }},
            {"contains", 2, 2,
             [](E, A a, S) {
                 return PaperValue(a[0].text && a[1].text &&
                                   a[0].text->find(*a[1].text) != std::string::npos);
             }},
            {"parts", 2, 8, [](E, A a, S) { return PaperValue(verdict_of_parts(a)); }},
            function<static_cast<double (*)(double)>(std::floor)>("floor"),
            function<static_cast<double (*)(double)>(std::round)>("round"),
            function<static_cast<double (*)(double)>(std::abs)>("abs"),
            function<ceil_div_of>("ceil_div"),
            function<edge_after>("edge_after"),
            function<papers::bank_ratio>("bank_ratio"),
            function<papers::lines_per_segment>("lines_per_segment"),
            function<papers::lines_touched>("lines_touched"),
            function<papers::tile_k_min>("tile_k_min"),
            function<papers::step_fmas>("step_fmas"),
            function<papers::step_bytes>("step_bytes")};
        for (const VerdictRule &rule : verdict_rules())
            if (rule.of != nullptr)
                known.push_back({rule.name, rule.least, rule.most, [&rule](E, A a, S) {
                                     std::vector<double> numbers;
                                     for (std::size_t i = 0; i < a.size(); ++i)
                                         numbers.push_back(argument<double>(a, i));
                                     return PaperValue(rule.of(numbers));
                                 }});
        return known;
    }();
    return all;
}

Evaluator::Evaluator(const PaperItem &item, const PaperMethod &method, const PaperContext &context)
    : item_(item), method_(method), context_(context) {}

PaperValue Evaluator::value(const std::string &expression, const PaperScope &scope) {
    return value(made_once(expressions_, expression, [&] { return parse_expression(expression); }), scope);
}

bool Evaluator::so(const std::optional<std::string> &expression, const PaperScope &scope) {
    return !expression || value(*expression, scope).so();
}

PaperValue Evaluator::value(const Expression &e, const PaperScope &scope) {
    switch (e.kind) {
    case Kind::number:
        return std::strtod(e.token.c_str(), nullptr);
    case Kind::text:
        return e.token;
    case Kind::name:
        return named(e.token, scope);
    case Kind::operation:
        return operation(e, scope);
    default:
        return call(e, scope);
    }
}

PaperValue Evaluator::operation(const Expression &e, const PaperScope &scope) {
    const PaperValue a = value(e.parts[0], scope);
    if (e.parts.size() == 1)
        return !a.there() ? a : e.token == "-" ? PaperValue(-number_of(a, "-")) : PaperValue(!a.so());
    const std::string &token = e.token;
    if (token == "&&")
        return a.so() && value(e.parts[1], scope).so();
    if (token == "||")
        return a.so() || value(e.parts[1], scope).so();
    const PaperValue b = value(e.parts[1], scope);
    if (!a.there() || !b.there())
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

/// geomean, mean, sum, least, most, count, list, first, last: over a list (the study's shapes if none is
/// named) of an expression, of rows where a second one is so.
PaperValue Evaluator::over_rows(const Expression &e, const PaperScope &scope) {
    const auto is_list = [&](const std::string &name) {
        return method_.lists.contains(name) ||
               std::any_of(lists().begin(), lists().end(), [&](const List &l) { return l.name == name; });
    };
    const bool counts = e.token == "count"; // also count(condition), count(list)
    auto next = e.parts.begin();
    std::string over = "shapes";
    if (next != e.parts.end() && next->kind == Kind::name && is_list(next->token))
        over = (next++)->token;
    const auto left = e.parts.end() - next;
    if (left > 2 || (left == 0 && !counts))
        throw UsageError(e.token +
                         " is of an expression and a condition, for example geomean(chen / chang, h < 32)");
    const Expression *of = counts && left < 2 ? nullptr : &*next++;
    const Expression *condition = next == e.parts.end() ? nullptr : &*next;
    std::vector<PaperValue> found;
    for_each({over}, scope, [&](const PaperScope &inner) {
        if (condition != nullptr && !value(*condition, inner).so())
            return;
        if (PaperValue v = of == nullptr ? PaperValue(true) : value(*of, inner); v.there())
            found.push_back(std::move(v));
    });
    if (counts)
        return found.size();
    if (found.empty())
        return {};
    if (e.token == "first" || e.token == "last")
        return e.token == "first" ? found.front() : found.back();
    std::vector<std::string> texts;
    std::vector<double> numbers;
    for (const PaperValue &v : found) {
        texts.push_back(formatted(v));
        if (v.number)
            numbers.push_back(*v.number);
    }
    if (e.token == "list")
        return join(texts);
    if (numbers.empty())
        return {};
    return e.token == "geomean" ? geometric_mean_of(numbers)
           : e.token == "mean"  ? mean_of(numbers)
           : e.token == "least" ? *std::min_element(numbers.begin(), numbers.end())
           : e.token == "most"  ? *std::max_element(numbers.begin(), numbers.end())
                                : std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

PaperValue Evaluator::call(const Expression &e, const PaperScope &scope) {
    const auto f = std::find_if(functions().begin(), functions().end(),
                                [&](const Function &known) { return known.name == e.token; });
    if (f == functions().end())
        throw UsageError("expected a function, for example geomean, found '" + shortened(e.token) + "'" +
                         did_you_mean(e.token, names_in(functions())));
    if (e.parts.size() < f->least || e.parts.size() > f->most)
        throw UsageError(fmt::format("{} is of {} values, found {}", e.token,
                                     f->least == f->most ? fmt::format("{}", f->least)
                                                         : fmt::format("{} to {}", f->least, f->most),
                                     e.parts.size()));
    if (e.token == "if") {
        const bool so = value(e.parts[0], scope).so();
        return so ? value(e.parts[1], scope) : e.parts.size() == 3 ? value(e.parts[2], scope) : PaperValue();
    }
    if (f->of == nullptr)
        return over_rows(e, scope);
    Arguments values;
    for (const Expression &part : e.parts)
        values.push_back(value(part, scope));
    const bool all = std::all_of(values.begin(), values.end(), [](const auto &v) { return v.there(); });
    return all || f->of_missing ? f->of(*this, values, scope) : PaperValue();
}

/// A published number: of the item, of a place in it, of another item.
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

std::string Evaluator::told(const std::string &sentence, const PaperScope &scope) {
    return *told(made_once(sentences_, sentence, [&] { return parse_sentence(sentence); }), scope, false);
}

/// Nothing where `all` values must be there and one is not.
std::optional<std::string> Evaluator::told(const Sentence &sentence, const PaperScope &scope, bool all) {
    std::string out;
    for (const SentencePart &part : sentence) {
        if (part.kind == SentencePart::Kind::words) {
            out += part.words;
        } else if (part.kind == SentencePart::Kind::value) {
            const PaperValue v = value(part.value, scope);
            if (!v.there() && all)
                return std::nullopt;
            out += v.there() ? formatted(v, part.words) : dash;
        } else {
            for (const Sentence &alternative : part.alternatives)
                if (const std::optional<std::string> text = told(alternative, scope, true)) {
                    out += *text;
                    break;
                }
        }
    }
    return out;
}

} // namespace convcast
