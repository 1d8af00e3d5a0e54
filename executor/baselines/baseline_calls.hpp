// Others' convolutions made ready to run: the libraries opened when first asked for, the fastest plan picked.
#pragma once

#include "executor/baselines/call.hpp"
#include "executor/baselines/names.hpp"
#include "gpu/compile.hpp"
#include "model/base/units.hpp"
#include "model/shape/conv_shape.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace convcast {

/// What picking a plan asks of whoever can run one.
struct PlanTrial {
    /// A quick look: rough where the call takes far longer than the fastest so far, which is infinite at
    /// first.
    std::function<Seconds(const ConvCall &, Seconds fastest)> time;
    std::function<std::string(const ConvCall &, Gate)> what_is_wrong; ///< with its output; "" if nothing is
};

class BaselineCalls {
  public:
    BaselineCalls(Compiler &compiler, int compute_capability);
    ~BaselineCalls();

    /// Or why this machine, this build or this shape has none. Throws GpuError where something breaks.
    std::variant<BaselineCall, std::string> make(const std::string &baseline, const ConvShape &shape,
                                                 const PlanTrial &trial);

    /// Frees what is kept of the last shape's plans.
    void forget();

    /// Of the libraries opened so far: "cudnn" -> "9.19.0".
    std::map<std::string, std::string> versions() const;

  private:
    struct Libraries;
    struct Timed;

    std::variant<BaselineCall, std::string> pick(const std::string &baseline, const ConvShape &shape,
                                                 const PlanTrial &trial);

    Compiler &compiler_;
    int compute_capability_;
    std::unique_ptr<Libraries> libraries_;
    std::unique_ptr<Timed> timed_;
};

} // namespace convcast
