#include "executor/baselines/cudnn_graph.hpp"

#include "gpu/memory.hpp"
#include "model/base/errors.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#ifdef CONVCAST_HAS_CUDNN
#include "executor/baselines/cudnn_library.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace convcast {
namespace {

/// The functions used, typed, and the device: a handle, or a description of one that is elsewhere.
struct Functions : CudnnLibrary {
    Functions() { make_handle(); }
    explicit Functions(const std::string &device_json) {
        check(create_descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device),
              "cudnnBackendCreateDescriptor");
        check(set_attribute(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                            static_cast<std::int64_t>(device_json.size() + 1), device_json.c_str()),
              "cudnnBackendSetAttribute of a device");
        check(finalize(device), "cudnnBackendFinalize of a device");
    }
    ~Functions() {
        if (device)
            (void)destroy_descriptor(device);
    }

    decltype(&cudnnBackendCreateDescriptor) create_descriptor = shared.symbol("cudnnBackendCreateDescriptor");
    decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor =
        shared.symbol("cudnnBackendDestroyDescriptor");
    decltype(&cudnnBackendSetAttribute) set_attribute = shared.symbol("cudnnBackendSetAttribute");
    decltype(&cudnnBackendGetAttribute) get_attribute = shared.symbol("cudnnBackendGetAttribute");
    decltype(&cudnnBackendFinalize) finalize = shared.symbol("cudnnBackendFinalize");
    decltype(&cudnnBackendExecute) execute = shared.symbol("cudnnBackendExecute");
    cudnnBackendDescriptor_t device = nullptr;
};

/// An address in a variant pack. A bare void * is a descriptor to cuDNN.
struct DevicePointer {
    void *address;
    bool operator==(const DevicePointer &) const = default;
};

/// The type that cuDNN calls an attribute of C++ type T; others do not compile.
template <class T> constexpr cudnnBackendAttributeType_t type_of_attribute = T::is_none;
template <> constexpr auto type_of_attribute<std::int64_t> = CUDNN_TYPE_INT64;
template <> constexpr auto type_of_attribute<float> = CUDNN_TYPE_FLOAT;
template <> constexpr auto type_of_attribute<DevicePointer> = CUDNN_TYPE_VOID_PTR;
template <> constexpr auto type_of_attribute<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <> constexpr auto type_of_attribute<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <> constexpr auto type_of_attribute<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <> constexpr auto type_of_attribute<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <> constexpr auto type_of_attribute<cudnnBackendKnobType_t> = CUDNN_TYPE_KNOB_TYPE;
template <> constexpr auto type_of_attribute<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <> constexpr auto type_of_attribute<cudnnBackendDescriptor_t> = CUDNN_TYPE_BACKEND_DESCRIPTOR;

/// Owns one of cuDNN's descriptors, and keeps the library that made it.
class Descriptor {
  public:
    Descriptor(std::shared_ptr<const Functions> library, cudnnBackendDescriptorType_t type)
        : library_(std::move(library)) {
        cudnnBackendDescriptor_t made = nullptr;
        library_->check(library_->create_descriptor(type, &made), "cudnnBackendCreateDescriptor");
        handle_.reset(made, library_->destroy_descriptor);
    }

    cudnnBackendDescriptor_t handle() const { return handle_.get(); }

    template <class T> Descriptor &set(cudnnBackendAttributeName_t name, const std::vector<T> &values) {
        library_->check(library_->set_attribute(handle(), name, type_of_attribute<T>,
                                                static_cast<std::int64_t>(values.size()), values.data()),
                        fmt::format("cudnnBackendSetAttribute {}", static_cast<int>(name)));
        return *this;
    }
    template <class T> Descriptor &set(cudnnBackendAttributeName_t name, const T &value) {
        return set(name, std::vector<T>{value});
    }

