// The files of a kernel of the user's own: launch file, source and what it includes.
#include "model/base/describe.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/text.hpp"
#include "model/record/own_kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr const char *launch_schema = "convcast/kernel/1";
constexpr std::size_t most_source_bytes = 4 << 20; ///< chosen: above this only mistakes come

/// A launch file as it is written; every whole number may also be an expression in quotes.
struct LaunchFile : OwnTerms {
    std::string schema = launch_schema;
    std::optional<std::string> name, source, function;
    CONVCAST_MEMBERS(LaunchFile, schema, name, source, function, template_arguments, defines, parameters,
                     grid, block, shared_bytes, registers, conditions, arithmetic, work)
};

/// Tells `events` of a launch file as LaunchFile has it: whole numbers become texts, so that both are
/// expressions, and a grid or block of one size, which may stand without brackets, becomes a list.
JsonEvents as_launch_file(const JsonEvents &events) {
    return [&events, depth = 0, is_list = false](JsonEvent event) mutable {
        std::string number;
        if (event.kind == JsonEvent::Kind::integer) {
            number = std::to_string(event.integer);
            event = {.kind = JsonEvent::Kind::string, .line = event.line, .text = number};
        }
        depth += event.begins() ? 1 : event.ends() ? -1 : 0;
        const bool alone = is_list && event.kind == JsonEvent::Kind::string;
        is_list = depth == 1 && event.kind == JsonEvent::Kind::key &&
                  (event.text == "grid" || event.text == "block");
        if (alone)
            events({.kind = JsonEvent::Kind::array, .line = event.line});
        events(event);
        if (alone)
            events({.kind = JsonEvent::Kind::array_end, .line = event.line});
    };
}

/// Tells `events` what --launch says, as a launch file would: "grid=ceil_div(p * q, 128),k,n; block=128;
/// defines=TILE=16".
void tell_launch(const std::string &text, const JsonEvents &events) {
    using Kind = JsonEvent::Kind;
    const auto tell_member = [&](const std::string &name, const std::string &value) {
        events({.kind = Kind::key, .text = name});
        events({.kind = Kind::string, .text = value});
    };
    std::set<std::string> seen = {"schema"};
    events({Kind::object});
    tell_member("schema", launch_schema);
    for (const std::string &part : split_outside(text, ';')) {
        const std::size_t equals = part.find('=');
        if (part.empty())
            continue;
        if (equals == std::string::npos || equals == 0)
            throw UsageError("--launch: expected NAME=VALUE parted by ;, got '" + shortened(part) +
                             "'; an example: --launch 'grid=ceil_div(p * q, 128),k,n; block=128'");
        const std::string name = part.substr(0, equals), value = part.substr(equals + 1);
        if (!seen.insert(name).second)
            throw UsageError("--launch: '" + shortened(name) + "' stands there twice; give it once");
        if (name == "source")
            throw UsageError("--launch: 'source' is of launch files; here the source is the .cu file of "
                             "--kernel");
        const bool list = name == "template_arguments" || name == "parameters" || name == "grid" ||
                          name == "block" || name == "conditions";
        if (!list && name != "defines" && name != "work") {
            tell_member(name, value);
            continue;
        }
        events({.kind = Kind::key, .text = name});
        events({list ? Kind::array : Kind::object});
        for (const std::string &entry : split_outside(value, ','))
            if (list)
                events({.kind = Kind::string, .text = entry});
            else
                tell_member(entry.substr(0, entry.find('=')),
                            entry.substr(std::min(entry.find('='), entry.size() - 1) + 1));
        events({list ? Kind::array_end : Kind::object_end});
    }
    events({Kind::object_end});
}

/// A file's name for a #line directive.
std::string quoted_name(const std::string &file) {
    std::string out = "\"";
    for (const char letter : file)
        out += letter == '"' || letter == '\\' || letter == '\n' ? '_' : letter;
    return out + "\"";
}

/// The same name for a file however its path is written, so that an include is known again.
std::string one_name(const std::filesystem::path &file) {
    std::error_code failed;
    const std::filesystem::path found = std::filesystem::weakly_canonical(file, failed);
    return failed ? file.lexically_normal().string() : found.string();
}

