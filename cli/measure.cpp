#include "cli/arguments.hpp"
#include "cli/device.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "microbench/analysis.hpp"
#include "model/described.hpp"
#include "model/errors.hpp"
#include "model/files.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace convcast::cli {
namespace {

/// "NVIDIA GeForce RTX 4090" -> "rtx_4090"
std::string id_of(std::string name) {
    for (const std::string prefix : {"NVIDIA ", "GeForce ", "Tesla "})
        if (name.starts_with(prefix))
            name = name.substr(prefix.size());
    for (char &c : name)
        c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '_';
    return name.empty() ? "gpu" : name;
}

std::string probe_list() {
    std::vector<std::vector<std::string>> rows;
    for (const ProbeInfo &probe : probes)
        rows.push_back({std::string(probe.name), std::string(probe.question)});
    return table({{"probe"}, {"question"}}, rows, terminal_width());
}

std::string summary(const GpuProfile &profile) {
    std::vector<std::vector<std::string>> rows;
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        const auto &field = profile.*member.pointer;
        using Field = std::decay_t<decltype(field)>;
        if constexpr (described::IsOptional<Field>::value) {
            if constexpr (described::IsParam<typename Field::value_type>::value) {
                if (field) {
                    using Q = decltype(field->value);
                    const std::string spread =
                        field->spread ? fmt::format("{:.4g} .. {:.4g} (n {})", field->spread->p05, field->spread->p95,
                                                    field->spread->n)
                                      : "";
                    rows.push_back({member.name, fmt::format("{:.5g}", field->value.value), UnitOf<Q>::text, spread});
                }
            }
        }
    });
    std::string text = bold(profile.name) + "\n" +
                       table({{"number"}, {"value", Align::right}, {"unit"}, {"p05 .. p95"}}, rows, terminal_width());
    for (const auto &[field, why] : profile.missing)
        text += "absent: " + field + ": " + why + "\n";
    for (const std::string &line : profile.notes)
        text += line + "\n";
    return text;
}

} // namespace

int measure(const Words &words) {
    const Arguments arguments("measure", words,
                              {{"id", Option::text},
                               {"only", Option::texts},
                               {"list", Option::flag},
                               {"raw", Option::text},
                               {"from-raw", Option::text},
                               {"device", Option::text},
                               {"json", Option::flag},
                               {"output,o", Option::text}},
                              0);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("measure")), 0;
    if (arguments.has("list"))
        return write_file_atomically("-", probe_list()), 0;
    const std::vector<std::string> only = arguments.texts("only");
    std::vector<std::string> known;
    for (const ProbeInfo &probe : probes)
        known.emplace_back(probe.name);
    for (const std::string &name : only)
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw UsageError("measure: unknown probe '" + name + "'" + did_you_mean(name, known) +
                             " Probes: " + join(known));

    for (const char *option : {"output", "raw"}) // found before the work
        if (arguments.has(option))
            check_writable(arguments.text(option, ""));
    RawSamples raw;
    if (arguments.has("from-raw")) {
        const std::string file = arguments.text("from-raw", "");
        raw = read_samples(read_file(file), file == "-" ? "standard input" : file);
    } else {
        const std::string keep_file = arguments.text("raw", "");
        raw = take_samples(arguments.integer("device", 0, 0, 1023), only, [&](const RawSamples &so_far) {
            if (!keep_file.empty())
                write_file_atomically(keep_file, write_samples(so_far));
        });
        if (!keep_file.empty())
            write_file_atomically(keep_file, write_samples(raw));
    }
    const GpuProfile profile = analyze(raw, arguments.text("id", id_of(raw.name)));
    if (arguments.has("output"))
        write_file_atomically(arguments.text("output", ""), write_profile(profile));
    if (!arguments.has("output") || arguments.text("output", "") != "-")
        write_file_atomically("-", arguments.has("json") ? write_profile(profile) : summary(profile));
    return 0;
}

} // namespace convcast::cli
