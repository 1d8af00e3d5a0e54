#include "executor/network/devices_step.hpp"

#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/hash.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> split_sources; ///< mnist.cu, then mnist_devices.cu

namespace {

// As mnist.cu and mnist_devices.cu have them.
constexpr std::int64_t split_edge = 28, split_filters = 6, split_columns = 6, split_rows = 6,
                       split_outputs = 10, split_block_images = 8, split_halo_rows = 4, split_pool = 4,
                       split_parameters = 2326, split_convolution = 156,
                       split_features = split_filters * split_columns * split_rows;

struct DeviceShares { ///< Shares of mnist_devices.cu
    int devices = 0;
    int first[most_split_devices + 1] = {};
};

std::size_t room(std::int64_t count) {
    return static_cast<std::size_t>(count);
}

dim3 blocks_for(std::int64_t count, std::int64_t each) {
    return dim3(static_cast<unsigned>((count + each - 1) / each));
}

bool splits_rows(DeviceSplit split) {
    return split == DeviceSplit::rows || split == DeviceSplit::parameters;
}

} // namespace

CompileRequest split_request(std::int64_t rows, int compute_capability) {
    CompileRequest request;
    request.name = "mnist_devices.cu";
    for (const EmbeddedFile &file : split_sources)
        request.source += file.text;
    request.options = {"-DOWN_ROWS=" + std::to_string(rows)};
    request.compute_capability = compute_capability;
    return request;
}

std::string split_code_hash() {
    std::vector<std::string> texts;
    for (const EmbeddedFile &file : split_sources)
        texts.push_back(file.text);
    return content_hash(texts);
}

const Module &SplitModules::of_rows(std::int64_t rows) {
    const auto found = modules_.find(rows);
    if (found != modules_.end())
        return found->second;
    return modules_.emplace(rows, Module(compiler_.compile(split_request(rows, capability_)))).first->second;
}

/// What all GPUs have in common.
struct SplitSteps::Numbers {
    DeviceSplit split = DeviceSplit::one;
    std::int64_t batch = 0, count = 0; ///< images of a step, and of all batches
    float rate = 0.0F;
    std::size_t step_shared_bytes = 0; ///< of mnist_step
    DeviceShares rows;
    std::int64_t stride = 0;     ///< from a GPU's gradient to the next one's
    std::int64_t last_batch = 0; ///< that was enqueued
    const Nccl *nccl = nullptr;

    std::int64_t batches() const { return (count + batch - 1) / batch; }
    /// Images of a batch.
    std::int64_t images(std::int64_t which) const { return std::min(batch, count - which * batch); }
    /// Images of a GPU in a batch.
    std::int64_t images(std::int64_t which, std::size_t device) const {
        if (splits_rows(split) || split == DeviceSplit::one)
            return images(which);
        const std::int64_t devices = rows.devices; // the last batch may have fewer images than GPUs
        return images(which) / devices +
               (static_cast<std::int64_t>(device) < images(which) % devices ? 1 : 0);
    }
    /// And of the GPUs before it.
    std::int64_t images_before(std::int64_t which, std::size_t device) const {
        std::int64_t before = 0;
        for (std::size_t i = 0; i < device; ++i)
            before += images(which, i);
        return before;
    }
};

/// A GPU's memory, kernels and streams.
struct SplitSteps::Share {
    int ordinal;
    std::int64_t own_rows, image_rows, own_features, own_count, images; ///< images: of all batches
    DeviceBuffer<float> pixels;
    DeviceBuffer<std::uint8_t> labels;
    DeviceBuffer<float> parameters, out, parts, gradient;
    DeviceBuffer<float> settings, velocity; ///< of plain gradient descent: the rate, no momentum, no decay
    std::vector<DeviceBuffer<float>> gradients; ///< of all GPUs, for odd and even steps
    std::vector<DeviceBuffer<float>> received;  ///< features or sums of all GPUs, likewise
    DeviceBuffer<float> own;                    ///< features, where others get only sums
    DeviceBuffer<std::uint8_t> places;
    Kernel step, update, gather, update_summed, update_rows;
    std::optional<Kernel> rows_forward, rows_back;
    DeviceStream stream;
    DeviceEvent ordered;
    std::vector<DeviceStream> sends; ///< to each GPU
    std::vector<DeviceEvent> sent;

