// What a forecast and a run of a network, a ladder's run and a training leave behind, and the figures and
// sentences that a report makes of them.
#include "model/base/described.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network_run.hpp"
#include "model/network/training.hpp"
#include "reports/network_figures.hpp"
#include "reports/network_page.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

namespace {

/// Whether the bytes are a document of this kind, which `use` is then called with.
template <class Document, class Use>
bool is(const std::uint8_t *data, std::size_t size, const char *schema, const Use &use) {
    const auto document = fuzz::accepted(
        data, size,
        [&](const std::string &text, const std::string &file) {
            return described::read_document<Document>(text, file, schema);
        },
        [](const Document &its) { return to_text(described::write(its)); });
    if (document)
        use(*document);
    return document.has_value();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const bool read =
        is<NetworkRun>(data, size, "convcast/network_run/2",
                       [](const NetworkRun &run) {
                           network_timeline_figure(run);
                           network_layers_figure(run);
                           judgement_of(run);
                       }) ||
        is<LadderRun>(data, size, "convcast/ladder_run/1",
                      [](const LadderRun &run) {
                          ladder_figures(run);
                          judgement_of(run);
                      }) ||
        is<TrainingRun>(data, size, "convcast/training/1", [](const TrainingRun &run) { judgement_of(run); });
    return read ? 0 : -1;
}
