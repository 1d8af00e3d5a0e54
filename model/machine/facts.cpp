#include "model/machine/facts.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// "sm_90", "sm_121"
bool is_architecture(const std::string &text) {
    return text.starts_with("sm_") && text.size() >= 5 && text.size() <= 6 &&
           std::all_of(text.begin() + 3, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

Facts read_facts(const std::string &text, const std::string &file) {
    Facts facts = described::read_document<Facts>(text, file, "convcast/facts/3");
    std::vector<InputProblem> problems;
    if (!is_architecture(facts.architecture))
        problems.push_back({file + ": /architecture", "expected an architecture such as \"sm_90\""});
    if (!is_printable(facts.device_code_hash))
        problems.push_back({file + ": /device_code_hash",
                            "expected the hash that `convcast --version` prints as device code"});
    if (facts.kernels.empty())
        problems.push_back({file + ": /kernels", "expected a kernel at least; to forecast without counters "
                                                 "give --facts none"});
    if (!(facts.cold_clocks >= 0.0 && facts.cold_clocks < 1e6))
        problems.push_back(
            {file + ": /cold_clocks", "expected clocks from 0 to a million, for example 1000"});
    if (!(facts.once_clocks >= 1.0 && facts.once_clocks < 1e4))
        problems.push_back(
            {file + ": /once_clocks", "expected clocks of an instruction from 1 to 10000, for example 5"});
    if (!(facts.drift >= 0.0 && facts.drift <= 1.0))
        problems.push_back({file + ": /drift", "expected an exponent from 0 to 1, for example 0.5"});
    for (std::size_t i = 0; i < facts.kernels.size(); ++i) {
        const CompiledWork &kernel = facts.kernels[i];
        if (!is_printable(kernel.kernel) || (!kernel.variant.empty() && !is_printable(kernel.variant))) {
            problems.push_back(
                {file + ": /kernels/" + std::to_string(i),
                 "expected a kernel's name and variant, for example \"row_register\" and \"\""});
            continue;
        }
        const Pace &pace = kernel.pace;
        for (const double value :
             {kernel.per_ffma, kernel.per_counted, kernel.per_warp, kernel.per_warp_step, kernel.merging})
            if (!(value >= 0.0 && value < 1e6))
                problems.push_back(
                    {file + ": /kernels/" + std::to_string(i),
                     "expected counts from 0 to a million, for example 1, for " + kernel.kernel});
        if (const double share = pace.copy_alu_share.value_or(0.0); !(share >= 0.0 && share <= 1.0))
            problems.push_back({file + ": /kernels/" + std::to_string(i) + "/pace/copy_alu_share",
                                "expected a share from 0 to 1, for example 0.5, for " + kernel.kernel});
        for (const double clocks : {pace.ffma_clocks, pace.other_clocks})
            if (!(clocks >= 1.0 && clocks < 1e4))
                problems.push_back({file + ": /kernels/" + std::to_string(i) + "/pace",
                                    "expected clocks of an instruction from 1 to 10000, for example 2, for " +
                                        kernel.kernel});
        if (!(pace.constant_clocks >= 0.0 && pace.constant_clocks < 1e4))
            problems.push_back({file + ": /kernels/" + std::to_string(i) + "/pace/constant_clocks",
                                "expected clocks from 0 to 10000, for example 40, for " + kernel.kernel});
        if (!(pace.alu_share >= 0.0 && pace.alu_share <= 1.0))
            problems.push_back({file + ": /kernels/" + std::to_string(i) + "/pace/alu_share",
                                "expected a share from 0 to 1, for example 0.5, for " + kernel.kernel});
    }
    if (!problems.empty())
        throw InputError(described::with_lines(std::move(problems), text, file));
    return facts;
}

std::string write_facts(const Facts &facts) {
    return to_text(described::write(facts));
}

template const described::Type &described::type_of<Facts>();

} // namespace convcast
