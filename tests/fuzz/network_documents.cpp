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

NetworkRun read(const std::string &text, const std::string &file) {
    return described::read_document<NetworkRun>(text, file);
}

/// The forecast of the ladder's cases and of steps on GPUs, read again.
void try_anew(const NetworkRun &run) {
    static const GpuProfile profile = find_profile("h200");
    constexpr std::size_t few = 4; // what splits advise is searched for
    if (run.first().is_whole() || run.first().training || run.cases.size() > few ||
        run.devices.size() > most_split_devices)
        return;
    try {
        const std::string text =
            to_text(described::write(forecast_anew(run, find_network(run.network), profile)));
        fuzz::require_same(text, to_text(described::write(read(text, "anew"))));
    } catch (const UsageError &) { // no link between the GPUs
    } catch (const InputError &) { // read, it would be refused: a time that is none
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto run = fuzz::accepted(data, size, read,
                                    [](const NetworkRun &its) { return to_text(described::write(its)); });
    if (!run)
        return -1;
    report_on(*run);
    judgement_of(*run);
    try_anew(*run);
    return 0;
}
