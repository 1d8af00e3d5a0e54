#include "executor/network/rank.hpp"

#include "gpu/check.hpp"
#include "gpu/device.hpp"
#include "model/base/errors.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace convcast {
namespace {

// Values of NCCL's enumerations ncclResult_t, ncclDataType_t and ncclRedOp_t, the same since NCCL 2.0.
constexpr int nccl_success = 0, nccl_in_progress = 7, nccl_float32 = 7, nccl_sum = 0;

} // namespace

Nccl::Nccl()
    : library_({{"libnccl.so.2", "libnccl.so"}, "sum gradients by NCCL", "NCCL (libnccl2)"}),
      all_reduce_(library_.symbol<AllReduce>("ncclAllReduce")),
      destroy_(library_.symbol<End>("ncclCommDestroy")), abort_(library_.symbol<End>("ncclCommAbort")),
      async_error_(library_.symbol<AsyncError>("ncclCommGetAsyncError")),
      error_text_(library_.symbol<ErrorText>("ncclGetErrorString")),
      version_(library_.symbol<Version>("ncclGetVersion")) {}

Nccl::~Nccl() {
    if (communicator_ != nullptr)
        (void)destroy_(communicator_);
}

void Nccl::join(Meeting &meeting, int device) {
    Id id{};
    if (meeting.rank() == 0)
        check(library_.symbol<NewId>("ncclGetUniqueId")(&id), "ncclGetUniqueId");
    const std::string bytes = meeting.from_first(std::string(id.bytes, sizeof id.bytes));
    if (bytes.size() != sizeof id.bytes)
        throw GpuError("rank 0 sent " + std::to_string(bytes.size()) + " bytes, not an id of NCCL");
    std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
    // ncclCommInitRank waits for all ranks, and cannot be stopped if one never comes. So a thread calls it;
    // if a rank leaves, that thread is abandoned, and `joined` lives as long as it does.
    struct Joined {
        Communicator communicator = nullptr;
        std::promise<int> result;
    };
    const auto joined = std::make_shared<Joined>();
    std::future<int> result = joined->result.get_future();
    std::thread([joined, device, id, ranks = meeting.size(), rank = meeting.rank(),
                 init = library_.symbol<InitRank>("ncclCommInitRank")] {
        (void)cudaSetDevice(device);
        joined->result.set_value(init(&joined->communicator, ranks, id, rank));
    }).detach();
    constexpr std::chrono::milliseconds pause(20);
    while (result.wait_for(pause) != std::future_status::ready)
        if (const auto why = meeting.who_left())
            throw RankLost(*why);
    check(result.get(), "ncclCommInitRank");
    communicator_ = joined->communicator;
}

void Nccl::sum(float *values, std::size_t count, cudaStream_t stream) const {
    check(all_reduce_(values, values, count, nccl_float32, nccl_sum, communicator_, stream), "ncclAllReduce");
}

// ncclCommAbort tells NCCL's kernels to end, then waits until every graph that contains some is destroyed.
// The caller destroys them, so the call must not block it and has a thread of its own.
void Nccl::abort() {
    if (communicator_ != nullptr)
        std::thread(abort_, std::exchange(communicator_, nullptr)).detach();
}

std::optional<std::string> Nccl::failure() const {
    int error = nccl_success;
    if (communicator_ == nullptr || async_error_(communicator_, &error) != nccl_success ||
        error == nccl_success || error == nccl_in_progress)
        return std::nullopt;
    return std::string("NCCL: ") + error_text_(error) +
           "; NCCL_DEBUG=WARN in the environment makes it say more";
}

std::string Nccl::version() const {
    int number = 0;
    check(version_(&number), "ncclGetVersion");
    constexpr int major = 10000, minor = 100; // how NCCL 2.9 and newer write it: 22803 is 2.28.3
    return std::to_string(number / major) + "." + std::to_string(number % major / minor) + "." +
           std::to_string(number % minor);
}

void Nccl::check(int result, const char *call) const {
    if (result != nccl_success)
        throw GpuError(std::string(call) + " failed: NCCL " + error_text_(result) +
                       "; NCCL_DEBUG=WARN in the environment makes it say more");
}

Rank::Rank(Meeting &meeting, int device) : here_(device), meeting_(meeting) {
    const std::vector<std::string> gpus = meeting.to_first(device_uuid(device)); // empty on other ranks
    for (std::size_t i = 0; i < gpus.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (gpus[i] == gpus[j])
                throw UsageError("ranks " + std::to_string(j) + " and " + std::to_string(i) +
                                 " have the same GPU, and NCCL takes every GPU once: --device or "
                                 "CUDA_VISIBLE_DEVICES gives each its own");
    nccl_.join(meeting, device);
}

void Rank::try_sum(float *values, std::size_t count, cudaStream_t stream) {
    const Event done(Event::Kind::order_only);
    nccl_.sum(values, count, stream);
    done.record(stream);
    wait(done);
}

void Rank::wait(const Event &event) {
    constexpr std::chrono::microseconds pause(50);
    while (!event.passed()) {
        if (const auto why = meeting_.who_left()) {
            nccl_.abort();
            event.wait(); // it passes now, since nothing waits for other ranks any more
            throw RankLost(*why);
        }
        if (const auto why = nccl_.failure()) {
            nccl_.abort();
            event.wait();
            throw GpuError(*why);
        }
        std::this_thread::sleep_for(pause);
    }
}

void as_rank(Meeting &meeting, int device, const std::function<void(Rank &)> &part) {
    const auto telling_others = [&](const std::function<void()> &work) {
        try {
            work();
        } catch (const RankLost &) {
            throw; // the others have heard of it themselves
        } catch (const std::exception &error) {
            meeting.leave("rank " + std::to_string(meeting.rank()) + " ended: " + error.what());
            throw;
        }
    };
    std::optional<Rank> rank;
    telling_others([&] { rank.emplace(meeting, device); });
    try {
        telling_others([&] { part(*rank); });
    } catch (...) {
        rank->abort(); // otherwise the destructor of NCCL would wait for the other ranks
        throw;
    }
    try { // all ranks leave together, so that nobody takes an early end for a loss
        (void)meeting.to_first("done");
        (void)meeting.from_first("done");
    } catch (const RankLost &) {
        if (meeting.rank() > 0)
            throw; // rank 0 does not: it has the whole answer, whoever leaves now
    }
}

void as_ranks(const std::vector<int> &devices, const std::function<void(Rank &)> &part) {
    std::vector<Meeting> meetings = Meeting::of_threads(static_cast<int>(devices.size()));
    std::vector<std::future<void>> ranks;
    for (std::size_t i = 0; i < devices.size(); ++i)
        ranks.push_back(std::async(
            std::launch::async, [&part, device = devices[i], given = std::move(meetings[i])]() mutable {
                Meeting mine = std::move(given); // ends with this thread: the others hear
                as_rank(mine, device, part);
            }));
    std::exception_ptr cause, lost;
    for (std::future<void> &rank : ranks)
        try {
            rank.get();
        } catch (const RankLost &) {
            lost = std::current_exception();
        } catch (...) {
            cause = cause ? cause : std::current_exception();
        }
    if (cause || lost)
        std::rethrow_exception(cause ? cause : lost);
}

} // namespace convcast
