#include "executor/launch/kernel_source.hpp"

#include "model/base/errors.hpp"
#include "model/base/hash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {
namespace {

/// Appends the file, includes first met replaced by their text, to `out`.
void expand(std::string_view path, std::set<std::string> &seen, std::string &out) {
    const EmbeddedFile *file = find_embedded(kernel_sources, path);
    if (!file)
        file = find_embedded(added_kernel_sources, path);
    if (!file)
        throw UsageError("there is no device code '" + std::string(path) + "'");
    if (!seen.insert(file->path).second)
        return;
    constexpr std::string_view include = "#include \"";
    for (std::string_view rest = file->text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end);
        if (line.starts_with(include))
            expand(line.substr(include.size(), line.rfind('"') - include.size()), seen, out);
        else if (!line.starts_with("#pragma once"))
            out += line;
    }
}

std::string hash_of(const std::vector<EmbeddedFile> &files) {
    std::vector<std::string> texts;
    for (const EmbeddedFile &file : files) {
        texts.push_back(file.path);
        texts.push_back(file.text);
    }
    return content_hash(texts);
}

} // namespace

std::string kernel_source(std::string_view kernel) {
    std::set<std::string> seen;
    std::string out;
    expand("executor/kernels/" + std::string(kernel) + ".cu", seen, out);
    return out;
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
