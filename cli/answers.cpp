#include "cli/answers.hpp"

#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/record/elsewhere.hpp"
#include "model/regime/words.hpp"

#include <boost/describe.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

std::optional<Seconds> time_of(const Row &row) {
    return row.item->forecast_s();
}

/// The questions of the rows, each once, in the order of the rows.
std::vector<const Question *> questions_of(const std::vector<Row> &rows) {
    std::vector<const Question *> questions;
    for (const Row &row : rows)
        if (std::ranges::find(questions, row.question) == questions.end())
            questions.push_back(row.question);
    return questions;
}

/// A study, "" for none, and a shape: several studies may have the same shape, and each counts it.
using LayerKey = std::pair<std::string, std::string>;
LayerKey layer_of(const Row &row) {
    return {row.item->study.value_or(""), row.item->shape};
}

/// The forecast of all calls of a question's shapes, each shape by its fastest strategy.
struct Total {
    Seconds time;  ///< a strategy on tensor cores counts only where no other has a time of the shape
    Seconds bound; ///< the speed of light of the same cases
    Seconds with_tensor_cores; ///< strategies on tensor cores count as the others
    std::int64_t calls = 0;    ///< of shapes with a time
    std::size_t shapes = 0;    ///< that have a time
    std::size_t asked = 0;     ///< shapes that have a row
    std::size_t timed = 0;     ///< rows that have a time
};

Total total_of(const Question &question, const std::vector<Row> &rows) {
    std::map<LayerKey, const Row *> fastest;
    std::map<LayerKey, Seconds> shortest; // with those on tensor cores
    std::set<LayerKey> asked;
    Total total;
    const auto goes_before = [](const Row &one, const Row &other) {
        const bool tensor = on_tensor_cores(*one.item->strategy);
        return tensor == on_tensor_cores(*other.item->strategy) ? *time_of(one) < *time_of(other) : !tensor;
    };
    for (const Row &row : rows) {
        if (row.question != &question)
            continue;
        asked.insert(layer_of(row));
        const std::optional<Seconds> time = time_of(row);
        if (!row.item->strategy || !time)
            continue;
        const Row *&first = fastest[layer_of(row)];
        if (!first || goes_before(row, *first))
            first = &row;
        Seconds &least = shortest.try_emplace(layer_of(row), *time).first->second;
        least = std::min(least, *time);
        ++total.timed;
    }
    for (const auto &[key, row] : fastest) { // rows with a time, and so with a prediction
        const auto calls = static_cast<double>(row->calls());
        total.time += calls * *time_of(*row);
        total.bound += calls * row->item->prediction->times.tier0_s.value_or(Seconds(0.0));
        total.with_tensor_cores += calls * shortest.at(key);
        total.calls += row->calls();
    }
    total.shapes = fastest.size();
    total.asked = asked.size();
    return total;
}

/// A line for each question of two calls or more: the time of all calls, each shape by its fastest strategy.
std::string total_text(const std::vector<Row> &rows) {
    const std::vector<const Question *> questions = questions_of(rows);
    std::string out;
    for (const Question *question : questions) {
        const Total total = total_of(*question, rows);
        if (total.shapes == 0 || total.calls < 2)
            continue;
        out += hanging(fmt::format("total: {} for {} calls of {}{} shape{}{}{}; {:.2f}x the speed of light{}",
                                   short_time(total.time), total.calls, total.shapes,
                                   total.asked > total.shapes ? fmt::format(" of {}", total.asked) : "",
                                   total.asked == 1 ? "" : "s",
                                   total.timed > total.shapes ? ", the fastest of each" : "",
                                   questions.size() > 1 ? " on " + variant_of(*question) : "",
                                   total.bound.value > 0.0 ? total.time / total.bound : 0.0,
                                   total.with_tensor_cores < total.time
                                       ? "; with those on tensor cores " + short_time(total.with_tensor_cores)
                                       : ""));
    }
    return out;
}

