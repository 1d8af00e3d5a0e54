// Part of a GPU: the calling thread's work on some of its SMs only, by a green context of the driver. No
// setting of the card is changed; L2 and DRAM stay whole.
#pragma once

#include <memory>

namespace convcast {

/// The SMs that the driver gives to who asks for `sms`: rounded up to its groups. Throws GpuError where the
/// driver has no green contexts or the GPU fewer SMs.
int green_sm_count(int ordinal, int sms);

/// While it lives, what the calling thread does on its device runs on `sms` SMs: its streams, kernels and
/// events are made within. Everything made meanwhile must be gone before it. Nothing may make the device
/// current again (cudaSetDevice), which would leave the context.
class GreenContext {
  public:
    /// Throws GpuError if the driver gives another number than `sms`.
    GreenContext(int ordinal, int sms);
    ~GreenContext();
    GreenContext(const GreenContext &) = delete;
    GreenContext &operator=(const GreenContext &) = delete;

    int sm_count() const { return sm_count_; }

  private:
    struct Handles;
    std::unique_ptr<Handles> handles_;
    int sm_count_ = 0;
};

} // namespace convcast
