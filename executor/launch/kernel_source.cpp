#include "executor/launch/kernel_source.hpp"

#include "model/base/errors.hpp"
#include "model/base/hash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Lines that begin so are code of networks only: a comment where a convolution is compiled alone, and no
/// part of the hashes, so that a recording stays tied to the code that it ran.
constexpr std::string_view network_line = "//: ";

/// Appends the file, includes first met replaced by their text, to `out`.
void expand(std::string_view path, bool in_network, std::set<std::string> &seen, std::string &out) {
    const EmbeddedFile *file = find_embedded(kernel_sources, path);
    if (!file)
        file = find_embedded(added_kernel_sources, path);
    if (!file && in_network)
        file = find_embedded(conv_end_sources, path);
    if (!file)
        throw UsageError("there is no device code '" + std::string(path) + "'");
    if (!seen.insert(file->path).second)
        return;
    constexpr std::string_view include = "#include \"";
    for (std::string_view rest = file->bytes; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end);
        if (line.starts_with(network_line)) {
            if (!in_network)
                continue;
            line.remove_prefix(network_line.size());
        }
        if (line.starts_with(include))
            expand(line.substr(include.size(), line.rfind('"') - include.size()), in_network, seen, out);
        else if (!line.starts_with("#pragma once"))
            out += line;
    }
}

/// The lines for networks, or all but those.
std::string lines_of(const std::string &text, bool for_networks) {
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
        if (rest.starts_with(network_line) == for_networks)
            out += rest.substr(0, end);
        rest.remove_prefix(end);
    }
    return out;
}

std::string hash_of(const std::vector<EmbeddedFile> &files) {
    std::vector<std::string> texts;
    for (const EmbeddedFile &file : files) {
        texts.push_back(file.path);
        texts.push_back(lines_of(hashed_text(file.bytes), false));
    }
    return content_hash(texts);
}

} // namespace

std::string kernel_source(std::string_view kernel, bool in_network) {
    std::set<std::string> seen;
    std::string out;
    expand("executor/kernels/" + std::string(kernel) + ".cu", in_network, seen, out);
    return out;
}

bool has_network_lines(std::string_view kernel) {
    const std::string path = "executor/kernels/" + std::string(kernel) + ".cu";
    const EmbeddedFile *file = find_embedded(kernel_sources, path);
    if (!file)
        file = find_embedded(added_kernel_sources, path);
    return file && !lines_of(file->text(), true).empty();
}

std::string ended_code_hash() {
    std::vector<std::string> texts;
    for (const auto *sources : {&kernel_sources, &added_kernel_sources})
        for (const EmbeddedFile &file : *sources)
            if (std::string lines = lines_of(file.text(), true); !lines.empty()) {
                texts.push_back(file.path);
                texts.push_back(std::move(lines));
            }
    for (const EmbeddedFile &file : conv_end_sources) {
        texts.push_back(file.path);
        texts.push_back(file.text());
    }
    return content_hash(texts);
}

std::string name_expression(const Launch &launch) {
    std::vector<std::string> arguments;
    for (const std::int64_t argument : launch.template_arguments)
        arguments.push_back(std::to_string(argument));
    return launch.kernel + "<" + join(arguments) + ">";
}

std::string device_code_hash() {
    return hash_of(kernel_sources);
}

std::string added_code_hash() {
    return hash_of(added_kernel_sources);
}

bool launches_added_kernel(const Plan &plan) {
    return std::any_of(plan.launches.begin(), plan.launches.end(), [](const Partition &part) {
        return find_embedded(added_kernel_sources, "executor/kernels/" + part.kernel + ".cu") != nullptr;
    });
}

std::string measuring_code_hash() {
    return hash_of(measuring_sources);
}

} // namespace convcast
