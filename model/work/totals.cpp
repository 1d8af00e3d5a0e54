#include "model/work/totals.hpp"

#include <algorithm>
#include <optional>

namespace convcast {

Work total_work(const Plan &plan) {
    Work total;
    const auto add = [&](std::optional<double> Work::*field) {
        each_launch(plan, [&](const Partition &part) {
            if (part.work.*field)
                total.*field = (total.*field).value_or(0.0) + *(part.work.*field);
        });
    };
    for (const auto field : {&Work::fmas, &Work::tensor_fmas, &Work::instructions, &Work::shared_wavefronts,
                             &Work::shared_conflicts, &Work::l2_read_bytes, &Work::l2_write_bytes,
                             &Work::dram_read_bytes, &Work::dram_write_bytes})
        add(field);
    return total;
}

Plan with_work(Plan plan, const Work &counted) {
    const Work forecast = total_work(plan);
    // Counted over forecast; 1 where either is absent.
    const auto ratio = [&](std::optional<double> Work::*field) {
        const std::optional<double> ours = forecast_of(forecast, field), &theirs = counted.*field;
        return ours && theirs && *ours > 0.0 ? *theirs / *ours : 1.0;
    };
    // FFMAs are warp instructions too, but have a ratio of their own: the others are scaled apart.
    const double ffmas = forecast.fmas.value_or(0.0) / 32.0;
    const double others = forecast.instructions.value_or(0.0) - ffmas;
    const double other_ratio =
        others > 0.0 && counted.instructions
            ? std::max(0.0, *counted.instructions - ffmas * ratio(&Work::fmas)) / others
            : 1.0;
    // The forecast of a step has no replays: wavefronts by address, where counted, are the same quantity.
    const double loads = ratio(&Work::l2_read_bytes),
                 wavefronts = ratio(counted.shared_wavefronts_by_address ? &Work::shared_wavefronts_by_address
                                                                         : &Work::shared_wavefronts);
    each_launch(plan, [&](Partition &part) {
        for (StepWork *work : {&part.step, &part.drain}) {
            const double other_instructions = std::max(0.0, work->instructions - work->fmas / 32.0);
            work->fmas *= ratio(&Work::fmas);
            work->instructions = work->fmas / 32.0 + other_instructions * other_ratio;
            work->copying *= other_ratio;
            work->shared_wavefronts *= wavefronts;
            work->load_bytes *= loads;
        }
        for (const auto field :
             {&Work::l2_read_bytes, &Work::l2_write_bytes, &Work::dram_read_bytes, &Work::dram_write_bytes})
            if (part.work.*field)
                part.work.*field = *(part.work.*field) * ratio(field);
        if (part.partial_write_bytes)
            *part.partial_write_bytes *= ratio(&Work::l2_write_bytes);
    });
    return plan;
}

void average_step(Partition &partition) {
    const double ctas = double(partition.ctas - partition.idle_ctas);
    const double full = ctas * double(partition.steps) * partition.step.instructions;
    if (!partition.work.instructions || !(full > 0.0))
        return;
    const double share =
        std::clamp((*partition.work.instructions - ctas * partition.drain.instructions) / full, 0.0, 1.0);
    StepWork &step = partition.step;
    for (double *value : {&step.fmas, &step.instructions, &step.copying, &step.shared_wavefronts, &step.turns,
                          &step.constant_lines, &step.load_bytes, &step.store_bytes})
        *value *= share;
}

} // namespace convcast
