// Steps of training of Cibil's network on several GPUs, enqueued breadth first by one thread: each kind of
// work for all GPUs before the next kind, so that no GPU waits for another one's launches. Steps that are
// timed are captured as one CUDA graph over all GPUs, whose launch then costs the same for any number of
// them; a thread a GPU would save nothing there.
#pragma once

#include "executor/network/devices_group.hpp"
#include "executor/network/devices_nccl.hpp"
#include "gpu/compile.hpp"
#include "gpu/kernel.hpp"
#include "gpu/memory.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// What is enqueued. step: a whole step, forward and backward. forward: its forward part alone. computation:
/// a step in which the GPUs exchange nothing; its results are wrong, and its time is that of the computation.
enum class StepPart { step, forward, computation };

/// Kernels for shares of one, two, three or all six rows of windows.
class SplitModules {
  public:
    SplitModules(Compiler &compiler, int compute_capability)
        : compiler_(compiler), capability_(compute_capability) {}
    const Module &of_rows(std::int64_t rows);

  private:
    Compiler &compiler_;
    int capability_;
    std::map<std::int64_t, Module> modules_;
};

/// The text that is compiled for shares of so many rows.
CompileRequest split_request(std::int64_t rows, int compute_capability);

/// Of the device code of splits.
std::string split_code_hash();

/// Numbers as they lie on one GPU.
struct SplitOutcome {
    std::vector<float> outputs; ///< images x 10
    std::vector<std::vector<float>>
        gradients; ///< of each GPU all 2,326; of split parameters one, put together
    std::vector<std::vector<float>> parameters; ///< likewise
};

/// Images and labels of `count`, of which a pool is given and repeated.
struct SplitImages {
    std::span<const float> pixels;
    std::span<const std::uint8_t> labels;
    std::int64_t count = 0;
};

class SplitSteps {
  public:
    /// `group` has at least item.devices GPUs, of which the first are taken. `nccl` is of just these, and may
    /// be null where the split does not need it. Batches of item.batch images, the last one as large as is
    /// left.
    SplitSteps(const DeviceGroup &group, SplitModules &modules, const Nccl *nccl, const Network &network,
               const ScalingCase &item, const SplitImages &images, std::span<const float> parameters,
               float rate);
    SplitSteps(const SplitSteps &) = delete;
    SplitSteps &operator=(const SplitSteps &) = delete;
    ~SplitSteps();

    std::int64_t batches() const;
    /// Puts step number `step` on the GPUs' streams: of batch `step` modulo their number.
    void enqueue(StepPart part, std::int64_t step);
    /// Makes all GPUs' streams start after what is on the first one's, or that one go on after all.
    void fork();
    void join();
    cudaStream_t first_stream() const;

    /// Waits, then reads what the last step left.
    SplitOutcome outcome() const;

  private:
    struct Share;
    struct Numbers;

    const DeviceGroup &group_;
    std::unique_ptr<Numbers> numbers_;
    std::vector<std::unique_ptr<Share>> shares_;

    void load(const SplitImages &images, std::span<const float> parameters);
    void exchange(const std::function<void(std::size_t from, std::size_t to, cudaStream_t stream)> &send);
    void one(StepPart part, std::int64_t batch);
    void by_batch(StepPart part, std::int64_t step, std::int64_t batch);
    void by_rows(StepPart part, std::int64_t step, std::int64_t batch);
    void gather(std::int64_t parity, std::int64_t batch);
    void send_gradients(std::int64_t parity, std::size_t count);
};

} // namespace convcast
