#include "cli/device.hpp"

#include "model/base/errors.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

// What every function of cli/device.hpp that needs CUDA throws.
const std::string why = "this convcast was built without the CUDA toolkit; it predicts, chooses, reports and "
                        "reads recorded samples "
                        "(`convcast measure --from-raw SAMPLES`). To measure, compile and run, install CUDA "
                        "12.8 or newer and build "
                        "again";

} // namespace

RawSamples take_samples(const SamplesRequest &) {
    throw GpuError(why);
}

std::optional<std::string> probes_hash() {
    return std::nullopt;
}

CompileReport compile_kernels(const std::vector<Plan> &, const std::vector<OwnTask> &, const Gpu &, int) {
    throw GpuError(why);
}

void try_own_on_device(const Run &, const GpuProfile &, int) {
    throw GpuError(why);
}

std::optional<std::string> why_not_run(int) {
    return why;
}

std::map<std::string, std::string> gpu_at_hand(int) {
    throw GpuError(why);
}

int sms_given(int, int) {
    throw GpuError(why);
}

RunEnd run_on_device(Run &, const GpuProfile &, const RunRequest &) {
    throw GpuError(why);
}

NetworkRun run_ladder_on_device(const Ladder &, const Network &, std::int64_t, int) {
    throw GpuError(why);
}

NetworkRun run_whole_on_device(const PlannedNetwork &, int, const std::string &) {
    throw GpuError(why);
}

void run_scaling_on(const TrainedOn &, const Network &, NetworkRun &,
                    const std::function<void(const NetworkRun &)> &) {
    throw GpuError(why);
}

TrainedNetwork train_on(const TrainedOn &, const Ladder &, const Network &, const LabelledImages &,
                        const LabelledImages &, const TrainingOptions &,
                        const std::function<void(const Weights &, std::int64_t)> &) {
    throw GpuError(why);
}

std::vector<Finding> examine_device() {
    return {{"CUDA toolkit at build time", Health::absent, why}};
}

} // namespace convcast::cli
