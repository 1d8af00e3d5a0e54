#include "model/network/count_work.hpp"

#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/plan/occupancy.hpp"
#include "model/work/shared_access.hpp"

#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Calls `visit` with the name of each number of a struct and the number.
template <class T, class Visit> void for_described_numbers(T &of, const Visit &visit) {
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
        [&](auto member) { visit(std::string(member.name), of.*member.pointer); });
}

/// The parsed text, which is kept in `parsed` for the next time.
template <class Number>
const NumberExpression<Number> &expression_of(std::map<std::string, NumberExpression<Number>> &parsed,
                                              const std::string &text) {
    const auto found = parsed.find(text);
    return found != parsed.end() ? found->second : parsed.try_emplace(text, text).first->second;
}

} // namespace

WorkCounter::WorkCounter(const DeclaredWork &declared, const Network &network, const Gpu &gpu)
    : declared_(declared), network_(network), gpu_(gpu) {
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const Operator &op = network.operators[i];
        const ImageShape input = network.input_shapes(i).front();
        const auto size = [&](const std::string &name, std::int64_t value) {
            sizes_[op.name + "." + name] = static_cast<double>(value);
        };
        if (const auto shape = as_convolution(op, input, 1))
            for (const auto &[name, value] : names_of(*shape))
                size(name, value);
        if (op.kind == OperatorKind::max_pooling)
            size("c", op.output[0]), size("h", op.output[1]), size("w", op.output[2]),
                size("window", (*op.window)[0]);
    }
    sizes_["parameters"] = static_cast<double>(network.all_parameters());
}

/// Counts one launch. value_of says where a name in its expressions is looked up, and in which order.
class WorkCounter::Launched {
  public:
    Launched(WorkCounter &counter, const DeclaredKernel &kernel, const DeclaredKernel &phases,
             const LadderLaunch &launch, const Rung &rung, std::int64_t images)
        : counter_(counter), kernel_(kernel), declares_phases_(phases) {
        const auto grid = grid_of(launch, images, counter.gpu_.limits.sm_count);
        work_.ctas = grid[0] * grid[1] * grid[2];
        work_.threads = launch.block[0] * launch.block[1] * launch.block[2];
        work_.registers = kernel.registers;
        work_.shared_bytes = kernel.static_shared_bytes + launch.shared_bytes.value_or(0);
        work_.cluster = launch.cluster.value_or(1);
        work_.code = kernel.code;
        count_tensors(launch, rung, images);
        const auto give = [&](const char *name, std::int64_t value) {
            given_[name] = static_cast<double>(value);
        };
        give("images", images), give("ctas", work_.ctas), give("threads", work_.threads);
        give("cta_warps", ceil_div(work_.threads, warp_lanes)), give("cluster", work_.cluster);
        give("block_x", launch.block[0]), give("block_y", launch.block[1]);
        give("grid_x", launch.grid[0]), give("group_images", launch.group_images.value_or(1));
        give("resident", resident_ctas(counter.gpu_, work_.threads, work_.registers, work_.shared_bytes) *
                             counter.gpu_.limits.sm_count);
        for_described_numbers(work_, [&](const std::string &name, double value) { given_[name] = value; });
        for (const auto &[name, value] : launch.values)
            values_[name] = std::to_string(value);
        name_first_of_each_kind(launch);
    }

    LaunchWork count() && {
        for (const auto &[declared, phases] : {std::pair{&declares_phases_.phases, &work_.phases},
                                               std::pair{&declares_phases_.last, &work_.last}})
            for (const Texts &texts : *declared)
                add_phase(texts, *phases);
        const Texts &totals = kernel_.totals.empty() ? declares_phases_.totals : kernel_.totals;
        set_scopes({&totals});
        for_described_numbers(work_, [&](const std::string &name, double &number) {
            if (totals.contains(name))
                number = value(name);
        });
        for (const auto &[name, number] : {std::pair{"ctas", &work_.ctas},
                                           {"threads", &work_.threads},
                                           {"shared_bytes", &work_.shared_bytes}})
            if (totals.contains(name))
                *number = static_cast<std::int64_t>(value(name));
        work_.l2_read_bytes = std::max(work_.l2_read_bytes, work_.read_bytes); // every byte is asked for once
        return std::move(work_);
    }

    double number(const std::string &text) {
        set_scopes({});
        return evaluated(expression_of(counter_.expressions_, text));
    }

  private:
    /// Bytes of the launch's operands, parameters too: the last operand is written, the others are read.
    void count_tensors(const LadderLaunch &launch, const Rung &rung, std::int64_t images) {
        for (std::size_t i = 0; i < launch.operands.size(); ++i)
            (i + 1 == launch.operands.size() ? work_.written_bytes : work_.read_bytes) +=
                sizeof(float) *
                static_cast<double>(
                    operand_floats(counter_.network_, rung, launch.operands[i], images).value_or(0));
    }

