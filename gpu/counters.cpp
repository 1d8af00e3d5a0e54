#include "gpu/counters.hpp"

#include "gpu/check.hpp"
#include "gpu/cupti.hpp"
#include "gpu/driver.hpp"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

template <class Params> Params sized(std::size_t size) {
    Params params{};
    params.structSize = size;
    return params;
}

template <class Function, class Params>
void call_checked(const Cupti &cupti, const char *name, Params &params,
                  std::source_location where = std::source_location::current()) {
    cupti.check(cupti.symbol<Function>(name)(&params), name, where);
}

// Every call of these interfaces takes one block of parameters that begins with its size.
#define CUPTI_PARAMS(type) sized<type>(type##_STRUCT_SIZE)
#define CUPTI_CALL(cupti, function, params) call_checked<decltype(function)>(cupti, #function, params)

constexpr unsigned driver_version = 12000; ///< the few functions asked for here have not changed since

std::vector<const char *> pointers_to(const std::vector<std::string> &texts) {
    std::vector<const char *> pointers;
    for (const std::string &text : texts)
        pointers.push_back(text.c_str());
    return pointers;
}

/// The host half: metric names to a configuration image and counter data to values. Works without a GPU.
class ProfilerHost {
  public:
    /// `availability` may be empty: then all counters of the chip count as available.
    ProfilerHost(const Cupti &cupti, const std::string &chip, const std::vector<std::uint8_t> &availability)
        : cupti_(cupti) {
        auto params = CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params);
        params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
        params.pChipName = chip.c_str();
        params.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
        cupti_.check(
            cupti_.symbol<decltype(cuptiProfilerHostInitialize)>("cuptiProfilerHostInitialize")(&params),
            ("cuptiProfilerHostInitialize for chip " + chip).c_str());
        object_ = params.pHostObject;
    }
    ProfilerHost(const ProfilerHost &) = delete;
    ProfilerHost &operator=(const ProfilerHost &) = delete;
    ~ProfilerHost() {
        auto params = CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
        params.pHostObject = object_;
        (void)cupti_.symbol<decltype(cuptiProfilerHostDeinitialize)>("cuptiProfilerHostDeinitialize")(
            &params);
    }

    CUptiResult add(const std::vector<std::string> &metrics) const {
        std::vector<const char *> names = pointers_to(metrics);
        auto params = CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
        params.pHostObject = object_;
        params.ppMetricNames = names.data();
        params.numMetrics = names.size();
        return cupti_.symbol<decltype(cuptiProfilerHostConfigAddMetrics)>(
            "cuptiProfilerHostConfigAddMetrics")(&params);
    }

    std::vector<std::uint8_t> config_image() const {
        auto size = CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
        size.pHostObject = object_;
        CUPTI_CALL(cupti_, cuptiProfilerHostGetConfigImageSize, size);
        std::vector<std::uint8_t> image(size.configImageSize);
        auto params = CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
        params.pHostObject = object_;
        params.configImageSize = image.size();
        params.pConfigImage = image.data();
        CUPTI_CALL(cupti_, cuptiProfilerHostGetConfigImage, params);
        return image;
    }

    int passes(std::vector<std::uint8_t> &config) const {
        auto params = CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
        params.configImageSize = config.size();
        params.pConfigImage = config.data();
        CUPTI_CALL(cupti_, cuptiProfilerHostGetNumOfPasses, params);
        return static_cast<int>(params.numOfPasses);
    }

    std::map<std::string, double> evaluate(const std::vector<std::string> &metrics,
                                           const std::vector<std::uint8_t> &counter_data,
                                           std::size_t range) const {
        std::vector<const char *> names = pointers_to(metrics);
        std::vector<double> values(metrics.size(), std::nan(""));
        auto params = CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
        params.pHostObject = object_;
        params.pCounterDataImage = counter_data.data();
        params.counterDataImageSize = counter_data.size();
        params.rangeIndex = range;
        params.ppMetricNames = names.data();
        params.numMetrics = names.size();
        params.pMetricValues = values.data();
        CUPTI_CALL(cupti_, cuptiProfilerHostEvaluateToGpuValues, params);
        std::map<std::string, double> result;
        for (std::size_t i = 0; i < metrics.size(); ++i)
            result[metrics[i]] = values[i];
        return result;
    }

  private:
    const Cupti &cupti_;
    CUpti_Profiler_Host_Object *object_ = nullptr;
};

