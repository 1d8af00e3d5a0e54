// Compares two Run documents: which cases became faster or slower, by the intervals of their samples.
#pragma once

#include "model/base/comparison.hpp"
#include "model/record/run.hpp"

#include <boost/describe.hpp>

#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// Which cases of two documents belong together.
enum class CompareBy {
    setting,  ///< those of the same shape and the same strategy with all its knobs
    strategy, ///< the fastest setting of each strategy and shape
    shape,    ///< the fastest FP32 setting of each shape; libraries are left out
};
BOOST_DESCRIBE_ENUM(CompareBy, setting, strategy, shape)

struct CompareRunsOptions {
    L2State l2 = L2State::cold;
    CompareBy by = CompareBy::setting;
    double tolerance = default_tolerance; ///< a share
    std::optional<double> fail_over;
};

/// Compares what was measured or, where neither document has a measurement, what was forecast. Rows stand by
/// verdict, the largest ratio first. With fail_over it passes if at least half of the timed cases of the
/// smaller document have a time in both, none is surely slower by more than fail_over and none is broken.
/// Libraries fail nothing.
ComparedFiles compare_runs(const Run &before, const std::string &before_file, const Run &after,
                           const std::string &after_file, const CompareRunsOptions &options);

} // namespace convcast
