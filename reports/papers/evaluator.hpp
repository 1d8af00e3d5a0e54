// What the expressions and sentences of a paper's answers come to: names and rows from the item, its study,
// its network and both GPUs.
#pragma once

#include "model/network/scaling.hpp"
#include "model/record/paper.hpp"
#include "model/record/sentence.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/network_figures.hpp"
#include "reports/papers/answer.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/context.hpp"
#include "reports/papers/facts.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

inline PaperValue of_count(std::int64_t n) {
    return static_cast<double>(n);
}

/// A row of a list: its own names, and a convolution or a GPU where it is one.
struct PaperRow {
    PaperFacts names{};
    std::optional<ConvShape> shape{};
    const ForecastGpu *gpu = nullptr;
};
using PaperRows = std::vector<PaperRow>;

/// Where an expression stands: in a row, and that in another one.
struct PaperScope {
    const PaperRow *row = nullptr;
    const PaperScope *outer = nullptr;
};

/// A time of a shape with what is known of it (PaperTime).
struct FoundTime {
    std::optional<Seconds> time, forecast;
    PaperFacts more{}; ///< "name", "low", "threads"
};

/// A list that every item may go through by this name, and the names that its rows have.
struct KnownList {
    std::string name;
    std::vector<std::string> columns;
};
std::vector<KnownList> known_lists();
std::vector<std::string> known_functions();
std::vector<std::string> known_names(); ///< outside of lists, those of GPUs without "ours."
std::vector<std::string> known_gpu_names();
std::vector<std::string> fields_of_times();

/// Steps of training over several of a GPU; none where it has no others beside it.
std::vector<ScalingPoint> scaling_points_of(const std::string &network, const GpuProfile &gpu,
                                            std::int64_t batch);

PaperRow row_of_shape(const std::string &shape);

class Evaluator {
  public:
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
    std::string network() const;
    std::int64_t batch() const;

  private:
    PaperValue value(const Expression &e, const PaperScope &scope);
    PaperValue operation(const Expression &e, const PaperScope &scope);
    PaperValue call(const Expression &e, const PaperScope &scope);
    PaperValue over_rows(const Expression &e, const PaperScope &scope);
    PaperValue named(const std::string &name, const PaperScope &scope);
    std::optional<PaperValue> of_rows(const std::string &name, const PaperScope &scope);
    std::optional<std::string> told(const Sentence &sentence, const PaperScope &scope, bool all);

    const ForecastGpu &gpu_of(AskedGpu asked, const PaperScope &scope) const;
    const ConvShape *shape_of(const PaperScope &scope) const;
    FoundTime time(const std::string &name, const PaperScope &scope);
    FoundTime measured(const PaperTime &time, const PaperScope &scope);
    FoundTime forecast(const PaperTime &time, const PaperScope &scope);
    PaperValue of_time(const FoundTime &found, const std::string &field);
    std::vector<const StudyResults *> recordings(const PaperTime &time);

    const PaperRows &list(const std::string &name);
    PaperRows make_list(const std::string &name);
    PaperRows shapes(), panels(bool and_all), cases(), published(), operators(), opinions();
    PaperRows network_rows(const std::string &list);
    const std::vector<KnownRung> &rungs(std::int64_t batch);
    PaperValue rung(const std::vector<PaperValue> &arguments);
    PaperValue layer(const std::string &id, const std::string &layer);
    PaperValue launch(const std::string &of, const std::string &what);

    const PaperItem &item_;
    const PaperMethod &method_;
    const PaperContext &context_;
    std::map<std::string, Expression> expressions_; ///< each read once
    std::map<std::string, Sentence> sentences_;
    std::map<std::string, PaperRows> lists_;
    std::map<std::int64_t, std::vector<KnownRung>> rungs_;
    std::map<std::string, PaperFacts> facts_;    ///< of GPUs, and of shapes on them
    std::map<std::string, FoundTime> forecasts_; ///< by GPU, setting and shape
    int depth_ = 0;
};

} // namespace convcast
