// What forecasts, runs and trainings of networks leave behind, and the figures and sentences that a report
// makes of them, with forecasts anew.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/network/scaling_forecast.hpp"
#include "reports/network_figures.hpp"
#include "reports/network_page.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

namespace {

/// The forecast of the ladder's cases and of steps on GPUs, read again.
void try_anew(const NetworkRun &run) {
    constexpr std::size_t few = 4; // what splits advise is searched for
    if (run.first().is_whole() || run.first().training || run.cases.size() > few ||
        run.devices.size() > most_split_devices)
        return;
    try {
        const std::string text =
            fuzz::as_document(forecast_anew(run, find_network(run.network), fuzz::h200()));
        fuzz::require_same(text, fuzz::as_document(described::read_document<NetworkRun>(text, "anew")));
    } catch (const UsageError &) { // no link between the GPUs
    } catch (const InputError &) { // read, it would be refused: a time that is none
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto run = fuzz::accepted(data, size, described::read_document<NetworkRun>);
    if (!run)
        return -1;
    report_on(*run);
    judgement_of(*run);
    try_anew(*run);
    return 0;
}