/// What the rows of a table have together: it says which columns the table needs.
struct Overview {
    bool variants = false;  ///< of several questions
    bool shapes = false;    ///< of several shapes
    bool names = false;     ///< one has a name
    bool counts = false;    ///< one has a count
    bool timed = false;     ///< one has a forecast time
    bool interval = false;  ///< one has an interval from a calibration
    bool bound = false;     ///< one is a baseline with a bound and no forecast time
    bool measured = false;  ///< one has a measured time
    bool elsewhere = false; ///< one was measured elsewhere
    Seconds shortest{1e-6}; ///< the shortest forecast, whose unit all times get; us where there is none
    std::vector<const Question *>
        lettered; ///< questions with letters for names, the first is A; may be empty
    /// Question, shape and strategy of which several settings are in the table: it must show their knobs.
    std::set<std::tuple<const Question *, std::string, std::string>> ambiguous;
    /// The fastest forecast of a question and a shape: a time measured elsewhere is compared with that.
    std::map<std::pair<const Question *, std::string>, Seconds> fastest;

    bool is_ambiguous(const Row &row) const {
        return row.item->strategy && ambiguous.contains({row.question, row.item->shape, row.item->kernel()});
    }
};

/// The questions in their order, if there are several and one's name is too long for a column; else none.
std::vector<const Question *> lettered_questions(const std::vector<Row> &rows) {
    constexpr std::size_t longest_name = 20; // columns: chosen, a fifth of a page
    std::vector<const Question *> questions = questions_of(rows);
    const bool is_long = std::ranges::any_of(questions, [](const Question *question) {
        return shown_width(variant_of(*question)) > longest_name;
    });
    return is_long && questions.size() > 1 ? questions : std::vector<const Question *>();
}

/// The question's name in the table: its letter where the questions have letters.
std::string gpu_name_of(const Question &question, const Overview &overview) {
    const auto found = std::ranges::find(overview.lettered, &question);
    return found == overview.lettered.end()
               ? variant_of(question)
               : letter_of(static_cast<std::size_t>(found - overview.lettered.begin()));
}

Overview overview_of(const std::vector<Row> &rows) {
    Overview out;
    std::map<std::tuple<const Question *, std::string, std::string>, std::set<std::string>> settings;
    double shortest = std::numeric_limits<double>::infinity();
    for (const Row &row : rows) {
        const Case &item = *row.item;
        out.shapes = out.shapes || item.shape != rows.front().item->shape;
        out.variants = out.variants || row.question != rows.front().question;
        out.names = out.names || item.name;
        out.counts = out.counts || item.count;
        if (const std::optional<Seconds> time = time_of(row)) {
            Seconds &least = out.fastest.emplace(std::pair(row.question, item.shape), *time).first->second;
            least = std::min(least, *time);
        }
        if (item.status != Status::ok)
            continue;
        if (item.strategy)
            settings[{row.question, item.shape, item.kernel()}].insert(*item.strategy);
        const Prediction &p = *item.prediction; // every case that is ok has one
        out.elsewhere = out.elsewhere || is_elsewhere(item);
        out.bound = out.bound || (!is_elsewhere(item) && !p.time_s && item.baseline && p.times.tier0_s);
        out.timed = out.timed || p.time_s;
        out.interval = out.interval || (p.time_s && p.times.fitted_s);
        if (p.time_s)
            shortest = std::min(shortest, p.time_s->value);
        out.measured = out.measured || row.measured();
    }
    out.lettered = lettered_questions(rows);
    if (out.timed)
        out.shortest = Seconds(shortest);
    for (const auto &[key, texts] : settings)
        if (texts.size() > 1)
            out.ambiguous.insert(key);
    return out;
}

/// The regime by the forecast, or else "paper ..." by the paper's rule; empty without either.
Cell regime_cell(const Prediction &p) {
    if (!p.regimes)
        return {};
    if (p.regimes->tier2)
        return words_of(*p.regimes->tier2);
    return p.regimes->paper ? Cell(std::string("paper ") + words_of(*p.regimes->paper)) : Cell();
}

