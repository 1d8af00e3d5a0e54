// A Run document; its statistics, and its cases forecast again.
#include "model/record/run.hpp"
#include "model/machine/profile.hpp"
#include "reports/statistics.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::optional<Run> run = fuzz::accepted(
        data, size, [](const std::string &text, const std::string &file) { return read_run(text, file); },
        write_run);
    if (!run)
        return -1;
    summarize(*run, {});
    Run again;
    for (std::size_t i = 0; i < std::min<std::size_t>(run->cases.size(), 3); ++i) {
        const Case &item = run->cases[i];
        const ConvShape shape = ConvShape::parse(item.shape);
        const Measurement *cold = item.measured(L2State::cold);
        if (!item.strategy || shape.fmas().value > 1e9)
            continue;
        try {
            const Strategy strategy = parse_strategy(*item.strategy);
            again.cases.push_back(predict(strategy, shape, fuzz::h200()));
            if (cold && cold->work)
                again.cases.push_back(predict(strategy, shape, fuzz::h200(), {}, &*cold->work));
        } catch (const UsageError &) { // names no strategy
        }
    }
    fuzz::require_readable(again);
    return 0;
}