    Share(int its_ordinal, const Module &module, const Numbers &numbers, std::size_t index,
          std::size_t devices, std::int64_t its_rows, std::int64_t its_images);
};

SplitSteps::Share::Share(int its_ordinal, const Module &module, const Numbers &numbers, std::size_t index,
                         std::size_t devices, std::int64_t its_rows, std::int64_t its_images)
    : ordinal(its_ordinal), own_rows(its_rows), image_rows(its_rows * split_pool + split_halo_rows),
      own_features(split_filters * split_columns * its_rows),
      own_count(split_convolution + split_outputs * own_features + split_outputs), images(its_images),
      pixels(room(images * image_rows * split_edge)), labels(room(images)),
      parameters(room(split_parameters)), out(room(numbers.images(0, index) * split_outputs)),
      parts(room((numbers.images(0, index) + split_block_images - 1) / split_block_images * own_count)),
      gradient(room(split_parameters)),
      settings(std::span<const float>(std::array{numbers.rate, 0.0F, 0.0F})),
      velocity(std::span<const float>(std::vector<float>(room(split_parameters)))),
      own(splits_rows(numbers.split) ? room(numbers.batch * own_features) : 1),
      places(splits_rows(numbers.split) ? room(numbers.batch * own_features) : 1),
      step(module.kernel("mnist_step")), update(module.kernel("mnist_update")),
      gather(module.kernel("gather")), update_summed(module.kernel("update_summed")),
      update_rows(module.kernel("update_rows")) {
    for (int parity = 0; parity < 2; ++parity) {
        gradients.emplace_back(devices * room(numbers.stride));
        received.emplace_back(numbers.split == DeviceSplit::rows ? room(numbers.batch * split_features)
                              : numbers.split == DeviceSplit::parameters
                                  ? devices * room(numbers.batch * split_outputs)
                                  : 1);
    }
    if (splits_rows(numbers.split)) {
        rows_forward = module.kernel("rows_forward");
        rows_back = module.kernel("rows_back");
    } else {
        step.allow_shared(numbers.step_shared_bytes);
    }
    for (std::size_t i = 0; i < devices; ++i) {
        sends.emplace_back();
        sent.emplace_back();
    }
}

SplitSteps::SplitSteps(const DeviceGroup &group, SplitModules &modules, const Nccl *nccl,
                       const Network &network, const ScalingCase &item, const SplitImages &images,
                       std::span<const float> parameters, float rate)
    : group_(group), numbers_(std::make_unique<Numbers>()) {
    const auto devices = static_cast<std::size_t>(item.devices);
    Numbers &numbers = *numbers_;
    numbers.split = item.split;
    numbers.batch = std::min(item.batch, images.count);
    numbers.count = images.count;
    numbers.rate = rate;
    numbers.nccl = nccl;
    for (const Rung &rung : find_ladder(network).rungs)
        for (const LadderLaunch &launch : rung.launches)
            if (launch.kernel == "mnist_step")
                numbers.step_shared_bytes = room(launch.shared_bytes.value_or(0));
    numbers.rows.devices = item.devices;
    std::vector<std::int64_t> rows(devices, split_rows);
    if (splits_rows(item.split)) {
        const std::vector<RowShare> shares = row_shares(network, item.devices);
        for (std::size_t i = 0; i < devices; ++i) {
            rows[i] = shares[i].windows();
            numbers.rows.first[i + 1] = static_cast<int>(shares[i].last_window);
        }
    }
    numbers.stride =
        split_convolution + split_outputs * split_filters * split_columns * rows.front() + split_outputs;
    for (std::size_t i = 0; i < devices; ++i) {
        const OnDevice here(group.ordinal(i));
        std::int64_t own_images = 0;
        for (std::int64_t batch = 0; batch < numbers.batches(); ++batch)
            own_images += numbers.images(batch, i);
        shares_.push_back(std::make_unique<Share>(group.ordinal(i), modules.of_rows(rows[i]), numbers, i,
                                                  devices, rows[i], own_images));
    }
    load(images, parameters);
    for (const auto &share : shares_) { // blocking copies are on another stream than the steps
        const OnDevice here(share->ordinal);
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize after loading");
    }
}