    /// An answer: some settings exist only on paper.
    cudnnStatus_t try_finalize() { return library_->finalize(handle()); }
    void finalize() { library_->check(try_finalize(), "cudnnBackendFinalize"); }

    /// Up to `most` values.
    template <class T> std::vector<T> values(cudnnBackendAttributeName_t name, std::size_t most) const {
        std::vector<T> found(most);
        std::int64_t count = 0;
        library_->check(library_->get_attribute(handle(), name, type_of_attribute<T>,
                                                static_cast<std::int64_t>(most), &count, found.data()),
                        fmt::format("cudnnBackendGetAttribute {}", static_cast<int>(name)));
        found.resize(std::min(most, static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
        return found;
    }
    template <class T> T value(cudnnBackendAttributeName_t name) const {
        const std::vector<T> found = values<T>(name, 1);
        if (found.empty())
            throw GpuError(fmt::format("cudnnBackendGetAttribute {} gave no value", static_cast<int>(name)));
        return found.front();
    }

    /// Descriptors in an attribute, up to `most`: cuDNN fills those that it is given.
    std::vector<Descriptor> children(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                     std::size_t most) const {
        std::vector<Descriptor> made;
        std::vector<cudnnBackendDescriptor_t> handles;
        for (std::size_t i = 0; i < most; ++i)
            handles.push_back(made.emplace_back(library_, type).handle());
        std::int64_t count = 0;
        library_->check(library_->get_attribute(handle(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                                static_cast<std::int64_t>(most), &count, handles.data()),
                        fmt::format("cudnnBackendGetAttribute {}", static_cast<int>(name)));
        while (made.size() > static_cast<std::size_t>(std::max<std::int64_t>(count, 0)))
            made.pop_back();
        return made;
    }

  private:
    std::shared_ptr<const Functions> library_;
    std::shared_ptr<void> handle_; ///< what cudnnBackendDescriptor_t is
};

using KnobValue = std::pair<cudnnBackendKnobType_t, std::int64_t>;

/// An engine with its knobs; no knobs leave the choice to the engine.
struct Setting {
    std::int64_t engine = 0;
    std::vector<KnobValue> knobs;
    auto operator<=>(const Setting &) const = default;

    std::string text() const {
        std::string knob_texts;
        for (const auto &[type, value] : knobs)
            knob_texts += fmt::format(" {}={}", static_cast<int>(type), value);
        return fmt::format("engine {}, knobs{}", engine, knobs.empty() ? " its own" : knob_texts);
    }
};

/// Engines with at most this many settings are tried in all of them.
constexpr std::size_t few_settings = 64;

enum TensorId : std::int64_t { input_id = 1, filters_id, output_id };

/// The operation and its graph, and everything that is asked about them.
class Convolution {
  public:
    Convolution(const std::shared_ptr<const Functions> &library, const ConvShape &s, Layout layout)
        : library_(library), type_(s.dtype == DataType::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT),
          layout_(layout), input_(tensor(input_id, {s.n, s.c, s.h, s.w})),
          filters_(tensor(filters_id, {s.k, s.c / s.groups, s.r, s.s})),
          output_(tensor(output_id, {s.n, s.k, s.p(), s.q()})),
          convolution_(library, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR),
          operation_(library, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR),
          graph_(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
        const std::vector<std::int64_t> pads = {s.pad_h, s.pad_w};
        convolution_.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
            .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
            .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
            .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pads)
            .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, pads)
            .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::vector<std::int64_t>{s.dilation_h, s.dilation_w})
            .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::vector<std::int64_t>{s.stride_h, s.stride_w})
            .finalize();
        operation_.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution_.handle())
            .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, input_.handle())
            .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filters_.handle())
            .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, output_.handle())
            .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0F)
            .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0F)
            .finalize();
        graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_.handle());
        if (library->handle)
            graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, library->handle);
        graph_.finalize();
    }

    std::int64_t engines() const {
        return graph_.value<std::int64_t>(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
    }

    /// Absent if the engine cannot do this convolution on this device.
    std::optional<Descriptor> engine(std::int64_t index) const {
        Descriptor made(library_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
        made.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_.handle())
            .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
        if (library_->device)
            made.set(CUDNN_ATTR_ENGINE_DEVICEPROP, library_->device);
        if (made.try_finalize() != CUDNN_STATUS_SUCCESS)
            return std::nullopt;
        return made;
    }

    static std::vector<cudnnBackendNumericalNote_t> notes(const Descriptor &engine) {
        return engine.values<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                          CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    }

    /// What a heuristic proposes; nothing where it has no opinion.
    std::vector<Setting> proposed(cudnnBackendHeurMode_t mode) const {
        Descriptor heuristic(library_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
        heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_.handle())
            .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
        if (library_->device)
            heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, library_->device);
        if (heuristic.try_finalize() != CUDNN_STATUS_SUCCESS)
            return {};
        std::int64_t count = 0;
        if (library_->get_attribute(heuristic.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                                    nullptr) != CUDNN_STATUS_SUCCESS)
            return {};
        std::vector<Setting> settings;
        for (const Descriptor &config :
             heuristic.children(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                static_cast<std::size_t>(count))) {
            Setting &setting = settings.emplace_back();
            setting.engine = config.children(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1)
                                 .at(0)
                                 .value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
            for (const Descriptor &choice :
                 config.children(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                                 CUDNN_KNOB_TYPE_COUNTS))
                setting.knobs.emplace_back(
                    choice.value<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                    choice.value<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
        }
        return settings;
    }

    /// The engine as it is, and all of its settings if they are few.
    static std::vector<Setting> settings_of(std::int64_t index, const Descriptor &engine) {
        std::vector<Setting> settings = {{index, {}}};
        std::vector<Setting> all = settings;
        for (const Descriptor &knob : engine.children(
                 CUDNN_ATTR_ENGINE_KNOB_INFO, CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
            const auto type = knob.value<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_INFO_TYPE);
            const auto low = knob.value<std::int64_t>(CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE);
            const auto high = knob.value<std::int64_t>(CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE);
            const auto step =
                std::max<std::int64_t>(1, knob.value<std::int64_t>(CUDNN_ATTR_KNOB_INFO_STRIDE));
            const auto choices = static_cast<std::size_t>((high - low) / step + 1);
            if (high < low || choices > few_settings || all.size() * choices > few_settings)
                return settings;
            std::vector<Setting> extended;
            for (const Setting &setting : all)
                for (std::int64_t value = low; value <= high; value += step)
                    extended.emplace_back(setting).knobs.emplace_back(type, value);
            all = std::move(extended);
        }
        if (!all.front().knobs.empty())
            settings.insert(settings.end(), all.begin(), all.end());
        return settings;
    }

    /// Absent if cuDNN cannot build it after all.
    std::optional<Descriptor> plan(const Descriptor &engine, const Setting &setting) const {
        Descriptor config(library_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
        config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine.handle());
        std::vector<Descriptor> choices;
        std::vector<cudnnBackendDescriptor_t> handles;
        for (const auto &[type, value] : setting.knobs) {
            Descriptor &choice = choices.emplace_back(library_, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
            choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, type).set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
            if (choice.try_finalize() != CUDNN_STATUS_SUCCESS)
                return std::nullopt;
            handles.push_back(choice.handle());
        }
        if (!handles.empty())
            config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, handles);
        if (config.try_finalize() != CUDNN_STATUS_SUCCESS)
            return std::nullopt;
        Descriptor made(library_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        if (library_->device)
            made.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, library_->device);
        else
            made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, library_->handle);
        made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config.handle());
        if (made.try_finalize() != CUDNN_STATUS_SUCCESS)
            return std::nullopt;
        return made;
    }

  private:
    /// `sizes`: of images or filters, channels, rows, columns, in whatever order they lie.
    Descriptor tensor(std::int64_t id, const std::vector<std::int64_t> &sizes) const {
        const std::array<std::size_t, 4> inwards = layout_ == Layout::channels_first
                                                       ? std::array<std::size_t, 4>{0, 1, 2, 3}
                                                       : std::array<std::size_t, 4>{0, 2, 3, 1};
        std::vector<std::int64_t> strides(sizes.size(), 1);
        for (std::size_t i = inwards.size() - 1; i > 0; --i)
            strides[inwards[i - 1]] = strides[inwards[i]] * sizes[inwards[i]];
        Descriptor made(library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
        made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type_)
            .set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
            .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
            .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
            .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16}) // cudaMalloc's is 256
            .finalize();
        return made;
    }

    std::shared_ptr<const Functions> library_;
    cudnnDataType_t type_;
    Layout layout_;
    Descriptor input_, filters_, output_, convolution_, operation_, graph_;
};

