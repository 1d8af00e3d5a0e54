// Evaluates the expressions and sentences by which data/papers states a claim: operators, functions, formats.
#include "reports/papers/evaluator.hpp"

#include "model/base/errors.hpp"
#include "model/paper/papers.hpp"
#include "model/plan/occupancy.hpp"
#include "reports/html.hpp"
#include "reports/papers/computations.hpp"
#include "reports/ratios.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using Kind = Expression::Kind;
using Arguments = std::vector<PaperValue>;

[[noreturn]] void refuse_value(const std::string &message) {
    throw UsageError(message);
}

double number_of(const PaperValue &value, const std::string &whose) {
    if (!value.number)
        refuse_value("expected a number for " + whose + ", found '" + shortened(value.text.value_or("")) +
                     "'");
    return *value.number;
}

std::int64_t integer_of(const PaperValue &value, const std::string &whose) {
    return std::llround(number_of(value, whose));
}

PaperValue verdict_value(ClaimVerdict v) {
    return std::string(boost::describe::enum_to_string(v, "?"));
}

/// Of several parts: all, some or none hold.
PaperValue parts_of(const Arguments &parts) {
    const auto hold =
        std::count_if(parts.begin(), parts.end(), [](const PaperValue &v) { return v.text == "holds"; });
    return verdict_value(hold == std::ssize(parts) ? ClaimVerdict::holds
                         : hold > 0                ? ClaimVerdict::in_part
                                                   : ClaimVerdict::differs);
}

/// A function of values that are all there.
struct PlainFunction {
    const char *name;
    std::size_t least, most; ///< arguments
    PaperValue (*of)(const Arguments &);
};

template <class T> T argument(const Arguments &a, std::size_t i) {
    const double value = number_of(a[i], "argument " + std::to_string(i + 1));
    if constexpr (std::is_same_v<T, std::int64_t>)
        return std::llround(value);
    else if constexpr (std::is_same_v<T, std::size_t>)
        return static_cast<std::size_t>(std::max(value, 0.0));
    else
        return T(value);
}

PaperValue result_of_function(ClaimVerdict verdict) {
    return verdict_value(verdict);
}
PaperValue result_of_function(double value) {
    return value;
}
PaperValue result_of_function(std::int64_t count) {
    return of_count(count);
}

template <auto F, class R, class... P> PlainFunction with_arguments(const char *name, R (*)(P...)) {
    return {name, sizeof...(P), sizeof...(P), [](const Arguments &a) {
                return [&]<std::size_t... I>(std::index_sequence<I...>) {
                    return result_of_function(F(argument<P>(a, I)...));
                }
                (std::index_sequence_for<P...>());
            }};
}

/// A function of C++ by its name in expressions.
template <auto F> PlainFunction function(const char *name) {
    return with_arguments<F>(name, F);
}

double ceil_div_of(double a, double b) {
    return std::ceil(a / b);
}
double edge_after(double size, double filter, double stride) {
    return std::floor((size - filter) / stride) + 1.0;
}

const std::vector<PlainFunction> &plain_functions() {
    static const std::vector<PlainFunction> all = {
        {"contains", 2, 2,
         [](const Arguments &a) {
             return PaperValue(
                 a[0].text && a[1].text && a[0].text->find(*a[1].text) != std::string::npos ? 1.0 : 0.0);
         }},
        {"holds", 1, 1,
         [](const Arguments &a) {
             return verdict_value(a[0].so() ? ClaimVerdict::holds : ClaimVerdict::differs);
         }},
        {"follows", 1, 1,
         [](const Arguments &a) {
             return verdict_value(a[0].so() ? ClaimVerdict::follows : ClaimVerdict::differs);
         }},
        {"parts", 2, 8, parts_of},
        function<static_cast<double (*)(double)>(std::floor)>("floor"),
        function<static_cast<double (*)(double)>(std::round)>("round"),
        function<static_cast<double (*)(double)>(std::abs)>("abs"),
        function<ceil_div_of>("ceil_div"),
        function<edge_after>("edge_after"),
        function<verdict_of_ratio>("ratio"),
        function<verdict_of_gain>("gain"),
        function<verdict_of_number>("number"),
        function<verdict_of_all>("all"),
        function<verdict_of_best>("best"),
        function<papers::bank_ratio>("bank_ratio"),
        function<papers::lines_per_segment>("lines_per_segment"),
        function<papers::lines_touched>("lines_touched"),
        function<papers::tile_k_min>("tile_k_min"),
        function<papers::step_fmas>("step_fmas"),
        function<papers::step_bytes>("step_bytes")};
    return all;
}

