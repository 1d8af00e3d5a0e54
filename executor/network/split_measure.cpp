#include "executor/network/split_measure.hpp"

#include "model/base/statistics.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

std::optional<std::string> why_not_as_one_gpu(const NetworkCase &item) {
    // Relative L2: sums in another order. Of two nearly equal pixels another one may be the largest once
    // parameters differ by rounding.
    constexpr double limit = 1e-5, parameter_limit = 1e-4;
    if (*item.output_error <= limit && *item.gradient_error <= limit &&
        *item.parameter_error <= parameter_limit)
        return std::nullopt;
    return fmt::format(
        "differs from one GPU in L2: outputs {:.1e}, gradient {:.1e}, parameters after {} steps "
        "{:.1e}",
        *item.output_error, *item.gradient_error, verified_steps, *item.parameter_error);
}

Seconds time_of_step(cudaStream_t stream, const std::function<void()> &launch,
                     const std::function<void(const Event &)> &wait) {
    constexpr std::size_t warm_ups = 3, repetitions = 25;
    const std::vector<Event> events(repetitions + 1);
    for (std::size_t i = 0; i < warm_ups; ++i)
        launch();
    events.front().record(stream);
    for (std::size_t i = 1; i <= repetitions; ++i) {
        launch();
        events[i].record(stream);
    }
    wait(events.back());
    std::vector<double> seconds;
    for (std::size_t i = 1; i <= repetitions; ++i)
        seconds.push_back(events[i].since(events[i - 1]).value / static_cast<double>(timed_steps));
    return Seconds(upper_median(std::move(seconds)));
}

} // namespace convcast
