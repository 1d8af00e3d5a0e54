#include "executor/count/collect.hpp"

#include "gpu/check.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

std::vector<CountedCall> collect_calls(CounterSession &session, const CounterSession::Work &before,
                                       const std::vector<CounterSession::Work> &calls) {
    const auto some = [&](const std::vector<CounterSession::Work> &its) {
        std::vector<CountedCall> counted;
        const auto why = why_refused<CounterPermissionError>([&] {
            for (CounterSession::Values &values : session.collect_each(before, its))
                counted.emplace_back(std::move(values));
        });
        return why ? std::vector<CountedCall>(its.size(), *why) : counted;
    };
    std::vector<CountedCall> counted = some(calls);
    if (calls.size() > 1 && std::holds_alternative<std::string>(counted.front())) // one of them is to blame
        for (std::size_t i = 0; i < calls.size(); ++i)
            counted[i] = some({calls[i]}).front();
    return counted;
}

} // namespace convcast
