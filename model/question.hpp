// A question about shapes on a GPU, by some strategies or all of them; and the cases that answer it.
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
    std::optional<std::string> study{};  ///< the id of the study that it is from
    std::vector<std::string> settings{}; ///< of a study with a sweep: ask of these strategies and no others
    std::vector<std::string> further{};  ///< of a study: besides what each strategy chooses itself
    std::int64_t count = 1;              ///< how many layers of the network or list have the shape
    std::string name{};                  ///< of the layer; "" if the list gives none
};

/// A GPU as it is asked about.
struct GpuVariant {
    GpuProfile profile;     ///< with what --assume and --set suppose, limited to `sms`
    std::optional<int> sms; ///< of --sms; absent: all SMs
    std::string variant;    ///< what tells it from other GPUs asked about: "h200, 64 SMs"; "" of a single one
    std::string title;      ///< "NVIDIA H200 with 64 of its 132 SMs and dram_read_bandwidth=x2"
};

struct Question : GpuVariant {
    Knowledge knowledge;
    std::vector<AskedShape> shapes;
    std::vector<OwnKernel> own_kernels; ///< of --kernel, asked of every shape
    /// As given: strategies with or without knobs, baselines, or own_word. Empty: all strategies.
    std::vector<std::string> strategies;
    /// The names of the baselines that a text of `strategies` stands for and that do the shape; absent if the
    /// text names no baseline. For "" those of all baselines.
    std::function<std::optional<std::vector<std::string>>(const std::string &text, const ConvShape &shape)>
        baselines;
    std::shared_ptr<const KnownTimes> known; ///< times recorded on this GPU; nullptr if nobody looked
    std::string images; ///< for titles: ", batch 64" if --batch replaces the images of a list; else ""
};

/// Sets the study, the name and the count of a case to those that its shape was asked with.
void label(Case &item, const AskedShape &asked);

/// What is asked of each shape beside the strategies that the question names.
struct Beside {
    bool baselines = false; ///< all of them, where no strategy is named
    int best = 0;           ///< settings that `choose` ranks first
    int drawn = 0;          ///< random settings of each strategy (model/record/sweep.hpp)
};

/// Makes the cases of a question with their forecasts, and passes them to `take` in pieces of some shapes
/// each, in the order of the shapes. Each shape has cases for what the question names, or for every strategy
/// that does the shape, and for what is asked beside. Before each piece `progress` is told how many shapes
/// are done, and which is next.
void predict_pieces(const Question &question, const Beside &beside,
                    const std::function<void(std::vector<Case>)> &take,
                    const std::function<void(std::size_t done, const ConvShape &next)> &progress);

/// An upper bound on the number of cases that predict_pieces makes, without those that `Beside` asks for.
std::size_t most_cases_of(const Question &question);

} // namespace convcast
