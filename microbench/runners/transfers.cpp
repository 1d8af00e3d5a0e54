#include "microbench/runners/graphs.hpp"
#include "microbench/runners/pointer_ring.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>

namespace convcast::probe {
namespace {

constexpr std::size_t most_bytes = 256 * mebibyte, least_bytes = 16 * mebibyte;
constexpr std::size_t copy_samples = 10;

// ---- what is copied: each buffer another part of one sequence ----

constexpr unsigned part = 0x01000000; // so many vectors are 256 MiB, so parts have nothing in common

void fill_part(const ProbeContext &context, DeviceBuffer<uint4> &buffer, unsigned which) {
    const unsigned long long count = buffer.size();
    context.fill.kernel("fill_from")
        .launch_with(dim3(1024), dim3(256), 0, nullptr, buffer.data(), count, part * which);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize after filling a buffer");
}

/// So that what is found later was copied.
void clear(DeviceBuffer<uint4> &buffer) {
    buffer.fill_bytes(0);
    // The streams of lanes do not wait for it by themselves.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize after clearing a buffer");
}

/// Throws GpuError unless all of `buffer`, on the current device, is that part.
void expect_part(const ProbeContext &context, const DeviceBuffer<uint4> &buffer, unsigned which,
                 const std::string &copy) {
    DeviceBuffer<unsigned> wrong = zeros(1);
    const unsigned long long count = buffer.size();
    context.fill.kernel("wrong_words")
        .launch_with(dim3(1024), dim3(256), 0, nullptr, buffer.data(), count, part * which, wrong.data());
    if (const std::uint64_t found = wrong.to_host()[0]; found > 0)
        throw GpuError(copy + ": " + std::to_string(16 * found) + " of " + std::to_string(buffer.bytes()) +
                       " B arrived wrong");
}

// ---- copies at the same time ----

/// One direction: a copy on a stream of its own, with the events that start and end it together with others.
struct Lane {
    Stream stream;
    Event ready, done;
    std::function<void(cudaStream_t)> copy;

