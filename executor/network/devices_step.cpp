#include "executor/network/devices_step.hpp"

#include "executor/network/network_source.hpp"
#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/network/ranks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

struct DeviceShares { ///< Shares of mnist_devices.cu
    int devices = 0;
    int first[most_split_devices + 1] = {};
};

/// The launch of `kernel` in a rung of the ladder that trains. Throws UsageError if there is none.
const LadderLaunch &launch_of_step(const Ladder &ladder, const std::string &kernel) {
    for (const Rung &rung : ladder.rungs)
        for (const LadderLaunch &launch : rung.launches)
            if (rung.trains.value_or(false) && launch.kernel == kernel)
                return launch;
    throw UsageError("no step of training of the network '" + ladder.network + "' launches " + kernel);
}

const Operator &operator_of(const Network &network, OperatorKind kind) {
    for (const Operator &op : network.operators)
        if (op.kind == kind)
            return op;
    throw UsageError("the network '" + network.id + "' has no " + boost::describe::enum_to_string(kind, "?"));
}

} // namespace

CompileRequest split_request(std::int64_t rows, int compute_capability) {
    CompileRequest request = network_request("mnist_devices.cu", compute_capability);
    request.options = {"-DOWN_ROWS=" + std::to_string(rows)};
    return request;
}

/// Sizes that are the same for all GPUs, in elements, and what each GPU gets of the work.
struct SplitSteps::Sizes {
    Sizes(const Ladder &ladder, const Network &network, const NetworkCase &item, std::int64_t images,
          float its_rate)
        : image_rows(network.input[1]), image_columns(network.input[2]),
          step(launch_of_step(ladder, "mnist_step")), update(launch_of_step(ladder, "mnist_update")),
          split(*item.split), batch(std::min(item.batch, images)), count(images), rate(its_rate) {
        const ImageShape pooled = operator_of(network, OperatorKind::max_pooling).output;
        filters = pooled[0], rows = pooled[1], columns = pooled[2];
        outputs = operator_of(network, OperatorKind::dense).output[0];
        all = network.all_parameters();
        convolution = all - outputs * features(rows) - outputs;
        shares.devices = item.devices;
        own = row_shares(network, splits_rows(split) ? item.devices : 1);
        own.resize(as_size(item.devices), own.front());
        for (std::size_t i = 0; i < own.size(); ++i)
            shares.first[i + 1] = static_cast<int>(own[i].last_window);
    }

    std::int64_t image_rows, image_columns, filters;
    std::int64_t rows, columns;    ///< of pooling windows
    std::int64_t outputs;          ///< of the dense layer, for an image
    std::int64_t convolution, all; ///< numbers of parameters: of the convolution, and of all operators
    LadderLaunch step, update;     ///< of the ladder, for their blocks and groups of images
    DeviceSplit split;
    std::int64_t batch, count; ///< images of a step, and of all batches
    float rate;
    std::vector<RowShare> own; ///< for each GPU: the rows of every image that it has
    DeviceShares shares;       ///< for each GPU: where its rows of windows begin; the last entry is the end

    std::int64_t devices() const { return std::ssize(own); }
    /// Inputs of the dense layer, for an image, that come from so many rows of windows.
    std::int64_t features(std::int64_t of_rows) const { return filters * columns * of_rows; }
    /// Parameters for which a GPU with so many rows of windows computes the gradient.
    std::int64_t parameters(std::int64_t of_rows) const {
        return convolution + outputs * features(of_rows) + outputs;
    }
    std::int64_t stride() const { return parameters(own.front().windows()); } ///< between the GPUs' gradients
    /// Images that a block of the training step takes; the ladder declares it for that launch.
    std::int64_t block_images() const { return *step.group_images; }
    std::int64_t image_floats() const { return image_rows * image_columns; }

