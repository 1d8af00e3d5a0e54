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

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// A row of a list: its own names, and a convolution or a GPU where it is one.
struct PaperRow {
    PaperFacts names{};
    std::optional<ConvShape> shape{};
    const ForecastGpu *gpu = nullptr;
};
using PaperRows = std::vector<PaperRow>;

/// A row for each of these.
PaperRows rows_of(const auto &all, auto row) {
    PaperRows rows;
    std::transform(all.begin(), all.end(), std::back_inserter(rows), row);
    return rows;
}
/// The same, with the names of their fields.
PaperRows rows_of(const auto &all) {
    return rows_of(all, [](const auto &one) {
        PaperRow row;
        add_facts(row.names, &one);
        return row;
    });
}

/// Where an expression stands: in a row, and that in another one.
struct PaperScope {
    const PaperRow *row = nullptr;
    const PaperScope *outer = nullptr;
};

/// A rung of a network's ladder with its forecasts, and what was measured of it on our GPU.
struct KnownRung {
    Rung rung;
    RungForecast papers, ours;
    /// Of half of the images, as each of two GPUs has them; of the rung that GPUs divide.
    RungForecast papers_of_two{}, ours_of_two{};
    std::optional<NetworkCase> measured{};

    PaperFacts facts() const; ///< all of it by the names in expressions
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
        std::function<PaperValue(Evaluator &, const Arguments &, const PaperScope &)> of;
        bool of_missing = false; ///< also where an argument is missing; else what it gives is missing, too
    };
    /// A list that every item may go through by its name.
    struct List {
        const char *name;
        std::function<PaperRows(Evaluator &)> rows;
    };
    static const std::vector<Function> &functions();
    static const std::vector<List> &lists();
    /// All names that expressions of a method may have.
    static std::vector<std::string> names(const PaperMethod &method);

    Evaluator(const PaperItem &item, const PaperMethod &method, const PaperContext &context);

    PaperValue value(const std::string &expression, const PaperScope &scope);
    std::string told(const std::string &sentence, const PaperScope &scope);
    bool so(const std::optional<std::string> &expression, const PaperScope &scope);

    /// Calls for each row of the lists: each row of the first with every row of the next.
    void for_each(const std::vector<std::string> &lists, const PaperScope &scope,
                  const std::function<void(const PaperScope &)> &call);

    const PaperContext &context() const { return context_; }
    const PaperItem &item() const { return item_; }

    std::string study() const;
    /// Steps of training over several of our GPU; none where it has no others beside it.
    std::vector<ScalingPoint> scaling() const;
    /// The same as measured; none where nothing was.
    std::vector<ScalingPoint> measured_scaling() const;

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
    PaperFacts measured(const PaperTime &time, const PaperScope &scope);
    PaperFacts forecast(const PaperTime &time, const PaperScope &scope);
    PaperValue of_time(const std::string &name, const std::string &field, const PaperScope &scope);
    std::vector<const StudyResults *> recordings(const PaperTime &time);
    /// What may stand behind the name of a time: "own.forecast", "own.counted.l2_read_bytes".
    static std::vector<std::string> fields_of_times();

    const PaperRows &list(const std::string &name);
    PaperRows written(const PaperList &list);
    PaperRows cases(), opinions(), operators(), published_steps(), launches(), recorded_rungs(),
        recorded_kernels(), two_gpus(), several_gpus();

    std::string network() const;
    std::int64_t batch() const;
    NetworkRun by_images() const;
    NetworkRun recorded_scaling() const;
    const std::vector<KnownRung> &rungs(std::int64_t batch);
    std::vector<const KnownRung *> asked_rungs();
    static PaperRows steps_of(const std::vector<const KnownRung *> &rungs);
    PaperValue rung(const std::string &id, const std::string &what, std::int64_t batch);
    PaperValue of_network(const std::string &fact);

    const PaperItem &item_;
    const PaperMethod &method_;
    const PaperContext &context_;
    std::map<std::string, Expression> expressions_; ///< each read once
    std::map<std::string, Sentence> sentences_;
    std::map<std::string, PaperRows> lists_;
    std::map<std::int64_t, std::vector<KnownRung>> rungs_;
    std::map<std::string, PaperFacts> facts_;     ///< of GPUs, and of shapes on them
    std::map<std::string, PaperFacts> forecasts_; ///< by GPU, setting and shape
    int depth_ = 0;
};

/// Adds the item's answer by a method. Throws InputError at `place`, the method's.
void add_answer(ItemAnswer &to, const PaperMethod &method, const PaperItem &item, const PaperContext &context,
                const std::string &place);

/// Adds a problem for every name, function, list, time and published number of a method that is not there.
void check_names(const PaperItem &item, const PaperMethod &method, const std::string &place,
                 std::vector<InputProblem> &problems);

} // namespace convcast