    explicit Lane(std::function<void(cudaStream_t)> given) : copy(std::move(given)) {}
};

template <class... Each> std::deque<Lane> lanes_of(Each... each) {
    std::deque<Lane> lanes;
    (lanes.push_back(std::move(each)), ...);
    return lanes;
}

/// How long all lanes take that start together; the same copies run right before, while the host queues those
/// that are timed. `begin` and `end` are of the first lane's device.
Seconds time_together(std::deque<Lane> &lanes, Event &begin, Event &end) {
    const cudaStream_t first = lanes.front().stream.handle();
    for (Lane &lane : lanes) {
        lane.copy(lane.stream.handle());
        lane.ready.record(lane.stream.handle());
        lane.ready.hold_back(first);
    }
    begin.record(first);
    for (Lane &lane : lanes)
        begin.hold_back(lane.stream.handle());
    for (Lane &lane : lanes) {
        lane.copy(lane.stream.handle());
        lane.done.record(lane.stream.handle());
        lane.done.hold_back(first);
    }
    end.record(first);
    check(cudaStreamSynchronize(first), "cudaStreamSynchronize after copies");
    return end.since(begin);
}

/// `bytes`: moved by each lane. The first lane's device is the calling thread's.
ProbeSamples copy_rate(ProbeContext &context, std::deque<Lane> lanes, double bytes, Knobs knobs,
                       const std::string &note) {
    Event begin, end;
    ProbeSamples samples = configuration(context, std::move(knobs), note);
    samples.note += "; by events, the same ran right before";
    constexpr int warm_ups = 2; // of two copies each
    for (int i = 0; i < warm_ups; ++i)
        (void)time_together(lanes, begin, end);
    for (std::size_t i = 0; i < copy_samples; ++i) {
        const double moved = bytes * static_cast<double>(lanes.size()),
                     rate = moved / time_together(lanes, begin, end).value;
        const OnDevice here(context.device.ordinal);
        add_sample(samples, rate, context.watch.sm_clock().value);
    }
    return samples;
}

// ---- other GPUs ----

/// The GPUs that this process sees and that run the measured one's code, in order. Throws ProbeSkipped if it
/// is alone.
std::vector<int> gpus(const ProbeContext &context) {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (count < 2)
        throw ProbeSkipped("needs two GPUs; this machine has one");
    std::vector<int> alike;
    for (int ordinal = 0; ordinal < count; ++ordinal)
        if (query_device(ordinal).compute_capability() == context.device.compute_capability())
            alike.push_back(ordinal);
    if (alike.size() < 2)
        throw ProbeSkipped("needs two GPUs of one compute capability; of the " + std::to_string(count) +
                           " here none other is of " + std::to_string(context.device.compute_major) + "." +
                           std::to_string(context.device.compute_minor));
    return alike;
}

/// A GPU's side of the copies: it sends its own part and receives from each of `senders`.
struct Endpoint {
    int ordinal;
    DeviceBuffer<uint4> source;
    std::deque<DeviceBuffer<uint4>> targets;
};

Endpoint endpoint(const ProbeContext &context, int ordinal, std::size_t bytes, std::size_t senders) {
    const OnDevice here(ordinal);
    Endpoint made{ordinal, DeviceBuffer<uint4>(bytes / sizeof(uint4)), {}};
    fill_part(context, made.source, static_cast<unsigned>(ordinal + 1));
    for (std::size_t i = 0; i < senders; ++i)
        made.targets.emplace_back(bytes / sizeof(uint4));
    return made;
}

/// How much each buffer can have where every GPU needs `buffers` of them.
std::size_t bytes_on(const std::vector<int> &ordinals, std::size_t buffers) {
    std::size_t bytes = most_bytes;
    for (const int ordinal : ordinals) {
        const OnDevice here(ordinal);
        bytes = std::min(bytes, device_memory().free / 2 / buffers);
    }
    if (bytes < least_bytes)
        throw ProbeSkipped("needs " + std::to_string(2 * buffers * least_bytes / mebibyte) +
                           " MiB of free memory on each GPU");
    return bytes / mebibyte * mebibyte;
}

void clear(Endpoint &endpoint) {
    const OnDevice here(endpoint.ordinal);
    for (DeviceBuffer<uint4> &target : endpoint.targets)
        clear(target);
}

/// Sends the first `bytes` of `from` to a buffer of `to`, `times` times.
Lane lane_between(const Endpoint &from, Endpoint &to, std::size_t target, std::size_t bytes, int times) {
    const OnDevice here(from.ordinal);
    return Lane([source = from.source.data(), destination = to.targets[target].data(), bytes, times,
                 from_ordinal = from.ordinal, to_ordinal = to.ordinal](cudaStream_t stream) {
        for (int i = 0; i < times; ++i)
            check(cudaMemcpyPeerAsync(destination, to_ordinal, source, from_ordinal, bytes, stream),
                  "cudaMemcpyPeerAsync");
    });
}

void expect_received(const ProbeContext &context, const Endpoint &from, const Endpoint &to,
                     std::size_t target) {
    const OnDevice here(to.ordinal);
    expect_part(context, to.targets[target], static_cast<unsigned>(from.ordinal + 1),
                "a copy from GPU " + std::to_string(from.ordinal) + " to GPU " + std::to_string(to.ordinal));
}

/// Of a load on `from` whose data lies on `to`.
ProbeSamples peer_latency(const ProbeContext &context, const Module &module, int from, int to) {
    constexpr std::size_t nodes = 1024;
    constexpr unsigned lap = nodes;
    std::optional<DeviceBuffer<unsigned char>> memory;
    std::optional<PointerRing> ring;
    {
        const OnDevice there(to);
        memory.emplace(nodes * line_bytes);
        ring.emplace(module, memory->data(), scattered_lines(nodes, nodes), nullptr);
    }
    const OnDevice here(from);
    const Kernel kernel = module.kernel("chase<false>");
    DeviceBuffer<Span> spans(1);
    DeviceBuffer<ChaseEnd> end(1);
    ProbeSamples samples = configuration(
        context,
        {{"from", from}, {"to", to}, {"kind", 3}, {"direct", 1}, {"nodes", double{nodes}}, {"hops", lap}},
        "one thread of GPU from, random cycle of absolute pointers in memory of GPU to, past L1, a whole lap "
        "after another, by globaltimer");
    samples.unit = "s";
    const unsigned long long start = ring->address(0), touched = ring->memory();
    for (std::size_t i = 0; i <= copy_samples; ++i) { // the first is to warm up
        end.fill_bytes(0);
        kernel.launch_with(dim3(1), dim3(1), 0, nullptr, start, lap, lap, 0u, touched, 0u, end.data(),
                           spans.data());
        if (end.to_host()[0].node != start)
            throw GpuError("the chase from GPU " + std::to_string(from) + " through memory of GPU " +
                           std::to_string(to) + " did not end where it was to end");
        const Span span = spans.to_host()[0];
        if (i > 0)
            add_sample(samples, 1e-9 * static_cast<double>(span.end_ns - span.start_ns) / lap,
                       rate_of({span}).clock_hz);
    }
    return samples;
}

/// Pinned memory of two buffers, or as much as the system gives.
struct HostBuffers {
    PinnedBuffer<unsigned char> sent, received;
    explicit HostBuffers(std::size_t bytes) : sent(bytes), received(bytes) {}
};

std::unique_ptr<HostBuffers> host_buffers(std::size_t most) {
    std::unique_ptr<HostBuffers> made;
    for (std::size_t bytes = most; bytes >= least_bytes; bytes /= 2) // less where so much is not pinned
        if (!why_refused([&] { made = std::make_unique<HostBuffers>(bytes); }))
            return made;
    throw ProbeSkipped("needs " + std::to_string(2 * least_bytes / mebibyte) +
                       " MiB of pinned host memory and four times that of free GPU memory");
}

Samples host_copy(ProbeContext &context, const Module &) {
    const std::unique_ptr<HostBuffers> host =
        host_buffers(std::min(most_bytes, device_memory().free / 4 / mebibyte * mebibyte));
    const std::size_t bytes = host->sent.size();
    DeviceBuffer<uint4> source(bytes / sizeof(uint4)), target(bytes / sizeof(uint4));
    const auto copy = [bytes](void *to, const void *from, cudaMemcpyKind kind) {
        return [=](cudaStream_t stream) {
            check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
        };
    };
    const auto upload = copy(target.data(), host->sent.data(), cudaMemcpyHostToDevice);
    const auto rate = [&](std::deque<Lane> lanes, int direction, const char *note) {
        const auto moved = static_cast<double>(bytes);
        return copy_rate(context, std::move(lanes), moved, {{"direction", direction}, {"bytes", moved}},
                         note);
    };
    Samples all(3);

    // To the host first: what arrives there is what goes back to the device and is checked.
    fill_part(context, source, 1);
    all[1] = rate(lanes_of(Lane(copy(host->sent.data(), source.data(), cudaMemcpyDeviceToHost))), 2,
                  "from the device into pinned memory");

    clear(target);
    all[0] = rate(lanes_of(Lane(upload)), 1, "from pinned memory to the device");
    expect_part(context, target, 1, "a copy to the host and back");

    fill_part(context, source, 2);
    clear(target);
    all[2] =
        rate(lanes_of(Lane(upload), Lane(copy(host->received.data(), source.data(), cudaMemcpyDeviceToHost))),
             3, "both ways at once on two streams, bytes of both");
    expect_part(context, target, 1, "a copy to the device while another came from it");
    check(cudaMemcpy(target.data(), host->received.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    expect_part(context, target, 2, "a copy from the device while another went to it");
    return all;
}

Samples host_copy_sizes(ProbeContext &context, const Module &module) {
    constexpr std::size_t least = 1024, most = 64 * mebibyte, factor = 4;
    constexpr int copies = 64;
    const Kernel hold = module.kernel("hold");
    const std::unique_ptr<HostBuffers> host = host_buffers(most);
    const Stream stream;
    Samples all;
    for (std::size_t bytes = least; bytes <= host->sent.size(); bytes *= factor) {
        DeviceBuffer<uint4> source(bytes / sizeof(uint4)), target(bytes / sizeof(uint4));
        const auto time_copies = [&](int direction, void *to, const void *from, cudaMemcpyKind kind) {
            ProbeSamples samples = configuration(
                context, {{"direction", direction}, {"bytes", static_cast<double>(bytes)}, {"copies", copies}},
                direction == 1 ? "from pinned memory to the device" : "from the device into pinned memory");
            for (std::size_t i = 0; i <= copy_samples; ++i) { // the first is to warm up
                const double seconds = held_time(hold, stream.handle(), "copies from and to the host", [&] {
                    for (int copy = 0; copy < copies; ++copy)
                        check(cudaMemcpyAsync(to, from, bytes, kind, stream.handle()), "cudaMemcpyAsync");
                });
                if (i > 0)
                    add_sample(samples, seconds / copies, context.watch.sm_clock().value);
            }
            return samples;
        };
        // To the host first: what arrives there is what goes back to the device and is checked.
        fill_part(context, source, 1);
        ProbeSamples down = time_copies(2, host->sent.data(), source.data(), cudaMemcpyDeviceToHost);
        clear(target);
        all.push_back(time_copies(1, target.data(), host->sent.data(), cudaMemcpyHostToDevice));
        all.push_back(std::move(down));
        expect_part(context, target, 1, "copies to the host and back");
    }
    return all;
}

Samples peer_copy(ProbeContext &context, const Module &module) {
    const std::vector<int> ordinals = gpus(context);
    const std::size_t direct_bytes = bytes_on(ordinals, 2);
    std::deque<Endpoint> ends;
    for (const int ordinal : ordinals)
        ends.push_back(endpoint(context, ordinal, direct_bytes, 1));
    Samples all;
    for (Endpoint &from : ends)
        for (Endpoint &to : ends) {
            if (&from == &to)
                continue;
            const bool reaches = enable_peer_access(from.ordinal, to.ordinal),
                       direct = enable_peer_access(to.ordinal, from.ordinal) && reaches;
            const int times = direct ? 2 : 1; // a copy through the host is slow, and longer than any start
            const OnDevice here(from.ordinal);
            const auto rate = [&](std::deque<Lane> lanes, int kind, const char *note) {
                return copy_rate(context, std::move(lanes), static_cast<double>(direct_bytes) * times,
                                 {{"from", from.ordinal},
                                  {"to", to.ordinal},
                                  {"kind", kind},
                                  {"direct", direct},
                                  {"bytes", static_cast<double>(direct_bytes)},
                                  {"copies", times}},
                                 note);
            };
            clear(from), clear(to);
            all.push_back(rate(lanes_of(lane_between(from, to, 0, direct_bytes, times)), 1,
                               "one way, cudaMemcpyPeerAsync"));
            expect_received(context, from, to, 0);
            if (from.ordinal < to.ordinal) { // both ways is the same from either end
                clear(to);
                all.push_back(rate(lanes_of(lane_between(from, to, 0, direct_bytes, times),
                                            lane_between(to, from, 0, direct_bytes, times)),
                                   2, "both ways at once, cudaMemcpyPeerAsync, bytes of both"));
                expect_received(context, from, to, 0);
                expect_received(context, to, from, 0);
            }
            if (reaches)
                all.push_back(peer_latency(context, module, from.ordinal, to.ordinal));
        }
    return all;
}

/// Streams of a GPU that exchanges with others: one that computes, and one to each of them.
struct Meeting {
    explicit Meeting(int its_ordinal, std::size_t gpus)
        : ordinal(its_ordinal), memory(gpus * meeting_bytes), sends(gpus), sent(gpus) {}

    static constexpr std::size_t meeting_bytes = 4096;
    int ordinal;
    DeviceBuffer<unsigned char> memory; ///< a part of each GPU
    Stream stream;
    Event ordered;
    std::vector<Stream> sends;
    std::vector<Event> sent;
};

/// Rounds of an empty kernel on each GPU, behind which it sends to every other one and waits for all it gets.
/// All is ordered behind and before the first one's stream.
void enqueue_meetings(std::deque<Meeting> &all, const Kernel &empty, int rounds) {
    const auto on_each = [&](const auto &what) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const OnDevice here(all[i].ordinal);
            what(i);
        }
    };
    {
        const OnDevice here(all.front().ordinal);
        all.front().ordered.record(all.front().stream.handle());
    }
    on_each([&](std::size_t i) {
        if (i > 0)
            all.front().ordered.hold_back(all[i].stream.handle());
    });
    for (int round = 0; round < rounds; ++round) {
        on_each([&](std::size_t i) {
            empty.launch_with(dim3(1), dim3(128), 0, all[i].stream.handle());
            all[i].ordered.record(all[i].stream.handle());
            for (std::size_t to = 0; to < all.size(); ++to) {
                if (to == i)
                    continue;
                all[i].ordered.hold_back(all[i].sends[to].handle());
                check(cudaMemcpyAsync(all[to].memory.data() + i * Meeting::meeting_bytes,
                                      all[i].memory.data() + i * Meeting::meeting_bytes,
                                      Meeting::meeting_bytes, cudaMemcpyDefault, all[i].sends[to].handle()),
                      "cudaMemcpyAsync between GPUs");
                all[i].sent[to].record(all[i].sends[to].handle());
            }
        });
        on_each([&](std::size_t i) {
            for (std::size_t from = 0; from < all.size(); ++from)
                if (from != i)
                    all[from].sent[i].hold_back(all[i].stream.handle());
        });
    }
    on_each([&](std::size_t i) {
        if (i > 0) {
            all[i].ordered.record(all[i].stream.handle());
            all[i].ordered.hold_back(all.front().stream.handle());
        }
    });
}

Samples peer_meets(ProbeContext &context, const Module &module) {
    constexpr int least = 2, most = 10;
    const std::vector<int> ordinals = gpus(context);
    const Kernel empty = module.kernel("empty"), hold = module.kernel("hold");
    for (const int from : ordinals)
        for (const int to : ordinals)
            if (from != to && !enable_peer_access(from, to))
                throw ProbeSkipped("GPU " + std::to_string(from) + " cannot reach the memory of GPU " +
                                   std::to_string(to) + ", and copies through the host are not in graphs");
    Samples all;
    for (std::size_t count = 2; count <= ordinals.size(); ++count) {
        std::deque<Meeting> meetings;
        for (std::size_t i = 0; i < count; ++i) {
            const OnDevice here(ordinals[i]);
            meetings.emplace_back(ordinals[i], count);
        }
        const cudaStream_t first = meetings.front().stream.handle();
        const OnDevice here(ordinals.front());
        enqueue_meetings(meetings, empty,
                         1); // loads the code, which cannot be done while a graph is captured
        check(cudaStreamSynchronize(first), "cudaStreamSynchronize after GPUs met");
        const Graph shorter(first, [&] { enqueue_meetings(meetings, empty, least); }),
            longer(first, [&] { enqueue_meetings(meetings, empty, most); });
        ProbeSamples samples = configuration(context, {{"gpus", static_cast<double>(count)},
                                                       {"bytes", static_cast<double>(Meeting::meeting_bytes)},
                                                       {"rounds", most},
                                                       {"rounds_less", least}});
        add_rounds(context, samples, least, most, copy_samples, [&](int rounds) {
            return held_time(hold, first, "a graph over several GPUs",
                             [&] { (rounds == least ? shorter : longer).launch(first); });
        });
        all.push_back(std::move(samples));
    }
    return all;
}

Samples peer_all_pairs(ProbeContext &context, const Module &) {
    const std::vector<int> ordinals = gpus(context);
    const std::size_t count = ordinals.size();
    const std::size_t bytes = bytes_on(ordinals, count); // one sent, one received from each other
    std::deque<Endpoint> ends;
    for (const int ordinal : ordinals)
        ends.push_back(endpoint(context, ordinal, bytes, count - 1));
    bool direct = true;
    for (const int from : ordinals)
        for (const int to : ordinals)
            if (from != to)
                direct &= enable_peer_access(from, to);
    constexpr int times = 2;
    std::deque<Lane> lanes;
    const auto target = [](std::size_t from, std::size_t to) { return from < to ? from : from - 1; };
    // Neighbours first, then those two away ...: in the order of the queues no GPU is a bottleneck.
    for (std::size_t step = 1; step < count; ++step)
        for (std::size_t from = 0; from < count; ++from) {
            const std::size_t to = (from + step) % count;
            lanes.push_back(lane_between(ends[from], ends[to], target(from, to), bytes, times));
        }
    for (Endpoint &end : ends)
        clear(end);
    const OnDevice here(ordinals.front());
    Samples all = {copy_rate(context, std::move(lanes), static_cast<double>(bytes) * times,
                             {{"gpus", static_cast<double>(count)},
                              {"direct", direct},
                              {"bytes", static_cast<double>(bytes)},
                              {"copies", times}},
                             "")};
    for (std::size_t from = 0; from < count; ++from)
        for (std::size_t to = 0; to < count; ++to)
            if (from != to)
                expect_received(context, ends[from], ends[to], target(from, to));
    return all;
}

} // namespace

ProbeRuns transfer_runs() {
    return {{"host_copy", host_copy},
            {"host_copy_sizes", host_copy_sizes},
            {"peer_copy", peer_copy},
            {"peer_meets", peer_meets},
            {"peer_all_pairs", peer_all_pairs}};
}

} // namespace convcast::probe