const std::vector<std::string> row_functions = {"geomean", "mean",  "sum",  "least",
                                                "most",    "count", "list", "first"};
/// These look at what is missing, or need the item.
const std::vector<std::string> own_functions = {
    "if",   "or",      "has",    "when",  "min",  "max",   "least_of", "time",          "value",
    "cell", "printed", "factor", "curve", "rung", "layer", "launch",   "resident_ctas", "of_network"};

/// Rounded as a cell of a table shows a number by itself.
std::string plain_text(double value) {
    return fmt::format("{}", value);
}

std::string formatted(const PaperValue &value, const std::string &format) {
    if (format == "?")
        return "";
    if (value.text)
        return *value.text;
    const double v = *value.number;
    if (format.empty())
        return plain_text(v);
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

} // namespace

std::vector<std::string> known_functions() {
    std::vector<std::string> names = row_functions;
    names.insert(names.end(), own_functions.begin(), own_functions.end());
    for (const PlainFunction &f : plain_functions())
        names.emplace_back(f.name);
    return names;
}

Evaluator::Evaluator(const PaperItem &item, const PaperMethod &method, const PaperContext &context)
    : item_(item), method_(method), context_(context) {}

PaperValue Evaluator::value(const std::string &expression, const PaperScope &scope) {
    auto found = expressions_.find(expression);
    if (found == expressions_.end())
        found =
            expressions_.emplace(expression, parse_expression(expression, ExpressionGrammar::values)).first;
    return value(found->second, scope);
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
        return !a.there()       ? a
               : e.token == "-" ? PaperValue(-number_of(a, "-"))
                                : PaperValue(a.so() ? 0.0 : 1.0);
    const std::string &token = e.token;
    if (token == "&&")
        return a.so() && value(e.parts[1], scope).so() ? 1.0 : 0.0;
    if (token == "||")
        return a.so() || value(e.parts[1], scope).so() ? 1.0 : 0.0;
    const PaperValue b = value(e.parts[1], scope);
    if (!a.there() || !b.there())
        return {};
    if (token == "==" || token == "!=")
        return (a.number == b.number && a.text == b.text) == (token == "==") ? 1.0 : 0.0;
    if (token == "+" && (a.text || b.text))
        return formatted(a, "") + formatted(b, "");
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

/// geomean, mean, sum, least, most, count, list, first: over a list (the study's shapes if none is named) of
/// an expression, of rows where a second one is so.
PaperValue Evaluator::over_rows(const Expression &e, const PaperScope &scope) {
    std::vector<const Expression *> parts;
    for (const Expression &part : e.parts)
        parts.push_back(&part);
    std::string over = "shapes";
    const auto is_list = [&](const std::string &name) {
        const std::vector<KnownList> known = known_lists();
        return method_.lists.contains(name) ||
               std::any_of(known.begin(), known.end(), [&](const KnownList &l) { return l.name == name; });
    };
    if (!parts.empty() && parts[0]->kind == Kind::name && is_list(parts[0]->token)) {
        over = parts[0]->token;
        parts.erase(parts.begin());
    }
    const bool counts = e.token == "count";
    if (counts && parts.size() < 2)
        parts.insert(parts.begin(), nullptr); // count(condition), count(list)
    if (parts.empty() || parts.size() > 2)
        refuse_value(e.token +
                     " is of an expression and a condition, for example geomean(chen / chang, h < 32)");
    std::vector<double> numbers;
    std::vector<std::string> texts;
    std::size_t rows = 0;
    PaperValue first;
    for_each({over}, scope, [&](const PaperScope &inner) {
        if (parts.size() == 2 && parts[1] != nullptr && !value(*parts[1], inner).so())
            return;
        ++rows;
        if (parts[0] == nullptr)
            return;
        const PaperValue v = value(*parts[0], inner);
        if (v.number)
            numbers.push_back(*v.number);
        if (v.there())
            texts.push_back(formatted(v, ""));
        if (!first.there())
            first = v;
    });
    if (counts)
        return static_cast<double>(parts[0] == nullptr ? rows : texts.size());
    if (e.token == "first")
        return first;
    if (e.token == "list")
        return texts.empty() ? PaperValue() : PaperValue(join(texts));
    if (numbers.empty())
        return {};
    if (e.token == "geomean")
        return geometric_mean_of(numbers);
    if (e.token == "mean")
        return mean_of(numbers);
    if (e.token == "least")
        return *std::min_element(numbers.begin(), numbers.end());
    if (e.token == "most")
        return *std::max_element(numbers.begin(), numbers.end());
    double sum = 0.0;
    for (const double n : numbers)
        sum += n;
    return sum;
}

PaperValue Evaluator::call(const Expression &e, const PaperScope &scope) {
    const std::string &name = e.token;
    if (std::find(row_functions.begin(), row_functions.end(), name) != row_functions.end())
        return over_rows(e, scope);
    const auto part = [&](std::size_t i) { return value(e.parts[i], scope); };
    const std::size_t n = e.parts.size();
    const auto needs = [&](std::size_t least, std::size_t most) {
        if (n < least || n > most)
            refuse_value(fmt::format(
                "{} is of {} values, found {}", name,
                least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most), n));
    };
    if (name == "if") {
        needs(2, 3);
        return part(0).so() ? part(1) : n == 3 ? part(2) : PaperValue();
    }
    if (name == "has" || name == "when") {
        needs(1, 1);
        return name == "has"  ? PaperValue(part(0).there() ? 1.0 : 0.0)
               : part(0).so() ? PaperValue(1.0)
                              : PaperValue();
    }
    Arguments values;
    for (std::size_t i = 0; i < n; ++i)
        values.push_back(part(i));
    if (name == "or") {
        const auto there =
            std::find_if(values.begin(), values.end(), [](const PaperValue &v) { return v.there(); });
        return there == values.end() ? PaperValue() : *there;
    }
    if (name == "min" || name == "max" || name == "least_of") { // of those that are there
        std::optional<double> found;
        std::string which;
        const bool named = name == "least_of"; // of pairs of name and number the name
        for (std::size_t i = named ? 1 : 0; i < n; i += named ? 2 : 1)
            if (values[i].number &&
                (!found || (name == "max" ? *found < *values[i].number : *values[i].number < *found))) {
                found = values[i].number;
                which = named ? values[i - 1].text.value_or("") : "";
            }
        return !named ? PaperValue(found) : found ? PaperValue(which) : PaperValue();
    }
    if (name == "rung")
        return needs(2, 3), rung(values);
    if (std::any_of(values.begin(), values.end(), [](const PaperValue &v) { return !v.there(); }))
        return {};
    const auto text = [&](std::size_t i) {
        return values[i].text.value_or(plain_text(values[i].number.value_or(0.0)));
    };
    if (name == "time") {
        needs(1, 2);
        return of_time(time(text(0), scope), n == 2 ? text(1) : "");
    }
    if (name == "value") {
        needs(1, 1);
        return named(text(0), scope);
    }
    if (name == "cell" || name == "printed" || name == "factor") {
        needs(1, 3);
        const PublishedCell *cell = n == 3 ? context_.cell(text(0), text(1), text(2))
                                           : cell_of(item_, text(0), n == 2 ? text(1) : "");
        if (cell == nullptr)
            return {};
        return name == "cell"      ? PaperValue(cell->value)
               : name == "printed" ? PaperValue(printed(*cell))
                                   : PaperValue(ratio_of(*cell));
    }
    if (name == "curve") {
        needs(2, 2);
        const auto curve = context_.ours().profile.curves.find(text(0));
        if (curve == context_.ours().profile.curves.end())
            return {};
        const CurveSeries &series = curve->second.series.front();
        if (values[1].text == "most")
            return *std::max_element(series.y.begin(), series.y.end());
        if (values[1].text == "end")
            return series.x.back();
        const auto at_x = std::find(series.x.begin(), series.x.end(), values[1].number);
        return at_x == series.x.end()
                   ? PaperValue()
                   : PaperValue(series.y[static_cast<std::size_t>(at_x - series.x.begin())]);
    }
    if (name == "layer")
        return needs(2, 2), layer(text(0), text(1));
    if (name == "launch")
        return needs(2, 2), launch(text(0), text(1));
    if (name == "of_network") { // of a recorded document of the network on our GPU
        needs(1, 1);
        return network_fact(network(), text(0), context_);
    }
    if (name == "resident_ctas") {
        needs(3, 3);
        return of_count(resident_ctas(Gpu(context_.papers().profile), integer_of(values[0], name),
                                      static_cast<int>(integer_of(values[1], name)),
                                      integer_of(values[2], name)));
    }
    for (const PlainFunction &f : plain_functions())
        if (name == f.name) {
            needs(f.least, f.most);
            return f.of(values);
        }
    refuse_value("expected a function, for example geomean, found '" + shortened(name) + "'" +
                 did_you_mean(name, known_functions()));
}

std::string Evaluator::told(const std::string &sentence, const PaperScope &scope) {
    auto found = sentences_.find(sentence);
    if (found == sentences_.end())
        found = sentences_.emplace(sentence, parse_sentence(sentence)).first;
    return *told(found->second, scope, false);
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