/// Appends the file's text to `out`. Where it includes a file in quotes, that file's text stands instead, the
/// first time; `seen` has the files that are in. NVRTC gets one text and has no files; #line directives keep
/// the user's files and lines in its messages. `depth` counts includes within includes. Throws InputError.
void append_source(const std::filesystem::path &file, std::set<std::string> &seen, std::string &out,
                   int depth) {
    constexpr int deepest = 50; // chosen; nobody nests more
    const std::string text = read_file(file.string());
    if (depth > deepest || out.size() + text.size() > most_source_bytes)
        throw InputError(file.string(), "expected at most 4 MiB of source with its includes");
    out += "#line 1 " + quoted_name(file.string()) + "\n";
    int number = 0;
    for (const std::string_view line : lines_of(text)) {
        ++number;
        const std::size_t open = line.find('"');
        const std::size_t close = open == std::string_view::npos ? open : line.find('"', open + 1);
        if (!trimmed(line).starts_with("#include") || close == std::string_view::npos) {
            if (line.find("#pragma once") == std::string_view::npos)
                out += line;
            out += '\n';
            continue;
        }
        const std::filesystem::path other = file.parent_path() / line.substr(open + 1, close - open - 1);
        if (!file_exists(other.string()))
            throw InputError(file.string() + ":" + std::to_string(number),
                             "includes " + other.string() + ", which is not there");
        if (seen.insert(one_name(other)).second)
            append_source(other, seen, out, depth + 1);
        out += "#line " + std::to_string(number + 1) + " " + quoted_name(file.string()) + "\n";
    }
}

/// The .cu file itself, or the source of a launch file: what it names, which lies beside it, else NAME.cu.
std::filesystem::path source_of(const std::filesystem::path &file, const std::optional<std::string> &named) {
    if (file.extension() != ".json")
        return file;
    return named ? file.parent_path() / *named : std::filesystem::path(file).replace_extension(".cu");
}

} // namespace

std::vector<std::string> files_of_own_kernel(const std::string &file) {
    std::vector<std::string> files = {file};
    try {
        const std::optional<std::string> named =
            file.ends_with(".json") ? member_of_json(read_file(file), file, "source") : std::nullopt;
        const std::filesystem::path source = source_of(file, named);
        std::set<std::string> seen = {one_name(source)};
        files.push_back(source.string());
        std::string text;
        append_source(source, seen, text, 0);
        files.insert(files.end(), seen.begin(), seen.end());
    } catch (const InputError &) { // said where the kernel is read
    }
    return files;
}

OwnKernel read_own_kernel(const std::string &file, const std::string &launch) {
    const bool json = file.ends_with(".json");
    if (json && !launch.empty())
        throw UsageError("--launch goes with a .cu file; " + file + " says itself how it is launched");
    if (!json && launch.empty())
        throw UsageError("--kernel " + file +
                         ": how is it launched? Give a launch file (docs/own_kernel.md), or for example "
                         "--launch 'grid=ceil_div(p * q, 128),k,n; block=128'");
    const std::string shown = json ? file : "--launch";
    const std::string text = json ? read_file(file) : "";
    LaunchFile read;
    described::Reader reader(read, shown);
    if (json)
        parse_json(text, file, as_launch_file(std::ref(reader)));
    else
        tell_launch(launch, std::ref(reader));
    reader.require_schema(launch_schema);
    if (std::vector<InputProblem> problems = reader.problems(text); !problems.empty())
        throw InputError(std::move(problems));

    const std::filesystem::path source = source_of(file, read.source);
    OwnKernel kernel;
    kernel.file = source.string();
    kernel.function = read.function.value_or(source.stem().string());
    kernel.name = read.name.value_or(kernel.function);
    static_cast<OwnTerms &>(kernel) = read;
    if (kernel.parameters.empty())
        kernel.parameters = {"input", "filters", "output", "n", "c", "h", "w", "k", "r", "s", "p", "q"};
    std::set<std::string> seen = {one_name(source)};
    try {
        append_source(source, seen, kernel.source, 0);
    } catch (const InputError &error) {
        if (!json)
            throw;
        std::vector<InputProblem> problems = error.problems; // a name that the launch file has wrong, maybe
        for (InputProblem &problem : problems)
            problem = {file + (read.source ? ": /source" : ": /"), problem.place + ": " + problem.message};
        throw InputError(described::with_lines(std::move(problems), text, file));
    }
    std::vector<InputProblem> problems;
    kernel.check([&](const std::string &field, const std::string &message) {
        problems.push_back({shown + ": /" + field, message});
    });
    if (!problems.empty())
        throw InputError(json ? described::with_lines(std::move(problems), text, file) : std::move(problems));
    return kernel;
}

} // namespace convcast
