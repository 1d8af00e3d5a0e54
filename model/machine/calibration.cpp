#include "model/machine/calibration.hpp"

#include "model/base/described.hpp"
#include "model/base/readable.hpp"
#include "model/machine/each_number.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The Params that plans are counted and times computed with: what machine_of reads, and the width of a bank,
/// which Chen's kernels match. A test changes each Param of a profile and sees which of them a forecast
/// reads.
constexpr std::string_view computed_with[] = {
    "bank_width",
    "barrier_latency",
    "cluster_bandwidth",
    "cluster_barrier_latency",
    "cluster_latency",
    "clusters_of_4_sms",
    "clusters_of_8_sms",
    "cta_launch_time",
    "dram_copy_bandwidth",
    "dram_latency",
    "dram_read_bandwidth",
    "dram_write_bandwidth",
    "ffma_latency",
    "ffma_outer_rate",
    "ffma_rate",
    "knee_exponent",
    "l1_latency",
    "l2_latency",
    "l2_read_bandwidth",
    "l2_write_bandwidth",
    "launch_floor",
    "launch_gap",
    "partial_sector_store_time",
    "sector_store_time",
    "shared_bandwidth",
    "shared_latency",
    "sm_clock",
    "tf32_mma_rate",
};

} // namespace

FittedOn fitted_on(const GpuProfile &profile) {
    FittedOn on{profile.id, profile.name, profile.compute_capability, std::nullopt, {}};
    if (const auto date = profile.conditions.find("date"); date != profile.conditions.end())
        on.date = date->second;
    for_each_limit([&](auto member) {
        on.numbers["limits/" + std::string(member.name)] =
            static_cast<double>(profile.limits.*member.pointer);
    });
    for_each_param(profile, [&](const char *name, const auto &field) {
        if (field &&
            std::find(std::begin(computed_with), std::end(computed_with), name) != std::end(computed_with))
            on.numbers[name] = field->value.value;
    });
    if (const double rate = serpentine_rate_of(profile); rate > 0.0)
        on.numbers["curves/ffma_by_operands"] = rate;
    return on;
}

Calibration read_calibration(const std::string &text, const std::string &file) {
    const std::string schema = Calibration().schema;
    const std::string written = member_of_json(text, file, "schema").value_or("");
    for (const char *earlier : {"convcast/calibration/1", "convcast/calibration/2", "convcast/calibration/3"})
        if (written == earlier)
            throw InputError(file + ": /schema",
                             "\"" + written +
                                 "\" is of an earlier version, whose numbers were fitted to other equations; "
                                 "make it anew: convcast fit run.json.gz -o calibration.json");
    Calibration calibration = described::read_document<Calibration>(text, file, schema);
    std::vector<InputProblem> problems;
    const auto within = [&](const std::string &name, double value, double low, double high,
                            const char *example) {
        if (!(value >= low && value <= high))
            problems.push_back({file + ": /" + name, fmt::format("expected a number from {:g} to {:g}, got "
                                                                 "{:g}; for example {}",
                                                                 low, high, value, example)});
    };
    const auto check = [&](const std::string &where, const FittedNumbers &numbers) {
        within(where + "first_wave_miss", numbers.first_wave_miss, 0.0, 4.0, "1");
        within(where + "cold_share", numbers.cold_share, 0.0, 4.0, "1");
        within(where + "steps_overlap", numbers.steps_overlap, 1.0, 100.0, "2");
        within(where + "units_overlap", numbers.units_overlap, 1.0, 100.0, "2");
    };
    check("fitted/", calibration.fitted);
    for (std::size_t i = 0; i < calibration.resampled.size(); ++i)
        check("resampled/" + std::to_string(i) + "/", calibration.resampled[i]);
    within("ratio_p05", calibration.ratio_p05, 0.01, 100.0, "0.9");
    within("ratio_p95", calibration.ratio_p95, 0.01, 100.0, "1.1");
    if (!(calibration.ratio_p05 <= calibration.ratio_p95))
        problems.push_back({file + ": /ratio_p05", "expected no more than ratio_p95"});
    constexpr double most_cases = 1e9;
    within("scale", calibration.scale.value_or(1.0), 0.01, 100.0, "1.03");
    within("cases", static_cast<double>(calibration.cases), 0.0, most_cases, "877");
    if (const std::optional<TestErrors> &test = calibration.test) {
        within("test/cases", static_cast<double>(test->cases), 1.0, most_cases, "2579");
        within("test/fitted", test->fitted, 0.0, 1e3, "0.08");
        within("test/assumed", test->assumed, 0.0, 1e3, "0.09");
        within("test/without_counters", test->without_counters, 0.0, 1e3, "0.1");
    }
    const FittedOn &on = calibration.profile;
    const auto one_line = [&](const char *name, const std::string &value, const char *example) {
        if (!is_printable(value))
            problems.push_back({file + ": /profile/" + name,
                                "expected a text of one line, for example \"" + std::string(example) + "\""});
    };
    one_line("id", on.id, "h200");
    one_line("name", on.name, "NVIDIA H200");
    if (calibration.borrowed && !is_printable(*calibration.borrowed))
        problems.push_back(
            {file + ": /borrowed", "expected a text of one line, for example \"NVIDIA H200\""});
    one_line("date", on.date.value_or("unknown"), "2026-11-22T11:44:29Z");
    if (!is_compute_capability(on.compute_capability))
        problems.push_back({file + ": /profile/compute_capability", "expected a version such as \"9.0\""});
    for (const auto &[name, value] : on.numbers)
        if (!is_printable(name))
            one_line("numbers", name, "sm_clock");
        else
            within("profile/numbers/" + name, value, value == 0.0 ? 0.0 : 1e-18, 1e18, "1");
    if (!problems.empty())
        throw InputError(described::with_lines(std::move(problems), text, file));
    return calibration;
}

std::string write_calibration(const Calibration &calibration) {
    return to_text(described::write(calibration));
}

template const described::Type &described::type_of<Calibration>();

} // namespace convcast
