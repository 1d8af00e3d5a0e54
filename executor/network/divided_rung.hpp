// An implementation of a ladder on several GPUs, each with a share of the images and a thread of the host
// that queues its launches. The GPUs exchange nothing.
#pragma once

#include "executor/network/bound_rung.hpp"
#include "executor/network/devices_group.hpp"
#include "executor/network/network_data.hpp"
#include "gpu/stream.hpp"
#include "model/network/ladder.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace convcast {

class DividedRung {
  public:
    /// On the first GPUs of the group, as many as there are `shares`, which are numbers of images. `rung` is
    /// one that takes any number of images and has no constant memory.
    DividedRung(const DeviceGroup &group, const Module &module, const Network &network, const Rung &rung,
                std::span<const std::int64_t> shares, const NetworkData &pool);
    DividedRung(const DividedRung &) = delete;
    DividedRung &operator=(const DividedRung &) = delete;
    ~DividedRung();

    /// Queues a call: on `first`, a stream of the first GPU, and on streams of the others that begin behind
    /// what is there and end before what is queued there next. The launches of each of those come from a
    /// thread of its own.
    void call(cudaStream_t first) const;

    /// Of all images, in their order, after the GPUs have been waited for.
    std::vector<float> outputs() const;
    /// The tensor beyond whose end a kernel wrote; empty if none did.
    std::string overrun() const;

  private:
    class HostThread;
    struct Share;

    const Rung &rung_;
    std::vector<std::unique_ptr<Share>> shares_;
    std::unique_ptr<Event> begun_;
};

} // namespace convcast