    /// Lets "conv.k" name the size k of the first convolution of the launch; likewise "dense", "pool".
    void name_first_of_each_kind(const LadderLaunch &launch) {
        for (const std::string &name : launch.operators)
            if (const auto found = counter_.network_.operator_named(name)) {
                const OperatorKind kind = counter_.network_.operators[*found].kind;
                first_.try_emplace(kind == OperatorKind::convolution   ? "conv"
                                   : kind == OperatorKind::dense       ? "dense"
                                   : kind == OperatorKind::max_pooling ? "pool"
                                                                       : "",
                                   name);
            }
    }

    /// A phase's texts, behind them those of the phase that it is "like", and so on.
    std::vector<const Texts *> with_templates(const Texts &texts) const {
        std::vector<const Texts *> all = {&texts};
        for (auto like = texts.find("like"); like != all.back()->end(); like = all.back()->find("like"))
            all.push_back(&counter_.declared_.phases.at(like->second));
        return all;
    }

    /// Appends the phase that texts declare, unless its "if" is 0.
    void add_phase(const Texts &texts, std::vector<LaunchPhase> &phases) {
        const std::vector<const Texts *> scopes = with_templates(texts);
        const auto text_of = [&](const std::string &name) -> const std::string * {
            for (const Texts *scope : scopes)
                if (const auto found = scope->find(name); found != scope->end())
                    return &found->second;
            return nullptr;
        };
        set_scopes(scopes);
        if (text_of("if") != nullptr && value("if") == 0.0)
            return;
        LaunchPhase phase;
        phase.name = *text_of("name"); // every phase of a ladder that ships has one, or is like one that has
        phase.warps = value("cta_warps");
        for_described_numbers(phase, [&](const std::string &name, double &number) {
            if (text_of(name) != nullptr)
                number = value(name);
        });
        phases.push_back(std::move(phase));
    }

    /// The tables in which value_of looks a name up: these, the launch's values, and what its kernel, the
    /// kernel that it is like and the ladder declare.
    void set_scopes(std::vector<const Texts *> innermost) {
        scopes_ = std::move(innermost);
        const Texts *const values = &values_;
        scopes_.insert(scopes_.end(), {values, &kernel_.let, &declares_phases_.let, &counter_.declared_.let});
    }

    /// Of a name that is given or stands in a scope.
    double value(const std::string &name) { return *value_of(name, 0); }

    /// The value of a name: of its expression in the first of the scopes, from number `from` on, that has
    /// one; else a number of the launch, the cost of an access, or the size of an operator. In its own
    /// expression a name means what the scopes further out say. Absent where nothing says it.
    std::optional<double> value_of(const std::string &name, std::size_t from) {
        for (std::size_t i = from; i < scopes_.size(); ++i)
            if (const auto found = scopes_[i]->find(name); found != scopes_[i]->end())
                return evaluated(expression_of(counter_.expressions_, found->second), name, i + 1);
        if (const auto given = given_.find(name); given != given_.end())
            return given->second;
        if (const auto cost = access_cost_of(name))
            return *cost;
        const std::size_t dot = name.find('.');
        const auto first = first_.find(name.substr(0, dot));
        const auto size =
            counter_.sizes_.find(first == first_.end() ? name : first->second + name.substr(dot));
        return size == counter_.sizes_.end() ? std::nullopt : std::optional(size->second);
    }

    /// The value of an expression that stands for `name`, which in it is looked up from number `scope` on.
    template <class Number>
    Number evaluated(const NumberExpression<Number> &expression, const std::string &name = {},
                     std::size_t scope = 0) {
        constexpr int deepest =
            100; // expressions in each other; above this only names that name themselves come
        if (++depth_ > deepest)
            throw UsageError("'" + name + "' is declared by itself");
        std::vector<Number> values;
        for (const std::string &used : expression.names())
            values.push_back(number_of(expression, used, used == name ? scope : 0));
        --depth_;
        return expression.value(values);
    }

    /// value_of a name in an expression, by the scopes of names from `from` on. Throws UsageError, with
    /// similar names, where nothing has the name. Where the expression is one of whole numbers (`word`,
    /// `where` of an access), a fraction that the name's value has is dropped.
    template <class Number>
    Number number_of(const NumberExpression<Number> &expression, const std::string &name,
                     std::size_t from = 0) {
        if (const auto number = value_of(name, from))
            return static_cast<Number>(*number);
        std::vector<std::string> known;
        for (const auto &[given, number] : given_)
            known.push_back(given);
        for (const Texts *scope : scopes_)
            for (const auto &[declared, text] : *scope)
                known.push_back(declared);
        for (const auto *accesses : accesses_)
            for (const auto &[access, description] : *accesses)
                for (const char *memory : memories)
                    known.push_back(access + "." + memory);
        expression.unknown(name, std::move(known));
    }

    static constexpr std::array<const char *, 3> memories = {"shared", "global", "constant"};

