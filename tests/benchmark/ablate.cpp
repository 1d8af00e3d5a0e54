// What each part of the forecast is worth: left out, the four numbers fitted anew, the errors beside those of
// the whole. Prints a Markdown table. Arguments: a recorded run to fit and judge by, and one of other shapes.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/fit/facts_of_counters.hpp"
#include "model/fit/fit.hpp"
#include "model/machine/architecture.hpp"
#include "model/machine/knowledge.hpp"
#include "model/record/measured_calls.hpp"
#include "model/work/compiled.hpp"
#include "model/work/totals.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace convcast;

namespace {

/// A recorded run, its calls as the strategies count them, and what the counters say of each.
struct Recorded {
    GpuProfile profile;
    std::vector<MeasuredCall> calls;
    std::vector<std::optional<Work>> counted;
};

Recorded recorded(const std::string &file) {
    const Run run = read_run(read_file(file), file);
    Recorded out{find_profile(run.profile_id), {}, {}};
    out.calls = measured_calls(run, out.profile, {}, WhichCalls::all);
    for (const MeasuredCall &call : out.calls)
        out.counted.push_back(run.cases[call.index].measured(L2State::cold)->work);
    return out;
}

double mean(const std::vector<double> &values) {
    double sum = 0.0;
    for (const double value : values)
        sum += value;
    return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

std::vector<MeasuredCall> part_of(const std::vector<MeasuredCall> &calls, bool training) {
    std::vector<MeasuredCall> out;
    std::copy_if(calls.begin(), calls.end(), std::back_inserter(out),
                 [&](const MeasuredCall &call) { return call.training == training; });
    return out;
}

/// Mean |forecast / counted - 1| of a quantity, over the calls outside the training part.
double work_error(const Recorded &run, std::optional<double> Work::*quantity) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < run.calls.size(); ++i) {
        if (run.calls[i].training || !run.counted[i] || !((*run.counted[i]).*quantity).has_value())
            continue;
        const std::optional<double> forecast = total_work(run.calls[i].plan).*quantity;
        const double counted = *((*run.counted[i]).*quantity);
        if (forecast && counted > 0.0)
            errors.push_back(std::abs(*forecast / counted - 1.0));
    }
    return mean(errors);
}

/// A way to leave something out: of the equations, or of the facts.
struct Ablation {
    std::string name;
    Omitted omitted;
    std::function<Facts(Facts)> facts; ///< empty: as they are
};

struct Errors {
    double training, test, other, regret, other_regret, instructions, l2_reads;
};

Errors errors_without(const Ablation &ablation, Recorded &run, Recorded &others, const Facts &facts) {
    const Facts its = ablation.facts ? ablation.facts(facts) : facts;
    for (Recorded *all : {&run, &others})
        for (MeasuredCall &call : all->calls)
            call.plan = with_facts(call.uncounted, its, Gpu(all->profile).architecture);
    const Calibration fitted = fit_without(ablation.omitted, run.calls, run.profile);
    const std::vector<MeasuredCall> test = part_of(run.calls, false), other = part_of(others.calls, false);
    return {mean_error(part_of(run.calls, true), run.profile, fitted),
            mean_error(test, run.profile, fitted),
            mean_error(other, others.profile, fitted),
            mean_regret(test, run.profile, fitted),
            mean_regret(other, others.profile, fitted),
            work_error(run, &Work::instructions),
            work_error(run, &Work::l2_read_bytes)};
}

/// The same number for all kernels: the mean, each kernel as often as it was counted.
template <class Get> double mean_of_kernels(const Facts &facts, const Get &get) {
    double sum = 0.0, cases = 0.0;
    for (const CompiledWork &kernel : facts.kernels) {
        sum += get(kernel) * static_cast<double>(kernel.cases);
        cases += static_cast<double>(kernel.cases);
    }
    return sum / cases;
}

template <class Change> std::function<Facts(Facts)> each_kernel(Change change) {
    return [change](Facts facts) {
        for (CompiledWork &kernel : facts.kernels)
            change(kernel);
        return facts;
    };
}

/// One of the pace's numbers the same for all kernels.
std::function<Facts(Facts)> one_for_all(double Pace::*number) {
    return [number](Facts facts) {
        const double all = mean_of_kernels(facts, [&](const CompiledWork &k) { return k.pace.*number; });
        for (CompiledWork &kernel : facts.kernels)
            kernel.pace.*number = all;
        return facts;
    };
}

