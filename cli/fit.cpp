#include "model/fit.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "model/calibration.hpp"
#include "model/described.hpp"
#include "model/errors.hpp"
#include "model/facts.hpp"
#include "model/files.hpp"
#include "model/sweep.hpp"

#include <fmt/format.h>

namespace convcast::cli {
namespace {

std::string left_out_text(const std::vector<LeftOut> &rows) {
    const auto share = [](double value) { return fmt::format("{:.1f} %", 100.0 * value); };
    std::vector<std::vector<std::string>> cells;
    for (const LeftOut &row : rows)
        cells.push_back({row.strategy, std::to_string(row.test), share(row.zero_fit), share(row.fitted),
                         share(row.left_out), fmt::format("{:.3f}", row.left_out_bias)});
    return table({{"strategy"},
                  {"cases", Align::right},
                  {"zero fit", Align::right},
                  {"fitted", Align::right},
                  {"without it", Align::right},
                  {"bias", Align::right}},
                 cells, terminal_width());
}

} // namespace

int fit(const Words &words) {
    constexpr std::size_t any_number = 1000000;
    const Arguments arguments("fit", words,
                              {{"gpu", Option::text},
                               {"leave-one-out", Option::flag},
                               {"json", Option::flag},
                               {"output,o", Option::text}},
                              any_number);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("fit")), 0;
    if (arguments.positional().empty())
        throw UsageError(
            "fit: no Run document given, for example `convcast fit run.json.gz -o calibration.json`");
    const bool all = arguments.has("leave-one-out");
    if (!all && arguments.has("json"))
        throw UsageError("fit: --json is for the table of --leave-one-out; a calibration is JSON anyway");
    std::vector<MeasuredCall> calls;
    GpuProfile profile;
    for (const std::string &file : arguments.positional()) {
        const Run run = read_run(read_file(file), file == "-" ? "standard input" : file);
        profile = document_profile("fit", run, arguments, file);
        for (const Case &item : run.cases) {
            const Measurement *cold = item.measured(L2State::cold);
            if (item.status != Status::ok || !item.strategy || !cold || cold->time_s.value <= 0.0 ||
                (!all && !in_training_part(item.shape)))
                continue;
            const ConvShape shape = ConvShape::parse(item.shape);
            auto planned = plan(strategy_of(run, item, file), shape, profile);
            if (auto *good = std::get_if<PlannedStrategy>(&planned);
                good && missing_for_forecast(profile, good->feasible.plan).empty())
                calls.push_back({with_facts(std::move(good->feasible.plan), shipped_facts()), shape,
                                 cold->time_s, item.strategy->substr(0, item.strategy->find(':')),
                                 in_training_part(item.shape)});
        }
    }
    if (all) {
        const std::vector<LeftOut> rows = leave_one_out(calls, profile);
        write_file_atomically(arguments.text("output", "-"),
                              arguments.has("json") ? to_text(described::write(rows)) : left_out_text(rows));
        return 0;
    }
    const Calibration calibration = fit_calibration(calls, profile);
    note(fmt::format(
        "{} calls of the training part: first wave misses {:.3f}, cold share {:.3f}, steps overlap {:.2f}, "
        "units overlap {:.2f}; measured over forecast {:.3f} to {:.3f}",
        calibration.cases, calibration.fitted.first_wave_miss, calibration.fitted.cold_share,
        calibration.fitted.steps_overlap, calibration.fitted.units_overlap, calibration.ratio_p05,
        calibration.ratio_p95));
    write_file_atomically(arguments.text("output", "-"), write_calibration(calibration));
    return 0;
}

} // namespace convcast::cli