SplitSteps::~SplitSteps() = default;

namespace {

/// Parameters of a GPU that has only its features' weights, from all.
std::vector<float> own_parameters(std::span<const float> all, std::int64_t first_row, std::int64_t rows) {
    std::vector<float> own(all.begin(), all.begin() + split_convolution);
    for (std::int64_t output = 0; output < split_outputs; ++output)
        for (std::int64_t filter = 0; filter < split_filters; ++filter) {
            const std::int64_t from = split_convolution + output * split_features +
                                      (filter * split_rows + first_row) * split_columns;
            own.insert(own.end(), all.begin() + from, all.begin() + from + rows * split_columns);
        }
    own.insert(own.end(), all.end() - split_outputs, all.end());
    return own;
}

/// And back, into all.
void put_own(std::span<const float> own, std::int64_t first_row, std::int64_t rows, std::vector<float> &all) {
    std::copy(own.begin(), own.begin() + split_convolution, all.begin());
    auto from = own.begin() + split_convolution;
    for (std::int64_t output = 0; output < split_outputs; ++output)
        for (std::int64_t filter = 0; filter < split_filters; ++filter) {
            const std::int64_t to = split_convolution + output * split_features +
                                    (filter * split_rows + first_row) * split_columns;
            std::copy(from, from + rows * split_columns, all.begin() + to);
            from += rows * split_columns;
        }
    std::copy(from, from + split_outputs, all.end() - split_outputs);
}

/// `count` images from number `first` on of a pool that is repeated.
void upload_images(std::span<const float> pool, std::int64_t first, std::int64_t count, float *to) {
    constexpr std::int64_t area = split_edge * split_edge;
    const std::int64_t given = std::ssize(pool) / area;
    while (count > 0) {
        const std::int64_t at = first % given, now = std::min(count, given - at);
        check(
            cudaMemcpy(to, pool.data() + at * area, room(now * area) * sizeof(float), cudaMemcpyHostToDevice),
            "cudaMemcpy of images");
        first += now, count -= now, to += now * area;
    }
}

/// `rows` of each of `count` images from `first_row` on into images of `to_rows` rows, their first at
/// `to_row`. The pool is repeated: its first copy comes from the host, the others from that one.
void upload_rows(std::span<const float> pool, std::int64_t count, std::int64_t first_row, std::int64_t rows,
                 std::int64_t to_rows, std::int64_t to_row, float *to) {
    constexpr std::int64_t row_bytes = split_edge * 4;
    const std::int64_t given = std::min<std::int64_t>(std::ssize(pool) / (split_edge * split_edge), count);
    float *const target = to + to_row * split_edge;
    check(cudaMemcpy2D(target, room(to_rows * row_bytes), pool.data() + first_row * split_edge,
                       room(split_edge * row_bytes), room(rows * row_bytes), room(given),
                       cudaMemcpyHostToDevice),
          "cudaMemcpy2D");
    for (std::int64_t done = given; done < count; done += std::min(done, count - done))
        check(cudaMemcpy2D(target + done * to_rows * split_edge, room(to_rows * row_bytes), target,
                           room(to_rows * row_bytes), room(rows * row_bytes),
                           room(std::min(done, count - done)), cudaMemcpyDeviceToDevice),
              "cudaMemcpy2D");
}

} // namespace