/// "5.19 to 6.99" by a calibration; else the time if nothing overlapped, where no row has an interval.
Cell interval_cell(const Prediction &p, const Overview &overview) {
    if (!p.time_s || (!p.times.fitted_s && overview.interval))
        return {};
    const TimeUnit unit = time_unit(overview.shortest);
    return (p.times.fitted_s ? number_in(unit, *p.time_low_s) + " to " : "") +
           number_in(unit, *p.time_high_s);
}

/// The measured time over the forecast; a time measured elsewhere over the fastest forecast of its shape.
Cell over_forecast_cell(const Row &row, const Overview &overview) {
    std::optional<Seconds> forecast = time_of(row);
    if (const auto least = overview.fastest.find({row.question, row.item->shape});
        !forecast && is_elsewhere(*row.item) && least != overview.fastest.end())
        forecast = least->second;
    const std::optional<Seconds> measured = row.measured();
    return measured && forecast ? Cell(fmt::format("{:.2f}", *measured / *forecast)) : Cell();
}

/// The columns of a table of cases, those alone that have something in these rows. The rows must be ok: then
/// each has a prediction. The overview must outlive the columns.
std::vector<Field<Row>> fields_of(const Overview &overview) {
    std::vector<Field<Row>> fields;
    const auto add = [&](bool is_needed, Column column, std::function<Cell(const Row &)> cell) {
        if (is_needed)
            fields.push_back({std::move(column), std::move(cell)});
    };
    const auto of_prediction = [](auto cell) {
        return [cell](const Row &row) { return Cell(cell(*row.item->prediction)); };
    };
    const Overview &o = overview;
    add(o.variants, {"GPU", As::text, Keep::must},
        [&](const Row &row) { return gpu_name_of(*row.question, o); });
    add(o.names, {"name", As::text, Keep::high},
        [](const Row &row) { return row.item->name.value_or(row.item->shape); });
    add(o.names && o.timed, {"time", As::time, Keep::must}, time_of);
    add(o.shapes, {"shape", As::text, Keep::must}, [](const Row &row) { return row.item->shape; });
    add(o.counts, {"calls", As::number, Keep::high},
        [](const Row &row) { return row.item->count.value_or(1); });
    add(!o.names && o.timed, {"time", As::time, Keep::must}, time_of);
    add(o.timed, {o.interval ? "nine of ten" : "at most", As::number},
        of_prediction([&](const Prediction &p) { return interval_cell(p, o); }));
    add(o.timed, {"/ bound", As::number}, of_prediction([](const Prediction &p) {
            return p.time_s && p.times.tier0_s ? Cell(fmt::format("{:.2f}", *p.time_s / *p.times.tier0_s))
                                               : Cell();
        }));
    add(o.bound, {"bound", As::time, Keep::high},
        of_prediction([](const Prediction &p) { return p.times.tier0_s; }));
    add(true, {"regime"}, of_prediction(regime_cell));
    add(o.measured, {"measured", As::time, Keep::high}, &Row::measured);
    add(o.elsewhere, {"/ forecast", As::number, Keep::high},
        [&](const Row &row) { return over_forecast_cell(row, o); });
    add(o.timed, {"limiter", As::text, Keep::low},
        of_prediction([](const Prediction &p) { return p.limiter; }));
    add(o.timed, {"GFLOP/s", As::number, Keep::low}, of_prediction([](const Prediction &p) {
            return p.rates && p.rates->flop_per_s ? Cell(grouped(std::llround(*p.rates->flop_per_s / 1e9)))
                                                  : Cell();
        }));
    add(true, {"strategy", As::text, Keep::must, Fit::knobs}, [&](const Row &row) {
        const bool with_knobs = !row.item->strategy || o.is_ambiguous(row);
        return (with_knobs ? row.item->called() : row.item->kernel()) + mark_of(*row.item);
    });
    return fields;
}

