#include "executor/network/network_source.hpp"

#include "executor/launch/kernel_source.hpp"
#include "model/base/errors.hpp"
#include "model/base/hash.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {
namespace {

const EmbeddedFile &network_file(std::string_view name) {
    for (const auto *sources : {&network_sources, &split_sources, &whole_sources, &shared_network_sources})
        if (const EmbeddedFile *file = find_embedded(*sources, name))
            return *file;
    throw UsageError("there is no device code '" + std::string(name) + "'");
}

/// Appends the file to `out` with its includes in place, without #pragma once; nothing if it is in `seen`.
void append_with_includes(const EmbeddedFile &file, std::set<std::string> &seen, std::string &out) {
    constexpr std::string_view include = "#include \"";
    if (!seen.insert(file.path).second)
        return;
    for (std::string_view rest = file.bytes; !rest.empty();) {
        const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
        rest.remove_prefix(line.size());
        if (line.starts_with(include))
            append_with_includes(network_file(line.substr(include.size(), line.rfind('"') - include.size())),
                                 seen, out);
        else if (!line.starts_with("#pragma once"))
            out += line;
    }
}

/// Path and full text of each source, in turn: what hashes are made of.
std::vector<std::string> texts_of(const std::vector<EmbeddedFile> &sources) {
    std::vector<std::string> texts;
    for (const EmbeddedFile &file : sources) {
        texts.push_back(file.path);
        texts.push_back(network_source(file.path));
    }
    return texts;
}

} // namespace

std::string network_source(std::string_view name) {
    std::set<std::string> seen;
    std::string out;
    append_with_includes(network_file(name), seen, out);
    return out;
}

std::string network_code_hash(const std::vector<EmbeddedFile> &sources) {
    return content_hash(texts_of(sources));
}

std::string whole_code_hash() {
    std::vector<std::string> texts = texts_of(whole_sources);
    texts.insert(texts.begin(), ended_code_hash());
    return content_hash(texts);
}

} // namespace convcast
