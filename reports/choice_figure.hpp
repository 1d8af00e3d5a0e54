// Who wins where: the fastest strategy along a question with several answers, over sizes that are swept,
// GPUs, numbers of SMs or supposed numbers of a profile.
#pragma once

#include "model/choice.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/figure.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// The ranking of one shape on one GPU.
struct ChoiceAnswer {
    ConvShape shape;
    std::string gpu;                    ///< "h200, 64 SMs"
    std::vector<BestOf> fastest;        ///< of each strategy, fastest first; never empty
    std::optional<Seconds> longest_tie; ///< the end of the interval of the first one's time
};

/// A figure, and what its CSV says of each point.
struct ChoiceFigure {
    Figure figure;
    std::vector<CaseColumns> cases;
};

/// The form depends on what differs between the answers. One size: lines over it, a plot for each GPU. Two
/// sizes: a map with a mark for each winner. Anything else: a row for each answer. Sizes that are equal in
/// every shape, such as h and w, are one. Throws UsageError for more rows than a page holds.
ChoiceFigure who_wins(std::span<const ChoiceAnswer> answers);

} // namespace convcast