    std::int64_t batches() const { return ceil_div(count, batch); }
    /// The number of images of batch number `at`.
    std::int64_t batch_images(std::int64_t at) const { return std::min(batch, count - at * batch); }
    /// The images of batch number `at` that a GPU takes: all of them if rows are split. The last batch may
    /// have fewer images than there are GPUs; then some take none.
    ImageShare share(std::int64_t at, std::size_t device) const {
        return splits_rows(split)
                   ? ImageShare{0, batch_images(at)}
                   : share_of_rank(batch_images(at), static_cast<int>(device), static_cast<int>(devices()));
    }
};

/// The memory and the kernels of one GPU.
struct SplitSteps::Share {
    Share(int its_device, const Module &its_module, const Sizes &sizes, std::size_t index,
          std::int64_t its_images)
        : device(its_device), module(its_module), rows(sizes.own[index].windows()),
          features(sizes.features(rows)), parameter_count(sizes.parameters(rows)),
          image_rows(sizes.own[index].rows()), images(its_images),
          pixels(as_size(images * image_rows * sizes.image_columns)), labels(as_size(images)),
          parameters(as_size(sizes.all)), out(as_size(sizes.share(0, index).count * sizes.outputs)),
          parts(blocks_for(sizes.share(0, index).count, sizes.block_images()).x * as_size(parameter_count)),
          gradient(as_size(sizes.all)), own(splits_rows(sizes.split) ? as_size(sizes.batch * features) : 1),
          places(own.size()) {
        const std::int64_t devices = sizes.devices();
        const std::size_t exchanged =
            sizes.split == DeviceSplit::rows         ? as_size(sizes.batch * sizes.features(sizes.rows))
            : sizes.split == DeviceSplit::parameters ? as_size(devices * sizes.batch * sizes.outputs)
                                                     : 1;
        for (std::size_t parity = 0; parity < 2; ++parity) {
            gradients[parity] = DeviceBuffer<float>(as_size(devices * sizes.stride()));
            received[parity] = DeviceBuffer<float>(exchanged);
        }
        if (!splits_rows(sizes.split))
            module.kernel(sizes.step.kernel).allow_shared(as_size(sizes.step.shared_bytes.value_or(0)));
    }

    int device;
    const Module &module;
    std::int64_t rows, features, parameter_count, image_rows, images; ///< images: of all batches
    DeviceBuffer<float> pixels;
    DeviceBuffer<std::uint8_t> labels;
    DeviceBuffer<float> parameters, out, parts, gradient;
    DeviceBuffer<float> own; ///< its features, if the other GPUs get only sums of them
    DeviceBuffer<std::uint8_t> places;
    // Two of each, for even and odd steps: a GPU may write the next step's while another still reads this
    // one's.
    std::array<DeviceBuffer<float>, 2> gradients; ///< of all GPUs
    std::array<DeviceBuffer<float>, 2> received;  ///< features or sums of all GPUs
};

SplitSteps::SplitSteps(const DeviceGroup &group, LadderKernels &kernels, const NetworkCase &item,
                       const LabelledImages &images, std::int64_t count, std::span<const float> parameters,
                       float rate)
    : sizes_(std::make_unique<const Sizes>(kernels.ladder(), kernels.network(), item, count, rate)),
      group_(group) {
    for (std::size_t i = 0; i < as_size(sizes_->devices()); ++i) {
        const OnDevice here(group.ordinal(i));
        std::int64_t own_images = 0;
        for (std::int64_t batch = 0; batch < sizes_->batches(); ++batch)
            own_images += sizes_->share(batch, i).count;
        const Module &module =
            kernels.module_of(split_request(sizes_->own[i].windows(), kernels.gpu().compute_capability()));
        shares_.push_back(std::make_unique<Share>(group.ordinal(i), module, *sizes_, i, own_images));
    }
    load(images, parameters);
    if (splits_rows(sizes_->split))
        copy_halos();
    group_.wait(); // blocking copies run on another stream than the steps
}

SplitSteps::~SplitSteps() = default;

