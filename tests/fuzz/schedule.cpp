// The text of a schedule: what it holds comes out again when it is printed, and no text that is read breaks
// what holds it against a network.
#include "model/network/schedule_text.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const Network networks[] = {find_network("alexnet"), find_network("resnet18"),
                                       without_losses(find_network("fashion_mnist"))};
    const std::string text(reinterpret_cast<const char *>(data), size);
    const ScheduleReading reading = parse_schedule(text, "input");
    for (const Network &network : networks)
        try { // every strategy does every shape; half of them end their launches
            const auto launches =
                launches_of(reading, network, [](const std::optional<Strategy> &strategy, const ConvShape &) {
                    return std::variant<bool, std::string>(!strategy || name_of(*strategy).size() % 2 == 1);
                });
            if (launches.empty() || arena_of(network, launches, 1).bytes <= 0 ||
                waits_of(launches).size() != launches.size())
                std::abort();
            const std::string printed =
                to_text(described_schedule(network, reading.schedule.batch, launches));
            fuzz::require_same(printed, to_text(read_schedule(printed, "printed")));
        } catch (const InputError &) {
        }
    return fuzz::accepted(data, size, read_schedule, [](const Schedule &s) { return to_text(s); }) ? 0 : -1;
}