/// Rows: of the image's rows each goes to one GPU from the host; the halo below a share comes from the GPU
/// that has those rows, by a copy between the two.
void SplitSteps::load(const SplitImages &images, std::span<const float> parameters) {
    const Numbers &numbers = *numbers_;
    const bool by_rows = splits_rows(numbers.split);
    const std::int64_t pool = std::ssize(images.labels);
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        Share &share = *shares_[i];
        const OnDevice here(share.ordinal);
        std::vector<std::uint8_t> labels;
        if (by_rows || numbers.split == DeviceSplit::one) {
            const std::int64_t first_row = numbers.rows.first[i] * split_pool;
            const bool last = i + 1 == shares_.size() || !by_rows;
            upload_rows(images.pixels, share.images, by_rows ? first_row : 0,
                        last ? share.image_rows : share.image_rows - split_halo_rows, share.image_rows, 0,
                        share.pixels.data());
            for (std::int64_t image = 0; image < share.images; ++image)
                labels.push_back(images.labels[room(image % pool)]);
        } else {
            std::int64_t done = 0;
            for (std::int64_t batch = 0; batch < numbers.batches(); ++batch) {
                const std::int64_t first = batch * numbers.batch + numbers.images_before(batch, i),
                                   count = numbers.images(batch, i);
                upload_images(images.pixels, first, count,
                              share.pixels.data() + done * split_edge * split_edge);
                for (std::int64_t image = first; image < first + count; ++image)
                    labels.push_back(images.labels[room(image % pool)]);
                done += count;
            }
        }
        share.labels.copy_from(labels);
        std::vector<float> its = numbers.split == DeviceSplit::parameters
                                     ? own_parameters(parameters, numbers.rows.first[i], share.own_rows)
                                     : std::vector<float>(parameters.begin(), parameters.end());
        its.resize(room(split_parameters));
        share.parameters.copy_from(its);
    }
    for (std::size_t i = 0; by_rows && i + 1 < shares_.size(); ++i) {
        Share &share = *shares_[i], &next = *shares_[i + 1];
        const OnDevice here(share.ordinal);
        constexpr std::size_t row_bytes = split_edge * 4;
        cudaMemcpy3DPeerParms copy{};
        copy.srcDevice = next.ordinal;
        copy.dstDevice = share.ordinal;
        copy.srcPtr = cudaPitchedPtr{next.pixels.data(), room(next.image_rows) * row_bytes,
                                     room(next.image_rows) * row_bytes, room(next.images)};
        copy.dstPtr = cudaPitchedPtr{share.pixels.data(), room(share.image_rows) * row_bytes,
                                     room(share.image_rows) * row_bytes, room(share.images)};
        copy.dstPos = cudaPos{room(share.image_rows - split_halo_rows) * row_bytes, 0, 0};
        copy.extent = cudaExtent{room(split_halo_rows) * row_bytes, room(share.images), 1};
        check(cudaMemcpy3DPeer(&copy), "cudaMemcpy3DPeer of the halo");
    }
}

std::int64_t SplitSteps::batches() const {
    return numbers_->batches();
}

cudaStream_t SplitSteps::first_stream() const {
    return shares_.front()->stream.get();
}

void SplitSteps::fork() {
    for (std::size_t i = 1; i < shares_.size(); ++i) {
        const OnDevice here(shares_.front()->ordinal);
        shares_.front()->ordered.order(first_stream(), shares_[i]->stream.get());
    }
}

void SplitSteps::join() {
    for (std::size_t i = 1; i < shares_.size(); ++i) {
        const OnDevice here(shares_[i]->ordinal);
        shares_[i]->ordered.order(shares_[i]->stream.get(), first_stream());
    }
}

void SplitSteps::enqueue(StepPart part, std::int64_t step) {
    const std::int64_t batch = step % numbers_->batches();
    numbers_->last_batch = batch;
    if (numbers_->split == DeviceSplit::one)
        one(part, batch);
    else if (splits_rows(numbers_->split))
        by_rows(part, step, batch);
    else
        by_batch(part, step, batch);
}

