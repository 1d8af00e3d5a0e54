#include "model/work/compiled.hpp"

#include "model/work/l2_sectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// What the coefficients of CompiledWork multiply for a part of the work of `times` CTAs: `warps` warps and
/// `warp_steps` of their steps.
InstructionFeatures features_of(const StepWork &work, double warps, double warp_steps, double times) {
    const double ffmas = work.fmas / 32.0;
    return {times * ffmas, times * std::max(0.0, work.instructions - ffmas), times * warps,
            times * warp_steps};
}

InstructionFeatures coefficients(const CompiledWork &facts) {
    return {facts.per_ffma, facts.per_counted, facts.per_warp, facts.per_warp_step};
}

double dot(const InstructionFeatures &a, const InstructionFeatures &b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < instruction_features; ++i)
        sum += a[i] * b[i];
    return sum;
}

/// Bytes that reach L2 of a launch's reads: all but those of requests that are coalesced before (W6). What
/// DRAM delivers passes L2 at least once.
double seen_reads(const Partition &part, const Merging &merging, const Architecture &architecture) {
    const double reads = part.work.l2_read_bytes.value_or(0.0);
    const double merged =
        part.mergeable_reads
            ? merged_bytes(*part.mergeable_reads, part.work.instructions.value_or(0.0), merging, architecture)
            : 0.0;
    return std::max(reads - merged, std::min(reads, part.work.dram_read_bytes.value_or(0.0)));
}

/// The facts of a launch's kernel: those of its variant, else of the variant with most counted calls. Null if
/// the kernel was not counted.
const CompiledWork *facts_for(const Partition &part, const Facts &facts) {
    const CompiledWork *best = nullptr;
    for (const CompiledWork &kernel : facts.kernels)
        if (kernel.kernel == part.kernel && (kernel.variant == part.variant || best == nullptr ||
                                             (best->variant != part.variant && kernel.cases > best->cases)))
            best = &kernel;
    return best;
}

std::string quoted(const std::string &variant) {
    return variant.empty() ? "its plain variant" : "its variant '" + variant + "'";
}

} // namespace

double warps_of(const Partition &part) {
    return std::ceil(double(part.threads) / 32.0);
}

InstructionFeatures features_of(const Partition &part) {
    const double ctas = double(part.ctas - part.idle_ctas), warps = warps_of(part);
    const double ffmas = part.work.fmas.value_or(0.0) / 32.0;
    return {ffmas, std::max(0.0, part.work.instructions.value_or(ffmas) - ffmas), ctas * warps,
            ctas * warps * double(part.steps)};
}

void apply(Partition &part, const CompiledWork &kernel, const Facts &facts,
           const Architecture &architecture) {
    const double warps = warps_of(part);
    // The coefficients say how many instructions come beside the FFMAs.
    const InstructionFeatures per_feature = coefficients(kernel);
    const auto instructions = [&](const StepWork &work, double once, double steps) {
        return work.fmas / 32.0 + dot(per_feature, features_of(work, once, steps, 1.0));
    };
    part.work.instructions = part.work.fmas.value_or(0.0) / 32.0 + dot(per_feature, features_of(part));
    const double counted = part.step.instructions;
    part.step.instructions = instructions(part.step, 0.0, warps);
    if (counted > 0.0)
        part.step.copying *= part.step.instructions / counted;
    part.drain.instructions = instructions(part.drain, warps, 0.0);
    part.pace = kernel.pace;
    // Where FFMAs read constant memory, first warps wait for its lines, which F24 counts.
    part.cold_clocks = part.step.constant_lines > 0.0 ? 0.0 : facts.cold_clocks;
    part.once_clocks = facts.once_clocks;
    if (part.idle_instructions)
        *part.idle_instructions *= kernel.per_counted;
    if (!part.work.l2_read_bytes || *part.work.l2_read_bytes <= 0.0)
        return;
    const Merging merging{kernel.merging, facts.drift};
    const double seen = seen_reads(part, merging, architecture), share = seen / *part.work.l2_read_bytes;
    part.step.load_bytes *= share;
    part.drain.load_bytes *= share;
    part.work.l2_read_bytes = std::max(seen, part.work.dram_read_bytes.value_or(0.0));
}

Plan with_facts(Plan plan, const Facts &facts, const Architecture &architecture) {
    each_launch(plan, [&](Partition &part) {
        if (const CompiledWork *its = facts_for(part, facts))
            apply(part, *its, facts, architecture);
    });
    return plan;
}

std::vector<std::string> borrowed_facts(const Plan &plan, const Facts &facts) {
    std::vector<std::string> said;
    each_launch(plan, [&](const Partition &part) {
        const CompiledWork *its = facts_for(part, facts);
        if (its == nullptr || its->variant == part.variant)
            return;
        std::string sentence = fmt::format("facts of {}: {} was not counted and takes those of {}",
                                           part.kernel, quoted(part.variant), quoted(its->variant));
        if (std::find(said.begin(), said.end(), sentence) == said.end())
            said.push_back(std::move(sentence));
    });
    if (const Partition &main = main_launch(plan);
        !facts.kernels.empty() && facts_for(main, facts) == nullptr)
        said.push_back(fmt::format(
            "facts of {}: it was never counted, so what the compiler makes of it is not known", main.kernel));
    return said;
}

} // namespace convcast