/// Those of `metrics` that a chip does not have.
std::vector<std::string> unknown_to(const Cupti &cupti, const std::string &chip,
                                    const std::vector<std::string> &metrics,
                                    const std::vector<std::uint8_t> &availability) {
    std::vector<std::string> unknown;
    for (const std::string &metric : metrics) // one that was refused a metric refuses all that follow
        if (ProfilerHost(cupti, chip, availability).add({metric}) != CUPTI_SUCCESS)
            unknown.push_back(metric);
    return unknown;
}

void check_metrics(const Cupti &cupti, const std::string &chip, const std::vector<std::string> &metrics,
                   CUptiResult result, const std::vector<std::uint8_t> &availability) {
    if (result == CUPTI_SUCCESS)
        return;
    if (const auto unknown = unknown_to(cupti, chip, metrics, availability); !unknown.empty())
        throw GpuError("chip " + chip + " has no metric " + join(unknown));
    cupti.check(result, "cuptiProfilerHostConfigAddMetrics");
}

/// The range profiler switched on for a context, for as long as this lives.
class RangeProfiler {
  public:
    RangeProfiler(const Cupti &cupti, CUcontext context) : cupti_(cupti) {
        auto params = CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params);
        params.ctx = context;
        CUPTI_CALL(cupti_, cuptiRangeProfilerEnable, params);
        object_ = params.pRangeProfilerObject;
    }
    RangeProfiler(const RangeProfiler &) = delete;
    RangeProfiler &operator=(const RangeProfiler &) = delete;
    ~RangeProfiler() {
        auto params = CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params);
        params.pRangeProfilerObject = object_;
        (void)cupti_.symbol<decltype(cuptiRangeProfilerDisable)>("cuptiRangeProfilerDisable")(&params);
    }

    std::vector<std::uint8_t> counter_data_image(const std::vector<std::string> &metrics,
                                                 std::size_t ranges) const {
        std::vector<const char *> names = pointers_to(metrics);
        auto size = CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
        size.pRangeProfilerObject = object_;
        size.pMetricNames = names.data();
        size.numMetrics = names.size();
        size.maxNumOfRanges = ranges;
        size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
        CUPTI_CALL(cupti_, cuptiRangeProfilerGetCounterDataSize, size);
        std::vector<std::uint8_t> image(size.counterDataSize);
        auto params = CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
        params.pRangeProfilerObject = object_;
        params.counterDataSize = image.size();
        params.pCounterData = image.data();
        CUPTI_CALL(cupti_, cuptiRangeProfilerCounterDataImageInitialize, params);
        return image;
    }

    void set_config(const std::vector<std::uint8_t> &config, std::vector<std::uint8_t> &counter_data,
                    std::size_t ranges) const {
        auto params = CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
        params.pRangeProfilerObject = object_;
        params.configSize = config.size();
        params.pConfig = config.data();
        params.counterDataImageSize = counter_data.size();
        params.pCounterDataImage = counter_data.data();
        params.range = CUPTI_UserRange;
        params.replayMode = CUPTI_UserReplay;
        params.maxRangesPerPass = ranges;
        params.numNestingLevels = 1;
        params.minNestingLevel = 1;
        params.passIndex = 0;
        params.targetNestingLevel = 1;
        CUPTI_CALL(cupti_, cuptiRangeProfilerSetConfig, params);
    }

    /// One pass over `works`, each in a range; true when it was the last that the configuration needs.
    bool pass(const CounterSession::Work &before, const std::vector<CounterSession::Work> &works) const {
        auto start = CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params);
        start.pRangeProfilerObject = object_;
        CUPTI_CALL(cupti_, cuptiRangeProfilerStart, start);
        for (std::size_t i = 0; i < works.size(); ++i)
            range(range_name(i), before, works[i]);
        auto stop = CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params);
        stop.pRangeProfilerObject = object_;
        CUPTI_CALL(cupti_, cuptiRangeProfilerStop, stop);
        return stop.isAllPassSubmitted != 0;
    }

    static std::string range_name(std::size_t index) { return "work_" + std::to_string(index); }

    void decode() const {
        auto params = CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
        params.pRangeProfilerObject = object_;
        CUPTI_CALL(cupti_, cuptiRangeProfilerDecodeData, params);
        if (params.numOfRangeDropped > 0)
            throw GpuError("CUPTI dropped the counters of " + std::to_string(params.numOfRangeDropped) +
                           " range(s)");
    }

  private:
    void range(const std::string &name, const CounterSession::Work &before,
               const CounterSession::Work &work) const {
        if (before)
            before();
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize before a counter range");
        auto push = CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params);
        push.pRangeProfilerObject = object_;
        push.pRangeName = name.c_str();
        CUPTI_CALL(cupti_, cuptiRangeProfilerPushRange, push);
        work();
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize in a counter range");
        auto pop = CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params);
        pop.pRangeProfilerObject = object_;
        CUPTI_CALL(cupti_, cuptiRangeProfilerPopRange, pop);
    }

    const Cupti &cupti_;
    CUpti_RangeProfiler_Object *object_ = nullptr;
};