std::vector<Ablation> ablations() {
    std::vector<Ablation> all = {{"nothing", {}, {}}};
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<Equation>>([&](auto described) {
        all.push_back({described.name, Omitted{described.value}, {}});
    });
    all.push_back({"W1: instructions as the source has them", {}, each_kernel([](CompiledWork &k) {
                       k.per_ffma = k.per_warp = k.per_warp_step = 0.0;
                       k.per_counted = 1.0;
                   })});
    all.push_back({"W1: per_ffma", {}, each_kernel([](CompiledWork &k) { k.per_ffma = 0.0; })});
    all.push_back({"W1: per_warp_step", {}, each_kernel([](CompiledWork &k) { k.per_warp_step = 0.0; })});
    all.push_back({"W2: one ffma_clocks for all kernels", {}, one_for_all(&Pace::ffma_clocks)});
    all.push_back({"W2: one other_clocks for all kernels", {}, one_for_all(&Pace::other_clocks)});
    all.push_back({"W2: one alu_share for all kernels", {}, [](const Facts &facts) {
                       Facts out = one_for_all(&Pace::alu_share)(facts);
                       for (CompiledWork &kernel : out.kernels)
                           kernel.pace.copy_alu_share.reset();
                       return out;
                   }});
    all.push_back(
        {"W2: no copy_alu_share", {}, each_kernel([](CompiledWork &k) { k.pace.copy_alu_share.reset(); })});
    all.push_back(
        {"W2: all three the same for all kernels", {}, [](Facts facts) {
             for (double Pace::*number : {&Pace::ffma_clocks, &Pace::other_clocks, &Pace::alu_share})
                 facts = one_for_all(number)(facts);
             for (CompiledWork &kernel : facts.kernels)
                 kernel.pace.copy_alu_share.reset();
             return facts;
         }});
    all.push_back({"W6: nothing merged", {}, each_kernel([](CompiledWork &k) { k.merging = 0.0; })});
    all.push_back({"W6: one merging for all kernels", {}, [](Facts facts) {
                       const double merging = std::exp(mean_of_kernels(
                           facts, [](const CompiledWork &k) { return std::log(std::max(0.02, k.merging)); }));
                       for (CompiledWork &kernel : facts.kernels)
                           kernel.merging = merging;
                       return facts;
                   }});
    return all;
}

int ablate(const std::vector<std::string> &arguments) {
    if (arguments.size() < 2)
        throw UsageError("usage: ablate RUN OTHER_RUN [ONLY...], for example "
                         "ablate data/recorded/h200/sweep.json.gz data/recorded/h200/sweep_unseen.json.gz");
    Recorded run = recorded(arguments[0]), others = recorded(arguments[1]);
    const Facts facts = knowledge_for(run.profile).facts;
    constexpr std::pair<const char *, double Errors::*> columns[] = {
        {"training", &Errors::training},
        {"test", &Errors::test},
        {"other shapes", &Errors::other},
        {"regret", &Errors::regret},
        {"regret, others", &Errors::other_regret},
        {"instructions", &Errors::instructions},
        {"L2 reads", &Errors::l2_reads}};
    std::string head = "| left out |", rule = "|---|";
    for (const auto &[name, number] : columns)
        head += fmt::format(" {} |", name), rule += "---|";
    fmt::print("{}\n{}\n", head, rule);
    std::optional<Errors> whole;
    for (const Ablation &ablation : ablations()) {
        if (whole && arguments.size() > 2 &&
            std::none_of(arguments.begin() + 2, arguments.end(),
                         [&](const std::string &only) { return ablation.name.starts_with(only); }))
            continue;
        const Errors its = errors_without(ablation, run, others, facts);
        std::string row = fmt::format("| {} |", ablation.name);
        for (const auto &[name, number] : columns)
            row += whole ? fmt::format(" {:+.2f} |", 100.0 * (its.*number - (*whole).*number))
                         : fmt::format(" {:.2f} % |", 100.0 * its.*number);
        fmt::print("{}\n", row);
        std::fflush(stdout);
        if (!whole)
            whole = its;
    }
    return 0;
}

} // namespace

int main(int count, char **words) {
    try {
        return ablate({words + 1, words + count});
    } catch (const std::exception &error) {
        fmt::print(stderr, "ablate: {}\n", error.what());
        return 2;
    }
}
