// Computes the expressions and sentences by which data/papers answers an item (docs/add_a_claim.md): their
// names and lists stand for what is known of the item, its study, its network and both GPUs.
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

/// A row of a list: values by names for expressions, and the convolution or GPU that it stands for, if any.
struct PaperRow {
    PaperFacts names{};
    std::optional<ConvShape> shape{};
    const ForecastGpu *gpu = nullptr;
};
using PaperRows = std::vector<PaperRow>;

/// A row for each of some described structs, with the values of its fields by their names.
PaperRows rows_of(const auto &all) {
    PaperRows rows;
    for (const auto &one : all)
        add_facts(rows.emplace_back().names, &one);
    return rows;
}

/// Where an expression stands: in a row of a list, within a row of another list (`outer`), and so on. A name
/// means the innermost row that has it. Both are nullptr outside of all lists; it owns neither.
struct PaperScope {
    const PaperRow *row = nullptr;
    const PaperScope *outer = nullptr;
};

/// A rung of a network's ladder with its forecasts, and what was measured of it on our GPU.
struct KnownRung {
    Rung rung;
    RungForecast ours{}, papers{}; ///< on our GPU and on the paper's
    /// The same for half of the images, as each of two GPUs has them; empty but for Ladder::divided_rung.
    RungForecast half{}, papers_half{};
    std::optional<NetworkCase> measured{};

    using Forecasts = std::array<std::pair<std::string, const RungForecast *>, 4>;
    Forecasts forecasts() const; ///< each with the prefix of its fields in expressions: "papers."
    PaperFacts facts() const; ///< the rung, its forecasts and what was measured by their names in expressions
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

/// Answers one item. It keeps what it has parsed and computed, so that each is done once.
class Evaluator {
  public:
    using Arguments = std::vector<PaperValue>;
    /// A function by its name in expressions.
    struct Function {
        const char *name;
        std::size_t least, most; ///< number of arguments
        /// Computes it from its arguments. Empty where Evaluator::call does that itself, as it does not
        /// compute all arguments before: of "if", and of the aggregates over rows.
        std::function<PaperValue(Evaluator &, const Arguments &, const PaperScope &)> of;
        bool takes_missing = false; ///< else its value is missing where an argument is, without a call
    };
    static const std::vector<Function> &functions();
    /// A list that every item may go through by its name.
    struct List {
        const char *name;
        PaperRows (*rows)(Evaluator &);
    };
    static const std::vector<List> &lists();
    /// All names that expressions of `method` may have, to refuse others: its own values, times and columns,
    /// and the names that are known for every item.
    static std::vector<std::string> names(const PaperMethod &method);

    /// `names`: the times, values and lists of all methods that answer the item. Keeps references.
    Evaluator(const PaperItem &item, const PaperMethod &names, const PaperContext &context)
        : item_(item), names_(names), context_(context) {}

    /// What an expression comes to in a row; missing where a value that it needs is. Throws UsageError where
    /// it cannot be computed, as where a number is expected and a text found.
    PaperValue value(const std::string &expression, const PaperScope &scope);
    /// A sentence (model/record/sentence.hpp) with its values filled in; a missing value is a dash.
    std::string fill_in(const std::string &sentence, const PaperScope &scope);
    /// Whether a condition is true: a number but 0. A missing value is not; a condition that is absent is.
    bool holds(const std::optional<std::string> &condition, const PaperScope &scope);

    /// Calls `call` within every combination of a row of each list, the rows of the first list outermost;
    /// once in `scope` itself where there are no lists.
    void for_each(const std::vector<std::string> &lists, const PaperScope &scope,
                  const std::function<void(const PaperScope &)> &call);

    const PaperContext &context() const { return context_; }
    const PaperItem &item() const { return item_; }
    /// Id of the item's study, name of its network. Throw UsageError where the item names none.
    std::string study() const;
    std::string network() const;
    /// Images of a call of the network: as a method says, else as in the paper.
    std::int64_t batch() const { return batch_.value_or(batch_of_paper(network())); }
    /// Sets the images of a call for the expressions that follow; absent: as in the paper.
    void use_batch(const std::optional<std::int64_t> &batch);

