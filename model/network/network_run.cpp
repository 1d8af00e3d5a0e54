#include "model/network/network_run.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

namespace convcast {
namespace {

template <class Launch> void check_span(const Launch &launch, const FieldProblem &problem) {
    if (launch.begins_s && launch.ends_s && !(*launch.begins_s <= *launch.ends_s))
        problem("ends_s", "expected at least begins_s");
}

} // namespace

void TimeSpread::check(const FieldProblem &problem) const {
    if (!(p05_s <= median_s))
        problem("p05_s", "expected at most median_s");
    if (!(median_s <= p95_s))
        problem("p95_s", "expected at least median_s");
}

TimeSpread time_spread(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const auto quantile = [&](double share) {
        const double at = share * static_cast<double>(samples.size() - 1);
        const auto below = static_cast<std::size_t>(at);
        const std::size_t above = std::min(below + 1, samples.size() - 1);
        return Seconds(samples[below] +
                       (at - static_cast<double>(below)) * (samples[above] - samples[below]));
    };
    return {quantile(0.5), quantile(0.05), quantile(0.95), std::ssize(samples)};
}

void LaunchMeasurement::check(const FieldProblem &problem) const {
    check_span(*this, problem);
}

void NetworkLaunch::check(const FieldProblem &problem) const {
    if (operators.empty()) // the first names it
        problem("operators", "expected the operators that the launch computes, for example [\"conv1\", "
                             "\"relu1\"]");
    check_span(*this, problem);
}

std::string NetworkLaunch::name() const {
    const std::string names = join(operators, "+");
    return kind == LaunchKind::to_columns ? names + " to columns"
           : kind == LaunchKind::to_rows  ? names + " to rows"
                                          : names;
}

std::string NetworkLaunch::label() const {
    const std::string &first = operators.front();
    std::string text = kind == LaunchKind::to_columns || kind == LaunchKind::to_rows ? name() : first;
    for (std::size_t i = 1; i < operators.size(); ++i) {
        const std::string &other = operators[i];
        const std::size_t same = static_cast<std::size_t>(
            std::mismatch(first.begin(), first.end(), other.begin(), other.end()).first - first.begin());
        const std::size_t slash = first.rfind('/', same); // no part of a word is left out
        text += "+" + other.substr(same == first.size() ? same : slash == std::string::npos ? 0 : slash + 1);
    }
    return text;
}

void NetworkMeasurement::check(const FieldProblem &problem) const {
    check_error_of_status(status, l2_error, "l2_error", problem);
}

void NetworkRun::check(const FieldProblem &problem) const {
    if (low_s && high_s && !(*low_s <= *high_s))
        problem("low_s", "expected at most high_s");
}

template const described::Type &described::type_of<NetworkRun>();

} // namespace convcast