namespace {

/// Calls `run(at, own_at, count)` for every contiguous run of parameters of a GPU with `rows` rows of windows
/// from `first_row` on: where it begins among the parameters of the network, where among the GPU's own, its
/// length.
template <class Sizes, class Run>
void for_own_parameters(const Sizes &sizes, std::int64_t first_row, std::int64_t rows, const Run &run) {
    run(0, 0, sizes.convolution);
    std::int64_t own_at = sizes.convolution;
    const std::int64_t count = rows * sizes.columns;
    for (std::int64_t map = 0; map < sizes.outputs * sizes.filters; ++map, own_at += count)
        run(sizes.convolution + (map * sizes.rows + first_row) * sizes.columns, own_at, count);
    run(sizes.all - sizes.outputs, own_at, sizes.outputs);
}

} // namespace

/// Copies images, labels and parameters to the GPUs. If rows are split, each row of an image is copied to one
/// GPU only; copy_halos() copies the rows that a second GPU needs.
void SplitSteps::load(const LabelledImages &images, std::span<const float> parameters) {
    const Sizes &sizes = *sizes_;
    const std::size_t row_bytes = as_size(sizes.image_columns) * sizeof(float);
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        Share &share = *shares_[i];
        const OnDevice here(share.device);
        const std::int64_t first_row = sizes.own[i].first_row;
        const bool halo_elsewhere = splits_rows(sizes.split) && i + 1 < shares_.size();
        const std::int64_t rows = halo_elsewhere ? sizes.own[i + 1].first_row - first_row : share.image_rows;
        std::vector<std::uint8_t> labels;
        for (std::int64_t batch = 0; batch < sizes.batches(); ++batch) {
            const ImageShare part = sizes.share(batch, i);
            if (part.count == 0)
                continue;
            const LabelledImages now = images_of(images, {batch * sizes.batch + part.first, part.count});
            check(cudaMemcpy2D(share.pixels.data() +
                                   std::ssize(labels) * share.image_rows * sizes.image_columns,
                               as_size(share.image_rows) * row_bytes,
                               now.pixels.data() + first_row * sizes.image_columns,
                               as_size(sizes.image_rows) * row_bytes, as_size(rows) * row_bytes,
                               as_size(part.count), cudaMemcpyHostToDevice),
                  "cudaMemcpy2D of images");
            labels.insert(labels.end(), now.labels.begin(), now.labels.end());
        }
        share.labels.copy_from(labels);
        std::vector<float> own(parameters.begin(), parameters.end());
        if (sizes.split == DeviceSplit::parameters)
            for_own_parameters(sizes, sizes.shares.first[i], share.rows,
                               [&](auto at, auto own_at, auto count) {
                                   std::copy_n(parameters.begin() + at, count, own.begin() + own_at);
                               });
        share.parameters.copy_from(own);
    }
}

/// Copies the rows of images below a GPU's own that its filters also read, from the next GPU, which has them.
void SplitSteps::copy_halos() {
    const std::size_t row_bytes = as_size(sizes_->image_columns) * sizeof(float);
    for (std::size_t i = 0; i + 1 < shares_.size(); ++i) {
        Share &share = *shares_[i], &next = *shares_[i + 1];
        const std::int64_t begin = sizes_->own[i + 1].first_row, end = sizes_->own[i].last_row;
        const OnDevice here(share.device);
        const auto pixels_of = [&](Share &gpu) {
            return cudaPitchedPtr{gpu.pixels.data(), as_size(gpu.image_rows) * row_bytes,
                                  as_size(gpu.image_rows) * row_bytes, as_size(gpu.images)};
        };
        cudaMemcpy3DPeerParms copy{};
        copy.srcDevice = next.device;
        copy.dstDevice = share.device;
        copy.srcPtr = pixels_of(next);
        copy.dstPtr = pixels_of(share);
        copy.dstPos = cudaPos{as_size(begin - sizes_->own[i].first_row) * row_bytes, 0, 0};
        copy.extent = cudaExtent{as_size(end - begin) * row_bytes, as_size(share.images), 1};
        check(cudaMemcpy3DPeer(&copy), "cudaMemcpy3DPeer of the halo");
    }
}

