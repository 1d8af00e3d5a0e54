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

class WorkCounter {
  public:
    WorkCounter(const DeclaredWork &declared, const Network &network, const Gpu &gpu);
    WorkCounter(const WorkCounter &) = delete;
    WorkCounter &operator=(const WorkCounter &) = delete;

    /// Absent for a kernel of which nothing is declared. Throws UsageError for an expression that is none or
    /// has a name that is nowhere.
    std::optional<LaunchWork> work_of(const LadderLaunch &launch, const Rung &rung, std::int64_t images);

    /// What an expression is for so many images and values of a launch.
    double number(const std::string &text, std::int64_t images, const std::map<std::string, double> &values);

  private:
    class Launched;

    const DeclaredWork &declared_;
    const Network &network_;
    const Gpu &gpu_;
    std::map<std::string, double>
        sizes_; ///< conv1.k, pool1.window ...; of the first of a kind of a launch conv.k
    std::map<std::string, NumberExpression<double>> expressions_; ///< by their text
    std::map<std::string, NumberExpression<std::int64_t>> words_;
    std::map<std::string, double> passes_; ///< of accesses, by their texts and what the names in them are
};

} // namespace convcast