    /// mean_cost for "window.shared", if there is an access "window". An access names nothing of a phase.
    std::optional<double> access_cost_of(const std::string &name) {
        if (const auto found = access_costs_.find(name); found != access_costs_.end())
            return found->second;
        const std::size_t dot = name.find('.');
        const std::string memory = dot == std::string::npos ? "" : name.substr(dot + 1);
        if (std::ranges::find(memories, memory) == std::end(memories))
            return std::nullopt;
        for (const auto *accesses : accesses_)
            if (const auto found = accesses->find(name.substr(0, dot)); found != accesses->end())
                return access_costs_[name] = mean_cost(found->second, memory);
        return std::nullopt;
    }

    /// An expression as a function of the thread t of a CTA: `values` has its other names' values.
    struct OfThread {
        const NumberExpression<std::int64_t> &expression;
        std::vector<std::int64_t> values;
        std::size_t t; ///< index of "t" among the names; values.size() where it does not name it

        std::int64_t operator()(std::int64_t thread) {
            if (t < values.size())
                values[t] = thread;
            return expression.value(values);
        }
    };
    /// Appends the text and the values of its names to `key`, by which costs are kept.
    OfThread of_thread(const std::string &text, std::string &key) {
        OfThread out{expression_of(counter_.words_, text), {}, 0};
        const std::vector<std::string> &names = out.expression.names();
        out.t = static_cast<std::size_t>(std::find(names.begin(), names.end(), "t") - names.begin());
        key += "|" + text;
        for (const std::string &name : names) {
            out.values.push_back(name == "t" ? 0 : number_of(out.expression, name));
            key += " " + std::to_string(out.values.back());
        }
        return out;
    }

    /// cost_of_warp of an access to a memory, on average over the warps of the CTA.
    double mean_cost(const DeclaredAccess &access, const std::string &memory) {
        const auto threads =
            static_cast<std::int64_t>(evaluated(expression_of(counter_.expressions_, access.threads)));
        const int width = static_cast<int>(access.width.value_or(1));
        std::string key = memory + " " + std::to_string(threads) + " " + std::to_string(width);
        OfThread takes_part = of_thread(access.where.value_or("1"), key), word = of_thread(access.word, key);
        if (const auto known = counter_.access_costs_.find(key); known != counter_.access_costs_.end())
            return known->second;
        double all = 0.0;
        const std::int64_t warps = ceil_div(threads, warp_lanes);
        for (std::int64_t warp = 0; warp < warps; ++warp) {
            LaneWords words;
            for (std::int64_t lane = 0; lane < warp_lanes; ++lane) {
                const std::int64_t thread = warp * warp_lanes + lane;
                words[static_cast<std::size_t>(lane)] =
                    thread < threads && takes_part(thread) != 0 ? word(thread) : -1;
            }
            all += cost_of_warp(words, memory, width);
        }
        return counter_.access_costs_[key] = all / static_cast<double>(std::max<std::int64_t>(1, warps));
    }

    /// What an access by one warp costs: of "constant" memory different addresses, which are served one after
    /// another, of "shared" memory wavefronts, and of "global" memory wavefronts through L1.
    double cost_of_warp(const LaneWords &words, const std::string &memory, int width) const {
        if (memory == "shared")
            return warp_passes(banks_of(counter_.gpu_.profile), words, width).taken;
        if (memory != "constant")
            return l1_passes(lines_met(words), warp_passes(Banks{}, words, width).taken);
        std::set<std::int64_t> addresses(words.begin(), words.end());
        addresses.erase(-1); // of lanes that take no part
        return static_cast<double>(addresses.size());
    }

    WorkCounter &counter_;
    const DeclaredKernel &kernel_, &declares_phases_; ///< the same unless the kernel is like another
    /// Whose accesses an expression may name; the first that has the name counts.
    const std::array<const decltype(DeclaredKernel::accesses) *, 3> accesses_ = {
        &kernel_.accesses, &declares_phases_.accesses, &counter_.declared_.accesses};
    LaunchWork work_;
    Texts values_;                               ///< of the launch, as texts
    std::map<std::string, double> given_;        ///< numbers of the launch: "ctas", "block_x", "read_bytes"
    std::map<std::string, double> access_costs_; ///< by name: "window.shared"
    std::map<std::string, std::string> first_;   ///< by kind ("conv"), the first operator of the launch
    std::vector<const Texts *> scopes_;          ///< the innermost first
    int depth_ = 0;                              ///< of expressions that are being evaluated
};

double WorkCounter::number(const std::string &text, std::int64_t images,
                           const std::map<std::string, double> &values) {
    const DeclaredKernel none;
    LadderLaunch launch;
    launch.values = values;
    return Launched(*this, none, none, launch, {}, images).number(text);
}

std::optional<LaunchWork> WorkCounter::work_of(const LadderLaunch &launch, const Rung &rung,
                                               std::int64_t images) {
    const auto kernel = declared_.kernels.find(launch.kernel);
    if (kernel == declared_.kernels.end())
        return std::nullopt;
    const DeclaredKernel &phases =
        kernel->second.like ? declared_.kernels.at(*kernel->second.like) : kernel->second;
    return Launched(*this, kernel->second, phases, launch, rung, images).count();
}

} // namespace convcast