/// Lines below a table: what its letters and the marks behind strategies mean.
std::string legend_of(const std::vector<Row> &rows, const Overview &overview) {
    std::string text;
    for (std::size_t i = 0; i < overview.lettered.size(); ++i) {
        const std::string letter = letter_of(i);
        text += headed(letter + "  ", variant_of(*overview.lettered[i]), letter.size() + 2);
    }
    const auto is_marked = [&](const char *mark) {
        return std::ranges::any_of(rows, [&](const Row &row) {
            return row.item->status == Status::ok && mark_of(*row.item) == mark;
        });
    };
    if (is_marked(" *"))
        text += wrapped(tensor_core_remark);
    if (is_marked(" !"))
        text += wrapped(declared_work_remark);
    return text;
}

/// "unsupported", "infeasible", or both.
std::string status_words(const std::vector<const Case *> &refused) {
    std::set<std::string> words;
    for (const Case *item : refused)
        words.insert(name_of(item->status));
    return join({words.begin(), words.end()}, " or ");
}

constexpr std::size_t most_named = 8; ///< layers without a time that a line names: chosen, to stay short

std::vector<const Case *> refused_of(const std::vector<Row> &rows) {
    std::vector<const Case *> refused;
    for (const Row &row : rows)
        if (row.item->status != Status::ok)
            refused.push_back(row.item);
    return refused;
}

/// Lines that say which cases are refused. With the reasons where a single shape is asked, where some shape
/// has no strategy that does it, and where --strategy named them; else their names alone.
std::string refused_text(const std::vector<Row> &rows, const Overview &overview) {
    const std::vector<const Case *> refused = refused_of(rows);
    if (refused.empty())
        return "";
    std::set<std::string> done, names;
    for (const Row &row : rows)
        if (row.item->status == Status::ok)
            done.insert(row.item->shape);
    std::vector<std::string> without; // layers that no strategy does
    for (const Case *item : refused) {
        names.insert(item->kernel());
        if (!done.contains(item->shape))
            add_once(without, item->name.value_or(item->shape));
    }
    const bool with_reasons =
        !overview.shapes || !without.empty() || !rows.front().question->strategies.empty();
    return (overview.shapes && !without.empty() ? hanging("without a time: " + join_some(without, most_named))
                                                : "") +
           hanging(fmt::format("{}{}: ", overview.shapes ? fmt::format("{} cases are ", refused.size()) : "",
                               status_words(refused)) +
                   (with_reasons ? refused_words(refused)
                                 : join({names.begin(), names.end()}) + " (why: --explain)"));
}

/// A table of the cases that are ok; below it legend, total, and what has no time or is refused.
std::string case_table(const std::vector<Row> &rows, bool total) {
    const Overview overview = overview_of(rows);
    std::vector<Row> done = rows;
    std::erase_if(done, [](const Row &row) { return row.item->status != Status::ok; });
    Table cases = table_of<Row>(done, fields_of(overview));
    cases.unit_of = overview.shortest;
    std::vector<const Case *> timeless;
    for (const Row &row : done)
        if (!time_of(row) && row.item->prediction->reason && !is_elsewhere(*row.item))
            timeless.push_back(row.item);
    return (done.empty() ? "" : table(cases) + legend_of(done, overview)) + (total ? total_text(rows) : "") +
           (timeless.empty() ? "" : hanging("no time for " + refused_words(timeless))) +
           refused_text(rows, overview);
}

/// A row of side_by_side: a layer, or a layer by one strategy, on each of the questions.
struct Layer {
    std::string name, shape;
    std::int64_t calls = 1;
    std::vector<std::optional<Seconds>> times; ///< by the place of the question; absent: no row, or no time
    std::vector<std::string> strategies; ///< of these times, by the same place; "" where there is no row
};

