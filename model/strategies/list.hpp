// The strategies that there are, and what each is: knobs, a plan, and how its CTAs walk. Each stands in a
// file of its own in this folder, and the build makes the list of them (docs/add_a_strategy.md).
#pragma once

#include "model/base/describe.hpp"
#include "model/machine/architecture.hpp"
#include "model/paper/rules.hpp"
#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/work/walk.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// What `list` prints of a knob, and of a strategy.
struct KnobDoc {
    std::string name, doc;
    int low = 0, high = 0;       ///< the lowest and the highest accepted value
    std::vector<int> candidates; ///< what `choose` tries; none: only the default
    CONVCAST_MEMBERS(KnobDoc, name, doc, low, high, candidates)
};
struct StrategyDoc {
    std::string name, doc;
    std::vector<KnobDoc> knobs;
    CONVCAST_MEMBERS(StrategyDoc, name, doc, knobs)
};

struct StrategyKind;

/// A strategy with a value for each of its knobs; 0 leaves a knob to the model.
struct Strategy {
    const StrategyKind *kind = nullptr;
    std::vector<int> knobs; ///< values, in the order of kind->knobs
    bool operator==(const Strategy &) const = default;
};

/// A plan that can run, and the paper's numbers behind it.
struct Feasible {
    Plan plan;
    Rules rules;
    /// One round as the paper counts it, per SM: what its rule compares with N_FMA, and (times N_sm) with
    /// V_s.
    double paper_round_fmas = 0.0, paper_round_bytes = 0.0;
    std::vector<std::string> assumptions;
};

/// A shape or knob setting that this strategy or GPU cannot do.
struct Infeasible {
    std::string why;
    bool unsupported = false; ///< the strategy never does such shapes, on any GPU
    /// The papers' numbers of the shape, which do not depend on the kernel.
    std::optional<Rules> rules = std::nullopt;
};

struct PlannedStrategy {
    Strategy strategy; ///< the setting that runs, no knob left open
    Feasible feasible;
};
using PlanResult = std::variant<PlannedStrategy, Infeasible>;

/// The settings that a strategy wants compared, or why there is none. model/choose/setting.cpp takes the one
/// with the shortest forecast; of equals, the first.
using Settings = std::variant<std::vector<Strategy>, Infeasible>;

/// What a strategy's file registers.
struct StrategyKind : StrategyDoc {
    int place = 0;             ///< in lists
    bool tensor_cores = false; ///< it multiplies on them
    std::vector<int> usual;    ///< the default of each knob
    /// The settings to compare where knobs are left to the model. A strategy that chooses its knobs by rules
    /// returns the one that it was given.
    Settings (*settings)(const Strategy &, const ConvShape &, const Gpu &) = nullptr;
    /// The plan of one of these settings, as the strategy counts it. Callers that have no setting yet use
    /// plan() of model/choose/setting.hpp, which compares them.
    PlanResult (*plan)(const Strategy &, const ConvShape &, const Gpu &) = nullptr;
    /// Which outputs the CTAs of a launch of its plan compute, for diagrams; nullptr: not known.
    Walk (*walk)(const Strategy &, const ConvShape &, const Gpu &, const Partition &) = nullptr;
};

/// All strategies, their names, and their texts, in the order of their places. strategy_kinds throws
/// std::logic_error if a file registers another name than its own or two have the same place.
const std::vector<const StrategyKind *> &strategy_kinds();
std::vector<std::string> strategy_names();
std::vector<StrategyDoc> strategy_docs();

/// Whether a strategy of this name multiplies on tensor cores: its times are compared with others', but never
/// taken for those of FFMAs. False for names that are not in the list.
bool uses_tensor_cores(const std::string &strategy_name);

/// Reads "stride_fixed_block:segment_bytes=64,tile_w=128": knobs not named keep their default (0: the model
/// chooses). Throws UsageError with the closest name or the accepted range.
Strategy parse_strategy(const std::string &text);

/// The text with every knob; the inverse of parse_strategy.
std::string to_text(const Strategy &strategy);
std::string name_of(const Strategy &strategy);

/// The value of a knob, by its name. Throws UsageError if the strategy has no such knob.
int &knob_of(Strategy &strategy, const std::string &name);

/// Every setting that `choose` tries: all defaults first, then each combination of the knobs' candidates,
/// infeasible ones included. A knob without candidates keeps its default. None for an unknown name.
std::vector<Strategy> candidates(const std::string &strategy_name);

} // namespace convcast
