// A question, shapes on a GPU by some strategies or by all, and its cases with their forecasts.
#pragma once

#include "model/predict.hpp"
#include "model/record/known_times.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// The word that stands for the user's own kernels, and nothing else, among Question::strategies.
inline constexpr const char *own_word = "own";

struct AskedShape {
    ConvShape shape;
    std::optional<std::string> study{};
    std::vector<std::string> settings{}; ///< of the study's sweep: these strategies and no others
    std::vector<std::string> further{};  ///< of the study: besides what each strategy takes of itself
    std::int64_t count = 1;              ///< layers of the network or the list that have it
    std::string name{};                  ///< of the layer, where a list gives one
};

/// A GPU as it is asked about.
struct GpuVariant {
    GpuProfile profile;     ///< with what --assume and --set suppose, limited to `sms`
    std::optional<int> sms; ///< of --sms
    std::string variant;    ///< of several what this one has of its own: "h200, 64 SMs"; "" of one
    std::string title;      ///< "NVIDIA H200 with 64 of its 132 SMs and dram_read_bandwidth=x2"
};

struct Question : GpuVariant {
    Knowledge knowledge;
    std::vector<AskedShape> shapes;
    std::vector<OwnKernel> own_kernels;  ///< of --kernel, asked of every shape
    std::vector<std::string> strategies; ///< texts as given: strategies with knobs, or baselines
    /// The baselines that such a text stands for, of a shape, or those of all where the text is "". Absent
    /// where it names none.
    std::function<std::optional<std::vector<std::string>>(const std::string &text, const ConvShape &shape)>
        baselines;
    std::shared_ptr<const KnownTimes> known; ///< recorded on this GPU; absent where nobody looked
    std::string images; ///< for titles: ", batch 64" where --batch replaces the images of a list
};

/// Sets the study, the name and the count of a case to those that its shape was asked with.
void label(Case &item, const AskedShape &asked);

/// What is asked of each shape beside the strategies that the question names.
struct Beside {
    bool baselines = false; ///< all of them, where no strategy is named
    int best = 0;           ///< settings that `choose` ranks first
    int drawn = 0;          ///< random settings of each strategy (model/record/sweep.hpp)
};

/// The cases with their forecasts, some shapes at a time. For each shape these are what the question names,
/// or every strategy that does the shape, and what is asked beside. `progress` is told how many shapes are
/// done before each piece, and which is next.
void predict_pieces(const Question &question, const Beside &beside,
                    const std::function<void(std::vector<Case>)> &take,
                    const std::function<void(std::size_t done, const ConvShape &next)> &progress);

/// An upper bound on the cases of predict_pieces, without those that `Beside` asks.
std::size_t most_cases_of(const Question &question);

} // namespace convcast