/// Whether no question has several rows of a layer, as where only the first of each ranking is shown.
bool one_row_a_shape(const std::vector<Row> &rows) {
    std::set<std::pair<const Question *, LayerKey>> seen;
    return std::ranges::all_of(
        rows, [&](const Row &row) { return seen.emplace(row.question, layer_of(row)).second; });
}

/// The rows of side_by_side: one a layer, or one a layer and strategy where a question has several of them.
std::vector<Layer> layers_of(const std::vector<Row> &rows, const std::vector<const Question *> &questions,
                             const Overview &overview) {
    const bool one = one_row_a_shape(rows);
    std::vector<Layer> all;
    std::map<std::pair<LayerKey, std::string>, std::size_t> places;
    for (const Row &row : rows) {
        const Case &item = *row.item;
        if (item.status != Status::ok)
            continue;
        const std::string key = overview.is_ambiguous(row) ? *item.strategy : item.kernel();
        const auto [place, is_new] = places.emplace(std::pair(layer_of(row), one ? "" : key), all.size());
        if (is_new)
            all.push_back({item.name.value_or(""), item.shape, row.calls(),
                           std::vector<std::optional<Seconds>>(questions.size()),
                           std::vector<std::string>(questions.size())});
        Layer &layer = all[place->second];
        const auto at =
            static_cast<std::size_t>(std::ranges::find(questions, row.question) - questions.begin());
        layer.times[at] = item.prediction->time_s;
        layer.strategies[at] = (one ? item.kernel() : key) + mark_of(item);
    }
    return all;
}

/// "+4.2", in percent: how much longer `time` is than `first`. Empty where one is absent.
Cell change_of(const std::optional<Seconds> &time, const std::optional<Seconds> &first) {
    if (!time || !first)
        return {};
    const double tenths = std::round(1000.0 * (*time / *first - 1.0));
    return tenths == 0.0 ? "0.0" : fmt::format("{:+.1f}", tenths / 10.0);
}

/// Whether the rows are a list of layers on a few GPUs or settings of one, to be compared side by side.
bool sets_side_by_side(const std::vector<Row> &rows) {
    constexpr std::size_t most_columns = 5; // chosen: with shape and strategy more do not fit a page
    const std::size_t questions = questions_of(rows).size();
    return questions > 1 && questions <= most_columns && std::ranges::any_of(rows, [&](const Row &row) {
               return row.item->shape != rows.front().item->shape;
           });
}

/// One row a layer and strategy, a column of times for each GPU or setting with its change against the first;
/// the totals are the first line and the last row.
std::string side_by_side(const std::vector<Row> &rows) {
    const std::vector<const Question *> questions = questions_of(rows);
    const Overview overview = overview_of(rows);
    std::vector<Layer> layers = layers_of(rows, questions, overview);
    std::set<std::string> shapes;
    for (const Layer &layer : layers)
        shapes.insert(layer.shape);
    Layer last{"total", "total", 0, {}, {one_row_a_shape(rows) ? "" : "the fastest of each"}};
    std::string totals;
    for (const Question *question : questions) {
        const Total total = total_of(*question, rows);
        const bool first = last.times.empty(), complete = total.shapes >= shapes.size();
        last.times.push_back(complete ? std::optional(total.time) : std::nullopt);
        last.calls = std::max(last.calls, total.calls);
        const Cell change = change_of(last.times.back(), last.times.front());
        totals +=
            fmt::format("{}{} {}{}", first ? "total: " : ", ", gpu_name_of(*question, overview),
                        complete ? short_time(total.time) : "-",
                        first || change.is_empty() ? "" : " (" + std::get<std::string>(change.value) + " %)");
    }
    layers.push_back(std::move(last));
    std::vector<Field<Layer>> fields;
    if (overview.names)
        fields.push_back({{"name", As::text, Keep::must},
                          [](const Layer &layer) { return layer.name.empty() ? layer.shape : layer.name; }});
    fields.push_back({{"shape", As::text, Keep::must}, [&](const Layer &layer) {
                          return overview.names && &layer == &layers.back() ? "" : layer.shape;
                      }});
    fields.push_back({{"calls", As::number}, &Layer::calls});
    const TimeUnit unit = time_unit(overview.shortest);
    for (std::size_t i = 0; i < questions.size(); ++i) {
        const std::string title = gpu_name_of(*questions[i], overview);
        fields.push_back({{i == 0 ? title + " (" + unit.name + ")" : title, As::number, Keep::must},
                          [i, unit](const Layer &layer) {
                              return layer.times[i] ? Cell(number_in(unit, *layer.times[i])) : Cell();
                          }});
        if (i > 0)
            fields.push_back({{"%", As::number, Keep::must},
                              [i](const Layer &layer) { return change_of(layer.times[i], layer.times[0]); }});
    }
    fields.push_back({{"strategy", As::text, Keep::must, Fit::knobs}, [](const Layer &layer) {
                          std::vector<std::string> strategies = layer.strategies;
                          std::erase(strategies, "");
                          strategies.erase(std::unique(strategies.begin(), strategies.end()),
                                           strategies.end());
                          return join(strategies, " -> ");
                      }});
    const std::vector<const Case *> refused = refused_of(rows);
    return hanging(totals) + table(table_of<Layer>(layers, fields)) + legend_of(rows, overview) +
           (refused.empty() ? "" : hanging(status_words(refused) + ": " + refused_words(refused)));
}

