#include "model/machine/facts.hpp"

#include "model/base/described.hpp"
#include "model/base/readable.hpp"
#include "model/base/statistics.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Whether a text is an architecture as compilers name it: "sm_90", "sm_121".
bool is_architecture(const std::string &text) {
    return text.starts_with("sm_") && text.size() >= 5 && text.size() <= 6 &&
           std::all_of(text.begin() + 3, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

// The upper ends of the ranges below are far above what was ever regressed (data/facts has coefficients up to
// 334 and clocks up to 600): above them only broken files come. A lone warp issues at most one instruction a
// clock, so no instruction takes less than 1. Comparisons are negated so that a NaN fails them.

void CompiledWork::check(const FieldProblem &problem) const {
    // Nothing more is said of a kernel without a proper name, since the messages below quote the name.
    if (!is_printable(kernel) || (!variant.empty() && !is_printable(variant)))
        return problem("", "expected a kernel's name and variant, for example \"row_register\" and \"\"");
    const auto require = [&](double value, double low, double high, const char *field, const char *expected) {
        if (!(value >= low && value <= high))
            problem(field, std::string("expected ") + expected + ", for " + kernel);
    };
    for (const auto &[field, value] : {std::pair{"per_ffma", per_ffma},
                                       {"per_counted", per_counted},
                                       {"per_warp", per_warp},
                                       {"per_warp_step", per_warp_step},
                                       {"merging", merging}})
        require(value, 0.0, 1e6, field, "a number from 0 to a million, for example 1");
    require(pace.copy_alu_share.value_or(0.0), 0.0, 1.0, "pace/copy_alu_share",
            "a share from 0 to 1, for example 0.5");
    for (const auto &[field, clocks] :
         {std::pair{"pace/ffma_clocks", pace.ffma_clocks}, {"pace/other_clocks", pace.other_clocks}})
        require(clocks, 1.0, 1e4, field, "clocks of an instruction from 1 to 10000, for example 2");
    require(pace.constant_clocks, 0.0, 1e4, "pace/constant_clocks", "clocks from 0 to 10000, for example 40");
    require(pace.alu_share, 0.0, 1.0, "pace/alu_share", "a share from 0 to 1, for example 0.5");
}

void Facts::check(const FieldProblem &problem) const {
    if (!is_architecture(architecture))
        problem("architecture", "expected an architecture such as \"sm_90\"");
    if (!is_printable(device_code_hash))
        problem("device_code_hash", "expected the hash that `convcast --version` prints as device code");
    if (kernels.empty())
        problem("kernels", "expected a kernel at least; to forecast without counters give --facts none");
    if (!(cold_clocks >= 0.0 && cold_clocks < 1e6))
        problem("cold_clocks", "expected clocks from 0 to a million, for example 1000");
    if (!(once_clocks >= 1.0 && once_clocks < 1e4))
        problem("once_clocks", "expected clocks of an instruction from 1 to 10000, for example 5");
    if (!(drift >= 0.0 && drift <= 1.0))
        problem("drift", "expected an exponent from 0 to 1, for example 0.5");
}

Facts as_never_counted(Facts facts, const std::set<std::string> &kernels) {
    std::erase_if(facts.kernels, [&](const CompiledWork &its) { return kernels.contains(its.kernel); });
    if (facts.kernels.empty())
        return facts;
    const auto median = [&](auto number) {
        std::vector<double> values;
        for (const CompiledWork &kernel : facts.kernels)
            values.push_back(number(kernel));
        return percentile(std::move(values), 0.5);
    };
    CompiledWork usual;
    usual.merging = median([](const CompiledWork &kernel) { return kernel.merging; });
    usual.pace.ffma_clocks = median([](const CompiledWork &kernel) { return kernel.pace.ffma_clocks; });
    usual.pace.other_clocks = median([](const CompiledWork &kernel) { return kernel.pace.other_clocks; });
    usual.pace.alu_share = median([](const CompiledWork &kernel) { return kernel.pace.alu_share; });
    usual.pace.copy_alu_share = median([](const CompiledWork &kernel) {
        return kernel.pace.copy_alu_share.value_or(kernel.pace.alu_share);
    });
    for (const std::string &kernel : kernels) {
        usual.kernel = kernel;
        facts.kernels.push_back(usual);
    }
    return facts;
}

Facts read_facts(const std::string &text, const std::string &file) {
    return described::read_document<Facts>(text, file);
}

std::string write_facts(const Facts &facts) {
    return to_text(described::write(facts));
}

template const described::Type &described::type_of<Facts>();

} // namespace convcast
