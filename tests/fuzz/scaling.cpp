// A scaling: forecast anew for a GPU, with its figure and its sentence.
#include "model/network/scaling.hpp"
#include "model/base/described.hpp"
#include "model/network/scaling_forecast.hpp"
#include "reports/network_figures.hpp"
#include "reports/network_page.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const GpuProfile profile = find_profile("h200");
    static const Network network = find_network("mnist");
    const auto scaling = fuzz::accepted(
        data, size,
        [](const std::string &text, const std::string &file) {
            return described::read_document<Scaling>(text, file, "convcast/scaling/1");
        },
        [](const Scaling &its) { return to_text(described::write(its)); });
    if (!scaling)
        return -1;
    speed_up_figure(*scaling);
    judgement_of(*scaling);
    constexpr std::size_t few = 4; // what it advises is searched for
    if (scaling->cases.size() > few || scaling->devices.size() > most_split_devices)
        return 0;
    try {
        const Scaling anew = forecast_anew(*scaling, network, profile);
        const std::string text = to_text(described::write(anew));
        fuzz::require_same(text, to_text(described::write(
                                     described::read_document<Scaling>(text, "anew", "convcast/scaling/1"))));
    } catch (const UsageError &) { // no link between the GPUs
    } catch (const InputError &) { // read, it would be refused: a time that is none
    }
    return 0;
}
