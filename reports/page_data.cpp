#include "reports/page_data.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/predict.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/explained.hpp"
#include "reports/figure_layout.hpp"
#include "reports/html.hpp"
#include "reports/lists.hpp"

#include <boost/mp11.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <type_traits>
#include <utility>

namespace convcast {
namespace {

std::string json_text(const std::string &text) {
    return to_text(described::write(text));
}

/// JSON of a number with more digits than are shown, so that it is rounded once.
std::string digits(double value) {
    return std::isfinite(value) ? fmt::format("{:.7g}", value) : "null";
}
/// JSON of a number that explains a case: five digits, as none of the many is shown with more.
std::string brief(double value) {
    return std::isfinite(value) ? fmt::format("{:.5g}", value) : "null";
}
std::string digits(std::optional<double> value) {
    return value ? digits(*value) : "null";
}
std::string digits(std::optional<Seconds> time) {
    return time ? digits(time->value * us_per_s) : "null";
}

/// A JSON array; `write` gives the JSON of an item.
template <class Range, class Write> std::string list(const Range &range, Write write) {
    std::string out = "[";
    for (const auto &item : range)
        out += (out.size() > 1 ? "," : "") + write(item);
    return out + "]";
}

/// JSON of a shape's multiply-adds, 10^9; "null" for a text that is no shape.
std::string giga_fmas(const std::string &shape) try {
    return digits(ConvShape::parse(shape).fmas().value * 1e-9);
} catch (const UsageError &) {
    return "null";
}

/// The letter that page.js knows a regime by.
char regime_letter(std::optional<Regime> regime) {
    if (!regime)
        return '-';
    return *regime == Regime::compute_hidden ? 'c' : *regime == Regime::bulk_hidden ? 'b' : 'e';
}

/// A number of the papers' rules in words.
template <class T> std::string rule_value(const T &value) {
    if constexpr (std::is_floating_point_v<T>)
        if (value != std::floor(value)) // an integer is exact, any other value an estimate
            return fmt::format("{:.{}f}", value, std::abs(value) < 10.0 ? 3 : 1);
    return fmt::format("{}", value);
}

/// JSON of the papers' rules that a forecast has: [[text, value], ...].
std::string rules_json(const Rules &rules) {
    std::vector<std::string> lines;
    boost::mp11::mp_for_each<boost::describe::describe_members<Rules, boost::describe::mod_public>>(
        [&](auto member) {
            const auto &field = rules.*member.pointer;
            std::string value;
            if constexpr (described::IsVector<std::decay_t<decltype(field)>>::value)
                value = join(field, "; ");
            else if (field)
                value = rule_value(*field);
            if (!value.empty())
                lines.push_back("[" + json_text(rule_text(member.name)) + "," + json_text(value) + "]");
        });
    return "[" + join(lines, ",") + "]";
}

/// How a term's value comes about, where it has no formula of its own: "sum of the parts".
std::string how_combined(const Term &term) {
    constexpr std::array<const char *, 9> of_kind = {"", // in the order of TermKind
                                                     "sum of the parts",
                                                     "the longest of the parts",
                                                     "soft maximum of the parts, exponent {}",
                                                     "fill + (steps − 1) · step + drain, steps = {}",
                                                     "full waves · wave + tail, full waves = {}",
                                                     "{} times the part",
                                                     "{} jobs that share what serves them",
                                                     "{} like jobs that share what serves them"};
    static_assert(static_cast<std::size_t>(TermKind::alike) + 1 == of_kind.size());
    const std::optional<double> &number = term.kind == TermKind::pnorm ? term.exponent : term.count;
    return fmt::format(fmt::runtime(of_kind[static_cast<std::size_t>(term.kind)]),
                       number ? fmt::format("{:g}", *number) : "?");
}

/// JSON of a term and of all below it: [name, how it comes about, µs, [children]].
std::string tree_json(const Term &term) {
    const std::string how = term.formula.empty() ? how_combined(term) : term.formula;
    return fmt::format("[{},{},{},{}]", json_text(term.name), json_text(how),
                       brief(term.value_s.value * us_per_s), list(term.children, tree_json));
}

/// JSON of the rates that a case has: [["GFLOP/s", "forecast 12.3, measured 11.9"], ...].
std::string rates_json(const CaseRow &row) {
    std::vector<std::string> lines;
    const auto line = [&](const char *name, const char *form, double scale,
                          std::optional<double> Rates::*member) {
        std::string text;
        for (const auto &[rates, how] :
             {std::pair{&row.rates, "forecast"}, {&row.measured_rates, "measured"}})
            if (*rates && **rates.*member)
                text += fmt::format("{}{} {}", text.empty() ? "" : ", ", how,
                                    fmt::format(fmt::runtime(form), *(**rates.*member) * scale));
        if (!text.empty())
            lines.push_back("[" + json_text(name) + "," + json_text(text) + "]");
    };
    line("GFLOP/s", "{:.4g}", 1e-9, &Rates::flop_per_s);
    line("of the FFMA peak", "{:.2g} %", 100.0, &Rates::peak_share);
    line("FMAs per byte of L2", "{:.3g}", 1.0, &Rates::fmas_per_l2_byte);
    line("FMAs per byte of DRAM", "{:.3g}", 1.0, &Rates::fmas_per_dram_byte);
    return "[" + join(lines, ",") + "]";
}

/// JSON of one explanation (Explanations::chunks); `tree`: with the tree of terms and the papers' rules.
std::string explanation(const CaseRow &row, const Prediction &prediction,
                        const std::vector<std::string> &common, bool tree) {
    std::vector<std::string> members;
    if (!row.waterfall.empty())
        members.push_back("\"bars\":" + list(row.waterfall, [](const WaterfallBar &bar) {
                              return "[" + json_text(bar.name) + "," + brief(bar.added_s.value * us_per_s) +
                                     "]";
                          }));
    if (tree && prediction.term)
        members.push_back("\"tree\":" + tree_json(*prediction.term));
    if (row.rates || row.measured_rates)
        members.push_back("\"rates\":" + rates_json(row));
    if (tree && prediction.rules)
        members.push_back("\"rules\":" + rules_json(*prediction.rules));
    std::vector<std::string> assumed;
    for (const std::string &said : prediction.assumptions)
        if (std::ranges::find(common, said) == common.end())
            assumed.push_back(said);
    if (!assumed.empty())
        members.push_back("\"assumed\":" + list(assumed, json_text));
    if (prediction.reason)
        members.push_back("\"reason\":" + json_text(*prediction.reason));
    return "{" + join(members, ",") + "}";
}

/// Cases with a forecast of ours, those first that keep their tree longest: of each shape the fastest
/// measured and the one furthest off, then the others in the order of the run.
std::vector<std::size_t> by_interest(const Run &run, const ReportStatistics &statistics,
                                     std::span<const std::size_t> shown) {
    struct OfShape {
        const CaseRow *fastest = nullptr, *furthest = nullptr;
    };
    std::map<std::string, OfShape> shapes;
    std::vector<std::size_t> ours;
    for (const std::size_t id : shown) {
        const CaseRow &r = statistics.cases[id];
        if (r.baseline || !run.cases[id].prediction)
            continue;
        ours.push_back(id);
        OfShape &its = shapes[r.shape];
        if (r.cold_s && (its.fastest == nullptr || *r.cold_s < *its.fastest->cold_s))
            its.fastest = &r;
        if (r.error && (its.furthest == nullptr || std::abs(*r.error) > std::abs(*its.furthest->error)))
            its.furthest = &r;
    }
    std::set<std::size_t> first;
    for (const auto &[shape, its] : shapes)
        for (const CaseRow *r : {its.fastest, its.furthest})
            if (r != nullptr)
                first.insert(static_cast<std::size_t>(r->id));
    std::stable_partition(ours.begin(), ours.end(), [&](std::size_t id) { return first.contains(id); });
    return ours;
}

} // namespace

std::string base64(const std::string &bytes) {
    constexpr const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned group = 0;
        for (std::size_t j = 0; j < 3; ++j)
            group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; ++j)
            out += i + j <= bytes.size() ? letters[group >> (18 - 6 * j) & 63u] : '=';
    }
    return out;
}

