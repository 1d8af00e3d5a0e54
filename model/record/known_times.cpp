#include "model/record/known_times.hpp"

#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/machine/assume.hpp"
#include "model/record/elsewhere.hpp"
#include "model/strategies/list.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

/// Tables that tests/data/index_measured.py makes of data/recorded. After lines of remarks, "# gpu" and "#
/// compute_capability" among them, a line per case, sorted by shape, parted by tabs: SMs, shape, strategy or
/// baseline, microseconds, recording.
extern const std::vector<EmbeddedFile> shipped_measured_files;

namespace {

constexpr std::size_t columns = 5; ///< of a row

/// The value of the remark "# name value" in a table; empty where there is none.
std::string_view remark(std::string_view table, std::string_view name) {
    const std::string lead = "# " + std::string(name) + " ";
    const std::size_t at = table.find(lead);
    if (at == std::string_view::npos)
        return {};
    const std::string_view rest = table.substr(at + lead.size());
    return rest.substr(0, rest.find('\n'));
}

/// A strategy's text as this version writes it: earlier ones had fewer knobs. Other names as they are.
std::string canonical(const std::string &name) {
    try {
        return name.find(':') != std::string::npos ? to_text(parse_strategy(name)) : name;
    } catch (const UsageError &) {
        return name; // a baseline, or a strategy that there is no more
    }
}

} // namespace

KnownTimes::KnownTimes(const GpuProfile &profile) {
    const std::string of_this_many = std::to_string(profile.limits.sm_count) + "\t";
    for (const EmbeddedFile &file : shipped_measured_files) {
        if (is_supposed(profile) || remark(file.bytes, "gpu") != profile.name ||
            remark(file.bytes, "compute_capability") != profile.compute_capability)
            continue;
        for (const std::string_view line : lines_of(file.bytes)) {
            if (!line.starts_with(of_this_many)) // of other numbers of SMs no row is taken apart
                continue;
            const std::vector<std::string> row = split(line, '\t');
            if (const auto us = row.size() == columns ? number_of<double>(row[3]) : std::nullopt)
                times_[row[1]].times.push_back({row[2], Seconds(*us * 1e-6), row[4]});
        }
    }
}

void KnownTimes::add(const Run &run, const std::string &recording) {
    for (const Case &item : run.cases)
        if (const Measurement *cold = item.measured(L2State::cold);
            cold && item.status == Status::ok && !is_elsewhere(item)) {
            OfShape &its = times_[item.shape];
            its.times.push_back({item.called(), cold->time_s, recording});
            its.canonical = false;
        }
}

const std::vector<KnownTime> &KnownTimes::of(const std::string &shape) const {
    static const std::vector<KnownTime> none;
    const auto found = times_.find(shape);
    if (found == times_.end())
        return none;
    OfShape &its = found->second;
    if (!std::exchange(its.canonical, true))
        for (KnownTime &known : its.times)
            known.name = canonical(known.name);
    return its.times;
}

std::optional<KnownTime> KnownTimes::find(const std::string &shape, const std::string &name) const {
    std::optional<KnownTime> last;
    for (const KnownTime &known : of(shape))
        if (known.name == name)
            last = known;
    return last;
}

std::optional<KnownTime> KnownTimes::fastest(Of which, const std::string &shape,
                                             const std::function<bool(const std::string &)> &wanted) const {
    const std::vector<std::string> strategies = strategy_names();
    std::map<std::string, KnownTime> last; // by name: what was added last counts
    for (const KnownTime &known : of(shape)) {
        const std::string name = known.name.substr(0, known.name.find(':'));
        if ((std::find(strategies.begin(), strategies.end(), name) != strategies.end()) ==
                (which == Of::settings) &&
            wanted(known.name))
            last[known.name] = known;
    }
    const auto first = std::min_element(last.begin(), last.end(), [](const auto &one, const auto &other) {
        return one.second.time_s < other.second.time_s;
    });
    return first == last.end() ? std::nullopt : std::optional(first->second);
}

} // namespace convcast