/// A built plan that runs. What it points at is described anew only when that changes.
class Runner {
  public:
    Runner(std::shared_ptr<const Functions> library, Descriptor plan,
           std::shared_ptr<DeviceBuffer<unsigned char>> workspace)
        : library_(std::move(library)), plan_(std::move(plan)), workspace_(std::move(workspace)) {}

    void run(const void *input, const void *filters, void *output, cudaStream_t stream) {
        // cuDNN's interface knows no const.
        const std::vector<DevicePointer> pointers = {
            {const_cast<void *>(input)}, {const_cast<void *>(filters)}, {output}};
        if (!pack_ || pointers != pointers_) {
            Descriptor &pack = pack_.emplace(library_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
            pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                     std::vector<std::int64_t>{input_id, filters_id, output_id})
                .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
                .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, DevicePointer{workspace_->data()})
                .finalize();
            pointers_ = pointers;
        }
        library_->check(library_->set_stream(library_->handle, stream), "cudnnSetStream");
        library_->check(library_->execute(library_->handle, plan_.handle(), pack_->handle()),
                        "cudnnBackendExecute");
    }

  private:
    std::shared_ptr<const Functions> library_;
    Descriptor plan_;
    std::shared_ptr<DeviceBuffer<unsigned char>> workspace_;
    std::optional<Descriptor> pack_;
    std::vector<DevicePointer> pointers_;
};

