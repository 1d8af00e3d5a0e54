// How fast the forecast is: predictions and plans a second on all cores, a whole network chosen, and the
// memory that takes. Prints a table, or JSON with --json; --seconds S is how long each rate is taken (default
// 1).
#include "model/base/describe.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/json.hpp"
#include "model/base/parallel.hpp"
#include "model/predict.hpp"
#include "model/record/study.hpp"
#include "model/time/simulation.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

using namespace convcast;

namespace {

using Clock = std::chrono::steady_clock;

/// One number of the benchmark; `asked` is what it is meant to reach.
struct Figure {
    std::string name, unit;
    double value = 0.0;
    std::optional<double> asked;
    double peak_memory_bytes = 0.0; ///< of the process, up to and with this figure
    CONVCAST_MEMBERS(Figure, name, unit, value, asked, peak_memory_bytes)
};

struct Benchmark {
    std::string schema = "convcast/benchmark/1";
    std::string cpu; ///< as the kernel names it
    std::int64_t threads = 0;
    std::string gpu; ///< the profile that is forecast for
    std::vector<Figure> figures;
    CONVCAST_MEMBERS(Benchmark, schema, cpu, threads, gpu, figures)
};

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string cpu_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.rfind("model name", 0) == 0)
            return line.substr(std::min(line.find(": "), line.size() - 2) + 2);
    return "unknown";
}

double peak_memory_bytes() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_maxrss) * 1024.0; // given in KiB
}

/// Calls of `work(i)`, i in turn over 0 to count - 1, a second, on all cores for `seconds`.
double rate(std::size_t count, double seconds, const auto &work) {
    std::atomic<std::size_t> calls = 0;
    const Clock::time_point start = Clock::now();
    in_parallel(usable_cores(), [&](std::size_t thread) {
        std::size_t mine = 0;
        while (seconds_since(start) < seconds)
            for (int burst = 0; burst < 16; ++burst, ++mine)
                work((thread * 7919 + mine) % count); // threads start apart
        calls += mine;
    });
    return static_cast<double>(calls) / seconds_since(start);
}

double median_seconds(int times, const auto &work) {
    std::vector<double> taken;
    for (int i = 0; i < times; ++i) {
        const Clock::time_point start = Clock::now();
        work();
        taken.push_back(seconds_since(start));
    }
    std::sort(taken.begin(), taken.end());
    return taken[taken.size() / 2];
}

/// Every setting that `choose` finds feasible for the shapes of a study, with its knobs resolved, and its
/// plan.
struct Planned {
    ConvShape shape;
    Strategy setting;
    Plan plan;
};

std::vector<Planned> plans_of(const std::string &study, const GpuProfile &profile) {
    std::vector<Planned> all;
    for (const std::string &text : find_study(study).shapes) {
        const ConvShape shape = ConvShape::parse(text);
        for (Case &item : choose(shape, profile, knowledge_for(profile)))
            if (item.status == Status::ok)
                all.push_back({shape, parse_strategy(*item.strategy), std::move(*item.prediction->plan)});
    }
    return all;
}

Benchmark measure(double seconds) {
    const GpuProfile profile = find_profile("h200");
    const Knowledge knowledge = knowledge_for(profile);
    Benchmark result;
    result.cpu = cpu_name();
    result.threads = static_cast<std::int64_t>(usable_cores());
    result.gpu = profile.id;
    const auto add = [&](std::string name, std::string unit, double value, std::optional<double> asked) {
        result.figures.push_back({std::move(name), std::move(unit), value, asked, peak_memory_bytes()});
    };
    // The whole networks come first: the plans that the rates go over take memory of their own.
    for (const std::string study : {"resnet50_b1", "vgg16_b1"}) {
        std::vector<ConvShape> shapes;
        for (const std::string &text : find_study(study).shapes)
            shapes.push_back(ConvShape::parse(text));
        constexpr std::size_t top = 5; // as the verb shows
        constexpr int times = 5;
        add("choose " + study, "s",
            median_seconds(times,
                           [&] {
                               for (const ConvShape &shape : shapes)
                                   choose(shape, profile, knowledge, {}, top);
                           }),
            1.0);
    }
    const std::vector<Planned> plans = plans_of("resnet50_b1", profile);
    add("closed form", "predictions/s",
        rate(plans.size(), seconds,
             [&](std::size_t i) {
                 if (!(forecast_time(plans[i].plan, plans[i].shape, profile)->value > 0.0))
                     throw std::runtime_error("a plan has no time");
             }),
        200'000.0);
    add("simulation", "simulations/s",
        rate(plans.size(), seconds,
             [&](std::size_t i) {
                 const auto simulated = simulate(plans[i].plan, plans[i].shape, profile,
                                                 knowledge.calibration.value_or(Calibration{}), false);
                 if (!(simulated->time_s.value > 0.0))
                     throw std::runtime_error("a plan has no simulated time");
             }),
        2'000.0);
    add("plans", "plans/s",
        rate(plans.size(), seconds,
             [&](std::size_t i) {
                 if (!std::holds_alternative<PlannedStrategy>(
                         plan(plans[i].setting, plans[i].shape, profile, knowledge.facts)))
                     throw std::runtime_error(to_text(plans[i].setting) + " is infeasible");
             }),
        std::nullopt);
    add("whole predictions", "predictions/s",
        rate(plans.size(), seconds,
             [&](std::size_t i) { predict(plans[i].setting, plans[i].shape, profile, knowledge); }),
        std::nullopt);
    return result;
}

std::string as_text(const Benchmark &result) {
    std::string text =
        fmt::format("{}, {} threads, profile {}\n{:<22}{:>14} {:<14}{:>12}{:>13}\n", result.cpu,
                    result.threads, result.gpu, "what", "value", "unit", "asked", "peak memory");
    for (const Figure &f : result.figures) {
        const int digits = f.unit == "s" ? 3 : 0;
        text += fmt::format("{:<22}{:>14.{}f} {:<14}{:>12}{:>9.1f} MiB\n", f.name, f.value, digits, f.unit,
                            f.asked ? fmt::format("{:.0f}", *f.asked) : "-",
                            f.peak_memory_bytes / (1024.0 * 1024.0));
    }
    return text;
}

} // namespace

int main(int count, char **words) {
    try {
        bool json = false;
        double seconds = 1.0;
        for (int i = 1; i < count; ++i) {
            const std::string word = words[i];
            if (word == "--json") {
                json = true;
            } else if (word == "--seconds" && i + 1 < count) {
                const std::string text = words[++i];
                const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
                if (error != std::errc{} || end != text.data() + text.size() ||
                    !(seconds > 0.0 && seconds <= 600.0))
                    throw UsageError("--seconds takes a number up to 600, got '" + text + "'");
            } else {
                throw UsageError("unknown word '" + word + "'; benchmark takes --json and --seconds S");
            }
        }
        const Benchmark result = measure(seconds);
        fmt::print("{}", json ? to_text(described::write(result)) : as_text(result));
        return 0;
    } catch (const UsageError &error) {
        fmt::print(stderr, "benchmark: {}\n", error.what());
        return 2;
    } catch (const std::exception &error) {
        fmt::print(stderr, "benchmark: {}\n", error.what());
        return 1;
    }
}
