#include "executor/launch/kernel_cache.hpp"

#include "executor/launch/kernel_source.hpp"
#include "model/base/errors.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// Of the requests of one sweep, which all have the same architecture.
std::string key_of(const CompileRequest &request) {
    return request.name_expressions.front() + " " + join(request.options, " ");
}

} // namespace

CompileRequest request_for(const Launch &launch, int compute_capability, const ConvEnd &end) {
    CompileRequest request{.name = "executor/kernels/" + launch.kernel + ".cu",
                           .source = kernel_source(launch.kernel, end.in_network),
                           .name_expressions = {name_expression(launch)},
                           .options = {"-DREGISTER_CAP=" + std::to_string(launch.register_cap)},
                           .compute_capability = compute_capability,
                           .architecture_features = launch.architecture_features.value_or(false)};
    if (launch.constant_bytes > 0)
        request.name_expressions.push_back(std::string("&") + filter_bank);
    if (end.in_network)
        for (const auto &[option, value] : {std::pair("-DEND_BIAS=", std::string(end.bias ? "1" : "0")),
                                            std::pair("-DEND_ADD=", std::string(end.add ? "1" : "0")),
                                            std::pair("-DEND_FUNCTION=", end.function)})
            request.options.push_back(option + value);
    return request;
}

std::vector<CompileRequest> requests_for(std::span<const Plan> plans, int compute_capability) {
    std::vector<CompileRequest> requests;
    std::set<std::string> seen;
    for (const Plan &plan : plans)
        for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
            for (const Partition &partition : *launches) {
                CompileRequest request = request_for(partition, compute_capability);
                if (seen.insert(key_of(request)).second)
                    requests.push_back(std::move(request));
            }
    return requests;
}

KernelCache::~KernelCache() {
    {
        const std::scoped_lock lock(jobs_mutex_);
        jobs_.clear();
    }
    pool_.clear(); // joins
}

Compiler::Outcome KernelCache::outcome_of(const CompileRequest &request) const {
    try {
        return compiler_.compile(request);
    } catch (const std::exception &error) {
        return std::string(error.what());
    }
}

void KernelCache::work() {
    while (true) {
        std::optional<Job> job;
        {
            const std::scoped_lock lock(jobs_mutex_);
            if (jobs_.empty())
                return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        job->outcome.set_value(outcome_of(job->request));
    }
}

void KernelCache::compile_ahead(std::span<const Plan> plans, unsigned threads) {
    compile_ahead(requests_for(plans, compute_capability_), threads);
}

void KernelCache::compile_ahead(std::vector<CompileRequest> requests, unsigned threads) {
    pool_.clear(); // of an earlier call
    for (CompileRequest &request : requests) {
        const std::string key = key_of(request);
        if (outcomes_.contains(key))
            continue;
        Job job{std::move(request), {}};
        outcomes_.emplace(key, job.outcome.get_future().share());
        jobs_.push_back(std::move(job));
    }
    const std::size_t wanted = std::min<std::size_t>(threads, jobs_.size());
    for (std::size_t i = 0; i < wanted; ++i)
        pool_.emplace_back([this] { work(); });
}

void KernelCache::wait(const Compiler::Progress &progress) {
    std::size_t done = 0;
    for (const auto &[key, outcome] : outcomes_) {
        outcome.wait();
        if (progress)
            progress(++done, outcomes_.size());
    }
}

const CompiledModule &KernelCache::compiled(const Partition &partition, const ConvEnd &end) {
    const CompileRequest request = request_of(partition, end);
    auto found = outcomes_.find(key_of(request));
    if (found == outcomes_.end()) {
        std::promise<Compiler::Outcome> now;
        now.set_value(outcome_of(request));
        found = outcomes_.emplace(key_of(request), now.get_future().share()).first;
    }
    const Compiler::Outcome &outcome = found->second.get();
    if (const auto *why = std::get_if<std::string>(&outcome))
        throw GpuError(*why);
    return std::get<CompiledModule>(outcome);
}

} // namespace convcast
