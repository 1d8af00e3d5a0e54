#include "gpu/activity.hpp"

#include "gpu/check.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
using MemcpyRecord = CUpti_ActivityMemcpy6;
#else
using KernelRecord = CUpti_ActivityKernel9; // the fields used here are at the same places
using MemcpyRecord = CUpti_ActivityMemcpy5;
#endif
using MemsetRecord = CUpti_ActivityMemset4;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;

// CONCURRENT_KERNEL, as KERNEL serialises: it puts some 2 us between two kernels of a stream and forbids a
// kernel to start before the one ahead of it has ended, where both asked for that.
constexpr std::array kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                              CUPTI_ACTIVITY_KIND_MEMCPY2, // between GPUs
                              CUPTI_ACTIVITY_KIND_MEMSET};

constexpr std::size_t buffer_bytes = 8u << 20; // CUPTI's guide suggests 1 to 10 MB
constexpr std::size_t buffer_alignment = 8;

/// What the callbacks, which run on CUPTI's thread, hand over.
struct Collector {
    std::mutex mutex;
    decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
    decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
    std::vector<ActivityRecord> records;
    std::size_t dropped = 0;
    bool failed = false;
    bool registered = false;
};

/// CUPTI's callbacks are plain functions without a user pointer, so the collector must be one per process.
Collector &collector() {
    static Collector *the = new Collector; // never destroyed: CUPTI may call while the process exits
    return *the;
}

ActivityRecord convert(const KernelRecord &record) {
    ActivityRecord result;
    result.kind = ActivityKind::kernel;
    result.name = record.name ? record.name : "";
    result.start_ns = record.start;
    result.end_ns = record.end;
    result.call = record.correlationId;
    result.device = static_cast<int>(record.deviceId);
    result.registers = record.registersPerThread;
    result.static_shared_bytes = record.staticSharedMemory;
    result.dynamic_shared_bytes = record.dynamicSharedMemory;
    result.grid = {record.gridX, record.gridY, record.gridZ};
    result.block = {record.blockX, record.blockY, record.blockZ};
    return result;
}

template <class Record> ActivityRecord convert(ActivityKind kind, const Record &record) {
    ActivityRecord result;
    result.kind = kind;
    result.start_ns = record.start;
    result.end_ns = record.end;
    result.call = record.correlationId;
    result.device = static_cast<int>(record.deviceId);
    result.bytes = record.bytes;
    return result;
}

ActivityRecord convert(const MemcpyRecord &record) {
    ActivityRecord result = convert(ActivityKind::memcpy, record);
    if (record.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
        result.ends = CopyEnds::from_host;
    else if (record.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
        result.ends = CopyEnds::to_host;
    return result;
}

ActivityRecord convert(const PeerCopyRecord &record) {
    ActivityRecord result = convert(ActivityKind::memcpy, record);
    result.device = static_cast<int>(record.srcDeviceId);
    if (record.dstDeviceId != record.srcDeviceId)
        result.to_device = static_cast<int>(record.dstDeviceId);
    return result;
}

void collect(const CUpti_Activity *record, std::vector<ActivityRecord> &records) {
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        records.push_back(convert(*reinterpret_cast<const KernelRecord *>(record)));
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        records.push_back(convert(*reinterpret_cast<const MemcpyRecord *>(record)));
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        records.push_back(convert(*reinterpret_cast<const PeerCopyRecord *>(record)));
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        records.push_back(convert(ActivityKind::memset, *reinterpret_cast<const MemsetRecord *>(record)));
        break;
    default:
        break; // CUPTI adds records of its own, such as overheads
    }
}

void CUPTIAPI buffer_requested(std::uint8_t **buffer, std::size_t *size, std::size_t *max_records) {
    *buffer = static_cast<std::uint8_t *>(std::aligned_alloc(buffer_alignment, buffer_bytes));
    *size = *buffer ? buffer_bytes : 0;
    *max_records = 0; // as many as fit
}

void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t *buffer, std::size_t,
                               std::size_t valid_bytes) {
    Collector &to = collector();
    const std::scoped_lock lock(to.mutex);
    try {
        CUpti_Activity *record = nullptr;
        CUptiResult result = CUPTI_SUCCESS;
        while (valid_bytes > 0 && (result = to.next_record(buffer, valid_bytes, &record)) == CUPTI_SUCCESS)
            collect(record, to.records);
        if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_MAX_LIMIT_REACHED)
            to.failed = true;
        std::size_t dropped = 0;
        if (to.dropped_records(context, stream, &dropped) == CUPTI_SUCCESS)
            to.dropped += dropped;
    } catch (...) { // out of memory; no exception may pass through CUPTI
        to.failed = true;
    }
    std::free(buffer);
}

} // namespace

std::optional<std::string> ActivityTrace::why_not_available() {
    return why_not([] {
        ActivityTrace trace;
        trace.start();
        trace.stop();
    });
}

ActivityTrace::ActivityTrace() {
    Collector &to = collector();
    const std::scoped_lock lock(to.mutex);
    to.next_record = cupti_.symbol("cuptiActivityGetNextRecord");
    to.dropped_records = cupti_.symbol("cuptiActivityGetNumDroppedRecords");
}

ActivityTrace::~ActivityTrace() {
    if (running_)
        disable();
}

void ActivityTrace::start() {
    Collector &to = collector();
    {
        const std::scoped_lock lock(to.mutex);
        if (!to.registered)
            cupti_.check(cupti_.symbol<decltype(cuptiActivityRegisterCallbacks)>(
                             "cuptiActivityRegisterCallbacks")(buffer_requested, buffer_completed),
                         "cuptiActivityRegisterCallbacks");
        to.registered = true;
    }
    // What an earlier trace left behind when an exception ended it must not show up in this one.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    (void)flush_all_(0);
    {
        const std::scoped_lock lock(to.mutex);
        to.records.clear();
        to.dropped = 0;
        to.failed = false;
    }
    running_ = true;
    try {
        for (const CUpti_ActivityKind kind : kinds)
            cupti_.check(enable_(kind), "cuptiActivityEnable");
    } catch (...) {
        disable();
        throw;
    }
}

std::vector<ActivityRecord> ActivityTrace::drain() {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    cupti_.check(flush_all_(0), "cuptiActivityFlushAll");
    Collector &from = collector();
    std::vector<ActivityRecord> records;
    {
        const std::scoped_lock lock(from.mutex);
        if (from.failed)
            throw GpuError("CUPTI's activity records could not be read");
        if (from.dropped > 0)
            throw GpuError("CUPTI dropped " + std::to_string(from.dropped) + " activity records");
        records = std::exchange(from.records, {});
    }
    std::stable_sort(records.begin(), records.end(), [](const ActivityRecord &a, const ActivityRecord &b) {
        return a.start_ns < b.start_ns;
    });
    return records;
}

std::vector<ActivityRecord> ActivityTrace::stop() {
    std::vector<ActivityRecord> records = drain();
    disable();
    return records;
}

void ActivityTrace::disable() noexcept {
    for (const CUpti_ActivityKind kind : kinds)
        (void)disable_(kind); // fails only if it was not enabled
    running_ = false;
}

} // namespace convcast
