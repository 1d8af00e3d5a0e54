// What every strategy is made of: knobs with names and limits, and a plan.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/paper/rules.hpp"
#include "model/plan/occupancy.hpp"
#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/work/l2_sectors.hpp"
#include "model/work/shared_access.hpp"
#include "model/work/tensors.hpp"
#include "model/work/totals.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// A knob of strategy S: an integer member, its candidates for `choose`, and what it means.
template <class S> struct Knob {
    const char *name;
    int S::*member;
    int low, high;               ///< accepted values
    std::vector<int> candidates; ///< what `choose` tries; empty: only the default
    const char *doc;             ///< with its unit
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

template <class S> struct Planned {
    S strategy; ///< with every automatic knob replaced by the value that runs
    Feasible feasible;
};

template <class S> using PlanResult = std::variant<Planned<S>, Infeasible>;

/// The settings that a strategy wants compared, or why there is none. model/choose/setting.cpp takes the one
/// with the shortest forecast; of equals, the first.
template <class S> using Settings = std::variant<std::vector<S>, Infeasible>;

} // namespace convcast
