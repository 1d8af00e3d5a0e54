// The answers of one question for several GPUs, numbers of SMs or supposed numbers, as a document: a Run is
// of one profile, this is of many.
#pragma once

#include "cli/answers.hpp"
#include "model/record/run.hpp"

#include <boost/describe.hpp>

#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

/// A case, on the GPU and with the number of SMs and the supposed numbers that `variant` names.
struct WhatIfRow {
    std::string gpu;     ///< the profile's id
    std::string variant; ///< "h200, 64 SMs, dram_read_bandwidth=x2"
    std::string shape;
    std::optional<std::string> strategy, baseline;
    Status status = Status::ok;
    std::optional<std::string> reason;              ///< where there is no time
    std::optional<Seconds> time_s;                  ///< the forecast
    std::optional<Seconds> time_low_s, time_high_s; ///< its interval
    std::optional<Seconds> speed_of_light_s;        ///< no forecast is below it

    std::optional<Regimes> regimes;
    std::optional<std::string> limiter;
    std::optional<Rates> rates;
    std::vector<std::string> assumptions;
    BOOST_DESCRIBE_CLASS(WhatIfRow, (),
                         (gpu, variant, shape, strategy, baseline, status, reason, time_s, time_low_s,
                          time_high_s, speed_of_light_s, regimes, limiter, rates, assumptions),
                         (), ())
};

struct WhatIf {
    std::string schema = "convcast/what_if/1";
    std::vector<WhatIfRow> rows;
    BOOST_DESCRIBE_CLASS(WhatIf, (), (schema, rows), (), ())
};

std::string write_what_if(const std::vector<Row> &rows);

} // namespace convcast::cli
