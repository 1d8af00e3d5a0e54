#include "cli/what_if.hpp"

#include "model/base/described.hpp"
#include "model/base/json.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

namespace {

WhatIfRow what_if_row(const Row &of) {
    const Case &item = *of.item;
    WhatIfRow row;
    row.gpu = of.question->profile.id;
    row.variant = of.question->variant;
    row.shape = item.shape;
    row.strategy = item.strategy;
    row.baseline = item.baseline;
    row.status = item.status;
    row.reason = item.reason;
    if (!item.prediction)
        return row;
    const Prediction &p = *item.prediction;
    if (p.reason)
        row.reason = p.reason;
    row.time_s = p.time_s;
    row.time_low_s = p.time_low_s;
    row.time_high_s = p.time_high_s;
    row.speed_of_light_s = p.times.tier0_s;
    row.regimes = p.regimes;
    row.limiter = p.limiter;
    row.rates = p.rates;
    row.assumptions = p.assumptions;
    return row;
}

} // namespace

std::string write_what_if(const std::vector<Row> &rows) {
    WhatIf document;
    for (const Row &row : rows)
        document.rows.push_back(what_if_row(row));
    return to_text(described::write(document));
}

} // namespace convcast::cli