namespace {
constexpr const int *as_they_lie = nullptr; ///< no other order of the images
}

void SplitSteps::one(StepPart part, std::int64_t batch) {
    Share &share = *shares_.front();
    const OnDevice here(share.ordinal);
    const std::int64_t images = numbers_->images(batch);
    const dim3 blocks = blocks_for(images, split_block_images);
    const float *const pixels = share.pixels.data() + batch * numbers_->batch * split_edge * split_edge;
    const std::uint8_t *const labels = share.labels.data() + batch * numbers_->batch;
    const float *const parameters = share.parameters.data();
    float *const parts = part == StepPart::forward ? nullptr : share.parts.data();
    share.step.launch_with(blocks, dim3(split_block_images * split_columns * split_rows),
                           numbers_->step_shared_bytes, share.stream.get(), pixels, labels, as_they_lie,
                           static_cast<int>(images), parameters, share.out.data(), parts);
    if (part == StepPart::forward)
        return;
    const float *const all_parts = parts, *const settings = share.settings.data();
    share.update.launch_with(blocks_for(split_parameters, 32), dim3(32, 8), 0, share.stream.get(), all_parts,
                             static_cast<int>(blocks.x), settings, share.velocity.data(),
                             share.parameters.data(), share.gradient.data());
}

/// Each GPU to each other one on a stream of its own, in an order in which no GPU receives more than it
/// sends. What is read was enqueued before; what a GPU enqueues from now on comes after all that it receives.
void SplitSteps::exchange(
    const std::function<void(std::size_t from, std::size_t to, cudaStream_t stream)> &send) {
    const std::size_t devices = shares_.size();
    for (const auto &share : shares_) {
        const OnDevice here(share->ordinal);
        check(cudaEventRecord(share->ordered.get(), share->stream.get()), "cudaEventRecord");
    }
    for (std::size_t far = 1; far < devices; ++far)
        for (std::size_t from = 0; from < devices; ++from) {
            Share &share = *shares_[from];
            const std::size_t to = (from + far) % devices;
            const OnDevice here(share.ordinal);
            const cudaStream_t stream = share.sends[to].get();
            check(cudaStreamWaitEvent(stream, share.ordered.get(), 0), "cudaStreamWaitEvent");
            send(from, to, stream);
            check(cudaEventRecord(share.sent[to].get(), stream), "cudaEventRecord");
        }
    for (std::size_t far = 1; far < devices; ++far)
        for (std::size_t from = 0; from < devices; ++from) {
            const std::size_t to = (from + far) % devices;
            const OnDevice here(shares_[to]->ordinal);
            check(cudaStreamWaitEvent(shares_[to]->stream.get(), shares_[from]->sent[to].get(), 0),
                  "cudaStreamWaitEvent");
        }
}

void SplitSteps::send_gradients(std::int64_t parity, std::size_t count) {
    const std::int64_t stride = numbers_->stride;
    exchange([&](std::size_t from, std::size_t to, cudaStream_t stream) {
        const std::int64_t at = static_cast<std::int64_t>(from) * stride;
        const std::size_t floats =
            std::min(count, room(splits_rows(numbers_->split) ? shares_[from]->own_count : stride));
        group_.copy(from, shares_[from]->gradients[room(parity)].data() + at, to,
                    shares_[to]->gradients[room(parity)].data() + at, floats * sizeof(float), stream);
    });
}

/// Of each GPU its blocks' parts into its own place among the gradients. Of split images a share of the
/// batch's mean.
void SplitSteps::gather(std::int64_t parity, std::int64_t batch) {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        Share &share = *shares_[i];
        const OnDevice here(share.ordinal);
        const std::int64_t images = numbers_->images(batch, i);
        const float weight = splits_rows(numbers_->split)
                                 ? 1.0F
                                 : static_cast<float>(static_cast<double>(images) /
                                                      static_cast<double>(numbers_->images(batch)));
        const float *const parts = share.parts.data();
        float *const to =
            share.gradients[room(parity)].data() + static_cast<std::int64_t>(i) * numbers_->stride;
        share.gather.launch_with(blocks_for(share.own_count, 32), dim3(32, 8), 0, share.stream.get(), parts,
                                 static_cast<int>(blocks_for(images, split_block_images).x),
                                 static_cast<int>(share.own_count), weight, to);
    }
}

