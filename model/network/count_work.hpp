// Counts what a launch of a ladder does, by what is declared of its kernel.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/network/ladder.hpp"
#include "model/shape/number_expression.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace convcast {

/// Evaluates the expressions that a ladder declares of its kernels (kernel_work.hpp) for launches on one GPU.
class WorkCounter {
  public:
    /// All three outlive this one.
    WorkCounter(const DeclaredWork &declared, const Network &network, const Gpu &gpu);
    WorkCounter(const WorkCounter &) = delete;
    WorkCounter &operator=(const WorkCounter &) = delete;

    /// The work of one launch of a rung for `images` images; absent for a kernel of which nothing is
    /// declared. Throws UsageError for a text that is no expression or has a name that nothing declares.
    std::optional<LaunchWork> work_of(const LadderLaunch &launch, const Rung &rung, std::int64_t images);

    /// The value of an expression for `images` images and a launch's `values`. Throws UsageError likewise.
    double number(const std::string &text, std::int64_t images, const std::map<std::string, double> &values);

  private:
    class Launched;

    const DeclaredWork &declared_;
    const Network &network_;
    const Gpu &gpu_;
    std::map<std::string, double> sizes_; ///< of operators: "conv1.k", "pool1.window"; and "parameters"
    std::map<std::string, NumberExpression<double>> expressions_; ///< by their text
    std::map<std::string, NumberExpression<std::int64_t>> words_; ///< of accesses, by their text
    /// mean_cost of accesses, by memory, expressions and the values of the names in them.
    std::map<std::string, double> access_costs_;
};

} // namespace convcast
