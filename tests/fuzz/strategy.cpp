// The text of a strategy: text -> knobs -> text is the identity. And its plan for a small shape.
#include "model/machine/profile.hpp"
#include "model/strategies/list.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::optional<Strategy> strategy;
    try {
        strategy = parse_strategy(std::string(reinterpret_cast<const char *>(data), size));
    } catch (const UsageError &) {
        return -1;
    }
    fuzz::require_same(to_text(*strategy), to_text(parse_strategy(to_text(*strategy))));
    const ConvShape shape = fuzz::any_shape(size);
    const Case item = predict(*strategy, shape, fuzz::h200());
    if (item.strategy) // with the knobs that the model chose
        fuzz::require_same(*item.strategy, to_text(parse_strategy(*item.strategy)));
    return 0;
}
