// How long a call takes on the device: warm-up, then samples until they are precise enough.
#pragma once

#include "gpu/activity.hpp"
#include "gpu/device.hpp"
#include "gpu/kernel.hpp"
#include "gpu/kernels.hpp"
#include "gpu/memory.hpp"
#include "gpu/stream.hpp"
#include "model/base/units.hpp"
#include "model/record/run.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

struct StopWatchOptions {
    L2State l2 = L2State::cold; ///< cold: flushed before every sample. warm: the same call ran right before
    int min_samples = 10;
    int max_samples = 500;
    double target_error = 0.005;     ///< standard error of the median over the median
    Seconds max_time = Seconds(2.0); ///< host time for sampling; at least one batch is taken
    Seconds warm_up = Seconds(0.02); ///< host time of repeated calls before, so that clocks have risen
    /// Waits for the other GPUs of a call that is on several, so that their records are complete. Such a call
    /// begins and ends on the stop-watch's stream.
    std::function<void()> wait_for_others{};
};

struct Sample {
    Seconds time;           ///< by the series' method
    Seconds event_time;     ///< by CUDA events; some microseconds longer than by activity
    Frequency sm_clock;     ///< right after the sample
    bool throttled = false; ///< sm_clock below throttle_threshold of the highest clock
    /// The call waited for the stream or took too long to queue, so host time may be inside.
    bool launch_gaps = false;
};

struct SampleSeries {
    std::vector<Sample> samples;
    std::string method;      ///< "activity": end of the last minus start of the first record; or "events"
    std::string stop_reason; ///< "precision", "time" or "count"
    std::vector<ActivityRecord> activities; ///< of the last sample; empty with events

    Seconds median_time() const;
};

/// A sample whose SM clock is below this part of the highest clock is marked as throttled.
constexpr double throttle_threshold = 0.9;

/// (standard error of the median) / median, with sigma taken from the quartiles so that a rare outlier does
/// not prolong a measurement. Infinite for fewer than three values.
double relative_error_of_median(std::vector<double> values);

class StopWatch {
  public:
    using Call = std::function<void(cudaStream_t)>; ///< enqueues one call on the stream

    /// Uses the calling thread's device. Activity records where CUPTI allows, events otherwise.
    StopWatch(Compiler &compiler, const DeviceFacts &device);
    StopWatch(const StopWatch &) = delete;
    StopWatch &operator=(const StopWatch &) = delete;

    /// Warms up, then samples one call after another. What `call` throws passes through. A call that waits
    /// for the stream is measured too, with its samples marked launch_gaps.
    SampleSeries measure(const Call &call, const StopWatchOptions &options);

    /// A call's time as the host sees it, queueing and waiting included, after one that loads its code. Of a
    /// call of more than two seconds it is the first call's time.
    Seconds rough_time(const Call &call);

    /// Why times are by events; absent if they are by activity records.
    const std::optional<std::string> &why_events() const { return why_events_; }

    cudaStream_t stream() const { return stream_.handle(); }

    /// Enqueues the eviction of everything from L2, by reading.
    void flush_l2();

    /// The clock right after what is in stream(), for times that are taken elsewhere. Waits for the stream.
    Frequency sm_clock();

  private:
    void warm_up(const Call &call, const StopWatchOptions &options);
    void enqueue_sample(const Call &call, L2State l2, std::size_t slot);
    void release_gate();
    std::vector<Sample> run_batch(const Call &call, L2State l2, std::size_t count);
    static std::vector<ActivityRecord> records_of(ActivityTrace &trace, const StopWatchOptions &options);
    static void take_activity_times(std::vector<Sample> &samples, std::vector<ActivityRecord> records,
                                    std::vector<ActivityRecord> &last);

    DeviceFacts device_;
    Module module_;
    Kernel flush_;
    Kernel gate_;
    Kernel clock_probe_;
    DeviceBuffer<unsigned char> flush_buffer_;
    PinnedBuffer<SampleSlot> slots_;
    PinnedBuffer<unsigned> released_; ///< the last ticket that the gate may let through
    unsigned ticket_ = 0;
    std::vector<Event> begins_, ends_; ///< of the samples of a batch
    std::optional<std::string> why_events_;
    Stream stream_{Stream::Kind::ordered}; ///< last: its end waits for kernels that write to slots_
};

} // namespace convcast
