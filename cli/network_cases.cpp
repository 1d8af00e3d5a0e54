#include "cli/network.hpp"

#include "cli/answers.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/scaling.hpp"
#include "reports/network_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

std::string heading(const NetworkRun &run, const std::string &gpu) {
    const NetworkCase &first = run.first();
    const bool measured =
        std::ranges::any_of(run.cases, [](const NetworkCase &item) { return item.measured_s().has_value(); });
    const std::string forecast = measured ? "" : ", forecast";
    if (!first.split)
        return fmt::format("{} on {}, batch {}{}", run.network, gpu, first.batch, forecast);
    const int hosts = run.most_hosts();
    return fmt::format("{} on {}{} x {}, a step of training{}{}", run.network,
                       hosts > 1 ? fmt::format("{} hosts with ", hosts) : "",
                       std::set(run.devices.begin(), run.devices.end()).size(), gpu,
                       run.shares_a_gpu() ? fmt::format(", {} shares", run.devices.size()) : "", forecast);
}

/// What a case does, what each GPU has of it, or why there is no time.
std::string words_of(const NetworkCase &item) {
    if (item.reason)
        return name_of(item.status) + ": " + *item.reason;
    std::vector<std::string> shares;
    for (auto share = item.shares.begin(); share != item.shares.end();) {
        const auto other = std::find_if(share, item.shares.end(), [&](auto its) { return its != *share; });
        if (std::ssize(item.shares) > most_split_devices) // of many GPUs how many have the same
            shares.push_back(fmt::format("{} x {}", other - share, *share));
        else
            shares.insert(shares.end(), static_cast<std::size_t>(other - share), std::to_string(*share));
        share = other;
    }
    return item.title.value_or(join(shares, " "));
}

std::string advice_text(const NetworkRun &run) {
    std::string text = run.advice.empty() ? "" : "\nby the forecast\n";
    for (const ScalingAdvice &advice : run.advice) {
        const auto from = [](const std::optional<std::int64_t> &batch) {
            return batch ? fmt::format("from {} images a step on", *batch)
                         : fmt::format("at no size up to {} images", most_split_batch);
        };
        text += headed("  ",
                       fmt::format("{} over {} GPUs is faster than one {}; its efficiency reaches 90 % {}",
                                   to_text(advice.split), advice.devices, from(advice.pays_from),
                                   from(advice.efficient_from)),
                       4);
    }
    return text;
}

} // namespace

std::string cases_text(const NetworkRun &run, const std::string &gpu) {
    std::string text = bold(wrapped(heading(run, gpu)));
    const auto line = [&](const std::string &said) { text += wrapped(said, 2); };
    if (run.sequential_s)
        line(fmt::format("one thread of the GPU's host, an image: {}", short_time(*run.sequential_s)));
    if (run.published_cpu_s && run.published_gpu)
        line(fmt::format("published: one thread of a CPU, an image: {}; implementations on a {}",
                         short_time(*run.published_cpu_s), *run.published_gpu));
    if (run.peers)
        line(fmt::format(
            "copies between GPUs: {:.0f} GB/s one way while as much goes the other way, {:.2f} us ({})",
            run.peers->bandwidth_bytes_per_s.value / 1e9, run.peers->latency_s.value * 1e6, run.peers->by));
    Table cases = cases_table(run);
    cases.columns.push_back({run.first().split ? "shares" : "what it does", As::text, Keep::high, Fit::wrap});
    std::size_t row = 0;
    for (const NetworkCase &item : run.cases)
        if (item.id || item.split)
            cases.rows[row++].push_back(words_of(item));
    text += "\n" + table(cases);
    text +=
        run.shares_a_gpu()
            ? "\n" + hanging("shares of one GPU: the forecast is of GPUs of their own, so its speed-ups are "
                             "not those of this machine")
            : advice_text(run);
    for (const auto &[name, said] : run.conditions)
        if (name.starts_with("no_peer_access") || name == "several_shares_a_gpu")
            text += headed("note: ", said, 6);
    for (const std::string &assumption : run.assumptions)
        text += headed("assumed: ", assumption, 9);
    return text;
}

int write_network(const Arguments &arguments, NetworkRun run, const std::string &text) {
    run.conditions["version"] = producer().version;
    const bool document = arguments.has("json") || arguments.has("output");
    write_file_atomically(arguments.text("output", "-"),
                          document ? to_text(described::write(run)) : printable(text));
    return code_of(run);
}

} // namespace convcast::cli