std::string packed_text(const std::string &json) {
    return base64(gzip(json));
}

std::string rule_text(const std::string &member) {
    static const std::vector<std::vector<std::string>> known = explained("The papers' rules");
    const auto *row = first_where(known, [&](const auto &its) { return its[0] == member; });
    return row == nullptr ? member : row->at(1);
}

Explanations explain(const Run &run, const ReportStatistics &statistics, std::span<const std::size_t> shown,
                     const std::vector<std::string> &common, std::size_t most_bytes) {
    constexpr std::size_t of_chunk =
        32; // enough for gzip to find what repeats, little to unpack for one case
    Explanations out;
    std::size_t bytes = 0;
    const std::vector<std::size_t> ids = by_interest(run, statistics, shown);
    for (std::size_t begin = 0; begin < ids.size(); begin += of_chunk) {
        const std::size_t end = std::min(ids.size(), begin + of_chunk);
        const bool tree = bytes < most_bytes;
        out.cases.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                               ids.begin() + static_cast<std::ptrdiff_t>(end));
        out.chunks.push_back(packed_text(list(out.cases.back(), [&](std::size_t id) {
            return explanation(statistics.cases[id], *run.cases[id].prediction, common, tree);
        })));
        bytes += out.chunks.back().size();
        out.without_tree += tree ? 0 : end - begin;
    }
    return out;
}