    /// The item's study as measured on our GPU; nullptr where nothing was.
    const StudyResults *results() const { return context_.measured(study()); }
    /// All rungs of the network's ladder, for `batch` images a call.
    const std::vector<KnownRung> &rungs(std::int64_t batch);
    /// One of KnownRung::facts() of a rung, for `batch` images a call; times in seconds. Missing where the
    /// ladder has no such rung, since networks have different ladders; else throws UsageError where a rung
    /// has no fact of this name.
    PaperValue rung(const std::string &id, const std::string &fact, std::int64_t batch);
    /// What was recorded of the network's training and ladder on our GPU: "sequential", "accuracy", "epochs".
    /// Throws UsageError where there is no fact of this name.
    PaperValue of_network(const std::string &fact);

  private:
    PaperValue value(const Expression &e, const PaperScope &scope);
    PaperValue operation(const Expression &e, const PaperScope &scope);
    PaperValue call(const Expression &e, const PaperScope &scope);
    PaperValue over_rows(const Expression &e, const PaperScope &scope);
    PaperValue value_of_name(const std::string &name, const PaperScope &scope);
    enum class Missing { dash, refused }; ///< what a missing value makes of a sentence
    std::optional<std::string> fill_in(const Sentence &sentence, const PaperScope &scope, Missing missing);
    const PublishedCell *cell(const Arguments &of_at) const;

    const ForecastGpu &gpu_of(AskedGpu asked, const PaperScope &scope) const;
    const PaperFacts &facts_of_gpu(const ForecastGpu &gpu, const PaperScope &scope);

    /// A time of the shape that `scope` is at, by its name among "times", and what is known of it: the key ""
    /// has its seconds, others are "name", "low", "threads" (fields_of_times()). Empty where there is none.
    PaperFacts time(const std::string &name, const PaperScope &scope);
    PaperFacts recorded(const PaperTime &time, const PaperScope &scope);
    PaperFacts forecast(const PaperTime &time, const PaperScope &scope);
    /// All fields that may stand behind the name of a time: "forecast" of "own.forecast".
    static std::vector<std::string> fields_of_times();

    const PaperRows &list(const std::string &name);
    PaperRows rows_written_in(const PaperList &list);

    const PaperItem &item_;
    const PaperMethod &names_;
    const PaperContext &context_;
    std::optional<std::int64_t> batch_;
    std::map<std::string, Expression> expressions_; ///< each read once
    std::map<std::string, Sentence> sentences_;
    std::map<std::string, PaperRows> lists_;
    std::map<std::int64_t, std::vector<KnownRung>> rungs_;
    std::map<std::string, PaperFacts> facts_;     ///< by GPU and, where there is one, shape; and "network"
    std::map<std::string, PaperFacts> forecasts_; ///< by GPU, setting and shape
    int depth_ = 0;                               ///< of values that are computed from each other
};

/// The lists that are about the item's network.
std::vector<Evaluator::List> network_lists();
/// How steps of training speed up where the images of a batch are divided over the GPUs of a host: as
/// forecast for our GPU, empty where it has no others beside it, and as recorded.
std::vector<ScalingPoint> scaling_of(const Evaluator &evaluator);
std::vector<ScalingPoint> measured_scaling_of(const Evaluator &evaluator);

/// Adds the tables, figures, drawings and findings that a method gives. `place` is where the method stands in
/// the paper's document; InputError, which is thrown where one cannot be computed, names the part of it.
void add_answer(ItemAnswer &to, const PaperMethod &method, Evaluator &evaluator, const std::string &place);

/// Tells `problem` of every name, function, list, time and published number that a method uses and that does
/// not exist. `names` has the times, values and lists of all methods of the item; `place` is the method's.
void check_names(const PaperItem &item, const PaperMethod &method, const PaperMethod &names,
                 const std::string &place, const FieldProblem &problem);

} // namespace convcast
