#include "gpu/green_context.hpp"

#include "gpu/driver.hpp"

#include <memory>
#include <string>

namespace convcast {
namespace {

/// Green contexts came with CUDA 12.4; what is asked for has had the same signature since.
constexpr unsigned green_version = 12040;

template <class Function> Function *driver(const char *name) {
    return driver_function<Function>(
        name, green_version, ": running on some of a GPU's SMs needs a driver for CUDA 12.4 or newer");
}

CUdevice device_of(int ordinal) {
    CUdevice device{};
    driver_check(driver<CUresult(CUdevice *, int)>("cuDeviceGet")(&device, ordinal), "cuDeviceGet");
    return device;
}

/// One group of the GPU's SMs. By default the driver takes them in groups that leave clusters their room.
CUdevResource group_of(CUdevice device, int sms) {
    CUdevResource all{}, group{};
    driver_check(driver<CUresult(CUdevice, CUdevResource *, CUdevResourceType)>("cuDeviceGetDevResource")(
                     device, &all, CU_DEV_RESOURCE_TYPE_SM),
                 "cuDeviceGetDevResource");
    if (sms < 1 || static_cast<unsigned>(sms) > all.sm.smCount)
        throw GpuError("asked for " + std::to_string(sms) + " SMs of a GPU that has " +
                       std::to_string(all.sm.smCount));
    if (static_cast<unsigned>(sms) == all.sm.smCount)
        return all;
    unsigned groups = 1;
    driver_check(driver<CUresult(CUdevResource *, unsigned *, const CUdevResource *, CUdevResource *,
                                 unsigned, unsigned)>("cuDevSmResourceSplitByCount")(
                     &group, &groups, &all, nullptr, 0, static_cast<unsigned>(sms)),
                 "cuDevSmResourceSplitByCount");
    if (groups != 1)
        throw GpuError("the driver makes no group of " + std::to_string(sms) + " SMs on this GPU");
    return group;
}

} // namespace

int green_sm_count(int ordinal, int sms) {
    check(cudaFree(nullptr), "cudaFree"); // initialises the driver
    return static_cast<int>(group_of(device_of(ordinal), sms).sm.smCount);
}

struct GreenContext::Handles {
    CUgreenCtx green = nullptr;
    CUcontext before = nullptr;

    ~Handles() {
        if (green)
            (void)driver<CUresult(CUgreenCtx)>("cuGreenCtxDestroy")(green);
    }
};

GreenContext::GreenContext(int ordinal, int sms) {
    check(cudaFree(nullptr), "cudaFree"); // the primary context, which a green one belongs to
    const CUdevice device = device_of(ordinal);
    CUdevResource group = group_of(device, sms);
    sm_count_ = static_cast<int>(group.sm.smCount);
    if (sm_count_ != sms)
        throw GpuError("asked for " + std::to_string(sms) + " SMs, the driver gives " +
                       std::to_string(sm_count_) + " here: groups of " +
                       std::to_string(group.sm.smCoscheduledAlignment));
    handles_ = std::make_unique<Handles>();
    driver_check(driver<CUresult(CUcontext *)>("cuCtxGetCurrent")(&handles_->before), "cuCtxGetCurrent");
    CUdevResourceDesc description{};
    driver_check(driver<CUresult(CUdevResourceDesc *, CUdevResource *, unsigned)>(
                     "cuDevResourceGenerateDesc")(&description, &group, 1),
                 "cuDevResourceGenerateDesc");
    driver_check(driver<CUresult(CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned)>("cuGreenCtxCreate")(
                     &handles_->green, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
                 "cuGreenCtxCreate");
    CUcontext context = nullptr;
    driver_check(driver<CUresult(CUcontext *, CUgreenCtx)>("cuCtxFromGreenCtx")(&context, handles_->green),
                 "cuCtxFromGreenCtx");
    driver_check(driver<CUresult(CUcontext)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
}

GreenContext::~GreenContext() {
    (void)driver<CUresult(CUcontext)>("cuCtxSetCurrent")(handles_->before);
}

} // namespace convcast
