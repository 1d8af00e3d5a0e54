// A network; its shapes, its launches and a forecast of it as a whole.
#include "model/network/network.hpp"
#include "model/base/described.hpp"
#include "model/machine/profile.hpp"
#include "model/network/forecast.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::optional<Network> network = fuzz::accepted(data, size, read_network);
    if (!network)
        return -1;
    const std::int64_t most = most_images(*network);
    if (most < 1 || without_losses(*network).operators.empty())
        std::abort();
    why_not_whole(*network);
    constexpr std::size_t few = 8; // a forecast ranks strategies, which takes seconds under the sanitizers
    if (network->operators.size() > few)
        return 0;
    try {
        NetworkQuestion question;
        question.strategies = {name_of(fuzz::any_strategy(data, size))};
        question.what_if = false;
        const NetworkRun forecast = plan_network(*network, fuzz::h200(), {}, question).forecast;
        const std::string text = to_text(described::write(forecast));
        fuzz::require_same(text,
                           to_text(described::write(described::read_document<NetworkRun>(text, "forecast"))));
    } catch (const UsageError &) { // a convolution that this strategy does not do
    }
    return 0;
}