/// A numerical note of cuDNN's, its name, and which member of PlanNotes it sets, if one.
struct Note {
    cudnnBackendNumericalNote_t note;
    const char *name;
    bool PlanNotes::*says = nullptr;
};

constexpr std::array known_notes = {
    Note{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, "TENSOR_CORE", &PlanNotes::tensor_cores},
    Note{CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, "DOWN_CONVERT_INPUTS", &PlanNotes::inputs_rounded},
    Note{CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, "REDUCED_PRECISION_REDUCTION",
         &PlanNotes::sums_rounded},
    Note{CUDNN_NUMERICAL_NOTE_FFT, "FFT", &PlanNotes::fft},
    Note{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, "NONDETERMINISTIC", &PlanNotes::nondeterministic},
    Note{CUDNN_NUMERICAL_NOTE_WINOGRAD, "WINOGRAD", &PlanNotes::winograd},
    Note{CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4, "WINOGRAD_TILE_4x4", &PlanNotes::winograd},
    Note{CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, "WINOGRAD_TILE_6x6", &PlanNotes::winograd},
    Note{CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13, "WINOGRAD_TILE_13x13", &PlanNotes::winograd},
    Note{CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP, "STRICT_NAN_PROP"}};

/// Notes of plans that are compared, by cuDNN's names; what this version does not know has a number.
std::pair<PlanNotes, std::vector<std::string>>
named_notes(const std::vector<cudnnBackendNumericalNote_t> &notes) {
    PlanNotes found;
    std::vector<std::string> names;
    for (const cudnnBackendNumericalNote_t note : notes) {
        const auto known = std::ranges::find(known_notes, note, &Note::note);
        if (known == known_notes.end()) {
            names.push_back(fmt::format("note {}", static_cast<int>(note)));
            continue;
        }
        names.emplace_back(known->name);
        if (known->says)
            found.*(known->says) = true;
    }
    return {found, std::move(names)};
}

