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
    std::vector<BestOf> fastest;        ///< the best setting of each strategy, fastest first; never empty
    std::optional<Seconds> longest_tie; ///< the end of the interval around the first one's time
};

/// A figure, and what its CSV says of each point.
struct ChoiceFigure {
    Figure figure;
    std::vector<CaseColumns> cases;
};

/// Draws which strategy is the fastest, `answers` not being empty. The form depends on what differs between
/// them. One size of the shape: lines over it, a plot for each GPU. Two sizes: a map with a mark for each
/// winner. Anything else: a row for each answer. Sizes that are equal to each other in every shape, such as h
/// and w, count as one. Throws UsageError for more rows than a page holds.
ChoiceFigure who_wins(std::span<const ChoiceAnswer> answers);

} // namespace convcast