std::vector<std::size_t> cases_of_page(const ReportStatistics &statistics) {
    constexpr std::size_t shown = 10'000, furthest = shown / 2; // of very many cases; chosen
    const std::vector<CaseRow> &rows = statistics.cases;
    std::vector<std::size_t> all(rows.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (rows.size() <= most_cases_of_page)
        return all;
    std::set<std::size_t> kept;
    for (const ErrorStatistics &errors : statistics.errors)
        if (errors.worst_case)
            kept.insert(static_cast<std::size_t>(*errors.worst_case));
    for (const WorkStatistics &work : statistics.work_errors)
        if (work.worst_case)
            kept.insert(static_cast<std::size_t>(*work.worst_case));
    const auto off = [&](std::size_t id) { return rows[id].error ? std::abs(*rows[id].error) : -1.0; };
    std::partial_sort(all.begin(), all.begin() + furthest, all.end(), [&](std::size_t a, std::size_t b) {
        return off(a) != off(b) ? off(a) > off(b) : a < b;
    });
    kept.insert(all.begin(), all.begin() + furthest);
    for (std::size_t i = 0; i < shown - furthest; ++i)
        kept.insert(i * rows.size() / (shown - furthest));
    return {kept.begin(), kept.end()};
}

Figure drawn_once(Figure figure) {
    constexpr double cells = 1000.0; // along each axis: a drawing on a screen or on paper has fewer dots
    const Ranges ranges = ranges_of(figure);
    for (const auto &[axis, range] : {std::pair{&figure.x, &ranges.x}, {&figure.y, &ranges.y}})
        if (axis->scale != Scale::category)
            axis->low = range->low, axis->high = range->high;
    for_each_series(figure, [&](Series &series) {
        const bool spread =
            std::ranges::any_of(series.points, [](const Point &point) { return point.low || point.high; });
        if (spread || !(series.drawn == Drawn::points || is_joined(series)))
            return;
        // Of marks in a cell one that names a case comes first.
        if (series.drawn == Drawn::points)
            std::ranges::stable_partition(series.points,
                                          [](const Point &point) { return point.id.has_value(); });
        std::set<std::pair<double, double>> taken;
        std::vector<Point> kept;
        for (Point &point : series.points) {
            const Placed placed = place(point, ranges);
            const bool counted = has_marks(series) && placed.clamped(),
                       last = &point == &series.points.back();
            const std::pair cell{std::floor(cells * ranges.x.at(placed.x)),
                                 std::floor(cells * ranges.y.at(placed.y))};
            if (counted || (last && is_joined(series)) || taken.insert(cell).second)
                kept.push_back(std::move(point));
        }
        series.points = std::move(kept);
    });
    return figure;
}

void draw_for_page(std::vector<Figure> &figures, std::span<const std::size_t> cases, std::size_t all_cases) {
    if (cases.size() == all_cases)
        return;
    for (Figure &figure : figures) {
        for_each_series(figure, [&](Series &series) {
            for (Point &point : series.points) {
                if (!point.id)
                    continue;
                const auto id = static_cast<std::size_t>(*point.id);
                const auto found = std::lower_bound(cases.begin(), cases.end(), id);
                if (found != cases.end() && *found == id) {
                    point.id = found - cases.begin();
                } else {
                    point.id.reset();
                    point.label.clear();
                }
            }
        });
        figure = drawn_once(std::move(figure));
    }
}

std::string page_columns(const Run &run, const ReportStatistics &statistics,
                         std::span<const std::size_t> shown, const Explanations &explanations) {
    using Row = const CaseRow &;
    std::vector<const CaseRow *> rows;
    for (const std::size_t id : shown)
        rows.push_back(&statistics.cases[id]);
    const auto forecast_of = [&](Row r) -> const std::optional<Prediction> & {
        return run.cases[static_cast<std::size_t>(r.id)].prediction;
    };
    std::string out = "{\"gpu\":" + json_text(run.profile_id);
    // A column of texts: the distinct ones, and for each case the index of its text; -1: it has none.
    const auto add_texts = [&](const char *key, auto of) {
        std::map<std::string, std::size_t> places;
        std::vector<std::string> texts, index;
        for (const CaseRow *row : rows) {
            const std::optional<std::string> text = std::invoke(of, *row);
            if (text && places.try_emplace(*text, texts.size()).second)
                texts.push_back(*text);
            index.push_back(text ? std::to_string(places.at(*text)) : "-1");
        }
        out += fmt::format(",\"{}\":{{\"texts\":{},\"index\":[{}]}}", key, list(texts, json_text),
                           join(index, ","));
        return texts;
    };
    add_texts("study", &CaseRow::study);
    add_texts("layer", &CaseRow::layer);
    const std::vector<std::string> shapes = add_texts("shape", &CaseRow::shape);
    add_texts("name", [&](Row r) {
        const std::optional<Prediction> &p = forecast_of(r);
        const bool declared =
            r.baseline && p &&
            std::ranges::find(p->assumptions, declared_work_assumption) != p->assumptions.end();
        return r.name + (declared ? " !" : "");
    });
    add_texts("group", &CaseRow::group);
    add_texts("status", [](Row r) { return boost::describe::enum_to_string(r.status, "?"); });
    add_texts("note", [](Row r) {
        return r.reason && r.detail ? *r.reason + "; " + *r.detail : r.reason ? r.reason : r.detail;
    });
    add_texts("limiter", &CaseRow::limiter);
    const auto interval = [&](std::optional<Seconds> Prediction::*end) {
        return
            [&, end](Row r) { return !forecast_of(r) || r.baseline ? std::nullopt : (*forecast_of(r)).*end; };
    };
    const auto add = [&](const char *key, auto of) {
        out += fmt::format(",\"{}\":{}", key,
                           list(rows, [&](const CaseRow *row) { return digits(std::invoke(of, *row)); }));
    };
    add("predicted", &CaseRow::predicted_s);
    add("low", interval(&Prediction::time_low_s));
    add("high", interval(&Prediction::time_high_s));
    add("tier0", &CaseRow::tier0_s);
    add("cold", &CaseRow::cold_s);
    add("cold_low", &CaseRow::cold_low_s);
    add("cold_high", &CaseRow::cold_high_s);
    add("warm", &CaseRow::warm_s);
    add("error", &CaseRow::error);
    add("speedup", &CaseRow::speedup);
    add("l2_error", &CaseRow::relative_l2_error);
    add("baseline", [](Row r) { return r.baseline ? 1.0 : 0.0; });
    out += ",\"regimes\":" + list(rows, [](const CaseRow *row) {
               return json_text({regime_letter(row->paper), regime_letter(row->physical),
                                 regime_letter(row->tier2), regime_letter(row->measured)});
           });
    out += ",\"gfma\":" + list(shapes, giga_fmas);
    const auto place = [&](std::size_t id) {
        return std::to_string(std::ranges::lower_bound(shown, id) - shown.begin());
    };
    out += ",\"chunks\":" +
           list(explanations.cases, [&](const std::vector<std::size_t> &ids) { return list(ids, place); });
    return out + "}";
}

} // namespace convcast