void SplitSteps::by_batch(StepPart part, std::int64_t step, std::int64_t batch) {
    const std::int64_t parity = step % 2;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        Share &share = *shares_[i];
        const OnDevice here(share.ordinal);
        const std::int64_t before = batch * numbers_->images(0, i);
        const std::int64_t images = numbers_->images(batch, i);
        if (images == 0)
            continue;
        const float *const pixels = share.pixels.data() + before * split_edge * split_edge;
        const std::uint8_t *const labels = share.labels.data() + before;
        const float *const parameters = share.parameters.data();
        float *const parts = part == StepPart::forward ? nullptr : share.parts.data();
        share.step.launch_with(blocks_for(images, split_block_images),
                               dim3(split_block_images * split_columns * split_rows),
                               numbers_->step_shared_bytes, share.stream.get(), pixels, labels, as_they_lie,
                               static_cast<int>(images), parameters, share.out.data(), parts);
    }
    if (part == StepPart::forward)
        return;
    gather(parity, batch);
    const bool by_nccl = numbers_->split == DeviceSplit::batch_nccl;
    if (part == StepPart::step && by_nccl) {
        std::vector<float *> values;
        std::vector<cudaStream_t> streams;
        for (std::size_t i = 0; i < shares_.size(); ++i) {
            values.push_back(shares_[i]->gradients[room(parity)].data() +
                             static_cast<std::int64_t>(i) * numbers_->stride);
            streams.push_back(shares_[i]->stream.get());
        }
        numbers_->nccl->sum(values, room(split_parameters), streams);
    } else if (part == StepPart::step) {
        send_gradients(parity, room(split_parameters));
    }
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        Share &share = *shares_[i];
        const OnDevice here(share.ordinal);
        const float *const gradients = share.gradients[room(parity)].data();
        share.update_summed.launch_with(
            blocks_for(split_parameters, 128), dim3(128), 0, share.stream.get(), gradients,
            static_cast<int>(numbers_->stride), static_cast<int>(shares_.size()), static_cast<int>(i),
            by_nccl ? 0 : static_cast<int>(split_parameters), static_cast<int>(split_parameters),
            numbers_->rate, share.parameters.data(), share.gradient.data());
    }
}

