// What the expressions and sentences of a paper's answers come to: names and rows from the item, its study,
// its network and both GPUs.
#pragma once

#include "model/network/rung_forecast.hpp"
#include "model/network/scaling.hpp"
#include "model/record/paper.hpp"
#include "model/record/sentence.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/papers/answer.hpp"
#include "reports/papers/context.hpp"
#include "reports/papers/facts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

/// A row of a list: its own names, and a convolution or a GPU where it is one.
struct PaperRow {
    PaperFacts names{};
    std::optional<ConvShape> shape{};
    const ForecastGpu *gpu = nullptr;
};
using PaperRows = std::vector<PaperRow>;

/// A row for each of these, with the names of their fields.
PaperRows rows_of(const auto &all) {
    PaperRows rows;
    for (const auto &one : all)
        add_facts(rows.emplace_back().names, &one);
    return rows;
}

/// Where an expression stands: in a row, and that in another one.
struct PaperScope {
    const PaperRow *row = nullptr;
    const PaperScope *outer = nullptr;
};

/// A rung of a network's ladder with its forecasts, and what was measured of it on our GPU.
struct KnownRung {
    Rung rung;
    RungForecast ours{}, papers{};
    /// Of half of the images, as each of two GPUs has them; of the rung that GPUs divide.
    RungForecast half{}, papers_half{};
    std::optional<NetworkCase> measured{};

    using Forecasts = std::array<std::pair<std::string, const RungForecast *>, 4>;
    Forecasts forecasts() const; ///< with what stands before their names in expressions: "papers."
    PaperFacts facts() const;    ///< all of it by the names in expressions
};

/// The names of a table's rows, or the keys of a map.
std::vector<std::string> names_in(const auto &table) {
    std::vector<std::string> names;
    for (const auto &row : table)
        if constexpr (requires { row.name; })
            names.emplace_back(row.name);
        else
            names.push_back(row.first);
    return names;
}

class Evaluator {
  public:
    using Arguments = std::vector<PaperValue>;
    /// A function by its name in expressions.
    struct Function {
        const char *name;
        std::size_t least, most; ///< arguments
        /// Empty where Evaluator::call computes the function itself: "if", and what goes over rows.
        std::function<PaperValue(Evaluator &, const Arguments &, const PaperScope &)> of;
        bool of_missing = false; ///< also where an argument is missing; else what it gives is missing, too
    };
    static const std::vector<Function> &functions();
    /// A list that every item may go through by its name.
    struct List {
        const char *name;
        PaperRows (*rows)(Evaluator &);
    };
    static const std::vector<List> &lists();
    /// All names that expressions may have beside the times, values and lists of `method`.
    static std::vector<std::string> names(const PaperMethod &method);

    /// `names`: the times, values and lists of all methods that answer the item.
    Evaluator(const PaperItem &item, const PaperMethod &names, const PaperContext &context)
        : item_(item), names_(names), context_(context) {}

    PaperValue value(const std::string &expression, const PaperScope &scope);
    std::string told(const std::string &sentence, const PaperScope &scope);
    bool so(const std::optional<std::string> &expression, const PaperScope &scope);

    /// Calls for each row of the lists: each row of the first with every row of the next.
    void for_each(const std::vector<std::string> &lists, const PaperScope &scope,
                  const std::function<void(const PaperScope &)> &call);

    const PaperContext &context() const { return context_; }
    const PaperItem &item() const { return item_; }
    /// The item's study and network. Throw UsageError where it names none.
    std::string study() const;
    std::string network() const;
    /// Images of a call of the network: as a method says, else as in the paper.
    std::int64_t batch() const { return batch_.value_or(batch_of_paper(network())); }
    void use_batch(const std::optional<std::int64_t> &batch);

    /// The item's study as measured on our GPU; nullptr where nothing was.
    const StudyResults *results() const { return context_.measured(study()); }
    /// All of the network's ladder.
    const std::vector<KnownRung> &rungs(std::int64_t batch);
    /// A number of a rung of the ladder, for so many images.
    PaperValue rung(const std::string &id, const std::string &what, std::int64_t batch);
    /// What was recorded of the network on our GPU: "sequential", "accuracy", "epochs".
    PaperValue of_network(const std::string &fact);

  private:
    PaperValue value(const Expression &e, const PaperScope &scope);
    PaperValue operation(const Expression &e, const PaperScope &scope);
    PaperValue call(const Expression &e, const PaperScope &scope);
    PaperValue over_rows(const Expression &e, const PaperScope &scope);
    PaperValue named(const std::string &name, const PaperScope &scope);
    std::optional<std::string> told(const Sentence &sentence, const PaperScope &scope, bool all);
    const PublishedCell *cell(const Arguments &of_at) const;

    const ForecastGpu &gpu_of(AskedGpu asked, const PaperScope &scope) const;
    const PaperFacts &known_of(const ForecastGpu &gpu, const PaperScope &scope);

    /// A time with what is known of it: by the name "" seconds, "name", "low", "threads" (PaperTime); nothing
    /// where there is none.
    PaperFacts time(const std::string &name, const PaperScope &scope);
    PaperFacts recorded(const PaperTime &time, const PaperScope &scope);
    PaperFacts forecast(const PaperTime &time, const PaperScope &scope);
    /// What may stand behind the name of a time: "own.forecast", "own.counted.l2_read_bytes".
    static std::vector<std::string> fields_of_times();

    const PaperRows &list(const std::string &name);
    PaperRows written(const PaperList &list);

    const PaperItem &item_;
    const PaperMethod &names_;
    const PaperContext &context_;
    std::optional<std::int64_t> batch_;
    std::map<std::string, Expression> expressions_; ///< each read once
    std::map<std::string, Sentence> sentences_;
    std::map<std::string, PaperRows> lists_;
    std::map<std::int64_t, std::vector<KnownRung>> rungs_;
    std::map<std::string, PaperFacts> facts_;     ///< of GPUs, and of shapes on them
    std::map<std::string, PaperFacts> forecasts_; ///< by GPU, setting and shape
    int depth_ = 0;
};

/// The lists of a network, and its batch divided over as many GPUs as a host has: as forecast, no points
/// where our GPU has no others beside it, and as measured.
std::vector<Evaluator::List> network_lists();
std::vector<ScalingPoint> scaling_of(const Evaluator &evaluator);
std::vector<ScalingPoint> measured_scaling_of(const Evaluator &evaluator);

/// Adds what a method answers. Throws InputError at `place`, the method's.
void add_answer(ItemAnswer &to, const PaperMethod &method, Evaluator &evaluator, const std::string &place);

/// Tells `problem` of every name, function, list, time and published number of a method that is not there.
/// `names` has the times, values and lists of all methods of the item; `place` is the method's.
void check_names(const PaperItem &item, const PaperMethod &method, const PaperMethod &names,
                 const std::string &place, const FieldProblem &problem);

} // namespace convcast