std::size_t range_count(const Cupti &cupti, const std::vector<std::uint8_t> &counter_data) {
    auto params = CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params);
    params.pCounterDataImage = counter_data.data();
    params.counterDataImageSize = counter_data.size();
    CUPTI_CALL(cupti, cuptiRangeProfilerGetCounterDataInfo, params);
    return params.numTotalRanges;
}

std::string name_of_range(const Cupti &cupti, const std::vector<std::uint8_t> &counter_data,
                          std::size_t index) {
    auto params = CUPTI_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
    params.pCounterDataImage = counter_data.data();
    params.counterDataImageSize = counter_data.size();
    params.rangeIndex = index;
    params.rangeDelimiter = "/";
    CUPTI_CALL(cupti, cuptiRangeProfilerCounterDataGetRangeInfo, params);
    return params.rangeName;
}

/// What the current device says before any profiling: its context, chip and which counters are free.
struct ProfiledDevice {
    CUcontext context = nullptr;
    std::string chip;
    std::vector<std::uint8_t> availability;
};

/// Throws CounterPermissionError where counters are closed to us: asking for the availability is what tells.
ProfiledDevice open_device(const Cupti &cupti) {
    ProfiledDevice device;
    check(cudaFree(nullptr), "cudaFree"); // creates the context
    driver_check(
        driver_function<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent", driver_version)(&device.context),
        "cuCtxGetCurrent");
    CUdevice handle = 0;
    driver_check(driver_function<CUresult(CUdevice *)>("cuCtxGetDevice", driver_version)(&handle),
                 "cuCtxGetDevice");

    // Process-wide and harmless to repeat; never undone, as another session may be alive.
    auto initialize = CUPTI_PARAMS(CUpti_Profiler_Initialize_Params);
    CUPTI_CALL(cupti, cuptiProfilerInitialize, initialize);

    auto supported = CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params);
    supported.cuDevice = handle;
    supported.api = CUPTI_PROFILER_RANGE_PROFILING;
    CUPTI_CALL(cupti, cuptiProfilerDeviceSupported, supported);
    if (supported.isSupported != CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        throw GpuError("CUPTI cannot read performance counters on this device in its present configuration "
                       "(virtual GPU, MIG, SLI, confidential computing or WSL)");

    auto chip = CUPTI_PARAMS(CUpti_Device_GetChipName_Params);
    chip.deviceIndex = static_cast<std::size_t>(handle);
    CUPTI_CALL(cupti, cuptiDeviceGetChipName, chip);
    device.chip = chip.pChipName;

    auto available = CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
    available.ctx = device.context;
    CUPTI_CALL(cupti, cuptiProfilerGetCounterAvailability, available);
    device.availability.resize(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = device.availability.data();
    CUPTI_CALL(cupti, cuptiProfilerGetCounterAvailability, available);
    return device;
}

constexpr const char *purpose = "read performance counters";

} // namespace