void SplitSteps::by_rows(StepPart part, std::int64_t step, std::int64_t batch) {
    const Numbers &numbers = *numbers_;
    const std::int64_t parity = step % 2, images = numbers.images(batch);
    const int count = static_cast<int>(images);
    const bool sums = numbers.split == DeviceSplit::parameters;
    const auto pixels_of = [&](const Share &share) {
        return share.pixels.data() + batch * numbers.batch * share.image_rows * split_edge;
    };
    const auto threads_of = [](const Share &share) {
        return dim3(static_cast<unsigned>(split_block_images * split_columns * share.own_rows));
    };
    /// Where a GPU's features or sums lie among those of all, and how many they are.
    const auto place = [&](std::size_t i) {
        return sums ? static_cast<std::int64_t>(i) * images * split_outputs
                    : images * split_filters * split_columns * numbers.rows.first[i];
    };
    const auto length = [&](const Share &share) {
        return images * (sums ? split_outputs : share.own_features);
    };
    const auto own_of = [&](Share &share, std::size_t i) {
        return sums ? share.own.data() : share.received[room(parity)].data() + place(i);
    };
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        Share &share = *shares_[i];
        const OnDevice here(share.ordinal);
        const float *const pixels = pixels_of(share), *const parameters = share.parameters.data();
        float *const its_sums = sums ? share.received[room(parity)].data() + place(i) : nullptr;
        share.rows_forward->launch_with(blocks_for(images, split_block_images), threads_of(share), 0,
                                        share.stream.get(), pixels, count, parameters, own_of(share, i),
                                        share.places.data(), its_sums);
    }
    if (part != StepPart::computation)
        exchange([&](std::size_t from, std::size_t to, cudaStream_t stream) {
            group_.copy(from, shares_[from]->received[room(parity)].data() + place(from), to,
                        shares_[to]->received[room(parity)].data() + place(from),
                        room(length(*shares_[from])) * sizeof(float), stream);
        });
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        Share &share = *shares_[i];
        const OnDevice here(share.ordinal);
        const float *const pixels = pixels_of(share), *const parameters = share.parameters.data(),
                           *const received = share.received[room(parity)].data(), *const nothing = nullptr,
                           *const own = own_of(share, i);
        const std::uint8_t *const labels = share.labels.data() + batch * numbers.batch, *const places =
                                                                                            share.places
                                                                                                .data();
        float *const parts = part == StepPart::forward ? nullptr : share.parts.data();
        share.rows_back->launch_with(blocks_for(images, split_block_images), threads_of(share), 0,
                                     share.stream.get(), pixels, labels, count, parameters,
                                     sums ? nothing : received, sums ? received : nothing, own, places,
                                     numbers.rows, static_cast<int>(i), share.out.data(), parts);
    }
    if (part == StepPart::forward)
        return;
    gather(parity, batch);
    if (part == StepPart::step)
        send_gradients(parity, sums ? room(split_convolution) : room(numbers.stride));
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        Share &share = *shares_[i];
        const OnDevice here(share.ordinal);
        const float *const gradients = share.gradients[room(parity)].data();
        const int stride = static_cast<int>(numbers.stride);
        if (sums)
            share.update_summed.launch_with(
                blocks_for(share.own_count, 128), dim3(128), 0, share.stream.get(), gradients, stride,
                static_cast<int>(shares_.size()), static_cast<int>(i), static_cast<int>(split_convolution),
                static_cast<int>(share.own_count), numbers.rate, share.parameters.data(),
                share.gradient.data());
        else
            share.update_rows.launch_with(blocks_for(split_parameters, 128), dim3(128), 0, share.stream.get(),
                                          gradients, stride, numbers.rows, numbers.rate,
                                          share.parameters.data(), share.gradient.data());
    }
}

SplitOutcome SplitSteps::outcome() const {
    const Numbers &numbers = *numbers_;
    for (const auto &share : shares_) {
        const OnDevice here(share->ordinal);
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize after a step");
    }
    SplitOutcome outcome;
    const bool shared_out = !splits_rows(numbers.split) && numbers.split != DeviceSplit::one;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        const Share &share = *shares_[i];
        if (i > 0 && !shared_out)
            break;
        const std::vector<float> all = share.out.to_host();
        outcome.outputs.insert(outcome.outputs.end(), all.begin(),
                               all.begin() + numbers.images(numbers.last_batch, i) * split_outputs);
    }
    if (numbers.split == DeviceSplit::parameters) {
        std::vector<float> gradient(room(split_parameters)), parameters = gradient;
        for (std::size_t i = 0; i < shares_.size(); ++i) {
            put_own(shares_[i]->gradient.to_host(), numbers.rows.first[i], shares_[i]->own_rows, gradient);
            put_own(shares_[i]->parameters.to_host(), numbers.rows.first[i], shares_[i]->own_rows,
                    parameters);
        }
        outcome.gradients = {std::move(gradient)};
        outcome.parameters = {std::move(parameters)};
        return outcome;
    }
    for (const auto &share : shares_) {
        outcome.gradients.push_back(share->gradient.to_host());
        outcome.parameters.push_back(share->parameters.to_host());
    }
    return outcome;
}

} // namespace convcast