// ---- for other programs ----

/// The value of `member`, a member or a function of a prediction; empty where there is no prediction.
Cell of_prediction(const Row &row, const auto &member) {
    return row.item->prediction ? Cell(std::invoke(member, *row.item->prediction)) : Cell();
}

/// A column's function: the member `field` of the prediction, empty where the forecast has no time.
std::function<Cell(const Row &)> forecast(std::optional<Seconds> Prediction::*field) {
    return [field](const Row &row) {
        return row.item->forecast_s() ? Cell((*row.item->prediction).*field) : Cell();
    };
}

Cell regime_of(const Prediction &p) {
    return p.regimes && p.regimes->tier2 ? Cell(name_of(*p.regimes->tier2)) : Cell();
}

Cell knobs_of(const Row &row) {
    const std::string text = row.item->called(), name = row.item->kernel();
    return text.size() > name.size() ? Cell(text.substr(name.size() + 1)) : Cell();
}

/// The table for CSV and Markdown: a row for each case, the same columns for every verb.
Table case_sheet(const std::vector<Row> &rows) {
    using Line = const Row &;
    return table_of<Row>(
        rows,
        {{{"gpu"}, [](Line row) { return row.question->profile.id; }},
         {{"variant"}, [](Line row) { return row.question->variant; }},
         {{"study"}, [](Line row) { return row.item->study; }},
         {{"name"}, [](Line row) { return row.item->name; }},
         {{"shape"}, [](Line row) { return row.item->shape; }},
         {{"count", As::number}, &Row::calls},
         {{"rank", As::number}, &Row::rank},
         {{"strategy"}, [](Line row) { return row.item->kernel(); }},
         {{"knobs"}, knobs_of},
         {{"status"}, [](Line row) { return name_of(row.item->status); }},
         {{"time", As::time}, forecast(&Prediction::time_s)},
         {{"time_low", As::time}, forecast(&Prediction::time_low_s)},
         {{"time_high", As::time}, forecast(&Prediction::time_high_s)},
         {{"over_best", As::number}, &Row::over_best},
         {{"measured", As::time}, &Row::measured},
         {{"speed_of_light", As::time},
          [](Line row) { return of_prediction(row, [](const Prediction &p) { return p.times.tier0_s; }); }},
         {{.title = "rate", .as = As::number, .unit = "FLOP/s"},
          [](Line row) {
              return of_prediction(
                  row, [](const Prediction &p) { return p.rates ? p.rates->flop_per_s : std::nullopt; });
          }},
         {{"regime"}, [](Line row) { return of_prediction(row, regime_of); }},
         {{"limiter"}, [](Line row) { return of_prediction(row, &Prediction::limiter); }},
         {{"reason"}, [](Line row) {
              return row.item->reason              ? Cell(row.item->reason)
                     : of_declared_work(*row.item) ? Cell(declared_work_assumption)
                                                   : of_prediction(row, &Prediction::reason);
          }}});
}

