#include "cli/what_if.hpp"

#include "model/base/described.hpp"
#include "model/base/json.hpp"

#include <string>

namespace convcast::cli {

WhatIfRow what_if_row(const Case &item, const Question &question) {
    WhatIfRow row;
    row.gpu = question.profile.id;
    row.variant = question.variant;
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

std::string write_what_if(const WhatIf &document) {
    return to_text(described::write(document));
}

} // namespace convcast::cli
