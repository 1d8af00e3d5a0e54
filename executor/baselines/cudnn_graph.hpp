// cuDNN's graph interface: every plan that it has for a convolution, by engine and knobs.
#pragma once

#include "executor/baselines/call.hpp"
#include "executor/baselines/names.hpp"
#include "model/shape/conv_shape.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// An engine with its knobs, for one shape.
struct GraphPlan {
    std::int64_t engine = 0; ///< cuDNN's number
    std::string name; ///< "engine 70, knobs 2=12 18=0", in cuDNN's numbers, which hold for one version of it
    PlanNotes notes;
    std::vector<std::string> note_names; ///< as cuDNN calls them: "WINOGRAD_TILE_4x4"
    std::int64_t workspace_bytes = 0;
    ConvCall call; ///< empty without a device
};

struct GraphPlans {
    std::vector<GraphPlan> plans; ///< each setting once
    std::size_t refused = 0;      ///< settings that cuDNN listed and then could not build
};

class CudnnGraph {
  public:
    virtual ~CudnnGraph() = default;

    virtual std::string version() const = 0; ///< "9.19.0"

    /// All plans whose notes `baseline` allows (plan_allowed): what the heuristics A, B and FALLBACK propose,
    /// every engine as it is, and of an engine with few settings every one of them. Tensors as they are, in
    /// the baseline's layout and the shape's type, sums in FP32. One workspace serves them all, so that two
    /// of them must not run at once; plans that want more than most_workspace_bytes or than is free are
    /// refused.
    virtual GraphPlans plans(const ConvShape &shape, const std::string &baseline) const = 0;
};

/// For the current device. Throws GpuError without a usable cuDNN 9, or if built without its headers.
std::shared_ptr<const CudnnGraph> open_cudnn_graph();

/// For a device described in cuDNN's own JSON: plans are listed and built, never run.
std::shared_ptr<const CudnnGraph> open_cudnn_graph_for(const std::string &device_json);

} // namespace convcast