/// The cases of several questions as one document, each with its GPU and variant, without trees of terms.
Run run_of(const std::vector<Row> &rows) {
    Run run;
    run.producer = producer();
    for (const Row &row : rows) {
        Case &item = run.cases.emplace_back(*row.item);
        item.gpu = row.question->profile.id;
        item.variant = row.question->variant;
        if (item.prediction)
            item.prediction->term.reset();
    }
    return run;
}

} // namespace

Format format_of(const Arguments &arguments, bool output_is_document) {
    const std::string output = output_is_document ? arguments.text("output", "-") : "";
    if (!arguments.has("format") && !arguments.has("json") &&
        (output.ends_with(".csv") || output.ends_with(".md")))
        return output.ends_with(".csv") ? Format::csv : Format::markdown;
    if (!arguments.has("format"))
        return arguments.has("json") || (output_is_document && arguments.has("output")) ? Format::json
                                                                                        : Format::text;
    Format format = Format::text;
    (void)boost::describe::enum_from_string(arguments.text("format", "").c_str(), format);
    return format;
}

void write_cases(const std::string &output, Format format, const std::vector<Row> &rows, bool total,
                 const std::function<std::string()> &text) {
    std::string said;
    if (format == Format::json) {
        said = write_run(run_of(rows));
    } else if (format == Format::csv) {
        said = to_csv(case_sheet(rows));
    } else if (format == Format::markdown) {
        const std::string sum = total ? total_text(rows) : "";
        said = to_markdown(case_sheet(rows)) + (sum.empty() ? "" : "\n" + sum);
    } else {
        said = printable(text());
    }
    write_file_atomically(output, said);
}

std::string variant_of(const Question &question) {
    return question.variant.empty() ? question.profile.id : question.variant;
}

std::string letter_of(std::size_t at) {
    return std::string(1, static_cast<char>('A' + at % 26)) + (at < 26 ? "" : std::to_string(at / 26 + 1));
}

std::optional<Seconds> Row::measured() const {
    if (const Measurement *cold = item->measured(L2State::cold); cold && item->status == Status::ok)
        return cold->time_s;
    const auto recorded = question->known ? question->known->find(item->shape, item->called()) : std::nullopt;
    return recorded ? std::optional(recorded->time_s) : std::nullopt;
}

std::int64_t Row::calls() const {
    if (item->count)
        return *item->count;
    for (const AskedShape &asked : question->shapes) // a study's counts stand in its document
        if (asked.study == item->study && asked.shape.id() == item->shape)
            return asked.count;
    return 1;
}

std::optional<double> Row::over_best() const {
    const std::optional<Seconds> time = item->forecast_s();
    return best && time ? std::optional(*time / *best) : std::nullopt;
}

void add_rows(std::vector<Row> &rows, const Question &question, const std::vector<Case> &cases) {
    for (const Case &item : cases)
        rows.push_back({&item, &question});
}

std::string refused_words(const std::vector<const Case *> &refused) {
    ByReason by_reason;
    for (const Case *item : refused)
        add_name_for_reason(
            by_reason, item->prediction ? item->prediction->reason.value_or("") : item->reason.value_or(""),
            item->kernel());
    std::string text;
    for (const auto &[reason, names] : by_reason)
        text += (text.empty() ? "" : "; ") + join(names) + ": " + reason;
    return text;
}

std::string cases_text(const std::vector<Row> &rows, bool total) {
    return total && sets_side_by_side(rows) ? side_by_side(rows) : case_table(rows, total);
}

} // namespace convcast::cli
