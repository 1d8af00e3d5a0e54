#include "cli/sheet.hpp"

#include "cli/answers.hpp"
#include "cli/terminal.hpp"
#include "cli/what_if.hpp"
#include "model/base/described.hpp"
#include "model/base/json.hpp"
#include "model/predict.hpp"

#include <boost/describe.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

/// A member of the prediction, where there is one.
Cell of_prediction(const Row &row, const auto &member) {
    return row.item->prediction ? Cell(std::invoke(member, *row.item->prediction)) : Cell();
}

/// A time of the forecast, where it has one.
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

/// One row a case, the same columns for every verb.
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

WhatIfRow what_if_row(const Row &of) {
    const Case &item = *of.item;
    const Prediction p = item.prediction.value_or(Prediction());
    return {of.question->profile.id,
            of.question->variant,
            item.shape,
            item.strategy,
            item.baseline,
            item.status,
            p.reason ? p.reason : item.reason,
            p.time_s,
            p.time_low_s,
            p.time_high_s,
            p.times.tier0_s,
            p.regimes,
            p.limiter,
            p.rates,
            p.assumptions};
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

std::string write_what_if(const std::vector<Row> &rows) {
    WhatIf document;
    for (const Row &row : rows)
        document.rows.push_back(what_if_row(row));
    return to_text(described::write(document));
}

std::string cases_sheet(const std::vector<Row> &rows, Format format, bool total) {
    const Table sheet = case_sheet(rows);
    const std::string sum = total && format == Format::markdown ? total_text(rows) : "";
    return (format == Format::csv ? to_csv(sheet) : to_markdown(sheet)) + (sum.empty() ? "" : "\n" + sum);
}

} // namespace convcast::cli