class OpenedGraph : public CudnnGraph {
  public:
    explicit OpenedGraph(std::shared_ptr<const Functions> library) : library_(std::move(library)) {}

    std::string version() const override { return library_->version(); }

    GraphPlans plans(const ConvShape &shape, const std::string &baseline) const override {
        const Convolution convolution(library_, shape, layout_of(baseline));
        std::vector<Setting> settings;
        for (const cudnnBackendHeurMode_t mode :
             {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK})
            for (Setting &setting : convolution.proposed(mode))
                settings.push_back(std::move(setting));

        struct Engine {
            Descriptor descriptor;
            PlanNotes notes;
            std::vector<std::string> note_names;
        };
        std::map<std::int64_t, Engine> engines;
        for (std::int64_t index = 0; index < convolution.engines(); ++index)
            if (std::optional<Descriptor> engine = convolution.engine(index)) {
                auto [notes, names] = named_notes(convolution.notes(*engine));
                if (!plan_allowed(baseline, notes))
                    continue;
                for (Setting &setting : convolution.settings_of(index, *engine))
                    settings.push_back(std::move(setting));
                engines.emplace(index, Engine{std::move(*engine), notes, std::move(names)});
            }

        const auto workspace_limit = static_cast<std::int64_t>(
            library_->handle ? std::min(most_workspace_bytes, device_memory().free / 2)
                             : most_workspace_bytes);
        GraphPlans found;
        std::vector<Descriptor> built;
        std::set<Setting> seen;
        for (const Setting &setting : settings) {
            const auto engine = engines.find(setting.engine);
            if (engine == engines.end() || !seen.insert(setting).second)
                continue;
            std::optional<Descriptor> plan = convolution.plan(engine->second.descriptor, setting);
            if (plan) {
                GraphPlan made{setting.engine,
                               setting.text(),
                               engine->second.notes,
                               engine->second.note_names,
                               plan->value<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE),
                               {}};
                if (made.workspace_bytes <= workspace_limit) {
                    found.plans.push_back(std::move(made));
                    built.push_back(std::move(*plan));
                    continue;
                }
            }
            ++found.refused;
        }
        if (!library_->handle)
            return found;
        std::int64_t largest = 0;
        for (const GraphPlan &plan : found.plans)
            largest = std::max(largest, plan.workspace_bytes);
        const auto workspace =
            std::make_shared<DeviceBuffer<unsigned char>>(static_cast<std::size_t>(largest));
        for (std::size_t i = 0; i < built.size(); ++i)
            found.plans[i].call = [runner =
                                       std::make_shared<Runner>(library_, std::move(built[i]), workspace)](
                                      const void *input, const void *filters, void *output,
                                      cudaStream_t stream) { runner->run(input, filters, output, stream); };
        return found;
    }

  private:
    std::shared_ptr<const Functions> library_;
};

} // namespace

std::shared_ptr<const CudnnGraph> open_cudnn_graph() {
    return std::make_shared<const OpenedGraph>(std::make_shared<const Functions>());
}

std::shared_ptr<const CudnnGraph> open_cudnn_graph_for(const std::string &device_json) {
    return std::make_shared<const OpenedGraph>(std::make_shared<const Functions>(device_json));
}

} // namespace convcast

#else

std::shared_ptr<const convcast::CudnnGraph> convcast::open_cudnn_graph() {
    throw GpuError("built without cuDNN headers: its convolutions cannot be run");
}

std::shared_ptr<const convcast::CudnnGraph> convcast::open_cudnn_graph_for(const std::string &) {
    return open_cudnn_graph();
}

#endif