std::int64_t SplitSteps::batches() const {
    return sizes_->batches();
}

/// Collects steps as work on streams. Each GPU has one stream that computes and, for every other GPU, one
/// that sends to it.
class SplitSteps::Enqueued {
  public:
    explicit Enqueued(const SplitSteps &steps)
        : sizes_(*steps.sizes_), group_(steps.group_), shares_(steps.shares_),
          work_(steps.shares_.front()->device), sends_(shares_.size()) {
        computes_ = {0};
        for (std::size_t i = 1; i < shares_.size(); ++i)
            computes_.push_back(work_.add_stream(shares_[i]->device));
        for (std::size_t from = 0; from < shares_.size(); ++from)
            for (std::size_t to = 0; to < shares_.size(); ++to)
                sends_[from].push_back(from == to ? computes_[from]
                                                  : work_.add_stream(shares_[from]->device));
    }

    /// Adds step number `step`, or the part of it that is asked for.
    void add(StepPart part, std::int64_t step) {
        parity_ = as_size(step % 2);
        batch_ = step % sizes_.batches();
        trains_ = part != StepPart::forward;
        exchanges_ = part != StepPart::computation;
        splits_rows(sizes_.split) ? add_split_by_rows() : add_split_by_images();
        if (trains_)
            add_update();
    }

    StreamedWork take() { return std::move(work_); }

  private:
    /// Adds a launch to the computing stream of GPU number `i`.
    template <class... Arguments>
    void launch(std::size_t i, const std::string &kernel, dim3 grid, dim3 block, std::size_t shared_bytes,
                const Arguments &...arguments) {
        work_.add(computes_[i],
                  KernelCall{shares_[i]->module.kernel(kernel), grid, block, shared_bytes, {arguments...}});
    }

    /// Adds a copy from each GPU to each other one. In round d, GPU i sends to GPU i + d (modulo the number
    /// of GPUs), so each sends and receives one copy a round. A copy starts after all that its sender has
    /// added so far; what a GPU adds from now on starts after all that it receives.
    void exchange(const std::function<StreamedWork::Call(std::size_t from, std::size_t to)> &copy) {
        const std::size_t devices = shares_.size();
        for (std::size_t round = 1; round < devices; ++round)
            for (std::size_t from = 0; from < devices; ++from) {
                const std::size_t to = (from + round) % devices;
                work_.follow(sends_[from][to], computes_[from]);
                work_.add(sends_[from][to], copy(from, to));
            }
        for (std::size_t round = 1; round < devices; ++round)
            for (std::size_t from = 0; from < devices; ++from) {
                const std::size_t to = (from + round) % devices;
                work_.follow(computes_[to], sends_[from][to]);
            }
    }

    /// A copy of `floats` numbers from `source` on GPU `from` to `target` on GPU `to`.
    StreamedWork::Call copy_of(std::size_t from, const float *source, std::size_t to, float *target,
                               std::int64_t floats) const {
        return [=, &group = group_](cudaStream_t stream) {
            group.copy(from, source, to, target, as_size(floats) * sizeof(float), stream);
        };
    }

    /// Sends the first `count` numbers of each GPU's gradient to all others.
    void send_gradients(std::int64_t count) {
        exchange([&](std::size_t from, std::size_t to) {
            const std::int64_t at = static_cast<std::int64_t>(from) * sizes_.stride();
            return copy_of(from, shares_[from]->gradients[parity_].data() + at, to,
                           shares_[to]->gradients[parity_].data() + at,
                           std::min(count, shares_[from]->parameter_count));
        });
    }

