// The one closed list of strategies. Add a struct here and the command line, JSON, choose, tests and reports
// have it; a GPU build fails until executor/kernels/<name>.cu exists (docs/add_a_strategy.md).
#pragma once

#include "model/strategies/block_register.hpp"
#include "model/strategies/channel_split.hpp"
#include "model/strategies/filter_split.hpp"
#include "model/strategies/filter_stream.hpp"
#include "model/strategies/implicit_gemm.hpp"
#include "model/strategies/implicit_gemm_3xtf32.hpp"
#include "model/strategies/map_split.hpp"
#include "model/strategies/map_stream.hpp"
#include "model/strategies/naive_global.hpp"
#include "model/strategies/naive_shared.hpp"
#include "model/strategies/patch_register.hpp"
#include "model/strategies/row_register.hpp"
#include "model/strategies/stride_fixed_block.hpp"
#include "model/strategies/winograd.hpp"

#include <boost/describe.hpp>

#include <optional>

namespace convcast {

using Strategy = std::variant<FilterSplit, MapSplit, RowRegister, StrideFixedBlock, ImplicitGemm,
                              BlockRegister, ChannelSplit, FilterStream, MapStream, NaiveGlobal, NaiveShared,
                              PatchRegister, Winograd, ImplicitGemm3xTf32>;

/// Names in the list's order.
std::vector<std::string> strategy_names();

/// Whether a strategy of this name multiplies on tensor cores: its times are compared with others', but never
/// taken for those of FFMAs. False for names that are not in the list.
bool uses_tensor_cores(const std::string &strategy_name);

/// What `list` says of a knob and of a strategy.
struct KnobDoc {
    std::string name, doc;
    int low = 0, high = 0;
    std::vector<int> candidates;
    BOOST_DESCRIBE_CLASS(KnobDoc, (), (name, doc, low, high, candidates), (), ())
};
struct StrategyDoc {
    std::string name, doc;
    std::vector<KnobDoc> knobs;
    BOOST_DESCRIBE_CLASS(StrategyDoc, (), (name, doc, knobs), (), ())
};
std::vector<StrategyDoc> strategy_docs();

/// "stride_fixed_block:segment_bytes=64,tile_w=128": knobs not named keep their default (0: the model
/// chooses). Throws UsageError with the closest name or the accepted range.
Strategy parse_strategy(const std::string &text);

/// The text with every knob; the inverse of parse_strategy.
std::string to_text(const Strategy &strategy);
std::string name_of(const Strategy &strategy);

struct PlannedStrategy {
    Strategy strategy; ///< with every knob that the model chose
    Feasible feasible;
};

/// The settings that are compared where a strategy leaves knobs to the model. A strategy that chooses its
/// knobs by rules has one, itself.
Settings<Strategy> settings_of(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu);

/// The plan of one of these settings, as the strategy counts it. Callers that have no setting yet use plan()
/// of model/choose/setting.hpp, which compares them.
std::variant<PlannedStrategy, Infeasible> plan_of_setting(const Strategy &setting, const ConvShape &shape,
                                                          const Gpu &gpu);

/// Every setting of a strategy's knobs that `choose` tries: the product of the candidates, infeasible ones
/// included.
std::vector<Strategy> candidates(const std::string &strategy_name);

} // namespace convcast
