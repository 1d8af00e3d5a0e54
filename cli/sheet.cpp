#include "cli/sheet.hpp"

#include "cli/answers.hpp"
#include "model/base/errors.hpp"
#include "model/predict.hpp"

#include <boost/describe.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

std::string strategy_of(const SheetRow &row) {
    return row.item->strategy.value_or(row.item->baseline.value_or(""));
}

/// Where the knobs of a strategy begin.
std::size_t colon_of(const SheetRow &row) {
    return row.item->strategy ? strategy_of(row).find(':') : std::string::npos;
}

/// A member of the prediction, where there is one.
Cell of_prediction(const SheetRow &row, const auto &member) {
    return row.item->prediction ? Cell(std::invoke(member, *row.item->prediction)) : Cell();
}

/// A time of the forecast, where it has one.
std::function<Cell(const SheetRow &)> forecast(std::optional<Seconds> Prediction::*field) {
    return [field](const SheetRow &row) {
        const std::optional<Prediction> &p = row.item->prediction;
        return p && p->time_s ? Cell((*p).*field) : Cell();
    };
}

Cell regime_of(const Prediction &p) {
    return p.regimes && p.regimes->tier2 ? Cell(boost::describe::enum_to_string(*p.regimes->tier2, "?"))
                                         : Cell();
}

} // namespace

Format format_of(const std::string &verb, const Arguments &arguments, bool output_is_document) {
    const std::string output = output_is_document ? arguments.text("output", "-") : "";
    if (!arguments.has("format") && !arguments.has("json") &&
        (output.ends_with(".csv") || output.ends_with(".md")))
        return output.ends_with(".csv") ? Format::csv : Format::markdown;
    if (!arguments.has("format"))
        return arguments.has("json") || (output_is_document && arguments.has("output")) ? Format::json
                                                                                        : Format::text;
    const std::string text = arguments.text("format", "");
    std::vector<std::string> names = {"text", "json", "csv", "markdown"};
    if (arguments.has("network"))
        names.emplace_back("schedule");
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
        throw UsageError(verb + ": --format must be one of " + join(names) + ", got '" + shortened(text, 40) +
                         "'" + did_you_mean(text, names));
    return static_cast<Format>(found - names.begin());
}

SheetRow sheet_row(const Case &item, const Question &question, const KnownTimes &known) {
    SheetRow row;
    row.item = &item;
    row.gpu = question.profile.id;
    row.variant = question.variant;
    if (const auto own = known.find(item.shape, item.strategy.value_or(item.baseline.value_or(""))))
        row.measured = own->time_s;
    if (item.study && !item.count) // a study's counts stand in its document
        for (const AskedShape &asked : question.shapes)
            if (asked.study == item.study && asked.count != 1 && asked.shape.id() == item.shape)
                row.count = asked.count;
    return row;
}

Table case_sheet(const std::vector<SheetRow> &rows) {
    using Line = const SheetRow &;
    return table_of<SheetRow>(
        rows,
        {{{"gpu"}, &SheetRow::gpu},
         {{"variant"}, &SheetRow::variant},
         {{"study"}, [](Line row) { return row.item->study; }},
         {{"name"}, [](Line row) { return row.item->name; }},
         {{"shape"}, [](Line row) { return row.item->shape; }},
         {{"count", As::number}, [](Line row) { return row.item->count.value_or(row.count.value_or(1)); }},
         {{"rank", As::number}, &SheetRow::rank},
         {{"strategy"}, [](Line row) { return strategy_of(row).substr(0, colon_of(row)); }},
         {{"knobs"},
          [](Line row) {
              const std::size_t colon = colon_of(row);
              return colon == std::string::npos ? Cell() : Cell(strategy_of(row).substr(colon + 1));
          }},
         {{"status"}, [](Line row) { return boost::describe::enum_to_string(row.item->status, "?"); }},
         {{"time", As::time}, forecast(&Prediction::time_s)},
         {{"time_low", As::time}, forecast(&Prediction::time_low_s)},
         {{"time_high", As::time}, forecast(&Prediction::time_high_s)},
         {{"over_best", As::number}, &SheetRow::over_best},
         {{"measured", As::time},
          [](Line row) {
              const Measurement *cold = row.item->measured(L2State::cold);
              return cold && row.item->status == Status::ok ? Cell(cold->time_s) : Cell(row.measured);
          }},
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

} // namespace convcast::cli
