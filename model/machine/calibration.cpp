#include "model/machine/calibration.hpp"

#include "model/base/described.hpp"
#include "model/base/readable.hpp"
#include "model/machine/each_number.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace convcast {
namespace {

/// The Params of a profile that forecasts read: what machine_of reads, and the width of a bank, which plans
/// of Chen's kernels match. A test changes each Param of a profile and sees which of them a forecast reads.
constexpr std::string_view computed_with[] = {
    "bank_width",           "barrier_latency",     "cluster_bandwidth", "cluster_barrier_latency",
    "cluster_latency",      "clusters_of_4_sms",   "clusters_of_8_sms", "constant_l2_latency",
    "cta_launch_time",      "dram_copy_bandwidth", "dram_latency",      "dram_read_bandwidth",
    "dram_write_bandwidth", "ffma_latency",        "ffma_outer_rate",   "ffma_rate",
    "knee_exponent",        "l1_latency",          "l2_latency",        "l2_read_bandwidth",
    "l2_write_bandwidth",   "launch_floor",        "launch_gap",        "partial_sector_store_time",
    "sector_store_time",    "shared_bandwidth",    "shared_latency",    "sm_clock",
    "smallest_copy_time",   "tf32_mma_rate",
};

constexpr double most_cases = 1e9; // above this only broken files come

/// Reports a problem of `field` unless its value lies from `low` to `high`, as a NaN never does.
void within(const FieldProblem &problem, const std::string &field, double value, double low, double high,
            const char *example) {
    if (!(value >= low && value <= high))
        problem(field, fmt::format("expected a number from {:g} to {:g}, got {:g}; for example {}", low, high,
                                   value, example));
}

void one_line(const FieldProblem &problem, const char *field, const std::string &value, const char *example) {
    if (!is_printable(value))
        problem(field, fmt::format("expected a text of one line, for example \"{}\"", example));
}

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

void FittedNumbers::check(const FieldProblem &problem) const {
    within(problem, "first_wave_miss", first_wave_miss, 0.0, 4.0, "1");
    within(problem, "cold_share", cold_share, 0.0, 4.0, "1");
    within(problem, "steps_overlap", steps_overlap, 1.0, 100.0, "2");
    within(problem, "units_overlap", units_overlap, 1.0, 100.0, "2");
}

void FittedOn::check(const FieldProblem &problem) const {
    one_line(problem, "id", id, "h200");
    one_line(problem, "name", name, "NVIDIA H200");
    one_line(problem, "date", date.value_or("unknown"), "2026-11-22T11:44:29Z");
    if (!is_compute_capability(compute_capability))
        problem("compute_capability", "expected a version such as \"9.0\"");
    for (const auto &[number, value] : numbers)
        if (!is_printable(number))
            one_line(problem, "numbers", number, "sm_clock");
        else
            within(problem, "numbers/" + number, value, value == 0.0 ? 0.0 : 1e-18, 1e18, "1");
}

void TestErrors::check(const FieldProblem &problem) const {
    within(problem, "cases", static_cast<double>(cases), 1.0, most_cases, "2579");
    within(problem, "fitted", fitted, 0.0, 1e3, "0.08");
    within(problem, "assumed", assumed, 0.0, 1e3, "0.09");
    within(problem, "without_counters", without_counters, 0.0, 1e3, "0.1");
}

void Calibration::check(const FieldProblem &problem) const {
    within(problem, "ratio_p05", ratio_p05, 0.01, 100.0, "0.9");
    within(problem, "ratio_p95", ratio_p95, 0.01, 100.0, "1.1");
    if (!(ratio_p05 <= ratio_p95))
        problem("ratio_p05", "expected no more than ratio_p95");
    within(problem, "scale", scale.value_or(1.0), 0.01, 100.0, "1.03");
    within(problem, "cases", static_cast<double>(cases), 0.0, most_cases, "877");
    if (borrowed)
        one_line(problem, "borrowed", *borrowed, "NVIDIA H200");
}

Calibration read_calibration(const std::string &text, const std::string &file) {
    return described::read_document<Calibration>(text, file);
}

std::string write_calibration(const Calibration &calibration) {
    return to_text(described::write(calibration));
}

template const described::Type &described::type_of<Calibration>();

} // namespace convcast