    /// Adds up the parts of the gradient that the blocks of each GPU left, into that GPU's place among the
    /// gradients. If images are split, the sum is weighted by the GPU's share of the batch.
    void gather() {
        for (std::size_t i = 0; i < shares_.size(); ++i) {
            const Share &share = *shares_[i];
            const std::int64_t images = sizes_.share(batch_, i).count;
            const float weight = static_cast<float>(static_cast<double>(images) /
                                                    static_cast<double>(sizes_.batch_images(batch_)));
            launch(i, "gather", blocks_for(share.parameter_count, sizes_.update.block[0]), update_block(), 0,
                   share.parts.data(), static_cast<int>(blocks_for(images, sizes_.block_images()).x),
                   static_cast<int>(share.parameter_count), weight,
                   shares_[i]->gradients[parity_].data() + static_cast<std::int64_t>(i) * sizes_.stride());
        }
    }

    /// Adds the update of the parameters by the gradients of all GPUs. If parameters are split, only those of
    /// the convolution are summed over GPUs; a GPU updates its part of the dense layer alone.
    void add_update() {
        gather();
        const std::int64_t summed =
            sizes_.split == DeviceSplit::parameters ? sizes_.convolution : sizes_.stride();
        if (exchanges_)
            send_gradients(summed);
        const auto stride = static_cast<int>(sizes_.stride());
        for (std::size_t i = 0; i < shares_.size(); ++i) {
            Share &share = *shares_[i];
            const float *const gradients = share.gradients[parity_].data();
            if (sizes_.split == DeviceSplit::rows)
                launch(i, "update_rows", blocks_for(sizes_.all, update_threads), dim3(update_threads), 0,
                       gradients, stride, sizes_.shares, sizes_.rate, share.parameters.data(),
                       share.gradient.data());
            else
                launch(i, "update_summed", blocks_for(share.parameter_count, update_threads),
                       dim3(update_threads), 0, gradients, stride, static_cast<int>(shares_.size()),
                       static_cast<int>(i), static_cast<int>(summed), static_cast<int>(share.parameter_count),
                       sizes_.rate, share.parameters.data(), share.gradient.data());
        }
    }

    /// Adds forward and backward of a step in which each GPU takes its own images.
    void add_split_by_images() {
        // The kernel's order of images: none, they are taken as they lie
        const int *const as_they_lie = nullptr;
        for (std::size_t i = 0; i < shares_.size(); ++i) {
            const Share &share = *shares_[i];
            const std::int64_t images = sizes_.share(batch_, i).count,
                               before = batch_ * sizes_.share(0, i).count;
            if (images > 0)
                launch(i, sizes_.step.kernel, blocks_for(images, sizes_.block_images()),
                       dim3(static_cast<unsigned>(sizes_.step.block[0])),
                       as_size(sizes_.step.shared_bytes.value_or(0)),
                       share.pixels.data() + before * sizes_.image_floats(), share.labels.data() + before,
                       as_they_lie, static_cast<int>(images), share.parameters.data(), share.out.data(),
                       parts_of(share));
        }
    }