std::optional<std::string> why_no_counters() {
    return why_not([] { (void)open_device(Cupti(purpose)); });
}

std::vector<std::string> unknown_metrics(const std::string &chip, const std::vector<std::string> &metrics) {
    return unknown_to(Cupti(purpose), chip, metrics, {});
}

int passes_for(const std::string &chip, const std::vector<std::string> &metrics) {
    const Cupti cupti(purpose);
    const ProfilerHost host(cupti, chip, {});
    check_metrics(cupti, chip, metrics, host.add(metrics), {});
    std::vector<std::uint8_t> config = host.config_image();
    return host.passes(config);
}

struct CounterSession::State {
    explicit State(std::vector<std::string> names)
        : metrics(std::move(names)), cupti(purpose), device(open_device(cupti)),
          host(cupti, device.chip, device.availability) {
        check_metrics(cupti, device.chip, metrics, host.add(metrics), device.availability);
        config = host.config_image();
        passes = host.passes(config);
    }

    std::vector<std::string> metrics;
    Cupti cupti;
    ProfiledDevice device;
    ProfilerHost host;
    std::vector<std::uint8_t> config;
    int passes = 0;
};

CounterSession::CounterSession(std::vector<std::string> metrics)
    : state_(std::make_unique<State>(std::move(metrics))) {}

CounterSession::~CounterSession() = default;

int CounterSession::passes() const {
    return state_->passes;
}

CounterSession::Values CounterSession::collect(const Work &before, const Work &work) {
    return collect_each(before, {work}).front();
}

std::vector<CounterSession::Values> CounterSession::collect_each(const Work &before,
                                                                 const std::vector<Work> &works) {
    if (works.empty())
        return {};
    std::vector<std::uint8_t> counter_data;
    {
        // Switched on for this collection only, so that nothing is slowed down between collections.
        const RangeProfiler profiler(state_->cupti, state_->device.context);
        counter_data = profiler.counter_data_image(state_->metrics, works.size());
        profiler.set_config(state_->config, counter_data, works.size());
        bool last = false;
        for (int done = 0; !last; ++done) {
            if (done > 2 * state_->passes)
                throw GpuError("CUPTI still asks for more passes after " + std::to_string(done));
            last = profiler.pass(before, works);
        }
        profiler.decode();
    }
    const std::size_t ranges = range_count(state_->cupti, counter_data);
    if (ranges != works.size())
        throw GpuError("CUPTI returned the counters of " + std::to_string(ranges) + " ranges, not of " +
                       std::to_string(works.size()));
    std::map<std::string, Values> by_range;
    for (std::size_t i = 0; i < ranges; ++i)
        by_range[name_of_range(state_->cupti, counter_data, i)] =
            state_->host.evaluate(state_->metrics, counter_data, i);
    std::vector<Values> values;
    for (std::size_t i = 0; i < works.size(); ++i) {
        const auto found = by_range.find(RangeProfiler::range_name(i));
        if (found == by_range.end())
            throw GpuError("CUPTI returned no counters for " + RangeProfiler::range_name(i) + ", but for " +
                           by_range.begin()->first);
        values.push_back(std::move(found->second));
    }
    return values;
}

} // namespace convcast