    /// Adds forward and backward of a step in which each GPU takes some rows of every image. Between them the
    /// GPUs exchange features (split by rows) or their sums of the dense layer (split by parameters).
    void add_split_by_rows() {
        const std::int64_t images = sizes_.batch_images(batch_), before = batch_ * sizes_.batch;
        const int count = static_cast<int>(images);
        const bool sums = sizes_.split == DeviceSplit::parameters;
        const dim3 blocks = blocks_for(images, sizes_.block_images());
        const auto pixels_of = [&](const Share &share) {
            return share.pixels.data() + before * share.image_rows * sizes_.image_columns;
        };
        const auto block_of = [&](const Share &share) {
            return dim3(static_cast<unsigned>(sizes_.block_images() * sizes_.columns * share.rows));
        };
        // Where the features or sums of GPU i lie among those of all, in the memory of GPU `on`.
        const auto place = [&](std::size_t i, std::size_t on) {
            return shares_[on]->received[parity_].data() +
                   (sums ? static_cast<std::int64_t>(i) * images * sizes_.outputs
                         : images * sizes_.features(sizes_.shares.first[i]));
        };
        const auto own_of = [&](std::size_t i) { return sums ? shares_[i]->own.data() : place(i, i); };
        float *const nothing = nullptr;
        for (std::size_t i = 0; i < shares_.size(); ++i)
            launch(i, "rows_forward", blocks, block_of(*shares_[i]), 0, pixels_of(*shares_[i]), count,
                   shares_[i]->parameters.data(), own_of(i), shares_[i]->places.data(),
                   sums ? place(i, i) : nothing);
        if (exchanges_)
            exchange([&](std::size_t from, std::size_t to) {
                return copy_of(from, place(from, from), to, place(from, to),
                               images * (sums ? sizes_.outputs : shares_[from]->features));
            });
        for (std::size_t i = 0; i < shares_.size(); ++i) {
            const Share &share = *shares_[i];
            float *const received = shares_[i]->received[parity_].data();
            launch(i, "rows_back", blocks, block_of(share), 0, pixels_of(share), share.labels.data() + before,
                   count, share.parameters.data(), sums ? nothing : received, sums ? received : nothing,
                   own_of(i), share.places.data(), sizes_.shares, static_cast<int>(i), share.out.data(),
                   parts_of(share));
        }
    }

    const float *parts_of(const Share &share) const { return trains_ ? share.parts.data() : nullptr; }
    dim3 update_block() const {
        return dim3(static_cast<unsigned>(sizes_.update.block[0]),
                    static_cast<unsigned>(sizes_.update.block[1]));
    }

    static constexpr unsigned update_threads = 128; // chosen

    const Sizes &sizes_;
    const DeviceGroup &group_;
    const std::vector<std::unique_ptr<Share>> &shares_;
    StreamedWork work_;
    std::vector<std::size_t> computes_;           ///< the computing stream of each GPU
    std::vector<std::vector<std::size_t>> sends_; ///< [from][to]: the stream of those copies
    std::size_t parity_ = 0;                      ///< of the step that is added
    std::int64_t batch_ = 0;
    bool trains_ = true, exchanges_ = true;
};

StreamedWork SplitSteps::work(StepPart part, std::int64_t first, std::int64_t count) const {
    Enqueued steps(*this);
    for (std::int64_t step = first; step < first + count; ++step)
        steps.add(part, step);
    return steps.take();
}

StepOutcome SplitSteps::outcome(std::int64_t step) const {
    const Sizes &sizes = *sizes_;
    group_.wait();
    StepOutcome outcome;
    for (std::size_t i = 0; i < (splits_rows(sizes.split) ? 1 : shares_.size()); ++i) {
        const std::vector<float> all = shares_[i]->out.to_host();
        outcome.outputs.insert(outcome.outputs.end(), all.begin(),
                               all.begin() + sizes.share(step % sizes.batches(), i).count * sizes.outputs);
    }
    if (sizes.split != DeviceSplit::parameters) {
        for (const auto &share : shares_) {
            outcome.gradients.push_back(share->gradient.to_host());
            outcome.parameters.push_back(share->parameters.to_host());
        }
        return outcome;
    }
    std::vector<float> gradient(as_size(sizes.all)), parameters = gradient;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        const std::vector<float> own_gradient = shares_[i]->gradient.to_host(),
                                 own_parameters = shares_[i]->parameters.to_host();
        for_own_parameters(sizes, sizes.shares.first[i], shares_[i]->rows,
                           [&](auto at, auto own_at, auto count) {
                               std::copy_n(own_gradient.begin() + own_at, count, gradient.begin() + at);
                               std::copy_n(own_parameters.begin() + own_at, count, parameters.begin() + at);
                           });
    }
    outcome.gradients = {std::move(gradient)};
    outcome.parameters = {std::move(parameters)};
    return outcome;
}

} // namespace convcast
